//! The one [`EdgeSource`]: parts read one after the other, each by all threads.

use super::{
    DeclaredVertices, EdgeSource, Progress, Sink, SourceInfo,
    chunks::{self, Cut, Decoder, Job},
    fault,
    source::Source,
    vertices,
};
use crate::error::{GraphError, Result};

/// A whole input, planned.
pub(super) struct Reader {
    pub(super) info: SourceInfo,
    pub(super) parts: Vec<Part>,
}

/// One file of edges or vertices, and how it is to be read.
pub(super) struct Part {
    pub(super) source: Source,
    /// Where the records begin.
    pub(super) begin: u64,
    /// Lines before that.
    pub(super) lines: u64,
    pub(super) cut: Cut,
    pub(super) decoder: Box<dyn Decoder>,
    /// The edges that the file declares.
    pub(super) expected: Option<u64>,
}

impl Reader {
    /// Adds vertex files.
    pub(super) fn with_vertices(mut self, sources: Vec<Source>) -> Result<Self> {
        if sources.is_empty() {
            return Ok(self);
        }
        if let Some(DeclaredVertices::Range { .. }) = self.info.declared_vertices {
            let what = format!(
                "a vertex file does not fit the format {}, which declares its vertices itself",
                self.info.format
            );
            return Err(GraphError::Usage(what));
        }
        self.info.declared_vertices = Some(DeclaredVertices::Listed);
        self.info.bytes =
            self.info.bytes.zip(stored(&sources)).map(|(edges, vertices)| edges + vertices);
        for source in sources {
            let part = vertices::part(source, self.info.ids)?;
            self.parts.push(part);
        }
        Ok(self)
    }
}

impl EdgeSource for Reader {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn least_memory(&self) -> u64 {
        self.parts.iter().map(|part| part.source.window()).max().unwrap_or(0)
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
pub(super) fn stored(sources: &[Source]) -> Option<u64> {
    sources.iter().map(|source| source.stored).sum()
}

/// A description: what, compression, details, how many files.
pub(super) fn describe(what: String, sources: &[Source], details: &str) -> String {
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
