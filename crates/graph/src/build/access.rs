//! What it takes to read the source of a build, once or once more.

use super::BuildProgress;
use crate::input::EdgeSource;

/// The source, and the means to read it.
#[derive(Clone, Copy)]
pub struct SourceAccess<'a> {
    /// The source.
    pub source: &'a dyn EdgeSource,
    /// Threads.
    pub threads: usize,
    /// Memory for parsing.
    pub parse: usize,
    /// Told of each batch.
    pub progress: &'a dyn BuildProgress,
}
