//! One pass over the grid: every interval's chunks are read, its messages combined, its vertices
//! applied, its next signals made. Where the pass says so, chunks whose sources are settled serve
//! the next iteration too ([`fciu`](super::cross_iteration::fciu)). Intervals go to the workers in
//! batches of neighbors.

use std::{
    collections::VecDeque,
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use super::{
    cross_iteration::fciu::{Progress, combine_twice, complete},
    on_demand::Role,
    run::{GridByInterval, Run, Step},
    signals::Mixed,
    workspace::{Sums, Workspace},
};
use crate::{
    config::ReadPolicy,
    edges::grid::{
        EdgeBlock,
        chunk_stream::{ChunkCache, ChunkStream},
        combine::combine_all,
        index::{Chunk, Side},
    },
    error::{EngineError, Result},
    monoid::Monoid,
    program::VertexProgram,
};

/// What the workers of a pass share.
struct Shared<'p, 'r, 's, P: VertexProgram> {
    run: &'p Run<'r, P>,
    grid: &'p GridByInterval,
    step: &'p Step<'s, P>,
    progress: Progress,
    /// The batches of intervals in the order of this pass.
    order: Vec<Range<usize>>,
    next: AtomicUsize,
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
    /// Whether there may be messages.
    touched: bool,
}

/// A worker of a pass.
struct Worker<'w, 'r, 's, P: VertexProgram> {
    shared: &'w Shared<'w, 'r, 's, P>,
    workspace: &'w mut Workspace<P>,
    stream: ChunkStream<'w>,
    /// Batches that this worker has taken, the one at hand left out.
    batches: VecDeque<Batch>,
    edges: u64,
}

impl<P: VertexProgram> Run<'_, P> {
    /// A pass over the grid.
    pub(crate) fn full_pass(&self, step: &Step<P>, grid: &GridByInterval) -> Result<()> {
        let shared = Shared {
            run: self,
            grid,
            step,
            progress: Progress::new(self.states.len()),
            order: self.pass.order(&grid.index, self.session.workers.count()),
            next: AtomicUsize::new(0),
        };
        let hits = &self.session.counters.sub_block_hits;
        let cache = grid.sub_blocks.as_ref().map(|chunks| (chunks as &dyn ChunkCache, hits));
        self.each_worker(|index, workspace| {
            let mut reader = self.session.reader(index);
            let stream = ChunkStream::new(self.session, &grid.words, &mut reader, cache);
            let batches = VecDeque::new();
            let mut worker = Worker { shared: &shared, workspace, stream, batches, edges: 0 };
            let result = worker.work();
            worker.workspace.base = 0;
            self.session.counters.edges.fetch_add(worker.edges, Relaxed);
            if result.is_err() {
                shared.progress.fail();
                worker.stream.abandon();
            }
            result
        })
    }

    /// The messages that earlier windows of this iteration brought an interval become its total;
    /// `false`: there was none.
    pub(crate) fn resume(&self, interval: usize, workspace: &mut Workspace<P>) -> Result<bool> {
        let (summed, len) = (self.state(interval).summed, self.len(interval));
        if let (true, Some(partial)) = (summed, &self.partial) {
            let Sums { total, partial: block, .. } = workspace.sums();
            partial.read(interval, block, |items| total[..len].copy_from_slice(items))?;
        } else {
            workspace.empty_total(len);
        }
        Ok(summed)
    }

    /// The total of an interval waits for the next window, or after the last one reaches the
    /// vertices. Returns whether all of these will send.
    pub(crate) fn finish(
        &self,
        step: &Step<P>,
        interval: usize,
        touched: bool,
        workspace: &mut Workspace<P>,
    ) -> Result<bool> {
        if step.window.last {
            self.state(interval).summed = false;
            let first = self.vertices(interval).start;
            let passed = match &self.lists {
                Some(lists) if lists.role == Role::Beside => {
                    lists.receive(interval, first, workspace.sums().total)?
                }
                _ => false,
            };
            return self.apply(step, interval, touched || passed, workspace);
        }
        if let (true, Some(partial)) = (touched, &self.partial) {
            let Sums { total, partial: block, .. } = workspace.sums();
            partial.write(interval, block, |items| items.copy_from_slice(&total[..items.len()]))?;
            self.state(interval).summed = true;
        }
        Ok(false)
    }
}

impl<P: VertexProgram> Worker<'_, '_, '_, P> {
    /// Works until no interval is left.
    fn work(&mut self) -> Result<()> {
        loop {
            self.fill()?;
            let Some(batch) = self.batches.pop_front() else { return Ok(()) };
            self.batch(&batch)?;
            if self.shared.run.session.stopped() {
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
        let &Shared { run, grid, step, ref order, ref next, .. } = self.shared;
        let Some(intervals) = order.get(next.fetch_add(1, Relaxed)) else { return false };
        let all = run.session.config.read == ReadPolicy::Full || step.all_send;
        let (pass, grid, window) = (run.pass, &grid.index, &step.window.vertices);
        let wanted = |chunk: &Chunk| {
            let (first, last) =
                (chunk.sources.0.max(window.start), chunk.sources.1.min(window.end - 1));
            let wanted = all
                || pass.serves_next(chunk.side)
                || (first <= last && run.sending.any(first, last));
            pass.reads(chunk.side) && first <= last && wanted
        };
        let position = |interval| pass.position(interval, grid.intervals());
        let begun = position(intervals.start).min(position(intervals.end - 1));
        let chunks = intervals.clone().flat_map(|interval| grid.chunks(interval, wanted));
        let mut chunks: Vec<(usize, Chunk)> = chunks
            .map(|chunk| match pass.needs(&chunk, grid) > begun {
                true => (position(chunk.interval) - begun, chunk),
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
        let (run, first) = (self.shared.run, batch.intervals.start);
        let (mut open, mut base) = (Vec::with_capacity(batch.intervals.len()), 0);
        for interval in batch.intervals.clone() {
            let any = batch.chunks.iter().any(|(_, chunk)| chunk.interval == interval);
            open.push(self.open(interval, base, any)?);
            base += run.len(interval);
        }
        let (up, count) = (run.pass.up, open.len());
        let in_turn = |at: usize| if up { at } else { count - 1 - at };
        let mut closed = 0;
        for &(before, ref chunk) in &batch.chunks {
            while closed < before {
                self.close(&open[in_turn(closed)])?;
                closed += 1;
            }
            let interval = &mut open[chunk.interval - first];
            self.workspace.base = interval.base;
            interval.touched |= self.combine()?;
            self.fill()?;
        }
        (closed..count).try_for_each(|at| self.close(&open[in_turn(at)]))
    }

    /// Turns to an interval whose sums begin at `base`: its total becomes what earlier windows sent
    /// to it. `any`: there are chunks.
    fn open(&mut self, interval: usize, base: usize, any: bool) -> Result<Open> {
        let Shared { run, step, .. } = self.shared;
        self.workspace.base = base;
        // Sums of earlier windows stay where they are until something joins them.
        let resumed = (any || step.window.last) && run.resume(interval, self.workspace)?;
        let touched = !run.pass.whole || (resumed && step.window.last);
        Ok(Open { interval, base, touched })
    }

    /// What an interval was sent reaches its vertices.
    fn close(&mut self, open: &Open) -> Result<()> {
        let (&Open { interval, base, touched }, run) = (open, self.shared.run);
        self.workspace.base = base;
        if let Some(partial) = &run.partial {
            let (Sums { total, both, partial: block }, len) =
                (self.workspace.sums(), run.len(interval));
            let both = if run.pass.ahead { &mut both[..len] } else { both };
            let when = (run.pass, run.hubs.now());
            complete(when, &mut total[..len], both, (partial, interval), block)?;
        }
        let all_send = run.finish(self.shared.step, interval, touched, self.workspace)?;
        let position = run.pass.position(interval, run.states.len());
        self.shared.progress.mark(position, all_send);
        Ok(())
    }

    /// Combines the messages of the next chunk, which is one of the interval at hand: its chunks
    /// were wanted before those of others. Returns whether there was any.
    fn combine(&mut self) -> Result<bool> {
        let Self { shared, workspace, stream, edges, .. } = self;
        let &Shared { run, grid, step, ref progress, .. } = *shared;
        let mut any = false;
        let shown = stream.next(|chunk, words| {
            let block = grid.index.block(chunk, words);
            let ((first, last), window) = (chunk.sources, &step.window.vertices);
            *edges += if window.contains(&first) { block.words() } else { 0 };
            let sums = workspace.sums();
            let all_send = || step.all_send || run.sending.all(first, last);
            let active = if run.pass.serves_next(chunk.side) {
                let settled = progress.wait(run.pass.needs(chunk, &grid.index))?;
                // SAFETY: the chunk's sources are hubs, in intervals that are settled, which was
                // just waited for.
                let pairs = unsafe { step.signals.hubs.settled(first, last) };
                let all = all_send() && (settled || run.next_sending.all(first, last));
                let sets = (&run.sending, &run.next_sending, all);
                combine_twice(&*run.program, &block, (pairs, run.hubs.now()), sums.both, sets)
            } else if window.start <= first && last < window.end && all_send() {
                combine_of_all(run, step, &block, sums.total);
                block.words()
            } else {
                combine_some(run, step, &block, sums.total)
            };
            any = active > 0;
            // What is read in every pass is worth twice what is read in every second one.
            Ok(if chunk.side == Side::Near { 2 * active } else { active })
        })?;
        debug_assert!(shown, "the chunks of the interval at hand were wanted");
        Ok(any)
    }
}

/// Combines the messages of a block all of whose sources send and are in the window.
fn combine_of_all<P: VertexProgram>(
    run: &Run<P>,
    step: &Step<P>,
    block: &EdgeBlock,
    sums: &mut [P::Message],
) {
    let (program, signals, (first, last)) = (&*run.program, step.signals, block.sources());
    if last < signals.hubs.len() {
        combine_all(program, block, signals.hubs.current(first, last), sums);
    } else if first >= signals.hubs.len() {
        combine_all(program, block, signals.others(first), sums);
    } else {
        combine_all(program, block, Mixed { signals, first }, sums);
    }
}

/// Combines the messages of those of a block's sources that send and are in the window. Returns
/// how many edges they have.
// Not inlined, for the reason of the loops in `combine`.
#[inline(never)]
fn combine_some<P: VertexProgram>(
    run: &Run<P>,
    step: &Step<P>,
    block: &EdgeBlock,
    sums: &mut [P::Message],
) -> u64 {
    let (program, window, mut active) = (&*run.program, &step.window.vertices, 0);
    block.for_each(|source, target| {
        let vertex = block.segment + source as u64;
        if run.sending.contains(vertex) && window.contains(&vertex) {
            active += 1;
            sums[target].combine(program.carry(step.signals.of(vertex), 1.0));
        }
    });
    active
}
