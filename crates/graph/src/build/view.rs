//! Building the undirected simple view of a graph. Its vertices keep their numbers, so nothing is
//! ranked and no map of ids is in memory. Where the graph has lists of both directions, they are
//! merged, and nothing goes to scratch. Else edges are read from the graph when they go to their
//! buckets, and memory beside buffers is blocks for these.

use super::{
    BuildOptions, BuildProgress, Builder, Shape,
    access::SourceAccess,
    by_rank::ByRank,
    cutting::Cutting,
    emit::BucketRecords,
    lists::MergedLists,
    make,
    numbering::Numbered,
    packed::RecordCode,
    rankfile::RankFile,
    smallest::{Division, SMALLEST_BUDGET, smallest_above},
    sorting::Sorting,
    weights::WeightCode,
};
use crate::{
    error::Result,
    format::{IdTable, Manifest},
    graph::{Graph, numbers},
    types::Direction,
};

/// Edges that are not worth another bucket.
const LEAST: u64 = 1 << 16;
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

/// Whether the view of `graph` is merged from its lists, as they have every edge at both ends.
pub(crate) fn is_merged(graph: &Graph) -> bool {
    graph.rows(Direction::In).is_some()
}

/// The smallest budget in which a view of `graph` can be made.
pub(crate) fn smallest_of_view(graph: &Graph) -> u64 {
    smallest_of(cutting(graph.connected(), graph.edges()))
}

fn smallest_of(cutting: Cutting) -> u64 {
    let fits = |division: Division| cutting.fits(division.work());
    if fits(Division(SMALLEST_BUDGET)) {
        return SMALLEST_BUDGET;
    }
    smallest_above(SMALLEST_BUDGET, fits)
}

/// The edges of a view of so many vertices and edges. No map takes part of the memory.
fn cutting(connected: u64, edges: u64) -> Cutting {
    Cutting { connected, degrees: edges * 2, tenths: 10, ..Cutting::new(false, false) }
}

impl Builder<'_> {
    fn view(&self, graph: &Graph) -> Result<Manifest> {
        let vertices = graph.connected();
        let shape = Shape {
            directed: false,
            weights: WeightCode::NONE,
            negative: false,
            edges: graph.edges(),
            input_vertices: vertices,
            connected: vertices,
        };
        if is_merged(graph) {
            return self.merge_lists(graph, &shape);
        }
        let source = ByRank::by_id(graph);
        let degrees = self.degrees_of_view(graph)?;
        let (buckets, workers) = self.cut(cutting(vertices, graph.edges()), |cut| {
            degrees.for_each(|degree| {
                cut.push(degree);
                Ok(())
            })
        })?;
        let numbered = Numbered {
            vertices,
            connected: vertices,
            spool: None,
            map: None,
            buckets,
            workers,
            ids: IdTable::Range { first: 0 },
            id_bytes: 0,
            sections: Vec::new(),
        };
        let (threads, parse) = (self.options.threads, Division(self.options.memory).reading(false));
        let access = SourceAccess { source: &source, threads, parse, progress: self.progress };
        self.sort::<u64>(numbered, shape, &access)
    }

    /// Merges the lists of `graph`, which has those of both directions.
    fn merge_lists(&self, graph: &Graph, shape: &Shape) -> Result<Manifest> {
        let (workers, cutting) = (self.options.threads, cutting(shape.connected, shape.edges));
        // Of few edges, too, each worker has a part.
        let share = (cutting.degrees / workers as u64 + 1).max(LEAST);
        let capacity = cutting.capacity(self.memory, workers).min(share);
        let memory = Division(self.options.memory).reading(false) / workers;
        let (lists, buckets) =
            MergedLists::cut(graph, (capacity, cutting.most_vertices(capacity)), memory)?;
        let code = RecordCode::new(shape.connected, &buckets, shape.weights);
        self.check_room(self.bulk_bytes(shape))?;
        self.progress.stage("merging", Some(shape.edges * 2));
        let sorting =
            Sorting { builder: self, shape, buckets: &buckets, workers, code, cells: None };
        let written = sorting.write::<u64>(BucketRecords::Lists(lists), None)?;
        Ok(self.manifest(shape, (IdTable::Range { first: 0 }, 0, Vec::new()), written, None))
    }

    /// How many edges of `graph`, which keeps no incoming ones, each vertex has in both directions.
    fn degrees_of_view(&self, graph: &Graph) -> Result<RankFile> {
        let leaving = graph.table("out.degrees")?;
        let window = (self.memory / 32).max(BATCH);
        let mut file = RankFile::create(self.disk, self.scratch, "degrees")?;
        for first in (0..graph.connected()).step_by(window as usize) {
            let len = window.min(graph.connected() - first) as usize;
            let mut sums = numbers(&leaving.read(first * 4, len * 4)?, 4);
            self.count_arriving(graph, first, &mut sums)?;
            sums.into_iter().try_for_each(|sum| file.push(sum))?;
            self.progress.check()?;
        }
        file.finish()
    }

    /// Counts the edges that lead to vertices from `first` on.
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
        let of = |vertices| smallest_of(cutting(vertices, 16 * vertices));
        assert_eq!(of(1000), SMALLEST_BUDGET);
        let (some, many) = (of(40_000_000), of(400_000_000));
        assert!(SMALLEST_BUDGET < some && some < many && many < 256 << 20, "{some} {many}");
    }
}
