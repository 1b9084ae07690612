//! Text on its way out: into a file that appears whole, packed if its name ends in `.gz` or `.zst`,
//! or to standard output.

use std::{
    io::{self, Write},
    path::Path,
};

use flate2::write::GzEncoder;
use outercore_graph::{GraphError, Result, error::refuse};
use outercore_storage::{Disk, StorageError};

use crate::publish::{Publication, check_target, write_error};

/// The name that stands for standard output.
const STANDARD: &str = "-";

/// What the name of a file to write says of it.
pub(crate) struct Name {
    /// The ending that says the format, in small letters; that of text for standard output.
    pub ending: String,
    packing: Packing,
}

/// How text is packed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Packing {
    None,
    Gzip,
    Zstd,
}

impl Name {
    /// Reads the name; refuses one that no file can be written under.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        if is_standard_output(path) {
            return Ok(Self { ending: "csv".to_owned(), packing: Packing::None });
        }
        check_target(path)?;
        let packing = match ending(path).as_str() {
            "gz" => Packing::Gzip,
            "zst" => Packing::Zstd,
            _ => return Ok(Self { ending: ending(path), packing: Packing::None }),
        };
        Ok(Self { ending: ending(&path.with_extension("")), packing })
    }

    /// Refuses to pack what is not text.
    pub(crate) fn check(&self, path: &Path, is_text: bool) -> Result<()> {
        if is_text || self.packing == Packing::None {
            return Ok(());
        }
        refuse(format!(
            "{} cannot be written: only text is packed, and .{} is none; leave the last ending out",
            path.display(),
            self.ending
        ))
    }
}

fn ending(path: &Path) -> String {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.unwrap_or("").to_ascii_lowercase()
}

/// Whether a result is to go to standard output instead of a file.
pub fn is_standard_output(path: &Path) -> bool {
    path == Path::new(STANDARD)
}

/// A text being written. Dropped before [`Text::finish`], it leaves no file.
pub(crate) struct Text<'p> {
    path: &'p Path,
    /// What was not handed on yet.
    pub lines: Vec<u8>,
    out: Out,
}

/// Where it goes.
enum Out {
    File(Publication),
    Gzip(GzEncoder<Publication>),
    Zstd(zstd::Encoder<'static, Publication>),
    Standard(io::Stdout),
}

impl<'p> Text<'p> {
    /// Begins a file of this name, packed as its ending says, or standard output.
    pub(crate) fn begin(disk: &Disk, path: &'p Path) -> Result<Self> {
        let file = || Publication::begin(disk, path);
        let out = match Name::of(path)?.packing {
            _ if is_standard_output(path) => Out::Standard(io::stdout()),
            Packing::None => Out::File(file()?),
            Packing::Gzip => Out::Gzip(GzEncoder::new(file()?, flate2::Compression::default())),
            Packing::Zstd => Out::Zstd(
                zstd::Encoder::new(file()?, zstd::DEFAULT_COMPRESSION_LEVEL)
                    .map_err(|error| write_error(path, error))?,
            ),
        };
        Ok(Self { path, lines: Vec::new(), out })
    }

    /// Hands the lines on.
    pub(crate) fn flush(&mut self) -> Result<()> {
        let lines = &self.lines;
        let done = match &mut self.out {
            Out::File(file) => file.write_all(lines),
            Out::Gzip(file) => file.write_all(lines),
            Out::Zstd(file) => file.write_all(lines),
            Out::Standard(out) => out.write_all(lines),
        };
        done.map_err(|error| failed(self.path, error))?;
        self.lines.clear();
        Ok(())
    }

    /// Hands on what there is, and gives the file its name.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.flush()?;
        let file = match self.out {
            Out::File(file) => Ok(file),
            Out::Gzip(file) => file.finish(),
            Out::Zstd(file) => file.finish(),
            Out::Standard(mut out) => return out.flush().map_err(|error| failed(self.path, error)),
        };
        file.map_err(|error| failed(self.path, error))?.publish()
    }
}

/// An error of writing to the file of this name, or to standard output.
fn failed(path: &Path, error: io::Error) -> GraphError {
    match is_standard_output(path) {
        true => StorageError::standard_output(error).into(),
        false => write_error(path, error),
    }
}
