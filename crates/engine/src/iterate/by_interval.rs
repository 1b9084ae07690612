//! Iterations in which an interval of vertices at a time is at hand. Its edges are read, its
//! messages combined, its values loaded, applied and stored, and its next signals made at once, so
//! that values and degrees are read once in an iteration.
//!
//! Resident for each vertex: two bits and a signal, for each hub a second one. Where not even one
//! signal fits, a window of signals at a time is in memory, and what each window sends waits on
//! scratch for the others. All else is in memory as far as there is room.

use std::{mem::take, ops::Range};

use super::{Delivered, EdgeSource, GridByInterval, Run, by_lists::Role};
use crate::{
    Monoid, config::ReadPolicy, program::VertexProgram, report::ReadMode, techniques::Technique,
};
use outercore_graph::{Result, format::GridChunk};
use outercore_storage::device::{Costs, Mix, Streamed};

/// Seconds of a processor for each message that is passed, with all that an iteration does for it:
/// measured, on a processor of 2023.
const MESSAGE: f64 = 25e-9;

impl<P: VertexProgram> Run<'_, P> {
    /// One iteration.
    pub(crate) fn by_interval(&mut self) -> Result<Delivered> {
        if let (true, EdgeSource::Grid(grid)) = (self.hubs.size() > 0, &self.edges) {
            self.pass = self.pass.next(grid.index.served, self.goes_on());
        }
        let (mut predicted, split) = self.predict();
        // What a pass does ahead binds the next iteration to the grid.
        self.pass.ahead &= !self.prefers_lists(predicted, 2.0);
        let by_lists = self.pass.whole && self.prefers_lists(predicted, 1.0);
        self.pass.ahead &= !by_lists;
        let split = split.filter(|_| self.pass.whole && !self.pass.ahead);
        let mode = match &self.lists {
            Some(_) if split.is_some() => ReadMode::Mixed,
            Some(lists) if by_lists => {
                self.each_window(|window| {
                    self.fetch(window)?;
                    self.send_along(lists, window)
                })?;
                self.each_in_place(|step, workspace| {
                    self.collect(&*lists.exchange, step, workspace)
                })?;
                return Ok((ReadMode::OnDemand, predicted));
            }
            Some(lists) if lists.role == Role::Beside => ReadMode::OnDemand,
            _ => ReadMode::Full,
        };
        if let (Some(costs), None) = (&mut predicted, &split) {
            costs.mixed_seconds = None;
        }
        self.by_passes(split.as_deref())?;
        Ok((mode, predicted))
    }

    /// Whether there may be an iteration after this one.
    pub(crate) fn goes_on(&self) -> bool {
        self.most != Some(self.context.iteration + 1)
    }

    /// Brings a window's signals back into memory, unless they are there.
    pub(crate) fn fetch(&self, window: &Range<u64>) -> Result<()> {
        let mut signals = self.signals();
        let parts = self.parts(&mut signals, &(window.start.max(self.hubs.size())..window.end));
        self.each_interval(|workspace| {
            let interval = workspace.interval;
            if let (Some(mut part), Some(tail)) = (parts.get(interval), &self.tail)
                && take(&mut self.state(interval).tail)
            {
                tail.load(interval, &mut workspace.signals)?;
                part.copy_from_slice(workspace.signals.items(workspace.len));
            }
            Ok(())
        })
    }

    /// The windows in which a vertex sends, and the last one, after which messages reach their
    /// vertices.
    fn each_window(&self, mut work: impl FnMut(&Range<u64>) -> Result<()>) -> Result<()> {
        for window in &self.windows {
            if self.sends(window) || self.is_last(window) {
                work(window)?;
            }
        }
        Ok(())
    }

    /// One iteration by a pass over all intervals, or by one for each window of signals. Of a
    /// `split` it says which intervals' vertices send along their lists instead.
    fn by_passes(&self, split: Option<&[bool]>) -> Result<()> {
        self.each_window(|window| {
            match (&self.lists, split) {
                (Some(lists), Some(split)) => {
                    self.fetch(window)?;
                    self.send_some(lists, window, split)?;
                }
                (Some(lists), None) if lists.role == Role::Beside => {
                    self.fetch(window)?;
                    self.send_along(lists, window)?;
                }
                _ => {}
            }
            match &self.edges {
                EdgeSource::Grid(grid) => self.full_pass(window, grid),
                EdgeSource::Lists(rows) => self.pull(window, rows),
                EdgeSource::Resident(_) => unreachable!("those are for iterations by segment"),
            }
        })
    }

    /// What both ways of reading will take; and if both together take less, the intervals of
    /// sources whose lists are read.
    fn predict(&self) -> (Option<Costs>, Option<Vec<bool>>) {
        let lists = self.lists.as_ref().filter(|lists| lists.role != Role::Beside);
        let (Some(lists), EdgeSource::Grid(source)) = (lists, &self.edges) else {
            return (None, None);
        };
        let (sending, grid) = (&self.sending, &source.index);
        // Between windows of signals, sums go to scratch and come back.
        let sums = sending.len() * size_of::<P::Message>() as u64;
        let between = 2 * sums * (self.windows.len() as u64 - 1);
        let limits = &self.session.limits;
        // Messages whose order matters are gathered in shares, by all workers too.
        let workers = if P::Message::EXACT { 1 } else { self.workspaces.len() };
        let costs = |scan: Streamed, sent: [u64; 2]| {
            let scan = Streamed { bytes: scan.bytes + between, ..scan };
            let mut costs = self.costs(scan, &lists.rows, sent, MESSAGE / workers as f64);
            let (passed, blocks) = lists.exchange.logged(sent[1]);
            costs.on_demand_seconds += 2.0 * limits.seconds(passed, blocks);
            costs
        };
        // Looking at every chunk costs something too, more than a few lists do: for each word 18 ps
        // of a processor, as measured.
        let (all, sent) = (grid.directory.chunks.len() as u64, self.sends_in_all());
        let scan = Streamed { bytes: grid.bytes(), requests: all, items: grid.directory.words() };
        let most = costs(scan, sent);
        let few = most.on_demand_seconds < scan.items as f64 * 18e-12;
        if few || self.is_by_paper() || !self.pass.whole || self.all_send() {
            return (Some(most), None);
        }
        let (wanted, mix) = self.mix(source);
        let mut whole = costs(wanted, sent);
        let mut by_both = |scan, sent| {
            let costs = costs(scan, sent);
            costs.full_seconds + costs.on_demand_seconds
        };
        let (mixed, split) = mix.best(&mut by_both);
        // To do both takes a little longer than either alone.
        let is_best = mixed < 0.9 * whole.full_seconds.min(whole.on_demand_seconds);
        let config = self.session.config;
        let may_mix =
            lists.role == Role::Choice && P::Message::EXACT && config.page_cache.is_none();
        let chosen = config.read == ReadPolicy::Auto && may_mix && is_best;
        whole.mixed_seconds = chosen.then_some(mixed);
        (Some(whole), chosen.then_some(split))
    }

    /// What is read of a chunk for the vertices of a window that send: where it serves this
    /// iteration alone, its parts that have some of their edges, unless others are to be read too.
    pub(crate) fn active_parts(
        &self,
        source: &GridByInterval,
        chunk: GridChunk,
        window: &Range<u64>,
    ) -> Vec<GridChunk> {
        let is_on = Technique::SubBlockIndex.is_on(self.session.config);
        if !is_on || self.pass.serves_next(chunk.side) {
            return vec![chunk];
        }
        let sends = |first: u64, last: u64| {
            let (first, last) = (first.max(window.start), last.min(window.end - 1));
            first <= last && self.sending.any(first, last)
        };
        source.parts.active(chunk, sends, self.session.limits.break_even_bytes)
    }

    /// The chunks that are wanted, and which intervals want them. One that is in memory, or stays
    /// there from now on, is not read.
    fn mix(&self, source: &GridByInterval) -> (Streamed, Mix) {
        let (grid, stay) = (&source.index, source.cache.as_deref());
        let of = |interval| {
            let vertices = self.vertices(interval);
            let sends = self.sends(&vertices);
            let count = || self.sending.count_within(vertices.start, vertices.end - 1);
            if sends { [count(), self.state(interval).edges] } else { [0; 2] }
        };
        let mut absent = 0;
        let mut mix = Mix::new((0..grid.intervals()).map(of).collect());
        let wanted = |chunk: &GridChunk| self.sending.any(chunk.sources.0, chunk.sources.1);
        let chunks = (0..grid.intervals()).flat_map(|interval| grid.chunks(interval, wanted));
        let all = 0..self.sending.len();
        for chunk in chunks.flat_map(|chunk| self.active_parts(source, chunk, &all)) {
            let [first, last] =
                [chunk.sources.0, chunk.sources.1].map(|at| grid.directory.interval_of(at));
            let bytes = grid.read(chunk);
            let [bytes, requests] = stay.map_or([bytes, 1], |stay| {
                stay.reads((chunk.number, chunk.is_whole()), bytes, &mut absent)
            });
            mix.piece(first..last + 1, Streamed { bytes, requests, items: chunk.words() });
        }
        (mix.all(), mix)
    }

    /// Whether reading lists is predicted to take less than so many times what the grid takes, or
    /// was asked for.
    pub(crate) fn prefers_lists(&self, predicted: Option<Costs>, times: f64) -> bool {
        let config = self.session.config;
        let asked = config.read == ReadPolicy::OnDemand
            || config.page_cache.is_some()
            || self.lists.as_ref().is_some_and(|lists| lists.role == Role::Instead);
        predicted.is_some_and(|costs| asked || costs.on_demand_seconds < times * costs.full_seconds)
    }
}
