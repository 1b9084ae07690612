//! The native module of the Python package: the libraries' functions with the libraries'
//! configuration, and no logic of its own.
//!
//! Users see the package `outercore` in `python/`, a thin layer of Python over this module. What is
//! here:
//!
//! - `settings`: keyword arguments as [`outercore_graph::BuildSettings`],
//!   [`outercore_engine::RunSettings`] and [`outercore_algorithms::Request`].
//! - `edges`: edges that live in Python, as sources for a build: arrays, sparse matrices,
//!   iterables, Arrow streams.
//! - `build`: one function for each kind of them.
//! - `graph`: an opened graph; `fresh`: whether it is still the one on disk.
//! - `columns`, `ids`: a run's columns in ascending order of original id; `outcome`: as NumPy
//!   arrays; `stream`: as an Arrow stream.
//! - `supervise`: long work on a thread of its own, while the calling thread looks after signals,
//!   progress, and edges that Python yields.
//! - `failure`: errors as the package's exceptions.

mod build;
mod columns;
mod edges;
mod failure;
mod fresh;
mod graph;
mod ids;
mod outcome;
mod settings;
mod stream;
mod supervise;

/// The module as Python imports it.
#[pyo3::pymodule]
mod _outercore {
    #[pymodule_export]
    use crate::{
        build::{
            build_arrays, build_batches, build_compressed, build_files, build_pairs, build_stream,
        },
        graph::NativeGraph,
        outcome::NativeOutcome,
    };
    use pyo3::{
        Bound, PyResult,
        types::{PyModule, PyModuleMethods},
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("ALGORITHMS", outercore_algorithms::NAMES.to_vec())?;
        module.add("KEYWORDS", crate::settings::keywords())
    }
}
