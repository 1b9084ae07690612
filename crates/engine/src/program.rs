//! What an author writes: [`VertexProgram`], for synchronous iterations.
//!
//! `scatter` sees only the source, `apply` sees only the target, and between them stands a monoid.
//! Neither end of an edge need be in memory with the other.

use outercore_graph::Direction;
use outercore_storage::Pod;

use crate::{
    error::Result,
    monoid::{Idempotent, Monoid},
    state::VertexArray,
};

/// Who is active at first.
pub enum Start {
    /// Every vertex.
    All,
    /// These.
    Vertices(Vec<u64>),
}

/// What a vertex may know beyond itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Context {
    /// The iteration, from 0.
    pub iteration: u64,
    /// The sum of [`VertexProgram::aggregate`] over all connected vertices at the beginning of this
    /// iteration, in the order of the vertices.
    pub aggregate: f64,
    /// What [`VertexProgram::prepare`] made of it.
    pub prepared: f64,
    /// The smallest [`VertexProgram::phase_key`] when this phase began.
    pub phase: u64,
}

/// A synchronous program: in each iteration active vertices scatter, messages merge, vertices
/// apply.
pub trait VertexProgram: Sync {
    /// What a vertex keeps.
    type Value: Pod + Copy + Send + Sync;
    /// What a source sends, before an edge's weight acts on it.
    type Signal: Pod + Copy + Send + Sync;
    /// What arrives.
    type Message: Monoid;

    /// Who is active at first.
    fn start(&self) -> Start;
    /// The edges along which signals travel: out, in, or both in turn.
    fn directions(&self) -> &'static [Direction] {
        &[Direction::Out]
    }
    /// Whether edges' weights are wanted.
    fn weighted(&self) -> bool {
        false
    }
    /// Whether all that the program keeps for a vertex is in its value, so that it can run with the
    /// values on storage.
    fn is_self_contained(&self) -> bool {
        true
    }
    /// Whether every vertex applies in every iteration, message or not.
    fn applies_always(&self) -> bool {
        false
    }
    /// Whether vertices may be inactive after the first iteration, so that reading only the lists
    /// of the others may pay.
    fn is_selective(&self) -> bool {
        !self.applies_always()
    }
    /// Whether every vertex is active and sends in every iteration: all are at first, `apply`
    /// always says `true`, and `scatter` always has a signal.
    fn everyone_sends(&self) -> bool {
        false
    }
    /// A vertex's first value; `degree` counts its edges along the first direction.
    fn init(&self, vertex: u64, degree: u32) -> Self::Value;
    /// The first values of the vertices from `first` on, in a fully-external run: for programs that
    /// go on from values on storage.
    fn init_range(&self, first: u64, degrees: &[u32], values: &mut [Self::Value]) -> Result<()> {
        values
            .iter_mut()
            .zip(degrees)
            .zip(first..)
            .for_each(|((value, degree), vertex)| *value = self.init(vertex, *degree));
        Ok(())
    }
    /// What an active vertex sends along each edge; `None`: nothing.
    fn scatter(&self, vertex: u64, value: &Self::Value, degree: u32) -> Option<Self::Signal>;
    /// A signal on its way along an edge of this weight (1 where there are no weights).
    fn carry(&self, signal: Self::Signal, weight: f64) -> Self::Message;
    /// Receives the merged messages; `true`: active in the next iteration.
    fn apply(
        &self,
        context: &Context,
        vertex: u64,
        value: &mut Self::Value,
        message: Self::Message,
    ) -> bool;
    /// A number that every vertex needs in this iteration, computed once.
    fn prepare(&self, _context: &Context) -> f64 {
        0.0
    }
    /// A vertex's share of [`Context::aggregate`].
    fn aggregate(&self, _value: &Self::Value, _degree: u32) -> f64 {
        0.0
    }
    /// How far a value moved: summed over all vertices it is the iteration's residual.
    fn residual(&self, _old: &Self::Value, _new: &Self::Value) -> f64 {
        0.0
    }
    /// Whether nobody looks at the values after so many iterations: neither the next one's `apply`
    /// and `residual`, nor who asks for the result. In a run by passes they are then not kept. Once
    /// values are looked at, those of all later iterations are.
    fn forgets(&self, _iterations: u64) -> bool {
        false
    }
    /// When no vertex is active any more, the smallest key begins a new phase; `u64::MAX` (all
    /// vertices, by default) ends the run.
    fn phase_key(&self, _value: &Self::Value) -> u64 {
        u64::MAX
    }
    /// Whether a vertex is active at the beginning of a phase. Only those whose key is the phase's
    /// may be; others need not be asked.
    fn wake(&self, _context: &Context, _vertex: u64, _value: &mut Self::Value) -> bool {
        false
    }
    /// Whether the run ends after this iteration.
    fn finished(&self, _context: &Context, _residual: f64, active: u64) -> bool {
        active == 0
    }
}

/// What a program leaves.
pub struct Ended<V: Pod> {
    /// The final values.
    pub values: VertexArray<V>,
    /// Iterations.
    pub iterations: u64,
    /// The last iteration's residual.
    pub residual: f64,
}

/// A program whose messages may come early, twice, or in another order, and whose values end up the
/// same: `apply` only ever improves a value, by the message alone (not by the iteration's number),
/// and is active when that matters to others. A sum is no such message, and this does not compile
/// for one.
pub trait Monotone: VertexProgram<Message: Idempotent> {}
