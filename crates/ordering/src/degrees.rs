//! How many edges lead where.

use outercore_graph::{Direction, Graph, GraphError, Result};

use crate::Finder;

/// Degrees read at once.
const BATCH: u64 = 1 << 18;

impl Finder<'_> {
    /// How many edges lead to each connected vertex; in an undirected graph, how many it has.
    pub fn in_degrees(&self) -> Result<Vec<u32>> {
        match self.graph.rows(Direction::In) {
            Some(rows) => table(self.graph, rows),
            None => self.counted(),
        }
    }

    /// How many edges each connected vertex has in both directions together.
    pub fn degrees(&self) -> Result<Vec<u32>> {
        let mut degrees = self.in_degrees()?;
        if self.graph.directed() {
            let outgoing = table(self.graph, Direction::Out)?;
            let sum = |(degree, out): (&mut u32, u32)| *degree = degree.saturating_add(out);
            degrees.iter_mut().zip(outgoing).for_each(sum);
        }
        Ok(degrees)
    }

    /// The same where incoming edges are not kept: from the outgoing lists.
    fn counted(&self) -> Result<Vec<u32>> {
        let mut degrees = vec![0u32; self.graph.connected() as usize];
        let mut rows = self.graph.row_reader(Direction::Out)?;
        rows.for_each(&mut |_, targets, _| {
            for &target in targets {
                let degree = degrees
                    .get_mut(target as usize)
                    .ok_or_else(|| stranger(self.graph, Direction::Out, target))?;
                *degree = degree.saturating_add(1);
            }
            self.progress.check()
        })?;
        Ok(degrees)
    }
}

/// The degrees of a direction, as they are stored.
pub fn table(graph: &Graph, direction: Direction) -> Result<Vec<u32>> {
    let table = graph.table(&format!("{}.degrees", direction.name()))?;
    let vertices = graph.connected();
    let mut degrees = Vec::with_capacity(vertices as usize);
    for first in (0..vertices).step_by(BATCH as usize) {
        let bytes = table.read(first * 4, (vertices - first).min(BATCH) as usize * 4)?;
        degrees.extend(bytes.as_chunks().0.iter().map(|&degree| u32::from_le_bytes(degree)));
    }
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
