//! [`ArrowEdges`]: the record batches of a running program as a source of edges.
//!
//! The batches stay where the producer made them; slices of 64 Ki rows are turned into edges on
//! several threads.

use std::{
    path::Path,
    sync::{Mutex, MutexGuard},
};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use outercore_graph::{
    GraphError, Result,
    error::refuse,
    input::{EdgeSource, InputOptions, Progress, Sink, SourceInfo},
};
use outercore_storage::threads;

use super::{
    columns::{Columns, Misfit},
    fault,
    outlet::Outlet,
};

/// Rows of a slice.
const SLICE: usize = 64 << 10;
/// What errors name instead of a file.
const NAME: &str = "Arrow stream";

/// Edges that come as record batches with columns src, dst and perhaps weight. They can be read
/// once.
pub struct ArrowEdges {
    info: SourceInfo,
    columns: Columns,
    schema: SchemaRef,
    stream: Mutex<Stream>,
}

struct Stream {
    /// `None` once it has been read.
    batches: Option<Box<dyn RecordBatchReader + Send>>,
    current: Option<RecordBatch>,
    /// Rows of `current` that were handed out.
    taken: usize,
    /// Rows handed out in all.
    rows: u64,
}

impl ArrowEdges {
    /// Edges from `batches`. Of the options, ids, weights and direction count.
    pub fn new(batches: Box<dyn RecordBatchReader + Send>, options: &InputOptions) -> Result<Self> {
        if !options.vertices.is_empty() {
            return refuse("vertex files cannot be given with an Arrow stream");
        }
        let schema = batches.schema();
        let columns = Columns::find(&schema, options).map_err(misfit)?;
        let info = SourceInfo {
            format: "arrow",
            description: format!("Arrow stream, {}", columns.describe(&schema)),
            directed: options.directed,
            ids: columns.ids,
            weights: columns.weight_kind(),
            bytes: None,
            declared_vertices: None,
        };
        Ok(Self {
            info,
            columns,
            schema,
            stream: Mutex::new(Stream { batches: Some(batches), current: None, taken: 0, rows: 0 }),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Stream> {
        self.stream.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The next slice and the number of its first row. Slices are handed out in order.
    fn next(&self) -> Result<Option<(RecordBatch, u64)>> {
        let mut stream = self.lock();
        loop {
            if let Some(batch) = &stream.current
                && stream.taken < batch.num_rows()
            {
                let count = SLICE.min(batch.num_rows() - stream.taken);
                let (slice, first) = (batch.slice(stream.taken, count), stream.rows);
                stream.taken += count;
                stream.rows += count as u64;
                return Ok(Some((slice, first)));
            }
            stream.current = None;
            stream.taken = 0;
            match stream.batches.as_mut().and_then(|batches| batches.next()) {
                None => return Ok(None),
                Some(Ok(batch)) => stream.current = Some(batch),
                Some(Err(error)) => {
                    return Err(fault(
                        Path::new(NAME),
                        format!("its producer failed: {error}"),
                        "",
                    ));
                }
            }
        }
    }

    fn batch(&self, batch: &RecordBatch, first: u64, sink: Sink<'_>) -> Result<()> {
        let mut out = Outlet::new(sink);
        let Columns { source, target, weight, .. } = self.columns;
        let ends = [batch.column(source), batch.column(target)];
        let weight = weight.map(|weight| batch.column(weight));
        self.columns
            .edges(&self.schema, ends, weight, &mut out)
            .map_err(|error| error.at(Path::new(NAME), first))?;
        out.flush()
    }

    /// One thread's share. The first error by row ends it: slices before it have been handed out
    /// already and are finished.
    fn work(
        &self,
        progress: &dyn Progress,
        sink: Sink<'_>,
        error: &Mutex<Option<(u64, GraphError)>>,
    ) {
        let failed = |row: u64, found: GraphError| {
            let mut error = error.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if error.as_ref().is_none_or(|(earliest, _)| row < *earliest) {
                *error = Some((row, found));
            }
        };
        while error.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).is_none() {
            if progress.cancelled() {
                return failed(u64::MAX - 1, GraphError::Cancelled);
            }
            match self.next() {
                Ok(None) => return,
                Err(found) => return failed(u64::MAX, found),
                Ok(Some((batch, first))) => match self.batch(&batch, first, sink) {
                    Ok(()) => progress.advance(batch.num_rows() as u64),
                    Err(found) => return failed(first, found),
                },
            }
        }
    }
}

impl EdgeSource for ArrowEdges {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn read(
        &self,
        threads: usize,
        _memory: usize,
        progress: &dyn Progress,
        sink: Sink<'_>,
    ) -> Result<()> {
        if self.lock().batches.is_none() {
            return refuse("an Arrow stream can be read once only");
        }
        let error = Mutex::new(None);
        std::thread::scope(|scope| {
            // Fewer threads than that do it too.
            (1..threads)
                .for_each(|_| drop(threads::start(scope, || self.work(progress, sink, &error))));
            self.work(progress, sink, &error);
        });
        let mut stream = self.lock();
        (stream.batches, stream.current) = (None, None);
        match error.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
            Some((_, error)) => Err(error),
            None if stream.rows == 0 => {
                Err(fault(Path::new(NAME), "there is no edge in it: it has no rows", ""))
            }
            None => Ok(()),
        }
    }
}

fn misfit((what, advice): Misfit) -> GraphError {
    fault(Path::new(NAME), what, advice)
}
