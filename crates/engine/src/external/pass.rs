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
    signals::{Mixed, Settled, Signals, Window},
    stream::ChunkStream,
};
use crate::{
    combine::{combine_all, combine_both},
    config::ReadPolicy,
    edges::piece::Piece,
    error::{EngineError, Result},
    frontier::Frontier,
    monoid::Monoid,
    program::{Context, VertexProgram},
    session::{Counters, OpenSection, Reader},
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
    /// The sum of a side, and behind it the total of all: one array, so that it is long enough for a huge page.
    sums: HugeVec<P::Message>,
    widest: usize,
    /// The sums of a side that serves two iterations: each edge adds to both at one place.
    both: HugeVec<[P::Message; 2]>,
    /// Messages on their way from or to scratch.
    partial: Block<P::Message>,
    pub values: Block<P::Value>,
    pub degrees: Block<u32>,
    pub signals: Block<P::Signal>,
}

impl<P: VertexProgram> Desk<P> {
    /// Arrays for stripes of at most `widest` vertices; with `two`, for passes that serve two iterations; with `windows`, for several windows of signals.
    pub fn new(widest: usize, two: bool, windows: bool, huge: HugePages) -> Result<Self> {
        let for_two = if two { widest } else { 0 };
        Ok(Self {
            sums: HugeVec::zeroed(2 * widest, huge)?,
            widest,
            both: HugeVec::zeroed(for_two, huge)?,
            partial: Block::new(if two || windows { widest } else { 0 })?,
            values: Block::new(widest)?,
            degrees: Block::new(widest)?,
            signals: Block::new(widest)?,
        })
    }

    /// Bytes of memory, whatever the windows.
    pub fn bytes(widest: usize) -> u64 {
        3 * Block::<P::Message>::bytes(widest)
            + Block::<P::Value>::bytes(widest)
            + Block::<u32>::bytes(widest)
            + Block::<P::Signal>::bytes(widest)
    }

    /// Bytes of memory that passes which serve two iterations take beside that.
    pub fn two_bytes(widest: usize) -> u64 {
        2 * Block::<P::Message>::bytes(widest)
    }

    /// Stores the total, to be loaded again.
    pub fn store_total(&mut self, counters: &Counters, sums: &DiskArray<P::Message>, stripe: usize, len: usize) -> Result<()> {
        let total = &self.sums[self.widest..][..len];
        sums.write(counters, stripe, len, &mut self.partial, |items| items.copy_from_slice(total))
    }

    /// Loads a total.
    pub fn load_total(&mut self, counters: &Counters, sums: &DiskArray<P::Message>, stripe: usize, len: usize) -> Result<()> {
        let total = &mut self.sums[self.widest..][..len];
        sums.read(counters, stripe, len, &mut self.partial, |items| total.copy_from_slice(items))
    }

    /// The total of the stripe at hand.
    pub fn total(&self) -> &[P::Message] {
        &self.sums[self.widest..]
    }

    /// The same, to be added to.
    pub fn total_mut(&mut self) -> &mut [P::Message] {
        &mut self.sums[self.widest..]
    }

    /// The totals of a stripe of `len` vertices, with no message yet.
    pub fn empty_total(&mut self, len: usize) -> &mut [P::Message] {
        let total = &mut self.total_mut()[..len];
        total.fill(P::Message::IDENTITY);
        total
    }

    /// The total of the stripe at hand, room for its values if they are not in memory, its degrees, and room for its signals; it has `len` vertices.
    #[allow(clippy::type_complexity)]
    pub fn columns(&mut self, len: usize) -> (&[P::Message], &mut Block<P::Value>, &[u32], &mut [P::Signal]) {
        (&self.sums[self.widest..][..len], &mut self.values, self.degrees.items(len), self.signals.items(len))
    }

    /// No sum yet for a stripe of `len` vertices; with `two`, for the next iteration neither.
    fn clear(&mut self, len: usize, two: bool) {
        self.sums[..len].fill(P::Message::IDENTITY);
        if two {
            self.both[..len].fill([P::Message::IDENTITY; 2]);
        }
    }

    /// Adds the sums of a side to the total. Of one that served two iterations, `two` says which sums are this one's; the next one's stay where they are.
    fn fold(&mut self, len: usize, two: Option<usize>) {
        let (sum, total) = self.sums.split_at_mut(self.widest);
        let total = &mut total[..len];
        if let Some(now) = two {
            for (total, both) in total.iter_mut().zip(&mut self.both[..len]) {
                total.combine(std::mem::replace(&mut both[now], P::Message::IDENTITY));
            }
        } else {
            for (total, sum) in total.iter_mut().zip(&mut sum[..len]) {
                total.combine(std::mem::replace(sum, P::Message::IDENTITY));
            }
        }
    }

    /// Combines the messages of a piece for this iteration and for the next one, whose signals these are; with `all_send`, all sources are known to send in the next one. Returns how many
    /// edges are active now.
    fn combine_twice(&mut self, program: &P, shared: &Shared<P>, piece: &Piece, pairs: &[[P::Signal; 2]], all_send: bool) -> u64 {
        let (first, last) = piece.sources();
        if shared.all_send(first, last) && (all_send || shared.next_sending.all(first, last)) {
            combine_both(program, piece, pairs, &mut self.both);
            return piece.words();
        }
        let (now, both, mut active) = (shared.signals.hubs.now(), &mut *self.both, 0);
        piece.for_each(|source, target| {
            let (vertex, pair) = (piece.segment + source as u64, pairs[source - piece.first()]);
            if shared.sending.contains(vertex) {
                active += 1;
                both[target][now].combine(program.carry(pair[now], 1.0));
            }
            if shared.next_sending.contains(vertex) {
                both[target][1 - now].combine(program.carry(pair[1 - now], 1.0));
            }
        });
        active
    }

    /// Combines the messages of those of a piece's sources that send and are in the window. Returns how many edges they have.
    // Not inlined, for the reason of the loops in `combine`.
    #[inline(never)]
    fn combine_some(&mut self, program: &P, shared: &Shared<P>, piece: &Piece) -> u64 {
        let (sums, window, mut active) = (&mut self.sums[..self.widest], &shared.window.vertices, 0);
        piece.for_each(|source, target| {
            let vertex = piece.segment + source as u64;
            if shared.sending.contains(vertex) && window.contains(&vertex) {
                active += 1;
                sums[target].combine(program.carry(shared.signals.of(vertex), 1.0));
            }
        });
        active
    }
}

/// What the workers of a pass share.
pub struct Shared<'p, P: VertexProgram> {
    pub pass: Pass,
    pub context: &'p Context,
    pub columns: &'p Columns,
    /// Whose signals these are.
    pub window: &'p Window,
    /// This iteration's signals, and the hubs' of the next one.
    pub signals: Signals<'p, P::Signal>,
    pub sending: &'p Frontier,
    pub next_sending: &'p Frontier,
    /// Whether everyone sends.
    pub everyone: bool,
    /// Messages for this iteration that the last pass made, and for the next one; or those of earlier windows.
    pub partial: Option<&'p DiskArray<P::Message>>,
    /// Whether those who are known to send in the next iteration still do when their stripe is applied again.
    pub keeps: bool,
    pub settled: Settled,
    pub next: AtomicUsize,
}

impl<P: VertexProgram> Shared<'_, P> {
    /// Whether all of the vertices `first..=last` send.
    fn all_send(&self, first: u64, last: u64) -> bool {
        self.everyone || self.sending.all(first, last)
    }
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
            let all_send = self.run.finish(self.shared, column.stripe, touched, self.desk)?;
            self.shared.settled.mark(column.position, all_send);
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
        let all = self.run.session.config.read == ReadPolicy::Full || shared.everyone;
        let wanted = |chunk: &Chunk| {
            let (first, last) = (chunk.sources.0.max(shared.window.vertices.start), chunk.sources.1.min(shared.window.vertices.end - 1));
            let wanted = all || shared.pass.serves_next(chunk.side) || (first <= last && shared.sending.any(first, last));
            shared.pass.reads(chunk.side) && first <= last && wanted
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
        let nothing = chunks.is_empty() && shared.pass.whole && !shared.pass.ahead;
        // Sums of earlier windows stay where they are until something joins them.
        if nothing && !shared.window.last {
            return Ok(false);
        }
        let resumed = self.run.resume(shared, stripe, self.desk)? && shared.window.last;
        if nothing {
            return Ok(resumed);
        }
        self.desk.clear(len, shared.pass.ahead);
        if !shared.pass.whole && !shared.pass.up {
            let partial = shared.partial.expect("a pass that is not whole follows one that served it");
            self.desk.load_total(&self.run.session.counters, partial, stripe, len)?;
        }
        let (mut side, mut any) = (Side::Before, false);
        for chunk in chunks {
            if chunk.side != side {
                self.desk.fold(len, shared.pass.serves_next(side).then_some(shared.signals.hubs.now()));
                side = chunk.side;
            }
            any |= self.combine(stripe)?;
            self.fill()?;
        }
        self.desk.fold(len, shared.pass.serves_next(side).then_some(shared.signals.hubs.now()));
        let (counters, Desk { sums, widest, partial: block, both, .. }) = (&self.run.session.counters, &mut *self.desk);
        if !shared.pass.whole && shared.pass.up {
            let partial = shared.partial.expect("a pass that is not whole follows one that served it");
            let total = &mut sums[*widest..][..len];
            partial
                .read(counters, stripe, len, block, |items| total.iter_mut().zip(items).for_each(|(total, item)| total.combine(*item)))?;
        }
        if shared.pass.ahead {
            let partial = shared.partial.expect("there is room for what serves the next pass");
            let (next, both) = (1 - shared.signals.hubs.now(), &both[..len]);
            partial.write(counters, stripe, len, block, |items| items.iter_mut().zip(both).for_each(|(item, both)| *item = both[next]))?;
        }
        Ok(any || resumed || !shared.pass.whole)
    }

    /// Combines the messages of the next chunk, which is one of the stripe at hand: its chunks were wanted before those of others. Returns whether there was any.
    fn combine(&mut self, stripe: usize) -> Result<bool> {
        let Self { run, shared, desk, stream, edges, .. } = self;
        let (desk, shared) = (&mut **desk, *shared);
        let (program, mut any) = (run.program, false);
        let shown = stream.next(|chunk, words| {
            let piece = shared.columns.piece(chunk, words);
            *edges += if shared.window.vertices.contains(&chunk.sources.0) { piece.words() } else { 0 };
            let ((first, last), window, signals) = (chunk.sources, &shared.window.vertices, shared.signals);
            if shared.pass.serves_next(chunk.side) {
                let (before, after) = shared.columns.settled(stripe);
                let all_send = shared.settled.wait(if shared.pass.up { before } else { shared.columns.stripes() - after })?;
                // SAFETY: the chunk's sources are hubs, in stripes that are settled, which was just waited for.
                let pairs = unsafe { signals.hubs.settled(first, last) };
                let active = desk.combine_twice(program, shared, &piece, pairs, all_send);
                any = active > 0;
                return Ok(active);
            }
            let active = if !(window.start <= first && last < window.end && shared.all_send(first, last)) {
                desk.combine_some(program, shared, &piece)
            } else {
                let sums = &mut desk.sums[..desk.widest];
                if last < signals.hubs.len() {
                    combine_all(program, &piece, signals.hubs.this(first, last), sums);
                } else if first >= signals.hubs.len() {
                    combine_all(program, &piece, signals.others(first), sums);
                } else {
                    combine_all(program, &piece, Mixed { signals, first }, sums);
                }
                piece.words()
            };
            any = active > 0;
            // What is read in every pass is worth twice what is read in every second one.
            Ok(if chunk.side == Side::Near { 2 * active } else { active })
        })?;
        debug_assert!(shown, "the chunks of the stripe at hand were wanted");
        Ok(any)
    }
}
