//! From a finished run to its [`Outcome`]: the part of a report that every algorithm shares, start
//! vertices, and the best rows.

use std::{collections::BTreeMap, sync::atomic::Ordering::Relaxed};

use outercore_engine::{
    Cell, Column, EngineError, Figure, Outcome, Plan, Result, RunReport, TopRow, edges::rows::Rows,
    report::Planned, session::Session,
};
use outercore_graph::{Direction, Graph};

use crate::algorithm::Source;

/// A summary while it is filled.
pub type Summary = BTreeMap<&'static str, Figure>;

/// What a run did beside its answer.
pub struct Done<'s> {
    /// The session.
    pub session: &'s Session<'s>,
    /// The plan that ran.
    pub plan: &'s Plan,
    /// Iterations.
    pub iterations: u64,
    /// Seconds of loading.
    pub load_seconds: f64,
}

/// The share of the bytes that were read that were wanted.
pub fn utility(read: u64, useful: u64) -> f64 {
    if read == 0 { 1.0 } else { useful.min(read) as f64 / read as f64 }
}

/// Puts an outcome together.
pub fn outcome(done: &Done, summary: Summary, columns: Vec<Column>, ranked: bool) -> Outcome {
    let session = done.session;
    let counters = &session.counters;
    let disk = session.disk().counters();
    let (read, useful) = (disk.bytes_read.load(Relaxed), counters.useful_bytes.load(Relaxed));
    let report = RunReport {
        schema: 1,
        algorithm: done.plan.algorithm,
        graph: session
            .graph
            .path()
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default(),
        vertices: session.graph.vertices(),
        edges: session.graph.edges(),
        memory_budget_bytes: session.config.memory,
        peak_rss_bytes: outercore_storage::memory::peak_rss_bytes(),
        memory_model: done.plan.memory_model,
        io_backend: session.backend(),
        huge_pages: session.huge_buffers(),
        threads: session.workers.count(),
        seconds: session.seconds(),
        load_seconds: done.load_seconds,
        iterations: done.iterations,
        bytes_read: read,
        bytes_written: disk.bytes_written.load(Relaxed),
        useful_bytes_read: useful.min(read),
        io_utility: utility(read, useful),
        requests: disk.read_requests.load(Relaxed),
        io: session.io_report(),
        edges_processed: counters.edges.load(Relaxed),
        cache: session.cache(),
        summary,
        planned: Planned::of(done.plan),
        per_iteration: session.take_iterations(),
    };
    Outcome { report, columns, ranked }
}

/// The internal id of a start vertex.
pub fn locate(graph: &Graph, source: &Source) -> Result<u64> {
    match source {
        Source::Key(key) => graph.find(key)?.ok_or_else(|| {
            EngineError::Usage(format!("there is no vertex {key} in {}", graph.path().display()))
        }),
        Source::MaxDegree if graph.connected() > 0 => Ok(graph.manifest().max_out_degree.1),
        Source::Random(seed) if graph.connected() > 0 => {
            let mixed = (seed ^ (seed >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            Ok((mixed ^ (mixed >> 29)) % graph.connected())
        }
        _ => Err(EngineError::Usage(
            "the graph has no edges, and so no such start vertex".to_owned(),
        )),
    }
}

/// Refuses graphs whose vertices do not fit the 32-bit state that the traversals keep.
pub fn fits_32_bits(graph: &Graph, name: &str) -> Result<()> {
    if graph.connected() >= u64::from(u32::MAX) - 1 {
        return Err(EngineError::Usage(format!(
            "{name} holds at most 4294967293 connected vertices in this version, and the graph \
             has {}",
            graph.connected()
        )));
    }
    Ok(())
}

/// The `count` largest values of a column, ties by internal id.
pub fn top(graph: &Graph, column: &Column, count: usize) -> Result<Figure> {
    let mut best: Vec<(f64, u64)> = Vec::with_capacity(count + 1);
    column.for_each(|vertex, cell| {
        let value = match cell {
            Cell::Float(value) => value,
            Cell::Integer(value) => value as f64,
            Cell::Null => return,
        };
        if best.len() == count && best.last().is_none_or(|&(worst, _)| value <= worst) {
            return;
        }
        let at = best.partition_point(|&(other, _)| other >= value);
        best.insert(at, (value, vertex));
        best.truncate(count);
    })?;
    let rows: Result<Vec<TopRow>> =
        best.into_iter().map(|(value, vertex)| Ok(TopRow(graph.key_of(vertex)?, value))).collect();
    Ok(Figure::Top(rows?))
}

/// The sections of the rows in `direction`, which must exist.
pub fn row_sections(graph: &Graph, direction: Direction, weights: bool) -> Result<Vec<String>> {
    let rows = graph.rows(direction).ok_or_else(|| {
        EngineError::Usage(
            "this needs the incoming edges, and the graph was built with --transpose off; build \
             it again without"
                .to_owned(),
        )
    })?;
    Ok(Rows::sections(rows, weights))
}

/// Opens a session over sections named by owned strings.
pub fn open<'a>(
    graph: &'a Graph,
    config: &'a outercore_engine::RunConfig,
    progress: &'a dyn outercore_engine::RunProgress,
    names: &[String],
) -> Result<(Session<'a>, Vec<outercore_engine::session::OpenSection>)> {
    Session::open(graph, config, progress, &names.iter().map(String::as_str).collect::<Vec<_>>())
}
