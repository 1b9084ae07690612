//! Iterations in which an interval of vertices at a time is at hand. Its edges are read, its
//! messages combined, its values loaded, applied and stored, and its next signals made at once, so
//! that values and degrees are read once in an iteration.
//!
//! Resident for each vertex: two bits and a signal, for each hub a second one. Where not even one
//! signal fits, a window of signals at a time is in memory, and what each window sends waits on
//! scratch for the others. All else is in memory as far as there is room.

use std::{mem::take, ops::Range};

use super::{Delivered, EdgeSource, Run, by_lists::Role, io_scheduling::Scan};
use crate::{
    Monoid, config::ReadPolicy, edges::grid::index::Chunk, program::VertexProgram, report::Costs,
};
use outercore_graph::Result;

/// Seconds of a processor for each message that is passed, with all that an iteration does for it:
/// measured, on a processor of 2023.
const MESSAGE: f64 = 25e-9;

impl<P: VertexProgram> Run<'_, P> {
    /// One iteration.
    pub(crate) fn by_interval(&mut self) -> Result<Delivered> {
        if self.hubs.size() > 0 {
            self.pass = self.pass.next(self.session.config.cross_iteration, self.goes_on());
        }
        let predicted = self.predict();
        // What a pass does ahead binds the next iteration to the grid.
        self.pass.ahead &= !self.prefers_lists(predicted, 2.0);
        let by_lists = self.pass.whole && self.prefers_lists(predicted, 1.0);
        self.pass.ahead &= !by_lists;
        match &self.lists {
            Some(lists) if by_lists => {
                self.each_window(|window| {
                    self.fetch(window)?;
                    self.send_along(lists, window)
                })?;
                self.each_in_place(|step, workspace| self.collect(lists, step, workspace))?;
            }
            _ => self.by_passes()?,
        }
        let listed = by_lists || self.beside().is_some();
        Ok((if listed { "on-demand" } else { "full" }, predicted))
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

    /// One iteration by a pass over all intervals, or by one for each window of signals.
    fn by_passes(&self) -> Result<()> {
        self.each_window(|window| {
            if let Some(lists) = self.beside() {
                self.fetch(window)?;
                self.send_along(lists, window)?;
            }
            match &self.edges {
                EdgeSource::Grid(grid) => self.full_pass(window, grid),
                EdgeSource::Lists(rows) => self.pull(window, rows),
                EdgeSource::Resident(_) => unreachable!("those are for iterations by segment"),
            }
        })
    }

    /// What both ways of reading will take.
    fn predict(&self) -> Option<Costs> {
        let lists = self.lists.as_ref().filter(|lists| lists.role != Role::Beside)?;
        let EdgeSource::Grid(grid) = &self.edges else { return None };
        let (sending, grid) = (&self.sending, &grid.index);
        // Between windows of signals, sums go to scratch and come back.
        let sums = sending.len() * size_of::<P::Message>() as u64;
        let bytes = 2 * sums * (self.windows.len() as u64 - 1);
        let between = Scan { bytes, ..Scan::default() };
        let edges = self.total(|state| state.edges);
        let (passed, blocks) = lists.exchange.logged(edges);
        let limits = &self.session.limits;
        let logging = 2.0 * limits.seconds(passed, blocks);
        // Messages whose order matters are gathered in shares, by all workers too.
        let workers = if P::Message::EXACT { 1 } else { self.workspaces.len() };
        let message = MESSAGE / workers as f64;
        let costs = |scan| {
            let costs = self.costs(scan, &lists.rows, edges, message);
            Costs { on_demand_seconds: costs.on_demand_seconds + logging, ..costs }
        };
        // Looking at every chunk costs something too, which is not needed where not even all of
        // them would be worth it.
        let most = costs(Scan {
            bytes: between.bytes + grid.bytes(),
            requests: grid.directory.chunks.len() as u64,
            words: grid.directory.words(),
        });
        if self.is_by_paper() {
            return Some(self.costs(Scan { bytes: grid.bytes(), ..between }, &lists.rows, 0, 0.0));
        }
        if !self.pass.whole || most.on_demand_seconds >= most.full_seconds {
            return Some(most);
        }
        let wanted = |chunk: &Chunk| sending.any(chunk.sources.0, chunk.sources.1);
        let chunks = (0..grid.intervals()).flat_map(|interval| grid.chunks(interval, wanted));
        Some(costs(chunks.fold(between, |scan, chunk| Scan {
            bytes: scan.bytes + grid.read(chunk),
            requests: scan.requests + 1,
            words: scan.words + chunk.words(),
        })))
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
