//! How many edges lead where.

use outercore_graph::{BuildProgress, Direction, Graph, GraphError, Result};

/// Degrees read at once.
const BATCH: u64 = 1 << 18;

/// Hands the degrees of a direction to `visit`, as they are stored, many at a time: the first
/// vertex, and those of it and the vertices behind it.
pub(crate) fn for_each(
    graph: &Graph,
    direction: Direction,
    mut visit: impl FnMut(u64, &[[u8; 4]]),
) -> Result<()> {
    let table = graph.table(&format!("{}.degrees", direction.name()))?;
    let vertices = graph.connected();
    for first in (0..vertices).step_by(BATCH as usize) {
        let bytes = table.read(first * 4, (vertices - first).min(BATCH) as usize * 4)?;
        visit(first, bytes.as_chunks().0);
    }
    Ok(())
}

/// The degrees of a direction, as they are stored.
pub fn table(graph: &Graph, direction: Direction) -> Result<Vec<u32>> {
    let mut degrees = Vec::with_capacity(graph.connected() as usize);
    for_each(graph, direction, |_, batch| {
        degrees.extend(batch.iter().map(|&degree| u32::from_le_bytes(degree)));
    })?;
    Ok(degrees)
}

/// How many edges lead along a direction to each vertex: from the table of the other one, or where
/// that is not kept, from the lists.
pub fn arriving(
    graph: &Graph,
    direction: Direction,
    progress: &dyn BuildProgress,
) -> Result<Vec<u32>> {
    if let Some(rows) = graph.rows(direction.reversed()) {
        return table(graph, rows);
    }
    let mut degrees = vec![0u32; graph.connected() as usize];
    let mut rows = graph.row_reader(direction)?;
    rows.for_each(&mut |_, targets, _| {
        for &target in targets {
            let degree = degrees
                .get_mut(target as usize)
                .ok_or_else(|| stranger(graph, direction, target))?;
            *degree = degree.saturating_add(1);
        }
        progress.check()
    })?;
    Ok(degrees)
}

/// The error of a list with a vertex that there is not.
pub fn stranger(graph: &Graph, direction: Direction, vertex: u64) -> GraphError {
    let name = format!("{}.adjacency", direction.name());
    let path = graph.section(&name).map(|section| section.path().to_owned());
    GraphError::Corrupt {
        path: path.unwrap_or_else(|_| graph.path().to_owned()),
        what: format!("a list has vertex {vertex}, and there are {}", graph.connected()),
    }
}
