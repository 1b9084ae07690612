//! Reading edge lists, and what came of it in a form that can be compared.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
};

use outercore::{
    Disk, EdgeFormat, GraphError,
    input::{EdgeSource, Ends, InputOptions, Item, Names, NoProgress, VertexBatch},
};

/// Everything that an input has, sorted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// Ends, and the bits of the weight.
    pub edges: Vec<([String; 2], Option<u64>)>,
    /// Vertices that were listed.
    pub vertices: Vec<String>,
}

/// Why there is nothing: the line and the offset that the complaint names.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused {
    /// The line.
    pub line: Option<u64>,
    /// The byte.
    pub offset: Option<u64>,
    /// What was said.
    pub what: String,
}

/// Memory and threads for reading.
#[derive(Clone, Copy)]
pub struct Means {
    pub threads: usize,
    pub memory: usize,
}

/// Plenty of memory for small inputs, one thread.
pub const ALONE: Means = Means { threads: 1, memory: 64 << 20 };
/// Chunks as small as they get.
pub const NARROW: Means = Means { threads: 3, memory: 1 << 20 };

/// A place for files in memory.
pub fn place() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let root = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::tempdir_in(root).expect("a place for files")
}

/// A file with this content.
pub fn file(place: &tempfile::TempDir, name: &str, content: &[u8]) -> PathBuf {
    let path = place.path().join(name);
    fs::write(&path, content).expect("room for a file");
    path
}

/// Opens and reads a file of edges.
pub fn read(
    path: &Path,
    format: EdgeFormat,
    options: &InputOptions,
    means: Means,
) -> Result<Read, Refused> {
    let source = outercore::open_edges(&Disk::new(), &[path.into()], format, options);
    source.and_then(|source| drain(&*source, means)).map_err(refused)
}

/// Reads a source.
pub fn drain(source: &dyn EdgeSource, means: Means) -> Result<Read, GraphError> {
    let all = Mutex::new(Read::default());
    source.read(means.threads, means.memory, &NoProgress, &|item| {
        let mut all = all.lock().expect("no panic");
        match item {
            Item::Vertices(VertexBatch::Numbers(ids)) => {
                all.vertices.extend(ids.iter().map(u64::to_string))
            }
            Item::Vertices(VertexBatch::Names(names)) => all.vertices.extend(texts(&names)),
            Item::Edges(batch) => {
                let ends: Vec<String> = match &batch.ends {
                    Ends::Numbers(pairs) => {
                        pairs.as_flattened().iter().map(u64::to_string).collect()
                    }
                    Ends::Names(names) => texts(names).collect(),
                };
                let (pairs, odd) = ends.as_chunks::<2>();
                assert!(odd.is_empty(), "an edge has two ends");
                let weights = batch.weights.as_deref();
                assert!(weights.is_none_or(|weights| weights.len() == pairs.len()));
                all.edges.extend(pairs.iter().enumerate().map(|(at, pair)| {
                    (pair.clone(), weights.map(|weights| weights[at].to_bits()))
                }));
            }
        }
        Ok(())
    })?;
    let mut all = all.into_inner().expect("no panic");
    if crate::is_planted() && means.threads > 1 {
        // What several threads would do that lose a record on its way.
        all.edges.pop();
    }
    all.edges.sort_unstable();
    all.vertices.sort_unstable();
    Ok(all)
}

fn texts(names: &Names) -> impl Iterator<Item = String> {
    let text = |at| String::from_utf8(names.get(at).to_vec()).expect("names are UTF-8");
    (0..names.len()).map(text)
}

/// The complaint about an input.
///
/// # Panics
/// If it is about anything else.
pub fn refused(error: GraphError) -> Refused {
    match error {
        GraphError::Input(error) => {
            assert!(!error.what.is_empty());
            Refused { line: error.line, offset: error.offset, what: error.what }
        }
        GraphError::Usage(what) | GraphError::Memory { what, .. } => {
            Refused { line: None, offset: None, what }
        }
        other => panic!("neither edges nor a complaint about the input: {other}"),
    }
}
