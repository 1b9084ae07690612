//! Building the undirected simple view of a graph. Its vertices keep their numbers, so nothing is
//! ranked and no map of ids is in memory, and edges are not spooled: they are read from the graph
//! when they go to their buckets. Memory beside buffers is blocks for the buckets. Where it has no
//! room for blocks of as many buckets as workers could sort, buckets are larger, and are sorted on
//! scratch.

use super::{
    BuildOptions, BuildProgress, Builder, Shape,
    access::SourceAccess,
    buckets::Buckets,
    by_rank::ByRank,
    make,
    numbering::{Numbered, most_vertices, sortable},
    partition::block_bytes,
    rankfile::RankFile,
    smallest::{Division, SMALLEST_BUDGET, smallest_above},
    weights::WeightCode,
};
use crate::{
    error::Result,
    format::{IdTable, Manifest},
    graph::{Graph, Table},
    types::Direction,
};

/// Degrees that are added up together.
const BATCH: u64 = 1 << 16;

/// Makes the view of `graph` at `output`; `options` have it undirected and simple, in the order of
/// the ids.
pub(crate) fn build_view(
    graph: &Graph,
    output: &std::path::Path,
    options: &BuildOptions,
    progress: &dyn BuildProgress,
) -> Result<Manifest> {
    make(graph.disk(), output, options, progress, |builder| builder.view(graph))
}

/// The smallest budget in which a view of so many vertices can be made.
pub(crate) fn smallest_of_view(vertices: u64, threads: usize) -> u64 {
    let fits = |division: Division| {
        let most = most_vertices(sortable(division.work(), threads, (vertices, false)), vertices);
        fits(division.work(), threads, vertices.div_ceil(most))
    };
    if fits(Division(SMALLEST_BUDGET)) {
        return SMALLEST_BUDGET;
    }
    smallest_above(SMALLEST_BUDGET, fits)
}

/// Whether `memory` has room for a block of each of so many buckets for each thread.
fn fits(memory: u64, threads: usize, buckets: u64) -> bool {
    block_bytes(memory * 8 / 10, threads, buckets.max(1) as usize).is_some()
}

impl Builder<'_> {
    fn view(&self, graph: &Graph) -> Result<Manifest> {
        let vertices = graph.connected();
        let source = ByRank::by_id(graph);
        let numbered = Numbered {
            vertices,
            connected: vertices,
            spool: None,
            map: None,
            buckets: self.buckets_of_view(graph)?,
            ids: IdTable::Range { first: 0 },
            id_bytes: 0,
            sections: Vec::new(),
        };
        let shape = Shape {
            directed: false,
            weights: WeightCode::NONE,
            negative: false,
            edges: graph.edges(),
            input_vertices: vertices,
            connected: vertices,
        };
        let (threads, parse) = (self.options.threads, Division(self.options.memory).reading(false));
        let access = SourceAccess { source: &source, threads, parse, progress: self.progress };
        self.sort::<u64>(numbered, shape, &access)
    }

    /// Buckets as large as a worker can sort, or twice that, or four times, and so on.
    fn buckets_of_view(&self, graph: &Graph) -> Result<Buckets> {
        let (degrees, vertices, edges) =
            (self.degrees_of_view(graph)?, graph.connected(), graph.edges() * 2);
        let mut times = 1;
        loop {
            let mut cut = self.bucket_cut((vertices, edges), false, times);
            degrees.for_each(|degree| {
                cut.push(degree);
                Ok(())
            })?;
            let buckets = cut.finish();
            let many = buckets.list().len() as u64;
            if fits(self.memory, self.options.threads, many) || times > edges {
                return Ok(buckets);
            }
            times *= 2;
        }
    }

    /// How many edges of `graph` each vertex has in both directions.
    fn degrees_of_view(&self, graph: &Graph) -> Result<RankFile> {
        let has = |name: &&str| graph.manifest().section(name).is_some();
        let tables: Vec<Table> = ["out.degrees", "in.degrees"]
            .into_iter()
            .filter(has)
            .map(|name| graph.table(name))
            .collect::<Result<_>>()?;
        let counts = graph.rows(Direction::In).is_none();
        let window = if counts { (self.memory / 32).max(BATCH) } else { BATCH };
        let mut file = RankFile::create(self.disk, self.scratch, "degrees")?;
        for first in (0..graph.connected()).step_by(window as usize) {
            let len = window.min(graph.connected() - first) as usize;
            let mut sums = vec![0u64; len];
            for table in &tables {
                let bytes = table.read(first * 4, len * 4)?;
                for (sum, &degree) in sums.iter_mut().zip(bytes.as_chunks().0) {
                    *sum += u64::from(u32::from_le_bytes(degree));
                }
            }
            if counts {
                self.count_arriving(graph, first, &mut sums)?;
            }
            sums.into_iter().try_for_each(|sum| file.push(sum))?;
            self.progress.check()?;
        }
        file.finish()
    }

    /// Counts the edges that lead to vertices from `first` on, where incoming edges are not kept.
    fn count_arriving(&self, graph: &Graph, first: u64, sums: &mut [u64]) -> Result<()> {
        let mut rows = graph.row_reader(Direction::Out)?;
        rows.leave_weights();
        rows.for_each(&mut |_, targets, _| {
            for target in targets {
                let at = target.checked_sub(first).map(|at| at as usize);
                if let Some(sum) = at.and_then(|at| sums.get_mut(at)) {
                    *sum += 1;
                }
            }
            self.progress.check()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_of_few_vertices_fits_the_smallest_budget() {
        assert_eq!(smallest_of_view(1000, 2), SMALLEST_BUDGET);
        let (some, many) = (smallest_of_view(20_000_000, 2), smallest_of_view(200_000_000, 2));
        assert!(SMALLEST_BUDGET < some && some < many && many < 256 << 20, "{some} {many}");
        let more_threads = smallest_of_view(20_000_000, 8);
        assert!(some < more_threads, "{more_threads}");
    }
}
