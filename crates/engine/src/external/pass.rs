//! One pass over the grid: every stripe's chunks are read, its messages combined, its vertices applied, its next signals made. Where the pass says so, chunks whose sources are
//! settled serve the next iteration too.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use outercore_storage::{HugePages, HugeVec};

use super::{
    array::{Block, DiskArray},
    columns::{Chunk, Columns, Side},
    run::External,
    signals::{NextSignals, Settled},
    stream::ChunkStream,
};
use crate::{
    config::ReadPolicy,
    error::{EngineError, Result},
    frontier::Frontier,
    monoid::Monoid,
    program::{Context, VertexProgram},
    session::{OpenSection, Reader},
};

/// What a pass reads and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Stripes in ascending order.
    pub up: bool,
    /// All sides are read; otherwise one was served by the pass before: the sources after a stripe in an ascending pass, those before it in a descending one.
    pub whole: bool,
    /// Settled sources serve the next iteration too.
    pub ahead: bool,
}

impl Pass {
    fn reads(self, side: Side) -> bool {
        self.whole || side != if self.up { Side::After } else { Side::Before }
    }

    fn serves_next(self, side: Side) -> bool {
        self.ahead && side == if self.up { Side::Before } else { Side::After }
    }

    fn stripe(self, position: usize, stripes: usize) -> usize {
        if self.up { position } else { stripes - 1 - position }
    }
}

/// A worker's arrays, each for one stripe.
pub struct Desk<P: VertexProgram> {
    sum: HugeVec<P::Message>,
    total: HugeVec<P::Message>,
    partial: Block<P::Message>,
    ahead: Block<P::Message>,
    pub values: Block<P::Value>,
    pub degrees: Block<u32>,
    pub signals: Block<P::Signal>,
}

impl<P: VertexProgram> Desk<P> {
    /// Arrays for stripes of at most `widest` vertices.
    pub fn new(widest: usize) -> Result<Self> {
        Ok(Self {
            sum: HugeVec::zeroed(widest, HugePages::Off)?,
            total: HugeVec::zeroed(widest, HugePages::Off)?,
            partial: Block::new(widest)?,
            ahead: Block::new(widest)?,
            values: Block::new(widest)?,
            degrees: Block::new(widest)?,
            signals: Block::new(widest)?,
        })
    }

    /// Bytes of memory.
    pub fn bytes(widest: usize) -> u64 {
        4 * Block::<P::Message>::bytes(widest)
            + Block::<P::Value>::bytes(widest)
            + Block::<u32>::bytes(widest)
            + Block::<P::Signal>::bytes(widest)
    }

    /// The total of the stripe at hand.
    pub fn total(&self) -> &[P::Message] {
        &self.total
    }

    /// The totals of a stripe of `len` vertices, with no message yet.
    pub fn empty_total(&mut self, len: usize) -> &mut [P::Message] {
        self.total[..len].fill(P::Message::IDENTITY);
        &mut self.total[..len]
    }

    /// Total, values, degrees and signals of the stripe at hand, `len` of each.
    #[allow(clippy::type_complexity)]
    pub fn columns(&mut self, len: usize) -> (&[P::Message], &mut [P::Value], &[u32], &mut [P::Signal]) {
        (&self.total[..len], self.values.items(len), self.degrees.items(len), self.signals.items(len))
    }

    /// Adds the sums of a side to the total.
    fn fold(&mut self, len: usize) {
        for (total, sum) in self.total[..len].iter_mut().zip(&mut self.sum[..len]) {
            total.combine(std::mem::replace(sum, P::Message::IDENTITY));
        }
    }
}

/// What the workers of a pass share.
pub struct Shared<'p, P: VertexProgram> {
    pub pass: Pass,
    pub context: &'p Context,
    pub columns: &'p Columns,
    /// This iteration's signals, by vertex.
    pub signals: &'p [P::Signal],
    pub next_signals: &'p NextSignals<P::Signal>,
    pub sending: &'p Frontier,
    pub next_sending: &'p Frontier,
    /// Whether everyone sends.
    pub everyone: bool,
    /// Messages for this iteration that the last pass made, and for the next one.
    pub partial: Option<&'p DiskArray<P::Message>>,
    pub settled: Settled,
    pub next: AtomicUsize,
}

/// A stripe that a worker has, and its chunks.
struct Column {
    position: usize,
    stripe: usize,
    chunks: Vec<Chunk>,
}

/// A worker of a pass.
pub struct Worker<'w, 'p, P: VertexProgram> {
    run: &'w External<'p, P>,
    shared: &'w Shared<'w, P>,
    desk: &'w mut Desk<P>,
    stream: ChunkStream<'w>,
    /// Stripes that this worker has taken, the one at hand left out.
    columns: VecDeque<Column>,
    edges: u64,
}

impl<'w, 'p, P: VertexProgram> Worker<'w, 'p, P> {
    /// Over the grid, whose words these are.
    pub fn new(
        run: &'w External<'p, P>,
        words: &'w OpenSection,
        shared: &'w Shared<'w, P>,
        reader: &'w mut Reader,
        desk: &'w mut Desk<P>,
    ) -> Self {
        let stream = ChunkStream::new(run.session, words, reader, run.sub_blocks.as_ref());
        Self { run, shared, desk, stream, columns: VecDeque::new(), edges: 0 }
    }

    /// Works until no stripe is left.
    pub fn run(mut self) -> Result<()> {
        let result = self.stripes();
        self.run.session.counters.edges.fetch_add(self.edges, Relaxed);
        if result.is_err() {
            self.shared.settled.fail();
            self.stream.abandon();
        }
        result
    }

    fn stripes(&mut self) -> Result<()> {
        loop {
            self.fill()?;
            let Some(column) = self.columns.pop_front() else { return Ok(()) };
            let touched = self.column(column.stripe, &column.chunks)?;
            self.run.apply(self.shared, column.stripe, touched, self.desk, None)?;
            self.shared.settled.mark(column.position);
            if self.run.session.stopped() {
                return Err(EngineError::Cancelled);
            }
        }
    }

    /// Keeps reads in flight: those of the stripe at hand, then those of the one or two after it.
    fn fill(&mut self) -> Result<()> {
        while self.stream.ask()? {
            if self.columns.len() >= 2 || !self.claim() {
                break;
            }
        }
        Ok(())
    }

    /// Takes the next stripe; `false`: there is none.
    fn claim(&mut self) -> bool {
        let shared = self.shared;
        let position = shared.next.fetch_add(1, Relaxed);
        if position >= shared.columns.stripes() {
            return false;
        }
        let stripe = shared.pass.stripe(position, shared.columns.stripes());
        let wanted = |chunk: &Chunk| {
            shared.pass.reads(chunk.side)
                && (self.run.session.config.read == ReadPolicy::Full
                    || shared.everyone
                    || shared.pass.serves_next(chunk.side)
                    || shared.sending.any(chunk.sources.0, chunk.sources.1))
        };
        let chunks = shared.columns.chunks(stripe, wanted);
        self.stream.want(chunks.iter().copied());
        self.columns.push_back(Column { position, stripe, chunks });
        true
    }

    /// Combines the messages of a stripe into the desk's total; returns whether there may be any.
    fn column(&mut self, stripe: usize, chunks: &[Chunk]) -> Result<bool> {
        let shared = self.shared;
        let len = (shared.columns.vertices(stripe).end - shared.columns.vertices(stripe).start) as usize;
        if chunks.is_empty() && shared.pass.whole && !self.run.program.applies_always() {
            return Ok(false);
        }
        self.desk.sum[..len].fill(P::Message::IDENTITY);
        self.desk.total[..len].fill(P::Message::IDENTITY);
        self.desk.ahead.items(len).fill(P::Message::IDENTITY);
        if !shared.pass.whole {
            let partial = shared.partial.expect("a pass that is not whole follows one that served it");
            partial.load(&self.run.session.counters, stripe, len, &mut self.desk.partial)?;
            if !shared.pass.up {
                self.desk.total[..len].copy_from_slice(self.desk.partial.items(len));
            }
        }
        let mut side = Side::Before;
        for chunk in chunks {
            if chunk.side != side {
                self.desk.fold(len);
                side = chunk.side;
            }
            self.combine(stripe)?;
            self.fill()?;
        }
        self.desk.fold(len);
        if !shared.pass.whole && shared.pass.up {
            let Desk { total, partial, .. } = &mut *self.desk;
            total[..len].iter_mut().zip(partial.items(len)).for_each(|(total, partial)| total.combine(*partial));
        }
        if shared.pass.ahead {
            let partial = shared.partial.expect("there is room for what serves the next pass");
            partial.store(&self.run.session.counters, stripe, len, &mut self.desk.ahead)?;
        }
        Ok(!chunks.is_empty() || !shared.pass.whole)
    }

    /// Combines the messages of the next chunk, which is one of the stripe at hand: its chunks were wanted before those of others.
    fn combine(&mut self, stripe: usize) -> Result<()> {
        let Self { run, shared, desk, stream, edges, .. } = self;
        let (program, Desk { sum, ahead, .. }) = (run.program, &mut **desk);
        let shown = stream.next(|chunk, words| {
            let piece = shared.columns.piece(chunk, words);
            *edges += piece.words();
            let mut active = 0;
            let (base, signals) = (chunk.segment, &shared.signals[chunk.segment as usize..]);
            if shared.everyone {
                active = piece.words();
                piece.for_each_ahead(signals, |source, target| sum[target].combine(program.carry(signals[source], 1.0)));
            } else {
                piece.for_each(|source, target| {
                    if shared.sending.contains(base + source as u64) {
                        active += 1;
                        sum[target].combine(program.carry(signals[source], 1.0));
                    }
                });
            }
            if shared.pass.serves_next(chunk.side) {
                let (before, after) = shared.columns.settled(stripe);
                shared.settled.wait(if shared.pass.up { before } else { shared.columns.stripes() - after })?;
                let ahead = ahead.all();
                piece.for_each(|source, target| {
                    let source = base + source as u64;
                    if shared.next_sending.contains(source) {
                        // SAFETY: the chunk's sources are hubs, in stripes that are settled, which was waited for above.
                        let signal = unsafe { shared.next_signals.get(source) };
                        ahead[target].combine(program.carry(signal, 1.0));
                    }
                });
            }
            // What is read in every pass is worth twice what is read in every second one.
            Ok(if chunk.side == Side::Near { 2 * active } else { active })
        })?;
        debug_assert!(shown, "the chunks of the stripe at hand were wanted");
        Ok(())
    }
}
