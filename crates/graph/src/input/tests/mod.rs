//! Tests of the readers: texts as users write them, and as nobody should.

mod columns;
mod formats;
mod hostile;
mod property;
mod real;
mod streams;
mod texts;

use std::{
    path::{Path, PathBuf},
    sync::Mutex,
};

use outercore_storage::Disk;

use super::{
    DeclaredVertices, EdgeSource, Ends, Format, IdKind, Input, InputOptions, Item, NoProgress,
    VertexBatch, WeightKind, open,
};
use crate::error::{GraphError, InputError};

/// What was read, sorted.
#[derive(Debug, Default, PartialEq)]
struct Read {
    edges: Vec<[u64; 2]>,
    named: Vec<[String; 2]>,
    weighted: Vec<([u64; 2], f64)>,
    named_weighted: Vec<([String; 2], f64)>,
    vertices: Vec<u64>,
    named_vertices: Vec<String>,
}

impl Read {
    fn take(&mut self, item: Item) {
        match item {
            Item::Vertices(VertexBatch::Numbers(ids)) => self.vertices.extend(ids),
            Item::Vertices(VertexBatch::Names(names)) => {
                self.named_vertices.extend((0..names.len()).map(|index| text(names.get(index))))
            }
            Item::Edges(batch) => match batch.ends {
                Ends::Numbers(pairs) => {
                    assert!(pairs.len() <= 1 << 16);
                    if let Some(weights) = batch.weights {
                        assert_eq!(weights.len(), pairs.len());
                        self.weighted.extend(pairs.iter().copied().zip(weights));
                    }
                    self.edges.extend(pairs);
                }
                Ends::Names(names) => {
                    let pairs = (0..names.len() / 2)
                        .map(|edge| [text(names.get(2 * edge)), text(names.get(2 * edge + 1))]);
                    let pairs: Vec<_> = pairs.collect();
                    if let Some(weights) = batch.weights {
                        assert_eq!(weights.len(), pairs.len());
                        self.named_weighted.extend(pairs.iter().cloned().zip(weights));
                    }
                    self.named.extend(pairs);
                }
            },
        }
    }

    fn sorted(mut self) -> Self {
        self.edges.sort_unstable();
        self.named.sort_unstable();
        self.weighted.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        self.named_weighted.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        self.vertices.sort_unstable();
        self.named_vertices.sort_unstable();
        self
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("names are UTF-8")
}

/// Reads everything of a source.
fn drain(source: &dyn EdgeSource, threads: usize, memory: usize) -> Result<Read, GraphError> {
    let read = Mutex::new(Read::default());
    source.read(threads, memory, &NoProgress, &|item| {
        read.lock().unwrap().take(item);
        Ok(())
    })?;
    Ok(read.into_inner().unwrap().sorted())
}

/// Reads files.
fn read_files(paths: &[&Path], options: &InputOptions) -> Result<Read, GraphError> {
    let inputs: Vec<Input> = paths.iter().map(|path| Input::from(*path)).collect();
    drain(open(&Disk::new(), &inputs, options)?.as_ref(), 2, 1 << 20)
}

/// A folder with one file.
struct Sample {
    folder: tempfile::TempDir,
    path: PathBuf,
}

impl Sample {
    fn new(name: &str, content: impl AsRef<[u8]>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        Self { folder, path }
    }

    fn add(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    fn open(&self, options: &InputOptions) -> Result<Box<dyn EdgeSource>, GraphError> {
        open(&Disk::new(), &[Input::from(&self.path)], options)
    }

    fn read(&self, options: &InputOptions) -> Result<Read, GraphError> {
        read_files(&[&self.path], options)
    }
}

/// Reads `content` as a file of that name, with default options.
fn read(name: &str, content: impl AsRef<[u8]>) -> Result<Read, GraphError> {
    Sample::new(name, content).read(&InputOptions::default())
}

/// The complaint about an input.
fn complaint(result: Result<Read, GraphError>) -> InputError {
    match result {
        Err(GraphError::Input(error)) => error,
        Err(other) => panic!("not a complaint about the input: {other}"),
        Ok(read) => panic!("it was read: {read:?}"),
    }
}

/// Options that differ from the default in ids and weights.
fn options(ids: Option<IdKind>, weights: Option<WeightKind>) -> InputOptions {
    InputOptions { ids, weights, ..InputOptions::default() }
}
