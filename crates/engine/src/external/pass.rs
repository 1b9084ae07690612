//! One pass over the grid: every interval's chunks are read, its messages combined, its vertices
//! applied, its next signals made. Where the pass says so, chunks whose sources are settled serve
//! the next iteration too. Intervals go to the workers in batches of neighbors.

use std::{
    collections::VecDeque,
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use super::{
    desk::Desk,
    run::External,
    signals::{Mixed, Settled, Signals, Window},
};
use crate::{
    config::ReadPolicy,
    edges::grid::{
        chunk_stream::{ChunkCache, ChunkStream},
        combine::combine_all,
        index::{Chunk, GridIndex, Side},
    },
    error::{EngineError, Result},
    frontier::Frontier,
    program::{Context, VertexProgram},
    session::{OpenSection, Reader},
    state::VertexArray,
};

/// Most intervals of a batch.
const MOST_TOGETHER: usize = 8;

/// What a pass reads and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Intervals in ascending order.
    pub up: bool,
    /// All sides are read; otherwise one was served by the pass before: the sources after an
    /// interval in an ascending pass, those before it in a descending one.
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

    /// The place of an interval among those that are settled one after the other.
    fn position(self, interval: usize, intervals: usize) -> usize {
        if self.up { interval } else { intervals - 1 - interval }
    }

    /// When a chunk's turn comes among those of its batch. Those that must wait for other intervals
    /// come last, the nearest of them at the very end. Within a side all go by their sources,
    /// whatever interval they lead to, so that the intervals of a batch find the same signals in a
    /// processor's cache.
    fn turn(self, chunk: &Chunk) -> (usize, u64) {
        let (side, first) = (chunk.side as usize, chunk.sources.0);
        if self.up { (Side::After as usize - side, first) } else { (side, u64::MAX - first) }
    }

    /// How many intervals must be settled before a chunk's turn.
    fn needs(self, chunk: &Chunk, columns: &GridIndex) -> usize {
        match (self.serves_next(chunk.side), self.up) {
            (false, _) => 0,
            (true, true) => columns.interval_of(chunk.sources.1) + 1,
            (true, false) => columns.intervals() - columns.interval_of(chunk.sources.0),
        }
    }

    /// The order in which `workers` take batches. Where none waits for another, those of many edges
    /// and those of many vertices go side by side: the device has more to do for the ones, the
    /// processors for the others.
    pub fn order(self, columns: &GridIndex, workers: usize) -> Vec<Range<usize>> {
        // Intervals of hubs have few sources before them: there is nothing to share.
        let far = self.whole || !self.up;
        let mut batches = columns.batches(if far {
            (columns.intervals() / (8 * workers)).clamp(1, MOST_TOGETHER)
        } else {
            1
        });
        if !self.up {
            batches.reverse();
        }
        if self.ahead { batches } else { columns.mixed(batches, |side| self.reads(side)) }
    }
}

/// What the workers of a pass share.
pub struct Shared<'p, P: VertexProgram> {
    pub pass: Pass,
    pub context: &'p Context,
    pub columns: &'p GridIndex,
    /// Whose signals these are.
    pub window: &'p Window,
    /// This iteration's signals, and the hubs' of the next one.
    pub signals: Signals<'p, P::Signal>,
    pub sending: &'p Frontier,
    pub next_sending: &'p Frontier,
    /// Whether everyone sends.
    pub everyone: bool,
    /// Messages for this iteration that the last pass made, and for the next one; or those of
    /// earlier windows.
    pub partial: Option<&'p VertexArray<P::Message>>,
    /// Whether those who are known to send in the next iteration still do when their interval is
    /// applied again.
    pub keeps: bool,
    pub settled: Settled,
    /// The batches of intervals in the order of this pass.
    pub order: Vec<Range<usize>>,
    pub next: AtomicUsize,
}

impl<P: VertexProgram> Shared<'_, P> {
    /// Whether all of the vertices `first..=last` send.
    pub fn all_send(&self, first: u64, last: u64) -> bool {
        self.everyone || self.sending.all(first, last)
    }
}

/// Intervals that a worker has, and their chunks in the order in which they are combined.
struct Batch {
    intervals: Range<usize>,
    /// With each: how many of the batch's intervals must be closed before.
    chunks: Vec<(usize, Chunk)>,
}

/// An interval of the batch at hand.
struct Open {
    interval: usize,
    /// Where its sums begin.
    base: usize,
    len: usize,
    /// Whether there may be messages.
    touched: bool,
}

/// A worker of a pass.
pub struct Worker<'w, 'p, P: VertexProgram> {
    run: &'w External<'p, P>,
    shared: &'w Shared<'w, P>,
    desk: &'w mut Desk<P>,
    stream: ChunkStream<'w>,
    /// Batches that this worker has taken, the one at hand left out.
    batches: VecDeque<Batch>,
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
        let cache = run.sub_blocks.as_ref().map(|chunks| chunks as &dyn ChunkCache);
        let stream = ChunkStream::new(run.session, words, reader, cache);
        Self { run, shared, desk, stream, batches: VecDeque::new(), edges: 0 }
    }

    /// Works until no interval is left.
    pub fn run(mut self) -> Result<()> {
        let result = self.work();
        self.desk.turn_to(0);
        self.run.session.counters.edges.fetch_add(self.edges, Relaxed);
        if result.is_err() {
            self.shared.settled.fail();
            self.stream.abandon();
        }
        result
    }

    fn work(&mut self) -> Result<()> {
        loop {
            self.fill()?;
            let Some(batch) = self.batches.pop_front() else { return Ok(()) };
            self.batch(&batch)?;
            if self.run.session.stopped() {
                return Err(EngineError::Cancelled);
            }
        }
    }

    /// Keeps reads in flight: those of the batch at hand, then those of the one or two after it.
    fn fill(&mut self) -> Result<()> {
        while self.stream.request()? {
            if self.batches.len() >= 2 || !self.claim() {
                break;
            }
        }
        Ok(())
    }

    /// Takes the next batch; `false`: there is none.
    fn claim(&mut self) -> bool {
        let shared = self.shared;
        let Some(intervals) = shared.order.get(shared.next.fetch_add(1, Relaxed)) else {
            return false;
        };
        let all = self.run.session.config.read == ReadPolicy::Full || shared.everyone;
        let wanted = |chunk: &Chunk| {
            let (first, last) = (
                chunk.sources.0.max(shared.window.vertices.start),
                chunk.sources.1.min(shared.window.vertices.end - 1),
            );
            let wanted = all
                || shared.pass.serves_next(chunk.side)
                || (first <= last && shared.sending.any(first, last));
            shared.pass.reads(chunk.side) && first <= last && wanted
        };
        let (pass, all) = (shared.pass, shared.columns.intervals());
        let begun = pass.position(intervals.start, all).min(pass.position(intervals.end - 1, all));
        let chunks = intervals.clone().flat_map(|interval| shared.columns.chunks(interval, wanted));
        let mut chunks: Vec<(usize, Chunk)> = chunks
            .map(|chunk| match pass.needs(&chunk, shared.columns) > begun {
                true => (pass.position(chunk.interval, all) - begun, chunk),
                false => (0, chunk),
            })
            .collect();
        chunks.sort_by_key(|(closed, chunk)| (*closed, pass.turn(chunk)));
        self.stream.plan(chunks.iter().map(|(_, chunk)| *chunk));
        self.batches.push_back(Batch { intervals: intervals.clone(), chunks });
        true
    }

    /// Combines the messages of a batch, and hands every interval's to its vertices.
    fn batch(&mut self, batch: &Batch) -> Result<()> {
        let first = batch.intervals.start;
        let (mut open, mut base) = (Vec::with_capacity(batch.intervals.len()), 0);
        for interval in batch.intervals.clone() {
            let any = batch.chunks.iter().any(|(_, chunk)| chunk.interval == interval);
            open.push(self.open(interval, base, any)?);
            base += open[open.len() - 1].len;
        }
        let (up, count) = (self.shared.pass.up, open.len());
        let in_turn = |at: usize| if up { at } else { count - 1 - at };
        let mut closed = 0;
        for &(before, ref chunk) in &batch.chunks {
            while closed < before {
                self.close(&open[in_turn(closed)])?;
                closed += 1;
            }
            let interval = &mut open[chunk.interval - first];
            self.desk.turn_to(interval.base);
            interval.touched |= self.combine()?;
            self.fill()?;
        }
        (closed..count).try_for_each(|at| self.close(&open[in_turn(at)]))
    }

    /// Turns to an interval whose sums begin at `base`: its total becomes what earlier windows sent
    /// to it. `any`: there are chunks.
    fn open(&mut self, interval: usize, base: usize, any: bool) -> Result<Open> {
        let shared = self.shared;
        let range = shared.columns.vertices(interval);
        self.desk.turn_to(base);
        // Sums of earlier windows stay where they are until something joins them.
        let resumed =
            (any || shared.window.last) && self.run.resume(shared, interval, self.desk)?;
        let touched = !shared.pass.whole || (resumed && shared.window.last);
        Ok(Open { interval, base, len: (range.end - range.start) as usize, touched })
    }

    /// What an interval was sent reaches its vertices.
    fn close(&mut self, interval: &Open) -> Result<()> {
        let &Open { interval, base, touched, .. } = interval;
        let shared = self.shared;
        self.desk.turn_to(base);
        if let Some(partial) = shared.partial {
            let now = shared.signals.hubs.now();
            self.desk.complete((partial, interval), (shared.pass, now))?;
        }
        let all_send = self.run.finish(shared, interval, touched, self.desk)?;
        shared.settled.mark(shared.pass.position(interval, shared.columns.intervals()), all_send);
        Ok(())
    }

    /// Combines the messages of the next chunk, which is one of the interval at hand: its chunks
    /// were wanted before those of others. Returns whether there was any.
    fn combine(&mut self) -> Result<bool> {
        let Self { run, shared, desk, stream, edges, .. } = self;
        let (desk, shared) = (&mut **desk, *shared);
        let (program, mut any) = (run.program, false);
        let shown = stream.next(|chunk, words| {
            let block = shared.columns.block(chunk, words);
            *edges +=
                if shared.window.vertices.contains(&chunk.sources.0) { block.words() } else { 0 };
            let ((first, last), window, signals) =
                (chunk.sources, &shared.window.vertices, shared.signals);
            if shared.pass.serves_next(chunk.side) {
                let all_send = shared.settled.wait(shared.pass.needs(chunk, shared.columns))?;
                // SAFETY: the chunk's sources are hubs, in intervals that are settled, which was
                // just waited for.
                let pairs = unsafe { signals.hubs.settled(first, last) };
                let active = desk.combine_twice(program, shared, &block, pairs, all_send);
                any = active > 0;
                return Ok(active);
            }
            let active =
                if !(window.start <= first && last < window.end && shared.all_send(first, last)) {
                    desk.combine_some(program, shared, &block)
                } else {
                    let sums = desk.total_mut();
                    if last < signals.hubs.len() {
                        combine_all(program, &block, signals.hubs.this(first, last), sums);
                    } else if first >= signals.hubs.len() {
                        combine_all(program, &block, signals.others(first), sums);
                    } else {
                        combine_all(program, &block, Mixed { signals, first }, sums);
                    }
                    block.words()
                };
            any = active > 0;
            // What is read in every pass is worth twice what is read in every second one.
            Ok(if chunk.side == Side::Near { 2 * active } else { active })
        })?;
        debug_assert!(shown, "the chunks of the interval at hand were wanted");
        Ok(any)
    }
}
