//! One pass over the grid: every interval's chunks are read, its messages combined, its vertices
//! applied, its next signals made. Where the pass says so, chunks whose sources are settled serve
//! the next iteration too ([`fciu`](super::fciu)). Intervals go to the workers in batches of
//! neighbors.

use std::{collections::VecDeque, ops::Range, sync::Mutex, vec::IntoIter};

use outercore_storage::{InARow, OrderedMarks, lock};

use super::{GridByInterval, Run, Step, Workspace, fciu::combine_twice};
use crate::{
    Monoid,
    config::ReadPolicy,
    edges::{grid::combine::combine_all, piece_stream::PieceStream},
    program::{Activity, VertexProgram},
    techniques::Technique,
};
use outercore_graph::{
    GraphError, Result,
    format::{EdgeBlock, GridChunk, Piece, SubBlockIndex},
};

/// Intervals that a worker has, and their chunks in the order in which they are combined.
struct IntervalBatch {
    intervals: Range<usize>,
    /// With each: how many of the batch's intervals must be closed before.
    chunks: Vec<(usize, GridChunk)>,
}

/// What a worker of a pass reads.
struct Feed<'f, 'r, P: VertexProgram> {
    run: &'f Run<'r, P>,
    /// The vertices whose signals are sent.
    window: &'f Range<u64>,
    grid: &'f GridByInterval,
    /// The batches of intervals that no worker has taken, in the order of this pass.
    order: &'f Mutex<IntoIter<Range<usize>>>,
    /// Whether all vertices send.
    all_send: bool,
    stream: PieceStream<'f, GridChunk>,
    /// Batches that this worker has taken, the one at hand left out.
    batches: VecDeque<IntervalBatch>,
}

/// A worker of a pass.
struct Worker<'w, 's, 'f, 'r, P: VertexProgram> {
    step: &'w Step<'s, P>,
    progress: &'w OrderedMarks,
    workspace: &'w mut Workspace<P>,
    feed: &'w mut Feed<'f, 'r, P>,
    /// The weights of the next chunk.
    weights: Vec<u8>,
    edges: u64,
}

impl<P: VertexProgram> Run<'_, P> {
    /// A pass over the grid, from a window of signals. What is read first is on its way while they
    /// come back into memory.
    pub(crate) fn full_pass(&self, window: &Range<u64>, grid: &GridByInterval) -> Result<()> {
        let order = self.pass.order(&grid.index, self.session.workers.count());
        let (order, cache) = (Mutex::new(order.into_iter()), grid.cache.as_deref());
        let (mut readers, all_send) = (self.session.all_readers(), self.all_send());
        let feed = |reader| {
            Mutex::new(Feed {
                run: self,
                window,
                grid,
                order: &order,
                all_send,
                stream: PieceStream::new(self.session, &grid.sections, reader, cache),
                batches: VecDeque::new(),
            })
        };
        let feeds: Vec<_> = readers.iter_mut().map(|reader| feed(&mut **reader)).collect();
        let ready = if self.hubs.size() < window.end {
            let filled = self.each_worker(|workspace| lock(&feeds[workspace.worker]).fill());
            filled.and_then(|()| self.fetch(window))
        } else {
            Ok(())
        };
        let result = ready.and_then(|()| {
            let (mut signals, progress) = (self.signals(), OrderedMarks::new(self.states.len()));
            self.silence(window, &mut signals);
            let step = &self.step(window, &signals);
            self.each_worker(|workspace| {
                let mut feed = lock(&feeds[workspace.worker]);
                let feed = &mut *feed;
                let weights = Vec::with_capacity(grid.index.weights.most());
                let (progress, edges) = (&progress, 0);
                let mut worker = Worker { step, progress, workspace, feed, weights, edges };
                let result = progress.attend(|| worker.work());
                self.session.workers.worked(worker.edges);
                result
            })
        });
        if result.is_err() {
            self.session.workers.map(|index| lock(&feeds[index]).stream.abandon());
        }
        result
    }

    /// The messages that earlier windows of this iteration brought an interval become its total;
    /// `false`: there was none.
    pub(crate) fn resume(&self, workspace: &mut Workspace<P>) -> Result<bool> {
        let (interval, len) = (workspace.interval, workspace.len);
        let summed = self.state(interval).summed;
        let Workspace { total, base, partial: block, .. } = workspace;
        let total = &mut total[*base..][..len];
        match &self.partial {
            Some(partial) if summed => {
                partial.read(interval, block, |items| total.copy_from_slice(items))?;
            }
            _ => total.fill(P::Message::IDENTITY),
        }
        Ok(summed)
    }

    /// The total of an interval waits for the next window, or after the last one reaches the
    /// vertices. Returns whether all of these will send.
    pub(crate) fn finish(
        &self,
        step: &Step<P>,
        touched: bool,
        workspace: &mut Workspace<P>,
    ) -> Result<bool> {
        let interval = workspace.interval;
        if self.is_last(step.window) {
            self.state(interval).summed = false;
            let passed = match &self.lists {
                Some(lists) => self.receive(&*lists.exchange, workspace)?,
                None => false,
            };
            return self.apply(step, touched || passed, workspace);
        }
        if let (true, Some(partial)) = (touched, &self.partial) {
            let Workspace { total, base, partial: block, .. } = workspace;
            let make = |items: &mut [_]| items.copy_from_slice(&total[*base..][..items.len()]);
            partial.write(interval, block, make)?;
            self.state(interval).summed = true;
        }
        Ok(false)
    }
}

impl<P: VertexProgram> Feed<'_, '_, P> {
    /// Keeps reads in flight: those of the batch at hand, then those of the one or two after it.
    fn fill(&mut self) -> Result<()> {
        while self.stream.request()? && self.batches.len() < 2 && self.claim() {}
        Ok(())
    }

    /// Takes the next batch; `false`: there is none.
    fn claim(&mut self) -> bool {
        let &mut Self { run, window, grid: source, order, .. } = self;
        let grid = &source.index;
        let next = lock(order).next();
        let Some(intervals) = next else { return false };
        let all = run.session.config.read == ReadPolicy::Full || self.all_send;
        let pass = run.pass;
        let wanted = |chunk: &GridChunk| {
            let first = chunk.sources.0.max(window.start);
            let last = chunk.sources.1.min(window.end - 1);
            let wanted = first <= last
                && (all || pass.serves_next(chunk.side) || run.sending.any(first, last));
            let reads = pass.reads(chunk.side);
            if wanted && !reads {
                let saved = [1, grid.read(*chunk)];
                run.session.counters.note(Technique::Fciu, saved);
            }
            wanted && reads
        };
        let position = |interval| pass.position(interval, grid.intervals());
        let begun = position(intervals.start).min(position(intervals.end - 1));
        let chunks = intervals.clone().flat_map(|interval| grid.chunks(interval, wanted));
        let mut chunks: Vec<(usize, GridChunk)> = chunks
            .map(|chunk| {
                let waits = pass.needs(&chunk, grid) > begun;
                (if waits { position(chunk.interval) - begun } else { 0 }, chunk)
            })
            .collect();
        pass.sort(&mut chunks);
        let active = |(before, chunk)| {
            let parts = run.active_parts(source, chunk, window);
            let read: u64 = parts.iter().map(|part| grid.read(*part)).sum();
            let skipped = grid.read(chunk).saturating_sub(read);
            run.session.counters.note(Technique::SubBlockIndex, [(skipped > 0).into(), skipped]);
            parts.into_iter().map(move |part| (before, part))
        };
        let chunks: Vec<_> = chunks.into_iter().flat_map(active).collect();
        self.stream.plan(chunks.iter().flat_map(|(_, chunk)| grid.pieces(*chunk)));
        self.batches.push_back(IntervalBatch { intervals, chunks });
        true
    }
}

impl<P: VertexProgram> Worker<'_, '_, '_, '_, P> {
    /// Works until no interval is left.
    fn work(&mut self) -> Result<()> {
        loop {
            self.feed.fill()?;
            let Some(batch) = self.feed.batches.pop_front() else { return Ok(()) };
            self.batch(&batch)?;
            if self.feed.run.session.stopped() {
                return Err(GraphError::Cancelled);
            }
        }
    }

    /// Combines the messages of a batch, and hands every interval's to its vertices.
    fn batch(&mut self, batch: &IntervalBatch) -> Result<()> {
        let run = self.feed.run;
        let last = run.is_last(self.step.window);
        self.ask(batch, 0)?;
        // Of each interval: whether there may be messages.
        let mut touched = Vec::with_capacity(batch.intervals.len());
        for interval in batch.intervals.clone() {
            self.turn_to(batch, interval);
            // Sums of earlier windows stay where they are until something joins them.
            let joined = last || batch.chunks.iter().any(|(_, chunk)| chunk.interval == interval);
            let resumed = joined && run.resume(self.workspace)?;
            touched.push(!run.pass.whole || (resumed && last));
        }
        let mut closed = 0;
        for (before, chunk) in &batch.chunks {
            self.close(batch, closed..*before, &touched)?;
            closed = *before;
            self.turn_to(batch, chunk.interval);
            touched[chunk.interval - batch.intervals.start] |= loop {
                let any = self.combine()?;
                self.feed.fill()?;
                if let Some(any) = any {
                    break any;
                }
            };
        }
        self.close(batch, closed..touched.len(), &touched)
    }

    /// Asks for what the interval with this place, if there is one, wants from scratch.
    fn ask(&mut self, IntervalBatch { intervals, .. }: &IntervalBatch, place: usize) -> Result<()> {
        if place == intervals.len() {
            return Ok(());
        }
        let Feed { run, grid: GridByInterval { index, .. }, .. } = &*self.feed;
        let interval = intervals.start + run.pass.position(place, intervals.len());
        let (io, workspace) = (run.session.config.io, &mut *self.workspace);
        // Vertices of other programs may have nothing to apply, and none do before the last window.
        let applies = P::ACTIVITY == Activity::AllSend && run.is_last(self.step.window);
        if let (Some(stored), true) = (&run.degrees, applies) {
            stored.ask(interval, &mut workspace.degrees, io)?;
        }
        if applies && !run.discards(run.context.iteration) {
            run.values.ask((interval, run.values.items(interval)), &mut workspace.values, io)?;
        }
        if let (Some(sums), true) = (&run.partial, !run.pass.whole && interval < index.crossing) {
            sums.ask((interval, sums.items(interval)), &mut workspace.partial, io)?;
        }
        Ok(())
    }

    /// Turns to an interval of the batch at hand.
    fn turn_to(&mut self, batch: &IntervalBatch, interval: usize) {
        let run = self.feed.run;
        let vertices = run.vertices(interval);
        let base = vertices.start - run.vertices(batch.intervals.start).start;
        self.workspace.turn_to(interval, &vertices, base);
    }

    /// What intervals of a batch were sent reaches their vertices: those with these places in the
    /// order of the pass.
    fn close(
        &mut self,
        batch: &IntervalBatch,
        places: Range<usize>,
        touched: &[bool],
    ) -> Result<()> {
        let run = self.feed.run;
        for place in places {
            let at = run.pass.position(place, touched.len());
            let interval = batch.intervals.start + at;
            self.turn_to(batch, interval);
            if interval < self.feed.grid.index.crossing {
                run.complete(self.workspace)?;
            }
            let all_send = run.finish(self.step, touched[at], self.workspace)?;
            self.ask(batch, place + 1)?;
            self.progress.mark(run.pass.position(interval, run.states.len()), all_send);
        }
        Ok(())
    }

    /// Combines the messages of the next chunk, which is one of the interval at hand: its chunks
    /// were wanted before those of others. Returns whether there was any; `None`: it was a piece of
    /// the chunk's weights.
    fn combine(&mut self) -> Result<Option<bool>> {
        let Self { step, progress, workspace, feed, weights, edges } = self;
        let Feed { run, grid: GridByInterval { index, parts, .. }, all_send, stream, .. } =
            &mut **feed;
        let (mut any, plain) = (None, index.weights.are_none());
        let shown = stream.next(|chunk, words| {
            if chunk.section() > 0 {
                weights.extend_from_slice(words);
                return Ok(0);
            }
            let weight = index.weights.of(chunk.edges.0, weights);
            let block = index.block(&chunk, words);
            let (first, last) = chunk.sources;
            *edges += if step.window.contains(&first) { block.words() } else { 0 };
            let sources = last - first + 1;
            let sent = if *all_send { sources } else { run.sending.count_within(first, last) };
            let (chunk, needs) = (&chunk, run.pass.needs(&chunk, index));
            let part = ChunkAtHand { run, step, progress, parts, chunk, needs, sent, plain };
            // Loops of their own: those with weights are half as fast.
            let active = if plain {
                part.combine(&block, |_| 1.0, workspace)?
            } else {
                part.combine(&block, weight, workspace)?
            };
            any = Some(active > 0);
            let (near, kept) = (!index.is_served(chunk), run.session.config.sub_blocks);
            Ok(kept.worth(active, near, run.pass.serves_next(chunk.side)))
        })?;
        debug_assert!(shown, "the chunks of the interval at hand were wanted");
        if any.is_some() {
            weights.clear();
        }
        Ok(any)
    }
}

/// A chunk of the interval at hand.
struct ChunkAtHand<'p, 's, 'r, P: VertexProgram> {
    run: &'p Run<'r, P>,
    step: &'p Step<'s, P>,
    progress: &'p OrderedMarks,
    parts: &'p SubBlockIndex,
    chunk: &'p GridChunk,
    /// How many intervals must be settled before it serves the next iteration.
    needs: usize,
    /// How many of its sources send.
    sent: u64,
    /// Whether its edges have no weights.
    plain: bool,
}

impl<P: VertexProgram> ChunkAtHand<'_, '_, '_, P> {
    /// Combines its messages; returns how many of its edges are active.
    fn combine(
        &self,
        block: &EdgeBlock,
        weight: impl Fn(usize) -> f64,
        workspace: &mut Workspace<P>,
    ) -> Result<u64> {
        let &Self { run, step, chunk, sent, plain, .. } = self;
        let ((first, last), window) = (chunk.sources, step.window);
        let (base, sources) = (workspace.base, last - first + 1);
        let sums = &mut workspace.total[base..];
        Ok(if run.pass.serves_next(chunk.side) {
            let settled = self.progress.wait(self.needs).ok_or(GraphError::Cancelled)?;
            // SAFETY: the chunk's sources are hubs, in intervals that are settled, which was just
            // waited for.
            let pairs = unsafe { step.signals.front.settled(first, last) };
            let all = plain && sent == sources && (settled || run.next_sending.all(first, last));
            let sets = (&run.sending, &run.next_sending, all);
            combine_twice(&*run.program, (block, weight), pairs, &mut workspace.both[base..], sets)
        } else if plain
            && window.start <= first
            && last < window.end
            && run.asks_none(sent, sources)
        {
            combine_of_all(run, step, block, sums);
            (block.words() * sent).div_ceil(sources)
        } else {
            combine_some(run, step, (self.parts, chunk), (block, weight), sums)
        })
    }
}

/// Combines the messages of a block all of whose sources send, or are silent, and are in the
/// window.
fn combine_of_all<P: VertexProgram>(
    run: &Run<P>,
    step: &Step<P>,
    block: &EdgeBlock,
    sums: &mut [P::Message],
) {
    let ((first, last), hubs) = (block.sources(), step.signals.front);
    if last < hubs.size() {
        combine_all(&*run.program, block, hubs.current(first, last), sums);
    } else if first >= hubs.size() {
        combine_all(&*run.program, block, step.signals.others(first), sums);
    } else {
        let hubs = hubs.current(first, hubs.size() - 1);
        let all = InARow(hubs, step.signals.others(step.signals.front.size()));
        combine_all(&*run.program, block, all, sums);
    }
}

/// Combines the messages of those of a block's sources that send and are in the window. Returns
/// how many edges they have.
// Not inlined, for the reason of the loops in `combine`.
#[inline(never)]
fn combine_some<P: VertexProgram>(
    run: &Run<P>,
    step: &Step<P>,
    (parts, chunk): (&SubBlockIndex, &GridChunk),
    (block, weight): (&EdgeBlock, impl Fn(usize) -> f64),
    sums: &mut [P::Message],
) -> u64 {
    let (program, window, mut active) = (&*run.program, step.window, 0);
    parts.for_each(chunk, block, |source, target, at| {
        let vertex = block.segment + source as u64;
        if run.sending.contains(vertex) && window.contains(&vertex) {
            active += 1;
            sums[target].combine(program.carry(step.signals.of(vertex), weight(at)));
        }
    });
    active
}
