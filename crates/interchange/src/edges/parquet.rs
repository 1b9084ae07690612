//! Parquet files as a source of edges.
//!
//! Each thread takes the next row group of all files and reads the columns it needs, page by page.
//! Memory for each row group: a few pages of each column (1 MiB as most writers make them) and a
//! batch of rows. What that comes to is known before from the headers of the pages; row groups for
//! which there is no room wait for others, or are refused.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
};

use ::parquet::arrow::{
    ProjectionMask,
    arrow_reader::{
        ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
        ParquetRecordBatchReaderBuilder,
    },
};
use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use outercore_graph::{
    GraphError, Result,
    input::{DeclaredVertices, EdgeSource, Input, InputOptions, Progress, Sink, SourceInfo},
};
use outercore_storage::{Disk, threads};

use super::{
    columns::{self, Columns, Misfit},
    fault,
    file::{Chunks, Failure, Stamp, open_file},
    guard::guarded,
    outlet::{Outlet, RowError},
    pages::{self, Pages, Trouble},
    room::Room,
};

/// Most rows of a batch.
const BATCH: usize = 32 << 10;
/// Memory that a thread is taken to need.
const THREAD: u64 = 8 << 20;
/// Memory of a thread beside pages: batches, and what they become.
const BESIDE: u64 = 4 << 20;
/// Most bytes of the texts of a column in a batch.
const TEXTS: u64 = 1 << 20;
/// The most bytes of a footer that are read: what an edge list has is far below.
const LONGEST_FOOTER: u64 = 16 << 20;

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

    fn tables(&self) -> impl Iterator<Item = &Table> {
        self.vertices.iter().chain(&self.edges)
    }

    /// Bytes of what is known of all files.
    fn held(&self) -> u64 {
        self.tables().map(|table| table.metadata.metadata().memory_size() as u64).sum()
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

    fn is_paged(&self) -> bool {
        true
    }

    fn largest_piece(&self) -> Result<u64> {
        let mut most = 0;
        for group in &self.groups {
            let table = self.table(group);
            let (chunks, failure) = table.reopen()?;
            most = most.max(table.need(group, &chunks, &failure)?.bytes);
        }
        Ok(self.held() + most)
    }

    fn at_most(&self) -> Option<(u64, u64)> {
        let rows = |table: &Table| table.metadata.metadata().file_metadata().num_rows();
        let rows = self.tables().map(|table| u64::try_from(rows(table)).unwrap_or(0)).sum::<u64>();
        Some((rows, 2 * rows))
    }

    fn read(
        &self,
        threads: usize,
        memory: usize,
        progress: &dyn Progress,
        sink: Sink<'_>,
    ) -> Result<()> {
        let held = self.held();
        let work = Work {
            source: self,
            room: Room::new(memory as u64, held),
            next: AtomicUsize::new(0),
            failed: AtomicU64::new(u64::MAX),
            error: Mutex::new(None),
            progress,
            sink,
        };
        let most = (memory as u64 / THREAD).clamp(1, threads.max(1) as u64) as usize;
        let threads = most.min(self.groups.len().max(1));
        std::thread::scope(|scope| {
            // Fewer threads than that do it too.
            (1..threads).for_each(|_| drop(threads::start(scope, || work.run())));
            work.run();
        });
        let error = work.error.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((_, error)) = error {
            return Err(error);
        }
        self.tables().try_for_each(|table| table.reopen().map(drop))
    }
}

/// Row groups being read by several threads.
struct Work<'a> {
    source: &'a ParquetEdges,
    room: Room,
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
        let need = table.need(group, &chunks, &failure)?;
        let _room = self.room.take(need.bytes).map_err(|needed| GraphError::Memory {
            needed,
            budget: self.room.bytes(),
            what: format!(
                "reading {}, whose pages have up to {} bytes",
                table.path.display(),
                need.largest_page
            ),
        })?;
        let told = |error: String| table.complaint(&failure, &error);
        let mut batches = table.batches(chunks, group, need.rows, &failure)?;
        let mut out = Outlet::new(self.sink);
        let mut first = group.first;
        while let Some(batch) = guarded(|| batches.next()).ok_or_else(|| table.damaged())? {
            let batch = batch.map_err(|error| told(error.to_string()))?;
            if self.progress.cancelled() {
                return Err(GraphError::Cancelled);
            }
            if number > self.failed.load(Relaxed) {
                return Ok(());
            }
            let sent = table.send(&batch, &mut out);
            sent.map_err(|error| error.at(&table.path, first))?;
            first += batch.num_rows() as u64;
        }
        out.flush()
    }
}

/// What it takes to read a row group.
struct Need {
    /// Bytes of memory.
    bytes: u64,
    /// Rows of a batch.
    rows: usize,
    /// Bytes of the largest page.
    largest_page: u64,
}

impl Table {
    fn open(
        disk: &Disk,
        path: &Path,
        find: &dyn Fn(&SchemaRef) -> std::result::Result<Role, Misfit>,
    ) -> Result<Self> {
        let (chunks, failure, stamp) = open_file(disk, path)?;
        check_footer(path, &chunks, &failure)?;
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
        let mut table = Self { disk: disk.clone(), path: path.to_owned(), metadata, role, stamp };
        table.view_texts().ok_or_else(|| table.damaged())?;
        Ok(table)
    }

    /// Has texts read as views into their pages: what a dictionary has once is not copied for each
    /// row.
    fn view_texts(&mut self) -> Option<()> {
        let schema = self.metadata.schema();
        let read = self.columns();
        let fields = schema.fields().iter().enumerate().map(|(column, field)| {
            match columns::view_of(field).filter(|_| read.contains(&column)) {
                Some(view) => Arc::new(field.as_ref().clone().with_data_type(view)),
                None => field.clone(),
            }
        });
        let viewed =
            Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone());
        let options = ArrowReaderOptions::new().with_schema(Arc::new(viewed));
        let metadata = self.metadata.metadata().clone();
        self.metadata = guarded(|| ArrowReaderMetadata::try_new(metadata, options))?.ok()?;
        Some(())
    }

    /// What it takes to read a row group, by the headers of its pages.
    fn need(&self, group: &Group, chunks: &Chunks, failure: &Failure) -> Result<Need> {
        let read = self.columns();
        let mut need = Need { bytes: BESIDE, rows: BATCH, largest_page: 0 };
        let mut stored = 0;
        for column in self.metadata.metadata().row_group(group.number).columns() {
            let root = root_of(self, column.column_path().parts());
            if !read.contains(&root) {
                continue;
            }
            let is_text = columns::view_of(self.metadata.schema().field(root)).is_some();
            let range = guarded(|| column.byte_range()).ok_or_else(|| self.damaged())?;
            let pages = Pages::survey(range, is_text, |at, buffer| chunks.read_at(at, buffer));
            let pages = pages.map_err(|trouble| match trouble {
                Trouble::Damaged(what) => self.complaint(failure, &what),
                Trouble::Device(error) => self.complaint(failure, &error.to_string()),
            })?;
            // While a page is decompressed, there is the one before.
            need.bytes += pages.dictionary + 2 * pages.largest;
            if is_text {
                let rows = TEXTS / pages.value.max(1);
                need.rows = need.rows.min(rows.max(1) as usize);
                need.bytes += TEXTS.max(pages.value);
            }
            stored = stored.max(pages.stored);
            need.largest_page = need.largest_page.max(pages.largest).max(pages.dictionary);
        }
        need.bytes += stored;
        Ok(need)
    }

    /// Reads a row group in batches of so many rows.
    fn batches(
        &self,
        chunks: Chunks,
        group: &Group,
        rows: usize,
        failure: &Failure,
    ) -> Result<ParquetRecordBatchReader> {
        let mask = ProjectionMask::roots(self.metadata.parquet_schema(), self.columns());
        let builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(chunks, self.metadata.clone())
                .with_row_groups(vec![group.number])
                .with_projection(mask)
                .with_batch_size(rows);
        guarded(|| builder.build())
            .ok_or_else(|| self.damaged())?
            .map_err(|error| self.complaint(failure, &error.to_string()))
    }

    fn damaged(&self) -> GraphError {
        fault(&self.path, "the Parquet file is damaged", "write or download it again")
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

    /// Adds a batch to what goes to the sink.
    fn send(&self, batch: &RecordBatch, out: &mut Outlet) -> std::result::Result<(), RowError> {
        let schema = self.metadata.schema();
        let read = self.columns();
        let column = |wanted: usize| {
            batch
                .column(read.iter().position(|&column| column == wanted).expect("it was asked for"))
        };
        match &self.role {
            Role::Edges(columns) => {
                let ends = [column(columns.source), column(columns.target)];
                columns.edges(schema, ends, columns.weight.map(column), out)
            }
            Role::Vertices { column: wanted, ids } => {
                columns::vertices(*ids, column(*wanted), schema.field(*wanted).name(), out)
            }
        }
    }

    /// What to say of a parser's error: the device's if it was that, else the file's.
    fn complaint(&self, failure: &Failure, error: &str) -> GraphError {
        let what = || format!("the Parquet file cannot be read ({error})");
        failure.take().unwrap_or_else(|| fault(&self.path, what(), "write or download it again"))
    }
}

/// Refuses a footer that is too long, or claims lists that are longer than it.
fn check_footer(path: &Path, chunks: &Chunks, failure: &Failure) -> Result<()> {
    let mut end = [0; 8];
    let read = |at: u64, buffer: &mut [u8]| {
        chunks
            .read_at(at, buffer)
            .map_err(|error| failure.take().unwrap_or_else(|| fault(path, error.to_string(), "")))
    };
    let Some(at) = chunks.bytes().checked_sub(8) else { return Ok(()) };
    read(at, &mut end)?;
    let len = u64::from(u32::from_le_bytes([end[0], end[1], end[2], end[3]]));
    // Other ends, and footers that begin before the file does, are the reader's to refuse.
    let Some(begin) = at.checked_sub(len).filter(|_| end[4..] == *b"PAR1") else { return Ok(()) };
    if len > LONGEST_FOOTER {
        let what = format!(
            "its description of itself has {len} bytes, and the most that are read are \
             {LONGEST_FOOTER}"
        );
        return Err(fault(path, what, "write it again with fewer columns, or larger row groups"));
    }
    let mut footer = vec![0; len as usize];
    let filled = read(begin, &mut footer)?;
    if filled < footer.len() || !pages::footer_is_sound(&footer) {
        let what = "this is not a whole Parquet file (its footer is damaged)";
        let advice = "write or download it again, or say what it is with --format";
        return Err(fault(path, what, advice));
    }
    Ok(())
}
