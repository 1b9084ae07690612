//! The one [`EdgeSource`]: parts read one after the other, each by all threads.

use super::{
    EdgeSource, Progress, Sink, SourceInfo,
    chunks::{self, Job},
    fault,
    record::Part,
    source::InputBytes,
};
use crate::error::Result;

/// How many times as long compressed edges are at the most, when they are no longer compressed.
const UNPACKED: u64 = 8;

/// A whole input, planned.
pub(super) struct Reader {
    pub(super) info: SourceInfo,
    pub(super) parts: Vec<Part>,
}

impl EdgeSource for Reader {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn is_paged(&self) -> bool {
        self.parts.iter().any(|part| part.source.has_windows())
    }

    fn largest_piece(&self) -> Result<u64> {
        Ok(self.parts.iter().map(|part| part.source.largest_window()).max().unwrap_or(0))
    }

    fn at_most(&self) -> Option<(u64, u64)> {
        let plain = self.parts.iter().all(|part| part.source.is_plain_file());
        let bytes = self.info.bytes? * if plain { 1 } else { UNPACKED };
        // The shortest edges take four bytes, and so do vertices where there are many.
        Some((bytes / 4, bytes / 4))
    }

    fn reads_again(&self) -> bool {
        self.info.format.starts_with("pairs")
            && self.parts.iter().all(|part| part.source.is_plain_file())
    }

    fn read(
        &self,
        threads: usize,
        memory: usize,
        progress: &dyn Progress,
        sink: Sink<'_>,
    ) -> Result<()> {
        let job = Job { threads: threads.max(1), memory, progress, sink };
        let mut edges = 0;
        for part in &self.parts {
            let read = chunks::run(part, &job)?;
            if let Some(expected) = part.expected.filter(|expected| *expected != read) {
                let what = format!("the file declares {expected} edges and has {read}");
                return Err(fault(
                    &part.source.path,
                    what,
                    "it is cut short, or its header is wrong",
                ));
            }
            edges += read;
        }
        if edges == 0 && self.info.declared_vertices.is_none() {
            let path = &self.parts[0].source.path;
            return Err(fault(
                path,
                "there are no edges in it",
                "each edge is a line of two ids; see --format for what else is read",
            ));
        }
        Ok(())
    }
}

/// The size of all sources as stored, if each is known.
pub(super) fn stored(sources: &[InputBytes]) -> Option<u64> {
    sources.iter().map(|source| source.stored).sum()
}

/// A description: what, compression, details, how many files.
pub(super) fn describe(what: String, sources: &[InputBytes], details: &str) -> String {
    let mut text = what;
    let compression = sources.first().map_or("", |source| source.compression.name());
    let files = if sources.len() > 1 { format!("{} files", sources.len()) } else { String::new() };
    for part in [compression, details, &files] {
        if !part.is_empty() {
            text.push_str(", ");
            text.push_str(part);
        }
    }
    text
}
