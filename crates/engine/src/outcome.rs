//! From a finished run to its [`Outcome`]: the summary, the columns, and the report.

use std::{collections::BTreeMap, sync::atomic::Ordering::Relaxed};

use outercore_graph::{Graph, Key, Result};
use outercore_storage::lock;

use crate::{
    report::{Figure, Planned, RunReport},
    session::Session,
    state::Column,
    top::top_rows,
};

/// The result of a run.
pub struct Outcome {
    /// What it did.
    pub report: RunReport,
    /// Per-vertex results; the first is the algorithm's main value.
    pub columns: Vec<Column>,
    /// Whether the largest values of the first column are worth showing.
    pub ranked: bool,
}

/// The results of a run while they are put together.
pub struct Results<'s> {
    session: &'s Session<'s>,
    graph: &'s Graph,
    iterations: u64,
    summary: BTreeMap<&'static str, Figure>,
    columns: Vec<Column>,
    ranked: bool,
}

impl Session<'_> {
    /// The results of a run of so many iterations.
    pub fn results(&self, iterations: u64) -> Results<'_> {
        Results {
            session: self,
            graph: self.graph,
            iterations,
            summary: BTreeMap::new(),
            columns: Vec::new(),
            ranked: false,
        }
    }
}

impl<'s> Results<'s> {
    /// They are those of this graph, of which the run had a view with the same ids.
    pub fn on(self, graph: &'s Graph) -> Self {
        Self { graph, ..self }
    }

    /// Adds a figure to the summary.
    pub fn figure(mut self, name: &'static str, figure: impl Into<Figure>) -> Self {
        self.summary.insert(name, figure.into());
        self
    }

    /// Adds a value for each vertex.
    pub fn column(mut self, column: Column) -> Self {
        self.columns.push(column);
        self
    }

    /// The first column's largest values are worth showing; `count` of them go into the summary.
    pub fn ranked(mut self, count: usize) -> Result<Self> {
        self.ranked = true;
        if count == 0 {
            return Ok(self);
        }
        let top = Figure::Top(top_rows(self.graph, &self.columns[0], count)?);
        Ok(self.figure("top", top))
    }

    /// The outcome.
    pub fn outcome(self) -> Outcome {
        let Self { session, graph, iterations, summary, columns, ranked } = self;
        let plan = session.plan.as_ref().expect("a run is planned");
        let (moved, counters) = (session.disk.counters(), &session.counters);
        let read = session.bytes_read();
        let useful = counters.useful_bytes.load(Relaxed) + moved.bytes_wanted.load(Relaxed);
        let useful = useful.min(read);
        let name = graph.path().file_name();
        let report = RunReport {
            schema: 1,
            algorithm: plan.algorithm,
            graph: name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            vertices: graph.vertices(),
            edges: graph.edges(),
            memory_budget_bytes: session.config.memory,
            peak_rss_bytes: outercore_storage::memory::peak_rss_bytes(),
            memory_model: plan.memory_model,
            io_backend: session.backend,
            huge_pages: session.huge,
            threads: session.workers.count(),
            seconds: session.seconds(),
            load_seconds: session.load_seconds(),
            iterations,
            bytes_read: read,
            bytes_written: moved.bytes_written.load(Relaxed),
            peak_disk_bytes: moved.peak_scratch_bytes.load(Relaxed),
            useful_bytes_read: useful,
            io_utility: if read == 0 { 1.0 } else { useful as f64 / read as f64 },
            requests: moved.read_requests.load(Relaxed),
            io: session.io_report(),
            edges_processed: session.workers.total_work(),
            cache: session.cache(),
            visitors: lock(&session.visitors).take(),
            method: plan.method.clone(),
            techniques: session.techniques(plan),
            summary,
            planned: Planned::of(plan),
            per_iteration: session.take_iterations(),
        };
        Outcome { report, columns, ranked }
    }
}

macro_rules! figure {
    ($($type:ty => $variant:ident),*) => {
        $(impl From<$type> for Figure {
            fn from(value: $type) -> Self {
                Figure::$variant(value)
            }
        })*
    };
}
figure!(u64 => Integer, f64 => Float, bool => Bool, Key => Key);
