//! What the next pass reads, and whether lists are read instead: by cost, from the device's profile
//! (GraphSD, ICPP'22, section 4.1).

use super::{pass::Pass, run::External};
use crate::{
    config::{CrossIteration, ReadPolicy},
    costs::Scan,
    edges::grid::index::Chunk,
    frontier::Frontier,
    program::VertexProgram,
    report::Costs,
};

impl<P: VertexProgram> External<'_, P> {
    /// What the next pass reads: everything, or what the last one has not served yet.
    pub(super) fn choose(
        &self,
        last: Pass,
        iteration: u64,
        partial: bool,
        scans: Option<u64>,
    ) -> Pass {
        let more = scans.is_none_or(|scans| iteration + 1 < scans);
        let served = iteration > 0 && last.ahead;
        match self.session.config.cross_iteration {
            _ if !partial => Pass { up: true, whole: true, ahead: false },
            // In a pass down everything before an interval was served already, and what is read
            // serves the pass after it.
            CrossIteration::On => Pass { up: !served || !last.up, whole: !served, ahead: more },
            _ => Pass { up: !served, whole: !served, ahead: !served && more },
        }
    }

    /// The edges of who sends now.
    pub(super) fn edges(&self) -> u64 {
        self.notes.iter().map(|note| note.lock().expect("no holder panics").edges).sum()
    }

    /// What both ways of reading will take.
    pub(super) fn predict(&self, sending: &Frontier, pass: Pass) -> Option<Costs> {
        let demand = self.demand.as_ref()?;
        let threads = self.session.workers.count();
        // Between windows of signals, sums go to scratch and come back.
        let sums = self.columns.vertices_len() * size_of::<P::Message>() as u64;
        let between = Scan {
            bytes: 2 * sums * (self.windows.len() as u64 - 1),
            everyone: sending.count() == sending.len(),
            ..Scan::default()
        };
        let cost = |grid| {
            demand.costs(self.session.limits(), threads, (sending.count(), self.edges()), grid)
        };
        // Looking at every chunk costs something too, which is not needed where not even all of
        // them would be worth it.
        let all = Scan {
            bytes: between.bytes + self.columns.bytes(),
            requests: self.columns.directory.chunks.len() as u64,
            words: self.columns.words(),
            ..between
        };
        let most = cost(all);
        if pass.whole && most.on_demand_seconds < most.full_seconds {
            let wanted = |chunk: &Chunk| sending.any(chunk.sources.0, chunk.sources.1);
            let mut scan = between;
            for chunk in (0..self.columns.intervals())
                .flat_map(|interval| self.columns.chunks(interval, wanted))
            {
                scan.bytes += chunk.padded() as u64;
                scan.requests += 1;
                scan.words += chunk.words();
            }
            return Some(cost(scan));
        }
        Some(most)
    }

    /// Whether reading lists is predicted to take less than so many times what the grid takes, or
    /// was asked for.
    pub(super) fn is_on_demand(&self, predicted: Option<Costs>, times: f64) -> bool {
        let asked = self.only_lists || self.session.config.read == ReadPolicy::OnDemand;
        predicted.is_some_and(|costs| asked || costs.on_demand_seconds < times * costs.full_seconds)
    }
}
