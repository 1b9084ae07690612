//! [`Tree`]: parents in a tree of shortest paths, once the distances are known: a program of its
//! own, which runs after whatever found them.
//!
//! First all vertices with a distance send along all edges, and of the neighbors over which its
//! distance is reached (they are *tight*) a vertex takes the one with the smallest internal id. An
//! edge that adds nothing to a distance, because its weight is zero or lost in rounding, might
//! close a circle: there a tight neighbor counts only once it has a parent itself. So vertices that
//! have no others wait, and rounds follow: in each, those that got a parent in the one before lead
//! on.
//!
//! A value is a distance above a parent. In a message they are one number likewise, of which the
//! smallest has the smallest distance, which is the vertex's own, and then the smallest id.
//!
//! Memory for each vertex: 48 bytes, or, fully externally, what programs have; beside the lists.

use outercore_engine::{Ended, Min};
use outercore_graph::PathLengths;

use crate::common::*;

/// Finds the parents of vertices with such distances from a source.
#[derive(Clone, Copy)]
pub struct Tree {
    /// What distances are.
    pub distances: PathLengths,
    /// Where the paths start.
    pub source: u64,
}

/// No parent yet.
const NONE: u128 = u32::MAX as u128;

impl VertexProgram for Tree {
    type Value = u128;
    type Signal = u128;
    type Message = Min<u128>;

    const SILENCE: Option<u128> = Some(u128::MAX);
    const WEIGHTED: bool = true;

    fn init(&self, _: u64, _: u32) -> u128 {
        NONE
    }

    /// The distance above the vertex, and between them whether it waits for a parent.
    fn scatter(&self, vertex: u64, value: &u128, _: u32) -> Option<u128> {
        let waits = u128::from(value & NONE == NONE);
        Some(value >> 64 << 64 | waits << 32 | u128::from(vertex))
    }

    #[inline(always)]
    fn carry(&self, signal: u128, weight: f64) -> Min<u128> {
        if signal == u128::MAX {
            return Min(signal);
        }
        let distance = (signal >> 64) as u64;
        let through = self.distances.plus_weight(distance, weight);
        // What waits may say that it is tight, but not lead on along an edge that adds nothing.
        let leads = through > distance || signal >> 32 & 1 == 0;
        Min(u128::from(through) << 64 | if leads { signal & NONE } else { NONE })
    }

    fn apply(&self, _: &Context, _: u64, value: &mut u128, message: Min<u128>) -> bool {
        *value & NONE == NONE && lower(value, message.0)
    }

    /// Counts those that wait.
    fn residual(&self, _: &u128, value: &u128) -> f64 {
        f64::from(value & NONE == NONE)
    }

    fn end_iteration(&mut self, end: &IterationEnd) -> Next {
        // All have been asked in the first one.
        let ended = end.active == 0 || end.iterations == 1 && end.residual == 0.0;
        if ended { Next::End } else { Next::Iteration }
    }
}

impl Tree {
    /// Declares what it needs beside what finds the distances, which is declared later.
    pub fn declare(&self, planner: &mut Planner) -> Result<Iterations<Self>> {
        let mut iterations = Iterations::declare(planner, self, Some(1))?;
        iterations.most = None;
        planner.scans(None);
        let graph = planner.job.graph;
        let (vertices, scan) = (graph.connected(), graph.scan_bytes());
        planner.traffic(move |decision, _| {
            // Distances become values, and in the end distances and parents again.
            Ok(if decision.is_external() { [40 * vertices, 28 * vertices] } else { [scan, 0] })
        });
        Ok(iterations)
    }

    /// Finds them for these distances.
    pub fn grow(
        mut self,
        iterations: &Iterations<Self>,
        session: &Session,
        distances: VertexArray<u64>,
    ) -> Result<Ended<u128>> {
        let value = |&distance: &u64| u128::from(distance) << 64 | NONE;
        let values = distances.map_in(session, value)?;
        let wake = |program: &Self, vertex: u64, value: &mut u128| {
            if vertex == program.source {
                *value = vertex.into();
            }
            *value >> 64 < program.distances.unreached().into()
        };
        iterations.run(session, &mut self, Some((values, wake)))
    }
}
