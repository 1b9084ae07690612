//! Parquet files as a source of edges.
//!
//! Each thread takes the next row group of all files and reads the columns it needs, page by page.
//! Memory for each thread: a few pages of each column (1 MiB as most writers make them) and a batch
//! of rows.

use std::{
    fs::Metadata,
    io::{self, BufReader, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
};

use ::parquet::{
    arrow::{
        ProjectionMask,
        arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder},
    },
    errors::ParquetError,
    file::reader::{ChunkReader, Length},
};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use outercore_graph::{
    GraphError, Result,
    input::{DeclaredVertices, EdgeSource, Input, InputOptions, Item, Progress, Sink, SourceInfo},
};
use outercore_storage::{Disk, DiskFile, StorageError};

use super::{
    columns::{self, Columns, Misfit, RowFault},
    fault,
    guard::guarded,
    stream::row_fault,
};

/// Rows of a batch.
const BATCH: usize = 32 << 10;
/// Memory that a thread is taken to need.
const THREAD: usize = 8 << 20;

/// An opened set of Parquet files, all with the same columns of edges.
pub(super) struct ParquetEdges {
    info: SourceInfo,
    edges: Vec<Table>,
    vertices: Vec<Table>,
    /// Row groups: of the vertices, then of the edges.
    groups: Vec<Group>,
}

/// A file.
struct Table {
    disk: Disk,
    path: PathBuf,
    metadata: ArrowReaderMetadata,
    role: Role,
    stamp: Stamp,
}

/// What the rows of a file are.
enum Role {
    Edges(Columns),
    Vertices { column: usize, ids: outercore_graph::input::IdKind },
}

/// A row group: a unit of work.
struct Group {
    table: usize,
    number: usize,
    /// The number of its first row in the file.
    first: u64,
    /// Compressed bytes of the columns that are read.
    bytes: u64,
}

/// What identifies the content of a file, as far as one can know without reading it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp(u64, u64, u64, i64, i64);

impl From<&Metadata> for Stamp {
    fn from(of: &Metadata) -> Self {
        Self(of.dev(), of.ino(), of.size(), of.mtime(), of.mtime_nsec())
    }
}

impl ParquetEdges {
    /// Opens the files and reads their metadata.
    pub(super) fn open(disk: &Disk, inputs: &[Input], options: &InputOptions) -> Result<Self> {
        let find = |schema: &SchemaRef| Ok(Role::Edges(Columns::find(schema, options)?));
        let edges = inputs
            .iter()
            .map(|input| Table::open(disk, &input.path, &find))
            .collect::<Result<Vec<_>>>()?;
        let first =
            edges.first().ok_or_else(|| GraphError::Usage("no input was given".to_owned()))?;
        let Role::Edges(columns) = &first.role else {
            unreachable!("the tables of the inputs are edges")
        };
        for other in &edges {
            let Role::Edges(found) = &other.role else {
                unreachable!("the tables of the inputs are edges")
            };
            if (found.ids, found.weights) != (columns.ids, columns.weights) {
                let what = format!(
                    "its ids or weights are of another type than those of {}",
                    first.path.display()
                );
                return Err(fault(
                    &other.path,
                    what,
                    "convert the columns, or say what they are with --ids and --weights",
                ));
            }
        }
        let find = |schema: &SchemaRef| {
            Ok(Role::Vertices { column: columns::vertex_column(schema)?, ids: columns.ids })
        };
        let vertices = options
            .vertices
            .iter()
            .map(|path| Table::open(disk, path, &find))
            .collect::<Result<Vec<_>>>()?;
        let groups = groups(&vertices, &edges);
        if edges.iter().all(|table| table.metadata.metadata().file_metadata().num_rows() == 0) {
            return Err(fault(&first.path, "there is no edge in it: it has no rows", ""));
        }
        let info = SourceInfo {
            format: "parquet",
            description: format!("Parquet, {}", columns.describe(first.metadata.schema())),
            directed: options.directed,
            ids: columns.ids,
            weights: columns.weight_kind(),
            bytes: Some(groups.iter().map(|group| group.bytes).sum()),
            declared_vertices: (!vertices.is_empty()).then_some(DeclaredVertices::Listed),
        };
        Ok(Self { info, edges, vertices, groups })
    }

    fn table(&self, group: &Group) -> &Table {
        self.vertices
            .get(group.table)
            .unwrap_or_else(|| &self.edges[group.table - self.vertices.len()])
    }
}

/// All row groups that have rows.
fn groups(vertices: &[Table], edges: &[Table]) -> Vec<Group> {
    let mut groups = Vec::new();
    for (table, file) in vertices.iter().chain(edges).enumerate() {
        let columns = file.columns();
        let mut first = 0;
        for (number, group) in file.metadata.metadata().row_groups().iter().enumerate() {
            let wanted = group
                .columns()
                .iter()
                .filter(|column| columns.contains(&root_of(file, column.column_path().parts())));
            let bytes =
                wanted.map(|column| u64::try_from(column.compressed_size()).unwrap_or(0)).sum();
            groups.push(Group { table, number, first, bytes });
            first += u64::try_from(group.num_rows()).unwrap_or(0);
        }
    }
    groups
}

/// The position of a leaf's column in the schema.
fn root_of(table: &Table, path: &[String]) -> usize {
    let fields = table.metadata.schema().fields();
    path.first()
        .and_then(|name| fields.iter().position(|field| field.name() == name))
        .unwrap_or(usize::MAX)
}

impl EdgeSource for ParquetEdges {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn read(
        &self,
        threads: usize,
        memory: usize,
        progress: &dyn Progress,
        sink: Sink<'_>,
    ) -> Result<()> {
        let work = Work {
            source: self,
            next: AtomicUsize::new(0),
            failed: AtomicU64::new(u64::MAX),
            error: Mutex::new(None),
            progress,
            sink,
        };
        let threads = (memory / THREAD).clamp(1, threads.max(1)).min(self.groups.len().max(1));
        std::thread::scope(|scope| {
            (1..threads).for_each(|_| drop(scope.spawn(|| work.run())));
            work.run();
        });
        let error = work.error.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((_, error)) = error {
            return Err(error);
        }
        self.vertices.iter().chain(&self.edges).try_for_each(|table| table.reopen().map(drop))
    }
}

/// Row groups being read by several threads.
struct Work<'a> {
    source: &'a ParquetEdges,
    next: AtomicUsize,
    /// The earliest row group with an error; groups before it are still read to the end, so that
    /// the first error is the one told.
    failed: AtomicU64,
    error: Mutex<Option<(u64, GraphError)>>,
    progress: &'a dyn Progress,
    sink: Sink<'a>,
}

impl Work<'_> {
    fn run(&self) {
        loop {
            let number = self.next.fetch_add(1, Relaxed);
            let Some(group) = self.source.groups.get(number) else { return };
            if number as u64 > self.failed.load(Relaxed) {
                return;
            }
            match self.group(number as u64, group) {
                Ok(()) => self.progress.advance(group.bytes),
                Err(error) => {
                    self.failed.fetch_min(number as u64, Relaxed);
                    let mut earliest =
                        self.error.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    if earliest.as_ref().is_none_or(|(earlier, _)| (number as u64) < *earlier) {
                        *earliest = Some((number as u64, error));
                    }
                }
            }
        }
    }

    fn group(&self, number: u64, group: &Group) -> Result<()> {
        let table = self.source.table(group);
        let (chunks, failure) = table.reopen()?;
        let told = |error: String| table.complaint(&failure, &error);
        let damaged =
            || fault(&table.path, "the Parquet file is damaged", "write or download it again");
        let mask = ProjectionMask::roots(table.metadata.parquet_schema(), table.columns());
        let builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(chunks, table.metadata.clone());
        let builder = builder
            .with_row_groups(vec![group.number])
            .with_projection(mask)
            .with_batch_size(BATCH);
        let mut batches = guarded(|| builder.build())
            .ok_or_else(damaged)?
            .map_err(|error| told(error.to_string()))?;
        let mut first = group.first;
        while let Some(batch) = guarded(|| batches.next()).ok_or_else(damaged)? {
            let batch = batch.map_err(|error| told(error.to_string()))?;
            if self.progress.cancelled() {
                return Err(GraphError::Cancelled);
            }
            if number > self.failed.load(Relaxed) {
                return Ok(());
            }
            let item = table.item(&batch).map_err(|fault| row_fault(&table.path, first, fault))?;
            (self.sink)(item)?;
            first += batch.num_rows() as u64;
        }
        Ok(())
    }
}

impl Table {
    fn open(
        disk: &Disk,
        path: &Path,
        find: &dyn Fn(&SchemaRef) -> std::result::Result<Role, Misfit>,
    ) -> Result<Self> {
        let (chunks, failure, stamp) = open_file(disk, path)?;
        let loaded = guarded(|| ArrowReaderMetadata::load(&chunks, ArrowReaderOptions::new()));
        let not_parquet = |why: &str| {
            fault(
                path,
                format!("this is not a whole Parquet file{why}"),
                "write or download it again, or say what it is with --format",
            )
        };
        let metadata = match loaded {
            None => return Err(not_parquet("")),
            Some(Ok(metadata)) => metadata,
            Some(Err(error)) => {
                return Err(failure.take().unwrap_or_else(|| not_parquet(&format!(" ({error})"))));
            }
        };
        let role = find(metadata.schema()).map_err(|(what, advice)| fault(path, what, advice))?;
        Ok(Self { disk: disk.clone(), path: path.to_owned(), metadata, role, stamp })
    }

    /// Opens it again; it must not have changed.
    fn reopen(&self) -> Result<(Chunks, Failure)> {
        let (chunks, failure, stamp) = open_file(&self.disk, &self.path)?;
        if stamp != self.stamp {
            let advice = "run the command again when nothing writes to it";
            return Err(fault(&self.path, "the file changed while it was being read", advice));
        }
        Ok((chunks, failure))
    }

    /// The columns that are read, ascending.
    fn columns(&self) -> Vec<usize> {
        let mut columns = match &self.role {
            Role::Edges(columns) => [Some(columns.source), Some(columns.target), columns.weight]
                .into_iter()
                .flatten()
                .collect(),
            Role::Vertices { column, .. } => vec![*column],
        };
        columns.sort_unstable();
        columns
    }

    fn item(&self, batch: &RecordBatch) -> std::result::Result<Item, RowFault> {
        let schema = self.metadata.schema();
        let read = self.columns();
        let column = |wanted: usize| {
            batch
                .column(read.iter().position(|&column| column == wanted).expect("it was asked for"))
        };
        Ok(match &self.role {
            Role::Edges(columns) => Item::Edges(columns.edges(
                schema,
                column(columns.source),
                column(columns.target),
                columns.weight.map(column),
            )?),
            Role::Vertices { column: wanted, ids } => Item::Vertices(columns::vertices(
                *ids,
                column(*wanted),
                schema.field(*wanted).name(),
            )?),
        })
    }

    /// What to say of a parser's error: the device's if it was that, else the file's.
    fn complaint(&self, failure: &Failure, error: &str) -> GraphError {
        let what = || format!("the Parquet file cannot be read ({error})");
        failure.take().unwrap_or_else(|| fault(&self.path, what(), "write or download it again"))
    }
}

fn open_file(disk: &Disk, path: &Path) -> Result<(Chunks, Failure, Stamp)> {
    let file = disk.open_buffered(path).map_err(|error| match error {
        StorageError::Io { source, .. }
            if matches!(
                source.kind(),
                io::ErrorKind::NotFound
                    | io::ErrorKind::PermissionDenied
                    | io::ErrorKind::InvalidInput
            ) =>
        {
            fault(
                path,
                format!("it cannot be opened ({source})"),
                "check the name, and who may read it",
            )
        }
        other => other.into(),
    })?;
    // By way of the descriptor, so that it is the file that was opened.
    let metadata = std::fs::metadata(format!("/proc/self/fd/{}", file.fd()))
        .or_else(|_| std::fs::metadata(path));
    let stamp = Stamp::from(&metadata.map_err(|error| StorageError::io("lookup", path, 0, error))?);
    let failure = Failure::default();
    Ok((
        Chunks { len: file.len()?, file: Arc::new(file), failure: failure.clone() },
        failure,
        stamp,
    ))
}

/// The device's error behind a parser's, which keeps only its text.
#[derive(Clone, Default)]
struct Failure(Arc<Mutex<Option<StorageError>>>);

impl Failure {
    fn take(&self) -> Option<GraphError> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take().map(GraphError::from)
    }

    fn put(&self, error: StorageError) -> io::Error {
        let text = error.to_string();
        *self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(error);
        io::Error::other(text)
    }
}

/// A file as the Parquet reader wants it.
struct Chunks {
    file: Arc<DiskFile>,
    len: u64,
    failure: Failure,
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for Chunks {
    type T = BufReader<Tail>;

    fn get_read(&self, start: u64) -> std::result::Result<Self::T, ParquetError> {
        Ok(BufReader::new(Tail {
            file: self.file.clone(),
            at: start,
            failure: self.failure.clone(),
        }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> std::result::Result<Bytes, ParquetError> {
        // What the file says of itself is not trusted with an allocation.
        if start.saturating_add(length as u64) > self.len {
            return Err(ParquetError::EOF(format!(
                "{length} bytes were expected at offset {start}, beyond the end"
            )));
        }
        let mut bytes = vec![0; length];
        self.file
            .read_at(&mut bytes, start)
            .map_err(|error| ParquetError::from(self.failure.put(error)))?;
        Ok(bytes.into())
    }
}

/// A file from some offset on.
struct Tail {
    file: Arc<DiskFile>,
    at: u64,
    failure: Failure,
}

impl Read for Tail {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read =
            self.file.read_some_at(buffer, self.at).map_err(|error| self.failure.put(error))?;
        self.at += read as u64;
        Ok(read)
    }
}
