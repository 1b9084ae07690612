//! What an author writes: [`VertexProgram`], for synchronous iterations.
//!
//! `scatter` sees only the source, `apply` sees only the target, and between them stands a monoid.
//! Neither end of an edge need be in memory with the other.

use outercore_graph::Direction;
use outercore_storage::Pod;

use crate::{Monoid, state::VertexArray};

/// The vertices that are active at first.
pub enum Start {
    /// Every vertex.
    All,
    /// These.
    Vertices(Vec<u64>),
}

impl Start {
    /// How many; of all vertices, the most that there can be.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::All => usize::MAX,
            Self::Vertices(some) => some.len(),
        }
    }
}

/// Which vertices apply, and which send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// A vertex applies when it has got a message. It sends if `apply` says that it is active.
    Frontier,
    /// Every vertex applies in every iteration. It sends if `apply` says that it is active.
    AllApply,
    /// Every vertex applies and sends in every iteration: all are active at first, `apply` always
    /// says `true`, and `scatter` always has a signal.
    AllSend,
}

/// What a vertex may know beyond itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Context {
    /// The iteration, from 0.
    pub iteration: u64,
    /// The sum of [`VertexProgram::aggregate`] over all connected vertices at the beginning of this
    /// iteration, in the order of the vertices.
    pub aggregate: f64,
    /// The smallest [`VertexProgram::phase_key`] when this phase began.
    pub phase: u64,
}

/// What is known when an iteration ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IterationEnd {
    /// Iterations so far, this one included.
    pub iterations: u64,
    /// The sum of [`VertexProgram::residual`] over all connected vertices.
    pub residual: f64,
    /// Vertices that are active in the next iteration.
    pub active: u64,
}

/// What comes after an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another iteration.
    Iteration,
    /// The next phase, or the end where no vertex has a key for one.
    Phase,
    /// The end.
    End,
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

    /// Which vertices apply and send.
    const ACTIVITY: Activity = Activity::Frontier;
    /// The edges along which signals travel: out, in, or both in turn.
    const DIRECTIONS: &'static [Direction] = &[Direction::Out];
    /// Whether edges' weights are wanted.
    const WEIGHTED: bool = false;
    /// A signal like none: what `carry` makes of it is the identity. With it, scans need not ask of
    /// each edge whether its source sends.
    const SILENCE: Option<Self::Signal> = None;
    /// Whether no message changes a value any more. Where few vertices are left, and edges lead
    /// both ways, an iteration reads their lists instead of all edges.
    const SETTLED: Option<fn(&Self, &Self::Value) -> bool> = None;

    /// The vertices that are active at first.
    fn start(&self) -> Start {
        Start::All
    }
    /// A vertex's first value; `degree` counts its edges along the first direction.
    fn init(&self, vertex: u64, degree: u32) -> Self::Value;
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
    /// A vertex's share of [`Context::aggregate`].
    fn aggregate(&self, _value: &Self::Value, _degree: u32) -> f64 {
        0.0
    }
    /// How far a value moved: summed over all vertices it is the iteration's residual.
    fn residual(&self, _old: &Self::Value, _new: &Self::Value) -> f64 {
        0.0
    }
    /// The phase in which a vertex becomes active without a message; `u64::MAX`: none. The smallest
    /// key begins a phase: vertices that have it apply, with a message of nothing.
    fn phase_key(&self, _value: &Self::Value) -> u64 {
        u64::MAX
    }
    /// Prepares what every vertex needs in this iteration, once.
    fn begin_iteration(&mut self, _context: &Context) {}
    /// Decides what comes after an iteration.
    fn end_iteration(&mut self, end: &IterationEnd) -> Next {
        if end.active > 0 { Next::Iteration } else { Next::Phase }
    }
}

/// Says what becomes of the value of a vertex that another program has left, and whether the vertex
/// is active at first.
pub type Wake<P> = fn(&P, u64, &mut <P as VertexProgram>::Value) -> bool;

/// What a program leaves.
pub struct Ended<V: Pod> {
    /// The final values.
    pub values: VertexArray<V>,
    /// Iterations.
    pub iterations: u64,
    /// The last iteration's residual.
    pub residual: f64,
}

/// A program whose messages may come early or in another order, each of them once, and whose values
/// end up the same: `apply` only ever moves a value one way, by the message alone (not by the
/// iteration's number), and is active when that matters to others.
pub trait Monotone: VertexProgram {}
