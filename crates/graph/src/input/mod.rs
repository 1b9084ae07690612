//! Edge lists in every supported format, as batches of edges.
//!
//! [`open`] looks at the beginning of each input, decides what it is, and returns an
//! [`EdgeSource`], which hands batches to a sink from several threads. The way of a byte:
//!
//! - `source`: the file, pipe or standard input, looked into once; `compressed` undoes gzip and
//!   zstd.
//! - `detect`: which format it is, by magic bytes, extension and content; `head`: what the first
//!   lines of a text say; `header` and `columns`: which columns are the edges.
//! - `text`, `matrix_market`, `dimacs`, `graphalytics`, `pairs`: what the format declares, and how
//!   its records are read.
//! - `record`: what a part of an input, a chunk of it and a decoder are.
//! - `chunks`: cuts the bytes into chunks of whole records and decodes them on several threads;
//!   finds the first error.
//! - `line` (lines of numbers, the hot path), `names` (lines of strings), `vertices`, `pairs`:
//!   decoders of chunks into batches.
//! - `numbers`, `npy`: a number for each vertex, from a file beside the edges.
//! - `fields`: one line, slowly and exactly; every complaint about a line is written there.
//!
//! Memory: what the caller of [`EdgeSource::read`] grants. Beside that are the beginnings of a few
//! inputs (1 MiB each, or up to 4 MiB of comments), and the longest line (1 MiB for each thread).

mod chunks;
mod columns;
mod compressed;
mod detect;
mod dimacs;
mod emit;
mod fields;
mod graphalytics;
mod head;
mod header;
mod line;
mod matrix_market;
mod names;
mod npy;
mod numbers;
mod options;
mod pairs;
mod pipe;
mod reader;
mod record;
mod source;
mod text;
mod vertices;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use outercore_storage::Disk;

pub use self::columns::{EdgeColumns, Picked};
pub use self::fields::{LONGEST_NAME, long_name};
pub(crate) use self::numbers::NumberFile;
pub use self::options::{Format, IdKind, InputOptions, InputSettings};
use self::source::InputBytes;
use crate::error::{GraphError, InputError, Result, refuse};
pub use crate::types::WeightKind;

/// The beginnings of so many inputs are kept in memory while the reading is planned.
const FEW_INPUTS: usize = 4;

/// Where edges come from: a file, a pipe, or `-` for standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The path; `-` is standard input.
    pub path: PathBuf,
}

impl<P: Into<PathBuf>> From<P> for Input {
    fn from(path: P) -> Self {
        Self { path: path.into() }
    }
}

/// A batch of edges in the ids of the input.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeBatch {
    /// Source and target of each edge.
    pub ends: Ends,
    /// One weight for each edge, if the source has weights.
    pub weights: Option<Vec<f64>>,
}

/// The two ends of each edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Numbers: source and target.
    Numbers(Vec<[u64; 2]>),
    /// Names, two for each edge: source, target, source, ...
    Names(Names),
}

/// Names, one after the other, UTF-8.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The bytes of all of them.
    pub bytes: Vec<u8>,
    /// Where each ends in `bytes`.
    pub ends: Vec<u32>,
}

impl Names {
    /// How many names there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of name number `index`.
    pub fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.bytes[start..self.ends[index] as usize]
    }
}

/// A batch of vertices from a vertex file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VertexBatch {
    /// Numbers.
    Numbers(Vec<u64>),
    /// Names.
    Names(Names),
}

/// What a source hands over.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// Edges, up to about 64 Ki.
    Edges(EdgeBatch),
    /// Vertices that exist whether or not an edge touches them.
    Vertices(VertexBatch),
}

/// Vertices that the input declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclaredVertices {
    /// Every number from `first` on exists.
    Range {
        /// The smallest.
        first: u64,
        /// How many.
        count: u64,
    },
    /// They come as [`Item::Vertices`].
    Listed,
}

/// What is known of the input before it is read.
#[derive(Clone, Debug)]
pub struct SourceInfo {
    /// The format's name, as in `--format`.
    pub format: &'static str,
    /// What was understood: `tab-separated text, gzip, u64 ids, weights in column 3`.
    pub description: String,
    /// Whether edges have a direction: the user's word, else the format's, else unknown.
    pub directed: Option<bool>,
    /// How ids are to be taken. Batches hold names for [`IdKind::Names`], else numbers.
    pub ids: IdKind,
    /// The weights that the batches carry; `None` if they carry none.
    pub weights: Option<WeightKind>,
    /// Size of all inputs as stored, if known.
    pub bytes: Option<u64>,
    /// Vertices that exist whether or not an edge touches them.
    pub declared_vertices: Option<DeclaredVertices>,
}

/// What a sink is: called from several threads at the same time, each batch once.
pub type Sink<'a> = &'a (dyn Fn(Item) -> std::result::Result<(), GraphError> + Sync);

/// Told how far the reading is; asked whether to stop.
pub trait Progress: Sync {
    /// `bytes` more of the input (as stored) were consumed.
    fn advance(&self, bytes: u64);
    /// Whether the user wants to stop.
    fn cancelled(&self) -> bool;
}

/// No progress is shown, and nothing is cancelled.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn advance(&self, _bytes: u64) {}

    fn cancelled(&self) -> bool {
        false
    }
}

/// An opened edge list.
pub trait EdgeSource: Send + Sync {
    /// What is known of it.
    fn info(&self) -> &SourceInfo;

    /// Whether it comes in pieces whose sizes are known only when they are met: pages of Parquet,
    /// windows of zstd. Such a source may take more memory, and refuses a piece that needs more
    /// than it was given with [`GraphError::Memory`], in terms of what it was given.
    fn is_paged(&self) -> bool {
        false
    }

    /// The most bytes that one of these pieces takes, in terms of what a source is given, as far as
    /// that is known before they are read. Asked where a budget is refused.
    fn largest_piece(&self) -> Result<u64> {
        Ok(0)
    }

    /// The most edges and the most vertices that it can have, if that is known before it is read.
    fn at_most(&self) -> Option<(u64, u64)> {
        self.info().bytes.map(|bytes| (bytes, 2 * bytes))
    }

    /// Whether reading it a second time costs less than writing it to scratch and reading that.
    fn reads_again(&self) -> bool {
        false
    }

    /// Calls `sink` from up to `threads` threads, in no particular order, with every edge.
    /// `progress` is given the bytes consumed. The first error, by position in the input, ends it.
    /// Works in about `memory` bytes (and not less than some 300 KiB for each thread). Pipes can be
    /// read once only.
    fn read(
        &self,
        threads: usize,
        memory: usize,
        progress: &dyn Progress,
        sink: Sink<'_>,
    ) -> Result<()>;
}

/// Opens edge lists, all of the same format, as one source. Reads their beginnings.
pub fn open(disk: &Disk, inputs: &[Input], options: &InputOptions) -> Result<Box<dyn EdgeSource>> {
    if inputs.is_empty() {
        return refuse("no input was given; name an edge list, or `-` for standard input");
    }
    let paths = inputs.iter().map(|input| &input.path).chain(&options.vertices);
    if paths.filter(|path| path.as_path() == Path::new("-")).count() > 1 {
        return refuse("standard input was given twice; it can be read once only");
    }
    let mut format = options.format;
    let mut sources = Vec::with_capacity(inputs.len());
    for input in inputs {
        let mut source = InputBytes::open(disk, &input.path, options.stopped)?;
        let found = detect::format(&source, options.format)?;
        if let Some(first) = inputs.first().filter(|_| !sources.is_empty() && found != format) {
            let (path, name) = (first.path.display(), format.name());
            let what = format!("this is {}, but {path} is {name}", found.name());
            return Err(fault(
                &input.path,
                what,
                "build from files of one format, or say which with --format",
            ));
        }
        format = found;
        if inputs.len() > FEW_INPUTS {
            source.forget_head();
        }
        sources.push(source);
    }
    refuse_columns(format, options)?;
    let vertices = options
        .vertices
        .iter()
        .map(|path| InputBytes::open(disk, path, options.stopped))
        .collect::<Result<Vec<_>>>()?;
    let mut reader = match format {
        Format::Auto | Format::Text | Format::Csv => text::plan(sources, options, &vertices)?,
        Format::MatrixMarket => matrix_market::plan(sources, options)?,
        Format::Dimacs => dimacs::plan(sources, options)?,
        Format::Graphalytics => graphalytics::plan(disk, sources, options, &vertices)?,
        Format::PairsU32 => pairs::plan(sources, options, pairs::Width::U32)?,
        Format::PairsU64 => pairs::plan(sources, options, pairs::Width::U64)?,
    };
    reader = vertices::add(reader, vertices, options)?;
    reader.info.directed = options.directed.or(reader.info.directed);
    Ok(Box::new(reader))
}

/// Says no to names of columns where the format has none.
fn refuse_columns(format: Format, options: &InputOptions) -> Result<()> {
    match (format, &options.columns) {
        (Format::Auto | Format::Text | Format::Csv, _) | (_, None) => Ok(()),
        (other, Some(_)) => {
            let name = other.name();
            refuse(format!(
                "--columns does not fit the format {name}, which says itself where the ends are"
            ))
        }
    }
}

/// A fault of a whole input.
fn fault(path: &Path, what: impl Into<String>, advice: &str) -> GraphError {
    let (path, advice) = (path.to_owned(), advice.to_owned());
    InputError { path, line: None, offset: None, what: what.into(), advice }.into()
}

/// A fault of one line, counted from 1.
fn line_fault(path: &Path, line: u64, what: String, advice: &str) -> GraphError {
    let (path, advice) = (path.to_owned(), advice.to_owned());
    InputError { path, line: Some(line), offset: None, what, advice }.into()
}
