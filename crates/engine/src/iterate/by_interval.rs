//! Iterations in which an interval of vertices at a time is at hand. Its edges are read, its
//! messages combined, its values loaded, applied and stored, and its next signals made at once, so
//! that values and degrees are read once in an iteration.
//!
//! Resident for each vertex: two bits and a signal, for each hub a second one. Where not even one
//! signal fits, a window of signals at a time is in memory, and what each window sends waits on
//! scratch for the others. All else is in memory as far as there is room.

use std::ops::Range;

use super::{
    io_scheduling::Scan,
    on_demand::{OnDemand, Role},
    run::{Edges, Run},
    signals::{Signals, Window},
    workspace::Workspace,
};
use crate::{
    config::ReadPolicy,
    edges::grid::index::Chunk,
    error::Result,
    program::{Context, VertexProgram},
    report::Costs,
};

impl<P: VertexProgram> Run<'_, P> {
    /// One iteration. Returns how edges were read, and what was predicted where there was a choice.
    pub(crate) fn by_interval(
        &mut self,
        context: &Context,
    ) -> Result<(&'static str, Option<Costs>)> {
        if self.hubs.len() > 0 {
            let more = self.most.is_none_or(|most| context.iteration + 1 < most);
            self.pass = self.pass.next(self.session.config.cross_iteration, more);
        }
        let predicted = self.predict();
        // What a pass does ahead binds the next iteration to the grid.
        self.pass.ahead &= !self.prefers_lists(predicted, 2.0);
        let by_lists = self.pass.whole && self.prefers_lists(predicted, 1.0);
        self.pass.ahead &= !by_lists;
        let role = self.lists.as_ref().map(|lists| lists.role);
        match &self.lists {
            Some(lists) if by_lists => self.by_lists(lists, context)?,
            _ => self.by_passes(context)?,
        }
        let listed = by_lists || role == Some(Role::Beside);
        Ok((if listed { "on-demand" } else { "full" }, predicted))
    }

    /// Brings the signals of these intervals back into memory, where they were made for it.
    fn fetch(&self, intervals: Range<usize>) -> Result<()> {
        let mut signals = self.signals.lock().expect("no holder panics");
        let parts = self.parts(&mut signals, intervals);
        self.each_interval(|_, interval, workspace| {
            if let (Some(mut part), Some(tail)) = (parts.get(interval), &self.tail)
                && self.state(interval).tail
            {
                tail.load(interval, &mut workspace.signals)?;
                part.copy_from_slice(workspace.signals.items(self.len(interval)));
            }
            Ok(())
        })
    }

    /// The windows in which a vertex sends, their signals brought into memory, and the last one,
    /// after which messages reach their vertices.
    fn each_window(&self, mut work: impl FnMut(&Window) -> Result<()>) -> Result<()> {
        for window in &self.windows {
            let vertices = &window.vertices;
            let sends = !vertices.is_empty() && self.sending.any(vertices.start, vertices.end - 1);
            if sends || window.last {
                if self.windows.len() > 1 {
                    self.fetch(window.intervals.clone())?;
                }
                work(window)?;
            }
        }
        Ok(())
    }

    /// One iteration by the lists of active vertices.
    fn by_lists(&self, lists: &OnDemand<P::Message>, context: &Context) -> Result<()> {
        self.each_window(|window| self.gather(lists, context, window))?;
        let mut signals = self.signals.lock().expect("no holder panics");
        let step = self.step_in_place(context, &mut signals);
        self.each_interval(|_, interval, workspace| {
            let touched = self.collect(lists, interval, workspace)?;
            self.apply(&step, interval, touched, workspace).map(drop)
        })
    }

    /// One iteration by a pass over all intervals, or by one for each window of signals.
    fn by_passes(&self, context: &Context) -> Result<()> {
        let beside = self.lists.as_ref().filter(|lists| lists.role == Role::Beside);
        self.each_window(|window| {
            if let Some(lists) = beside {
                self.gather(lists, context, window)?;
            }
            let signals = self.signals.lock().expect("no holder panics");
            let step = self.step(context, window, &signals);
            match &self.edges {
                Edges::Grid(grid) => self.full_pass(&step, grid),
                Edges::Lists(rows) => self.pull(&step, rows),
                Edges::Resident(_) => unreachable!("those are for iterations by segment"),
            }
        })?;
        if self.windows.len() > 1 {
            return Ok(());
        }
        self.fetch(self.beyond_hubs())
    }

    /// Reads the lists of active vertices of a window, and passes their messages on.
    fn gather(
        &self,
        lists: &OnDemand<P::Message>,
        context: &Context,
        window: &Window,
    ) -> Result<()> {
        let mut signals = self.signals.lock().expect("no holder panics");
        if let Some(which) = self.precompute {
            return self.gather_early(lists, context, &mut signals, which);
        }
        let vertices = window.vertices.clone();
        let signals = Signals::new(&self.hubs, &signals, vertices.start);
        let edges = self.total(|state| state.edges);
        lists.gather(&*self.program, vertices, signals, &self.sending, edges)
    }

    /// The messages that were passed to an interval become its total; `false`: there was none.
    pub(crate) fn collect(
        &self,
        lists: &OnDemand<P::Message>,
        interval: usize,
        workspace: &mut Workspace<P>,
    ) -> Result<bool> {
        let total = workspace.empty_total(self.len(interval));
        lists.receive(interval, self.vertices(interval).start, total)
    }

    /// What both ways of reading will take.
    fn predict(&self) -> Option<Costs> {
        let lists = self.lists.as_ref().filter(|lists| lists.role != Role::Beside)?;
        let Edges::Grid(grid) = &self.edges else { return None };
        let (sending, grid) = (&self.sending, &grid.index);
        // Between windows of signals, sums go to scratch and come back.
        let sums = grid.vertices * size_of::<P::Message>() as u64;
        let between = Scan {
            bytes: 2 * sums * (self.windows.len() as u64 - 1),
            all_send: sending.count() == sending.len(),
            ..Scan::default()
        };
        let edges = self.total(|state| state.edges);
        let costs = |scan| lists.costs(sending.count(), edges, scan);
        // Looking at every chunk costs something too, which is not needed where not even all of
        // them would be worth it.
        let most = costs(Scan {
            bytes: between.bytes + grid.bytes(),
            requests: grid.directory.chunks.len() as u64,
            words: grid.words(),
            ..between
        });
        if !self.pass.whole || most.on_demand_seconds >= most.full_seconds {
            return Some(most);
        }
        let wanted = |chunk: &Chunk| sending.any(chunk.sources.0, chunk.sources.1);
        let chunks = (0..grid.intervals()).flat_map(|interval| grid.chunks(interval, wanted));
        Some(costs(chunks.fold(between, |scan, chunk| scan.with(&chunk))))
    }

    /// Whether reading lists is predicted to take less than so many times what the grid takes, or
    /// was asked for.
    fn prefers_lists(&self, predicted: Option<Costs>, times: f64) -> bool {
        let asked = self.session.config.read == ReadPolicy::OnDemand
            || self.lists.as_ref().is_some_and(|lists| lists.role == Role::Instead);
        predicted.is_some_and(|costs| asked || costs.on_demand_seconds < times * costs.full_seconds)
    }
}
