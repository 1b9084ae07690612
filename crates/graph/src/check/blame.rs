//! [`blaming`]: whose fault a panic is.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::Path,
};

use outercore_storage::Disk;

use super::{Fault, check};
use crate::{
    build::Silent,
    error::{GraphError, Result},
    graph::Graph,
};

impl Graph {
    /// Does `work` on this graph, as [`blaming`].
    pub fn blaming<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        blaming(self.disk(), self.path(), work)
    }
}

/// Does `work` on the graph at `path`. Content that contradicts itself, though its checksums fit,
/// is found where it is used, as a panic. Then the graph is checked: what is wrong with it is the
/// error, and if nothing is, the panic goes on.
pub fn blaming<T>(disk: &Disk, path: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        // The check may stumble, too.
        let checked = catch_unwind(AssertUnwindSafe(|| check(disk, path, &Silent)));
        let found = match checked {
            Ok(Ok(faults)) => faults.into_iter().next(),
            Ok(Err(GraphError::Corrupt { path, what })) => Some(Fault { path, what }),
            _ => None,
        };
        let Some(Fault { path, what }) = found else { resume_unwind(panic) };
        Err(GraphError::Corrupt { path, what })
    })
}
