//! Reference answers: the problem's textbook algorithm, serial, in memory, on a plain list of
//! edges; and beside each, what makes an answer right.
//!
//! Nothing here shares code with the engine, and nothing here is fast: what counts is that each
//! function can be checked by reading it. An unreached vertex has `None`.
//!
//! The conventions that decide an answer:
//! - A duplicate edge counts as often as it is there: PageRank and SpMV add it each time,
//!   betweenness takes it for another shortest path. Only [`kcore`], [`triangles`] and
//!   [`clustering`] look at the simple view.
//! - An undirected edge leads both ways; an undirected self-loop is one neighbor, not two.
//! - Directed components are weak.

mod betweenness;
mod bfs;
mod clustering;
mod components;
mod diameter;
mod gvs;
mod kcore;
mod label_propagation;
mod multi_source;
mod pagerank;
mod simple;
mod spmv;
mod sssp;
#[cfg(test)]
mod tiny;
mod triangles;

use crate::{Answer, Question};

pub use self::{
    betweenness::betweenness,
    bfs::bfs,
    clustering::clustering,
    components::{by_smallest_member, components, largest_components},
    gvs::{Gvs, gvs, gvs_by_levels, packed_bytes},
    kcore::kcore,
    label_propagation::label_propagation,
    multi_source::multi_source,
    pagerank::pagerank,
    spmv::spmv,
    sssp::{parents, sssp, verify_tree},
    triangles::triangles,
};

/// Fails if an answer is wrong.
type Verifier = fn(&Question, &Answer);

const VERIFIERS: [(&str, Verifier); 13] = [
    ("bfs", bfs::verify),
    ("sssp", sssp::verify),
    ("components", components::verify),
    ("pagerank", pagerank::verify),
    ("pagerank-delta", pagerank::verify_limit),
    ("kcore", kcore::verify),
    ("betweenness", betweenness::verify),
    ("multi-source", multi_source::verify),
    ("spmv", spmv::verify),
    ("triangles", triangles::verify),
    ("clustering", clustering::verify),
    ("label-propagation", label_propagation::verify),
    ("diameter", diameter::verify),
];

/// Fails if the answer of the algorithm `name` is not that of its reference.
pub fn verify(name: &str, question: &Question, answer: &Answer) {
    let found = VERIFIERS.iter().find(|(known, _)| *known == name);
    let (_, verify) = found.unwrap_or_else(|| panic!("{name} has no reference: add one"));
    verify(question, answer);
}

/// Values that every vertex has.
fn present(values: Vec<f64>) -> Vec<Option<f64>> {
    values.into_iter().map(Some).collect()
}
