//! Edge lists of every format as one call: text and the other formats of `outercore_graph::input`,
//! Parquet files, Arrow streams.
//!
//! - `columns`: which columns are the ends and the weight; a batch of them as edges. `convert`:
//!   their values, whatever their type; `outlet`: their way to the sink.
//! - `parquet`: Parquet files, their row groups read on several threads. `file`: the bytes of one;
//!   `pages`, `thrift`: what they claim, before memory is taken for it.
//! - `stream`: [`ArrowEdges`], record batches from a running program.
//! - `guard`: a parser of other people that panics over a damaged file complains about the file.

mod columns;
mod convert;
mod file;
mod guard;
mod outlet;
mod pages;
mod parquet;
mod room;
mod stream;
#[cfg(test)]
mod tests;
mod thrift;

use std::{path::Path, str::FromStr};

use outercore_graph::{
    GraphError, InputError, Result,
    input::{self, EdgeSource, Format, Input, InputOptions},
};
use outercore_storage::{Disk, Named};

pub use self::{guard::is_parsing, stream::ArrowEdges};

/// The format of an edge list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeFormat {
    /// One that `outercore_graph::input` reads, or not known yet ([`Format::Auto`]).
    Plain(Format),
    /// Parquet.
    Parquet,
}

impl EdgeFormat {
    /// Every name that [`EdgeFormat::from_str`] takes.
    pub fn names() -> Vec<&'static str> {
        Format::CHOICES.iter().map(|choice| choice.name).chain(["parquet"]).collect()
    }
}

impl Default for EdgeFormat {
    fn default() -> Self {
        Self::Plain(Format::Auto)
    }
}

impl FromStr for EdgeFormat {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        if name == "parquet" {
            return Ok(Self::Parquet);
        }
        let known = || format!("unknown format {name:?}; known: {}", Self::names().join(", "));
        name.parse().map(Self::Plain).map_err(|_| known())
    }
}

/// Opens edge lists, all of the same format, as one source. Reads their beginnings.
/// `options.format` does not count.
pub fn open(
    disk: &Disk,
    inputs: &[Input],
    format: EdgeFormat,
    options: &InputOptions,
) -> Result<Box<dyn EdgeSource>> {
    let format = match format {
        EdgeFormat::Plain(Format::Auto) => detect(disk, inputs)?,
        given => given,
    };
    match format {
        EdgeFormat::Plain(format) => {
            input::open(disk, inputs, &InputOptions { format, ..options.clone() })
        }
        EdgeFormat::Parquet => Ok(Box::new(parquet::ParquetEdges::open(disk, inputs, options)?)),
    }
}

/// Parquet if all files look like it.
fn detect(disk: &Disk, inputs: &[Input]) -> Result<EdgeFormat> {
    let mut parquet = None;
    for input in inputs {
        let is = looks_like_parquet(disk, &input.path);
        if let Some(first) = inputs.first().filter(|_| parquet.is_some_and(|parquet| parquet != is))
        {
            let (what, other) = if is { ("Parquet", "not") } else { ("not Parquet", "Parquet") };
            let what = format!("this is {what}, but {} is {other}", first.path.display());
            return Err(fault(&input.path, what, "build from files of one format"));
        }
        parquet = Some(is);
    }
    Ok(if parquet == Some(true) { EdgeFormat::Parquet } else { EdgeFormat::default() })
}

/// By the name, or the magic bytes. Pipes are not touched: what is read from them is gone.
fn looks_like_parquet(disk: &Disk, path: &Path) -> bool {
    let named = path.extension().is_some_and(|extension| {
        extension.eq_ignore_ascii_case("parquet") || extension.eq_ignore_ascii_case("pq")
    });
    let regular = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    let mut magic = [0; 4];
    let mut magical = || {
        disk.open_buffered(path).is_ok_and(|file| file.read_at(&mut magic, 0).is_ok())
            && (magic == *b"PAR1" || magic == *b"PARE")
    };
    regular && (named || magical())
}

/// A fault of a whole input.
fn fault(path: &Path, what: impl Into<String>, advice: &str) -> GraphError {
    InputError {
        path: path.to_owned(),
        line: None,
        offset: None,
        what: what.into(),
        advice: advice.to_owned(),
    }
    .into()
}
