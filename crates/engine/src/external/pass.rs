//! One pass over the grid: every stripe's chunks are read, its messages combined, its vertices applied, its next signals made. Where the pass says so, chunks whose sources are
//! settled serve the next iteration too.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use outercore_storage::{Buffer, HugePages, HugeVec};

use super::{
    array::{Block, DiskArray},
    columns::{Chunk, Columns, Side},
    run::External,
    signals::{NextSignals, Settled},
};
use crate::{
    config::ReadPolicy,
    edges::grid::Piece,
    error::{EngineError, Result},
    frontier::Frontier,
    monoid::Monoid,
    program::{Context, VertexProgram},
    session::{DEPTH, Reader},
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

struct Slot {
    tag: u64,
    buffer: Option<Buffer>,
}

pub struct Worker<'w, 'p, P: VertexProgram> {
    pub run: &'w External<'p, P>,
    pub shared: &'w Shared<'w, P>,
    pub reader: &'w mut Reader,
    pub desk: &'w mut Desk<P>,
    columns: VecDeque<Column>,
    /// Chunks of the claimed stripes that are not yet asked for.
    wanted: VecDeque<Chunk>,
    window: VecDeque<Slot>,
    sequence: u64,
    edges: u64,
}

impl<'w, 'p, P: VertexProgram> Worker<'w, 'p, P> {
    pub fn new(run: &'w External<'p, P>, shared: &'w Shared<'w, P>, reader: &'w mut Reader, desk: &'w mut Desk<P>) -> Self {
        Self {
            run,
            shared,
            reader,
            desk,
            columns: VecDeque::new(),
            wanted: VecDeque::new(),
            window: VecDeque::new(),
            sequence: 0,
            edges: 0,
        }
    }

    /// Works until no stripe is left.
    pub fn run(mut self) -> Result<()> {
        let result = self.stripes();
        self.run.session.counters.edges.fetch_add(self.edges, Relaxed);
        if result.is_err() {
            self.abandon();
        }
        result
    }

    fn stripes(&mut self) -> Result<()> {
        loop {
            self.fill()?;
            let Some(column) = self.columns.pop_front() else { return Ok(()) };
            let touched = self.column(column.stripe, &column.chunks)?;
            self.run.apply(self.shared, column.stripe, touched, self.desk)?;
            self.shared.settled.mark(column.position);
            if self.run.session.stopped() {
                return Err(EngineError::Cancelled);
            }
        }
    }

    /// Keeps reads in flight: those of the stripe at hand, then those of the one after it.
    fn fill(&mut self) -> Result<()> {
        let session = self.run.session;
        while self.window.len() < 2 * DEPTH && !self.reader.free.is_empty() {
            let Some(chunk) = self.wanted.pop_front() else {
                if self.columns.len() >= 2 || !self.claim() {
                    return Ok(());
                }
                continue;
            };
            let buffer = self.reader.free.pop().expect("checked above");
            self.reader.submit(&session.counters, &self.run.words, chunk.offset, chunk.padded(), buffer, self.sequence)?;
            session.counters.useful_bytes.fetch_add(chunk.len as u64, Relaxed);
            self.window.push_back(Slot { tag: self.sequence, buffer: None });
            self.sequence += 1;
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
        self.wanted.extend(&chunks);
        self.columns.push_back(Column { position, stripe, chunks });
        true
    }

    /// Combines the messages of a stripe into the desk's total; returns whether there may be any.
    fn column(&mut self, stripe: usize, chunks: &[Chunk]) -> Result<bool> {
        let shared = self.shared;
        let len = (shared.columns.vertices(stripe).end - shared.columns.vertices(stripe).start) as usize;
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
            self.chunk(stripe, chunk)?;
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

    fn chunk(&mut self, stripe: usize, chunk: &Chunk) -> Result<()> {
        let mut slot = self.window.pop_front().expect("the chunks of the stripe at hand are asked for first");
        while slot.buffer.is_none() {
            self.reap(&mut slot)?;
        }
        let buffer = slot.buffer.take().expect("it has arrived");
        let result = self.combine(stripe, chunk, &buffer);
        self.reader.free.push(buffer);
        result?;
        self.fill()
    }

    fn combine(&mut self, stripe: usize, chunk: &Chunk, buffer: &Buffer) -> Result<()> {
        let shared = self.shared;
        self.run.words.verify(chunk.offset, &buffer[..chunk.padded()])?;
        let piece = Piece::new(chunk.segment, shared.columns.directory.chunks[chunk.number].source, &buffer[..chunk.len]);
        self.edges += piece.words();
        let (program, base, sum) = (self.run.program, chunk.segment, &mut self.desk.sum);
        let signals = &shared.signals[base as usize..];
        if shared.everyone {
            piece.for_each(|source, target| sum[target].combine(program.carry(signals[source], 1.0)));
        } else {
            piece.for_each(|source, target| {
                if shared.sending.contains(base + source as u64) {
                    sum[target].combine(program.carry(signals[source], 1.0));
                }
            });
        }
        if shared.pass.serves_next(chunk.side) {
            let (before, after) = shared.columns.settled(stripe);
            shared.settled.wait(if shared.pass.up { before } else { shared.columns.stripes() - after })?;
            let ahead = self.desk.ahead.all();
            piece.for_each(|source, target| {
                let source = base + source as u64;
                if shared.next_sending.contains(source) {
                    // SAFETY: the chunk's sources are hubs, in stripes that are settled, which was waited for above.
                    let signal = unsafe { shared.next_signals.get(source) };
                    ahead[target].combine(program.carry(signal, 1.0));
                }
            });
        }
        Ok(())
    }

    fn reap(&mut self, front: &mut Slot) -> Result<()> {
        let window = &mut self.window;
        self.reader.reap(false, |tag, buffer, _| {
            let slot =
                if front.tag == tag { &mut *front } else { window.iter_mut().find(|slot| slot.tag == tag).expect("every read has a slot") };
            slot.buffer = Some(buffer);
        })
    }

    /// After an error: lets the others go, and takes back every buffer that the kernel may still write to.
    fn abandon(&mut self) {
        self.shared.settled.fail();
        self.run.session.stop.store(true, Relaxed);
        let mut buffers: Vec<Buffer> = self.window.drain(..).filter_map(|mut slot| slot.buffer.take()).collect();
        self.reader.drain(|buffer| buffers.push(buffer));
        self.reader.free.extend(buffers);
    }
}
