//! The words that readers of records have in common: a [`Part`] of the input is cut into
//! [`RecordChunk`]s, each of which a [`Decoder`] turns into batches, unless there is a [`Stop`].

use std::path::Path;

use super::{emit::Emitter, source::InputBytes};
use crate::error::{GraphError, InputError};

/// Readable bytes behind the end of each chunk, so that decoders may load whole words.
pub(super) const SLACK: usize = 32;

/// One file of edges or vertices, and how it is to be read.
pub(super) struct Part {
    pub(super) source: InputBytes,
    /// Where the records begin.
    pub(super) begin: u64,
    /// Lines before that.
    pub(super) lines: u64,
    pub(super) cut: Cut,
    pub(super) decoder: Box<dyn Decoder>,
    /// The edges that the file declares.
    pub(super) expected: Option<u64>,
}

/// Where records end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// At newlines.
    Lines,
    /// Every so many bytes.
    Records(usize),
}

/// Whole records.
pub(super) struct RecordChunk<'a> {
    /// The records and at least [`SLACK`] bytes more.
    pub(super) bytes: &'a [u8],
    /// Where the records end; with [`Cut::Lines`] the byte before is a newline.
    pub(super) end: usize,
    /// Where they begin in the input.
    pub(super) offset: u64,
}

/// Turns a chunk into batches.
pub(super) trait Decoder: Send + Sync {
    /// Decodes every record and returns the number of lines.
    fn decode(
        &self,
        chunk: &RecordChunk<'_>,
        out: &mut Emitter<'_>,
    ) -> std::result::Result<u64, Stop>;
}

/// Why decoding ends early.
#[derive(Debug)]
pub(super) enum Stop {
    /// The input is at fault.
    RecordFault(RecordFault),
    /// Anything else.
    Other(GraphError),
}

impl From<RecordFault> for Stop {
    fn from(fault: RecordFault) -> Self {
        Stop::RecordFault(fault)
    }
}

impl From<GraphError> for Stop {
    fn from(error: GraphError) -> Self {
        Stop::Other(error)
    }
}

/// A fault in a chunk.
#[derive(Debug, Default)]
pub(super) struct RecordFault {
    /// The line, from 0 at the beginning of the chunk.
    pub(super) line: Option<u64>,
    /// The byte in the input.
    pub(super) offset: Option<u64>,
    pub(super) what: String,
    pub(super) advice: String,
}

impl RecordFault {
    /// The error, where chunks play no part: `line` counts from the beginning of the input.
    pub(super) fn at(self, path: &Path, before: u64) -> GraphError {
        let line = self.line.map(|line| before + line + 1);
        InputError {
            path: path.to_owned(),
            line,
            offset: self.offset,
            what: self.what,
            advice: self.advice,
        }
        .into()
    }
}
