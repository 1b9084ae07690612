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
    #[error(
        "the memory budget of {budget} bytes is too small for {what}: at least {needed} bytes are \
         needed; give --memory {mib}M or more",
        mib = .needed.div_ceil(1 << 20)
    )]
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

/// What all workers of a step end with: an error that one of them met, rather than that the others
/// were told to stop because of it.
pub(crate) fn all<T>(results: Vec<Result<T>>) -> Result<Vec<T>> {
    let (mut values, mut failed) = (Vec::with_capacity(results.len()), None);
    for result in results {
        match result {
            Ok(value) => values.push(value),
            Err(error) if matches!(failed, None | Some(EngineError::Cancelled)) => {
                failed = Some(error)
            }
            Err(_) => {}
        }
    }
    failed.map_or(Ok(values), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_wins_over_its_consequences() {
        let cause = || Err(EngineError::Usage("cause".to_owned()));
        for results in [
            vec![Err(EngineError::Cancelled), cause(), Ok(1)],
            vec![cause(), Err(EngineError::Cancelled)],
        ] {
            assert!(matches!(all(results), Err(EngineError::Usage(_))));
        }
        assert!(matches!(
            all::<u8>(vec![Ok(1), Err(EngineError::Cancelled)]),
            Err(EngineError::Cancelled)
        ));
        assert_eq!(all(vec![Ok(1), Ok(2)]).unwrap(), [1, 2]);
    }
}
