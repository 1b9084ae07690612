//! What a run can end with, and the exit code of each.

use outercore_graph::GraphError;
use outercore_storage::StorageError;

/// Everything that planning or running can end with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The graph, its files or the device.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// What was asked does not make sense for this graph, or a parameter is out of range.
    #[error("{0}")]
    Usage(String),
    /// The memory budget is too small.
    #[error("the memory budget of {budget} bytes is too small for {what}: at least {needed} bytes are needed; give --memory {mib}M or more", mib = .needed.div_ceil(1 << 20))]
    Memory {
        /// The smallest budget that works, in bytes.
        needed: u64,
        /// The budget, in bytes.
        budget: u64,
        /// What needs it.
        what: String,
    },
    /// The user interrupted.
    #[error("interrupted")]
    Cancelled,
}

impl EngineError {
    /// The same as the graph's error, for steps that can end with nothing else.
    pub fn into_graph(self) -> GraphError {
        match self {
            EngineError::Graph(error) => error,
            other => GraphError::Usage(other.to_string()),
        }
    }
}

impl From<StorageError> for EngineError {
    fn from(error: StorageError) -> Self {
        EngineError::Graph(error.into())
    }
}

/// The result of an engine operation.
pub type Result<T> = std::result::Result<T, EngineError>;
