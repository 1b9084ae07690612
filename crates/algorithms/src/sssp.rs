//! Shortest paths from one vertex: windows of distance, by [`DeltaStepping`] of the engine.
//!
//! A relaxation is one atomic minimum, so distances do not depend on the order of events.
//!
//! Memory for each vertex: 8 bytes and two bits, beside the lists; fully externally the bits alone.
//!
//! A distance is 64 bits that are ordered like the numbers: whole numbers for whole weights,
//! non-negative doubles otherwise.

use outercore_engine::{
    Cell, Column, DeltaStepping, EngineError, Figure, Job, Lengths, Planner, Prepared, Result,
    Values,
};
use outercore_graph::{Graph, WeightKind};

use crate::algorithm::{Algorithm, Source, fits_32_bits, locate};

/// Shortest paths from one vertex.
#[derive(Clone, Debug)]
pub struct Sssp {
    /// Where they start.
    pub source: Source,
    /// The width of a window of distance; `None`: from the mean weight and degree.
    pub delta: Option<f64>,
}

/// Distances of edges with weights of this kind.
#[derive(Clone, Copy)]
struct Distances(WeightKind);

impl Distances {
    fn are_whole(self) -> bool {
        self.0 == WeightKind::U32
    }
}

impl Lengths for Distances {
    fn unreached(self) -> u64 {
        if self.are_whole() { u64::MAX } else { f64::INFINITY.to_bits() }
    }

    #[inline(always)]
    fn add(self, length: u64, weight: u64) -> u64 {
        if self.are_whole() {
            length + weight
        } else {
            (f64::from_bits(length) + self.0.value(weight)).to_bits()
        }
    }

    fn plus(self, length: u64, delta: f64) -> u64 {
        if self.are_whole() {
            length.saturating_add((delta as u64).max(1))
        } else {
            (f64::from_bits(length) + delta).to_bits().max(length + 1)
        }
    }
}

impl Sssp {
    /// Refuses graphs and parameters that the search is not for.
    fn suits(&self, graph: &Graph) -> Result<()> {
        fits_32_bits(graph, self.name())?;
        let refuse = |why| Err(EngineError::Usage(format!("{}{why}", graph.path().display())));
        if graph.weights() == WeightKind::None {
            return refuse(
                " has no weights: run bfs for distances in edges, or build it again with --weights",
            );
        }
        if graph.manifest().negative_weights {
            return refuse(" has negative weights, for which shortest paths are not computed");
        }
        if self.delta.is_some_and(|delta| delta.is_nan() || delta <= 0.0) {
            return Err(EngineError::Usage("--delta must be above 0".to_owned()));
        }
        Ok(())
    }
}

impl Algorithm for Sssp {
    fn name(&self) -> &'static str {
        "sssp"
    }

    fn prepare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        self.suits(job.graph)?;
        let source = locate(job.graph, &self.source)?;
        let mut planner = Planner::new(self.name(), job);
        let search = DeltaStepping::declare(&mut planner)?;
        Ok(planner.decide()?.prepared(move |session| {
            let distances = Distances(session.graph.weights());
            let (found, rounds) = search.run(session, distances, source, self.delta)?;
            let values: Values =
                if distances.are_whole() { found.into() } else { found.into_floats().into() };
            let alone = (source >= session.graph.connected()).then_some((source, 0.0));
            let column = Column::new("distance", values).except(alone);
            let (reached, largest, sum) = figures(&column, distances)?;
            Ok(session
                .results(rounds)
                .figure("reached", reached.max(1))
                .figure("max_distance", largest)
                .figure("distance_sum", sum)
                .figure("source", session.graph.key_of(source)?)
                .column(column)
                .outcome())
        }))
    }
}

/// Reached vertices with edges, the largest distance, and the sum of all.
fn figures(column: &Column, distances: Distances) -> Result<(u64, Figure, Figure)> {
    let (mut reached, mut largest, mut sum, mut farthest, mut total) = (0, 0, 0, 0.0f64, 0.0);
    column.for_each(|_, cell| match cell {
        Cell::Null => {}
        Cell::Integer(length) => {
            (reached, largest, sum) = (reached + 1, length.max(largest), sum + length)
        }
        Cell::Float(length) => {
            (reached, farthest, total) = (reached + 1, length.max(farthest), total + length)
        }
    })?;
    Ok(if distances.are_whole() {
        (reached, Figure::Integer(largest), Figure::Integer(sum))
    } else {
        (reached, Figure::Float(farthest), Figure::Float(total))
    })
}
