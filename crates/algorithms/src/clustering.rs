//! The local clustering coefficient as LDBC Graphalytics defines it (version 1.0.5, section 2.3.6):
//! of the ordered pairs of a vertex's neighbors, the share that an edge joins; 0 with fewer than
//! two neighbors. A neighbor is one along an edge of either direction; in an undirected graph each
//! edge joins two ordered pairs. Repetitions and self-loops do not count.
//!
//! Edges between neighbors are counted as [`crate::triangles`] are; memory is that, and 8 bytes for
//! each vertex while values are in memory.

use outercore_engine::Appender;

use outercore_sets::Counting;

use crate::{common::*, triangles::count};

/// The clustering coefficient of each vertex.
#[derive(Clone, Debug, Default)]
pub struct Clustering;

impl Algorithm for Clustering {
    fn name(&self) -> &'static str {
        "clustering"
    }

    fn declare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        let counting = if job.graph.directed() { Counting::Arcs } else { Counting::Each };
        count(self.name(), job, counting, |session, mut found, mut lists| {
            let graph = session.graph;
            let ordered = if graph.directed() { 1.0 } else { 2.0 };
            let (mut coefficients, mut sum) = (Appender::of(session)?, 0.0);
            for vertex in 0..graph.connected() {
                let degree = match &mut found.degrees {
                    Some(degrees) => degrees.get(vertex),
                    None => lists.lists.degree(session, vertex)?,
                } as f64;
                let edges = found.counts.get(vertex) as f64;
                let all = degree * (degree - 1.0) / ordered;
                let share = if degree < 2.0 { 0.0 } else { edges / all };
                sum += share;
                coefficients.push(share)?;
            }
            let results = session
                .results(found.windows)
                .figure("average", sum / graph.vertices().max(1) as f64)
                .column(or_zero("clustering", coefficients.array));
            Ok(results.ranked(0)?.outcome())
        })
    }
}
