//! What tests of several crates share. Not published, and used from folders `tests` alone: the unit
//! tests of a crate see other types than the ones that this crate was compiled with.
//!
//! - Graphs: [`Edges`], a plain list of edges; [`shapes`], those that programs go wrong on;
//!   [`Ids`], how vertices are called; [`Recipe`] and [`Built`], a list that is built.
//! - Answers: [`reference`](mod@reference), a textbook algorithm for each problem; [`Question`],
//!   [`Answer`], and [`reference::verify`], which compares them.
//! - Runs (with the feature `runs`): `config`, `request`, `run`, `values`.
//! - Crashes: [`Recorder`], a disk that loses what was not synced.
//! - Surroundings: [`folder`], [`Random`], [`Watchdog`], [`in_a_child`], [`data`],
//!   [`share`].
//!
//! What goes wrong here ends in a panic: that is how tests fail.

mod answer;
mod build;
mod child;
mod crash;
pub mod data;
mod edges;
mod folders;
mod random;
pub mod reference;
#[cfg(feature = "runs")]
mod runs;
pub mod shapes;
mod thorough;
mod watchdog;

pub use self::{
    answer::{Answer, Question, Value, assert_close, distance, furthest},
    build::{
        Built, Recipe, build, build_file, generate, internal_edges, lists, options, random_graph,
        small_graph, undirected,
    },
    child::{Said, in_a_child},
    crash::{Crash, Exchange, Recorder, Recording, Wiles},
    edges::{Edges, Ids, random_text, text},
    folders::{Essence, contents, essence, folder, names},
    random::Random,
    shapes::Shape,
    thorough::{share, thorough},
    watchdog::Watchdog,
};
#[cfg(feature = "runs")]
pub use runs::{
    MODELS, acting, answer, config, external, external_as, request, run, run_opened, smallest,
    values,
};
