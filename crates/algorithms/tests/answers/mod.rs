//! A whole run as its user sees it: open, run, read the result by original id. For tests that
//! disturb it.

// Each test file is a program of its own and few need everything.
#![allow(dead_code)]

#[path = "../../../graph/tests/support/mod.rs"]
pub mod building;

use std::collections::BTreeMap;
use std::path::Path;

use outercore_algorithms::{Request, Source, by_name};
use outercore_engine::{Cell, EngineError, RunConfig};
use outercore_graph::{Graph, Key};
use outercore_storage::Disk;

use building::Ids;

/// The answer by original id: every column of every vertex, as bits. A value that is a vertex is an
/// original id itself.
pub type Answer = BTreeMap<String, Vec<String>>;

/// The parameters of an algorithm on a graph of [`building::text`].
pub fn request(name: &str, ids: Ids) -> Request {
    let key = |vertex: u64| match ids {
        Ids::Dense => Key::Number(vertex),
        Ids::Sparse => Key::Number((vertex + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        Ids::Names => Key::Name(format!("name-{:x}", vertex.wrapping_mul(0x9e37_79b1))),
    };
    match name {
        "bfs" | "sssp" => Request { source: Some(Source::Key(key(0))), ..Request::default() },
        "betweenness" => Request { sources: vec![Source::Key(key(1))], ..Request::default() },
        "multi-source" => Request {
            sources: vec![Source::Key(key(1)), Source::Key(key(2))],
            ..Request::default()
        },
        "pagerank" | "label-propagation" => Request { iterations: Some(3), ..Request::default() },
        _ => Request::default(),
    }
}

/// Opens, runs, reads.
pub fn answer(
    disk: &Disk,
    path: &Path,
    name: &str,
    ids: Ids,
    config: &RunConfig,
) -> Result<Answer, EngineError> {
    let graph = Graph::open(disk, path)?;
    let outcome =
        by_name(name, &request(name, ids))?.run(&graph, config, &outercore_engine::Silent)?;
    let columns = outcome
        .columns
        .into_iter()
        .map(|column| column.into_memory())
        .collect::<Result<Vec<_>, _>>()?;
    let mut answer = Answer::new();
    let mut shown = BTreeMap::new();
    graph.for_each_key(2000, &mut |keys, vertices| {
        (0..keys.len())
            .for_each(|index| drop(shown.insert(vertices[index], keys.get(index).to_string())));
        Ok(())
    })?;
    for (&vertex, key) in &shown {
        let values = columns.iter().map(|column| match column.get(vertex) {
            Cell::Integer(id) if column.meaning == outercore_engine::Meaning::Vertex => {
                shown.get(&id).cloned().unwrap_or_else(|| format!("no vertex {id}"))
            }
            Cell::Float(value) => format!("{:x}", value.to_bits()),
            cell => format!("{cell:?}"),
        });
        answer.insert(key.clone(), values.collect());
    }
    Ok(answer)
}
