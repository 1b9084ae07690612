//! Matrix Market: a square matrix with an entry for each edge, rows and columns counted from 1.
//!
//! Where the graph's ids are 1, 2, ... they are the indices; other ids are numbered from 1 in
//! ascending order, and a comment says so. An undirected graph is a symmetric matrix, of which the
//! format wants the lower triangle.

use std::{io::Write, path::Path};

use outercore_graph::{Graph, Result, WeightKind, format::IdTable};

use super::{BATCH, EdgeRows, put_weight};
use crate::{
    WriteOptions,
    keys::RankLookup,
    publish::{Publication, write_error},
    result::csv::put_integer,
};

/// Writes the file; returns the number of edges.
pub(super) fn write(path: &Path, graph: &Graph, options: &WriteOptions<'_>) -> Result<u64> {
    let mut file = Publication::begin(graph.disk(), path)?;
    let kind = graph.weights();
    let mut text = header(graph);
    // The number of entries comes before the entries: it is written into its place at the end.
    let place = text.len() as u64;
    text.extend_from_slice(format!("{:>20}\n", 0).as_bytes());
    let mut lookup = RankLookup::new(graph, options.memory)?;
    let mut edges = 0;
    graph.for_each_edge(BATCH, &mut |rows: &EdgeRows| {
        let sources = lookup.ranks(&rows.sources)?;
        let targets = lookup.ranks(&rows.targets)?;
        for (row, (&source, &target)) in sources.iter().zip(&targets).enumerate() {
            let (source, target) = if graph.directed() {
                (source, target)
            } else {
                (source.max(target), source.min(target))
            };
            put_integer(&mut text, source + 1);
            text.push(b' ');
            put_integer(&mut text, target + 1);
            if let Some(&weight) = rows.weights.get(row) {
                text.push(b' ');
                put_weight(&mut text, weight, kind);
            }
            text.push(b'\n');
        }
        file.write_all(&text).map_err(|error| write_error(path, error))?;
        text.clear();
        edges += sources.len() as u64;
        options.step(sources.len())
    })?;
    file.write_all(&text).map_err(|error| write_error(path, error))?;
    file.patch(format!("{edges:>20}").as_bytes(), place)?;
    file.publish()?;
    Ok(edges)
}

/// The banner, the comment and the two sizes that are known.
fn header(graph: &Graph) -> Vec<u8> {
    let field = match graph.weights() {
        WeightKind::None => "pattern",
        WeightKind::U32 => "integer",
        WeightKind::F32 | WeightKind::F64 => "real",
    };
    let symmetry = if graph.directed() { "general" } else { "symmetric" };
    let mut text = format!("%%MatrixMarket matrix coordinate {field} {symmetry}\n");
    match graph.manifest().ids {
        IdTable::Range { first: 1 } => {}
        IdTable::Range { first: 0 } => text.push_str("% index i stands for id i - 1\n"),
        IdTable::Range { first } => {
            text.push_str(&format!("% index i stands for id i + {}\n", first - 1))
        }
        IdTable::Numbers | IdTable::Names => {
            text.push_str("% index i stands for the graph's i-th id in ascending order\n")
        }
    }
    text.push_str(&format!("{0} {0} ", graph.vertices()));
    text.into_bytes()
}
