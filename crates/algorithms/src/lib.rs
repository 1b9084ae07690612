//! The algorithms: one file each, with its configuration, its program and its result.
//!
//! - [`algorithm`]: [`Algorithm`], what the command line and Python call; [`Source`], how a start
//!   vertex is named.
//! - [`catalog`]: algorithms by name.
//! - [`bfs`], [`sssp`], [`components`], [`pagerank`], [`pagerank_delta`], [`kcore`],
//!   [`betweenness`], [`multi_source`], [`spmv`], [`triangles`], [`clustering`],
//!   [`label_propagation`], [`diameter`]: the problems.
//!
//! Beneath them: `common`, what they share; `simple_view`, runs on the view of a graph;
//! `parents`, a tree of shortest paths; `many_lengths`, shortest paths from several vertices.

pub mod algorithm;
pub mod betweenness;
pub mod bfs;
pub mod catalog;
pub mod clustering;
mod common;
pub mod components;
pub mod diameter;
pub mod kcore;
pub mod label_propagation;
mod many_lengths;
pub mod multi_source;
pub mod pagerank;
pub mod pagerank_delta;
mod parents;
mod simple_view;
pub mod spmv;
pub mod sssp;
pub mod triangles;

pub use outercore_graph::{Source, Vector};

pub use self::{
    algorithm::{Algorithm, Request},
    betweenness::Betweenness,
    bfs::Bfs,
    catalog::{NAMES, by_name},
    clustering::Clustering,
    components::Components,
    diameter::Diameter,
    kcore::KCore,
    label_propagation::LabelPropagation,
    multi_source::MultiSource,
    pagerank::PageRank,
    pagerank_delta::PageRankDelta,
    spmv::Spmv,
    sssp::Sssp,
    triangles::Triangles,
};
