//! Shortest paths from one vertex: windows of distance, by [`DeltaStepping`] of the engine.
//!
//! A relaxation is one atomic minimum, so distances do not depend on the order of events.
//!
//! Memory for each vertex: 8 bytes and two bits, beside the lists; fully externally the bits alone.
//!
//! A distance is 64 bits that are ordered like the numbers: whole numbers for whole weights,
//! non-negative doubles otherwise.

use outercore_engine::{
    Column, DeltaStepping, Figure, Job, Lengths, Planner, Prepared, Result, Values,
};
use outercore_graph::{Graph, WeightKind};

use crate::algorithm::{Algorithm, Source, fits_32_bits, locate, refuse};

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
        let path = graph.path().display();
        if graph.weights() == WeightKind::None {
            return refuse(format!(
                "{path} has no weights: run bfs for distances in edges, or build it again with \
                 --weights"
            ));
        }
        if graph.manifest().negative_weights {
            return refuse(format!(
                "{path} has negative weights, for which shortest paths are not computed"
            ));
        }
        if self.delta.is_some_and(|delta| delta.is_nan() || delta <= 0.0) {
            return refuse("--delta must be above 0");
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
            let is_whole = distances.are_whole();
            let (mut reached, mut largest, mut sum) = (0, 0, 0);
            found.for_each(|_, &length| {
                if length < distances.unreached() {
                    (reached, largest) = (reached + 1, length.max(largest));
                    sum = if is_whole {
                        sum + length
                    } else {
                        (f64::from_bits(sum) + f64::from_bits(length)).to_bits()
                    };
                }
            })?;
            let figure = |length: u64| {
                if is_whole { Figure::from(length) } else { f64::from_bits(length).into() }
            };
            let values: Values = if is_whole { found.into() } else { found.into_floats().into() };
            let alone = (source >= session.graph.connected()).then_some((source, 0.0));
            Ok(session
                .results(rounds)
                .figure("reached", 1.max(reached))
                .figure("max_distance", figure(largest))
                .figure("distance_sum", figure(sum))
                .figure("source", session.graph.key_of(source)?)
                .column(Column::new("distance", values).except(alone))
                .outcome())
        }))
    }
}
