//! How far a run is.

use crate::report::IterationReport;

/// Is told how far a run is, and may end it.
pub trait RunProgress: Sync {
    /// An iteration ended.
    fn iteration(&self, report: &IterationReport);
    /// Whether the user wants to stop.
    fn cancelled(&self) -> bool;
}

/// Progress that is shown nowhere.
pub struct Silent;

impl RunProgress for Silent {
    fn iteration(&self, _: &IterationReport) {}
    fn cancelled(&self) -> bool {
        false
    }
}
