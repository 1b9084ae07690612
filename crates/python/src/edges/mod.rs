//! Edges that live in Python, as sources for a build.
//!
//! - `arrays`: [`Numbers`] and [`Reals`], NumPy arrays as slices.
//! - `matrix`: [`ArrayEdges`], edges as arrays of ends or as a sparse matrix, read where they are
//!   by several threads.
//! - `pairs`: [`PairFeed`] and [`FedEdges`], edges of a Python iterable, fetched by the thread that
//!   called.
//! - `batches`: [`BatchFeed`] and [`FedBatches`], an iterable of Arrow tables as one stream.

mod arrays;
mod batches;
mod matrix;
mod pairs;

use outercore_graph::{GraphError, InputError, input::InputOptions};

pub use self::{
    arrays::{Numbers, Reals},
    batches::{BatchFeed, FedBatches},
    matrix::{ArrayEdges, Ends},
    pairs::{FedEdges, PairFeed},
};

/// A fault of row `index`, counted from 0, of what is called `name`.
fn row_fault(name: &str, index: u64, what: &str, advice: &str) -> GraphError {
    fault(name, format!("row {} (index {index}): {what}", index + 1), advice)
}

/// A fault of the whole of what is called `name`.
fn fault(name: &str, what: String, advice: &str) -> GraphError {
    InputError { path: name.into(), line: None, offset: None, what, advice: advice.to_owned() }
        .into()
}

/// What to do about an id that is no id.
const IDS: &str = "ids are whole numbers from 0 to 2^64 - 1, or strings";
/// What to do about a weight that is no number.
const WEIGHTS: &str = "drop or mend such rows, or give weights=\"none\" to ignore the weights";
/// What to do about a whole number that is too large to be a weight.
const EXACT: &str = "scale the weights down, or give weights=\"none\" to ignore them";

/// Says no to names of columns where there are none.
pub fn refuse_columns(options: &InputOptions) -> Result<(), GraphError> {
    match options.columns {
        None => Ok(()),
        Some(_) => Err(GraphError::Usage(
            "columns are named in files and tables, not in arrays and pairs".to_owned(),
        )),
    }
}
