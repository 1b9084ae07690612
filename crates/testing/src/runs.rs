//! Runs of whole algorithms, and their results by original id or by internal one.

use std::collections::BTreeMap;
use std::path::Path;

use outercore_algorithms::{Algorithm, Request, Source, by_name};
use outercore_engine::{
    Cell, Column, Figure, Meaning, MemoryModel, Outcome, Preset, Resources, RunConfig, RunProgress,
    RunSettings, Silent,
};
use outercore_graph::{Graph, GraphError};
use outercore_storage::{Disk, HugePages};

use crate::{Answer, Built, Value};

/// Every memory model.
pub const MODELS: [MemoryModel; 3] =
    [MemoryModel::InMemory, MemoryModel::SemiExternal, MemoryModel::FullyExternal];

/// A configuration for small graphs: a modest budget, no huge pages (which would cost more than the
/// runs).
pub fn config() -> RunConfig {
    RunConfig { memory: 192 << 20, threads: 2, huge_pages: HugePages::Off, ..RunConfig::default() }
}

/// The same for fully-external runs.
pub fn external() -> RunConfig {
    RunConfig { model: Some(MemoryModel::FullyExternal), ..config() }
}

/// The same with a preset.
pub fn external_as(preset: Preset) -> RunConfig {
    let settings = RunSettings { preset: Some(preset), ..RunSettings::default() };
    let RunConfig { memory, threads, model, huge_pages, .. } = external();
    RunConfig { memory, threads, model, huge_pages, ..settings.config(&Resources::default()) }
}

/// The parameters of an algorithm: where it starts, if it starts somewhere, and few iterations.
pub fn request(name: &str, sources: &[Source]) -> Request {
    let default = Request::default();
    match name {
        "bfs" | "sssp" => Request { source: sources.first().cloned(), ..default },
        "betweenness" | "multi-source" => Request { sources: sources.to_vec(), ..default },
        "pagerank" | "label-propagation" => Request { iterations: Some(5), ..default },
        _ => default,
    }
}

/// The same less the switches that cannot act in such a run, which would be refused.
pub fn acting(algorithm: &dyn Algorithm, graph: &Graph, config: &RunConfig) -> RunConfig {
    let (mut config, usual) = (config.clone(), RunConfig::default());
    while let Err(GraphError::Usage(error)) = algorithm.plan(graph, &config) {
        let Some((switch, _)) = error.split_once(" cannot act") else { break };
        match switch.split(' ').next() {
            Some("--read") => config.read = usual.read,
            Some("--cross-iteration") => config.cross_iteration = usual.cross_iteration,
            Some("--sub-blocks") => config.sub_blocks = usual.sub_blocks,
            Some("--max-gap") => config.max_gap = None,
            Some("--max-request") => config.max_request = None,
            _ => break,
        }
    }
    config
}

/// Runs an algorithm by its name.
pub fn run(graph: &Graph, name: &str, request: &Request, config: &RunConfig) -> Outcome {
    let algorithm = by_name(name, request).unwrap_or_else(|error| panic!("{name}: {error}"));
    algorithm.run(graph, config, &Silent).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The smallest budget that works.
pub fn smallest(graph: &Graph, name: &str, request: &Request, config: &RunConfig) -> u64 {
    let plan = by_name(name, request).and_then(|algorithm| algorithm.plan(graph, config));
    plan.unwrap_or_else(|error| panic!("{name}: {error}")).smallest_budget_bytes
}

impl From<Cell> for Value {
    fn from(cell: Cell) -> Self {
        match cell {
            Cell::Null => Value::Absent,
            Cell::Integer(value) => Value::Whole(value),
            Cell::Float(value) => Value::Real(value),
        }
    }
}

/// Every column by internal id, read in order and, some of it, by vertex: both give the same.
pub fn values(outcome: &Outcome) -> Vec<Vec<Value>> {
    outcome.columns.iter().map(column).collect()
}

fn column(column: &Column) -> Vec<Value> {
    let mut values = Vec::new();
    column
        .for_each(|vertex, cell| {
            assert_eq!(vertex as usize, values.len());
            values.push(Value::from(cell));
        })
        .expect("a column");
    let vertices: Vec<u64> = (0..values.len() as u64).rev().step_by(3).collect();
    let gathered = column.gather(&vertices).expect("a column");
    for (&vertex, cell) in vertices.iter().zip(gathered) {
        assert_eq!(values[vertex as usize].bits(), Value::from(cell).bits(), "vertex {vertex}");
    }
    values
}

/// The outcome in the vertices of the list that was built.
pub fn answer(built: &Built, outcome: &Outcome) -> Answer {
    let value = |meaning, cell| match cell {
        Cell::Integer(id) if meaning == Meaning::Vertex => {
            Value::Whole(built.vertex[id as usize].into())
        }
        cell => Value::from(cell),
    };
    let column = |column: &Column| {
        let cells = column.gather(&built.internal).expect("a column");
        cells.into_iter().map(|cell| value(column.meaning, cell)).collect()
    };
    let figure = |(&name, figure): (&&str, &Figure)| {
        let value = match figure {
            Figure::Integer(value) => Value::Whole(*value),
            Figure::Float(value) => Value::Real(*value),
            Figure::Bool(flag) => Value::Flag(*flag),
            _ => return None,
        };
        Some((name.to_owned(), value))
    };
    Answer {
        columns: outcome.columns.iter().map(column).collect(),
        summary: outcome.report.summary.iter().filter_map(figure).collect(),
    }
}

/// A whole run as its user sees it: opens the graph, runs, reads the result. Every column of every
/// vertex by original id, as text that tells all bits; a value that is a vertex is an original id
/// itself.
pub fn run_opened(
    disk: &Disk,
    path: &Path,
    name: &str,
    request: &Request,
    (config, progress): (&RunConfig, &dyn RunProgress),
) -> Result<BTreeMap<String, Vec<String>>, GraphError> {
    let graph = Graph::open(disk, path)?;
    let outcome = by_name(name, request)?.run(&graph, config, progress)?;
    let mut columns = Vec::new();
    for column in outcome.columns {
        columns.push(column.into_memory()?);
    }
    let mut keys = BTreeMap::new();
    graph.for_each_key(2000, &mut |batch, vertices| {
        let named = vertices.iter().enumerate();
        keys.extend(named.map(|(index, &vertex)| (vertex, batch.get(index).to_string())));
        Ok(())
    })?;
    let shown = |column: &Column, vertex| match column.get(vertex) {
        Cell::Integer(id) if column.meaning == Meaning::Vertex => {
            keys.get(&id).cloned().unwrap_or_else(|| format!("no vertex {id}"))
        }
        Cell::Float(value) => format!("{:x}", value.to_bits()),
        cell => format!("{cell:?}"),
    };
    let row = |vertex| columns.iter().map(|column| shown(column, vertex)).collect();
    Ok(keys.iter().map(|(&vertex, key)| (key.clone(), row(vertex))).collect())
}
