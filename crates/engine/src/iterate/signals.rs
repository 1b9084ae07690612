//! Signals of a run by interval: this iteration's in memory, for all vertices or for a window of
//! them at a time; the next one's beside them for the hubs, and on scratch for the rest.

use outercore_storage::{Lookup, Pairs, Pod};

/// This iteration's signals: the hubs', and those of a window's other vertices.
#[derive(Clone, Copy)]
pub(crate) struct Signals<'s, T: Pod> {
    /// The hubs'.
    pub hubs: &'s Pairs<T>,
    others: &'s [T],
    /// The vertex whose signal is the first of `others`.
    from: u64,
}

impl<'s, T: Pod + Copy> Signals<'s, T> {
    /// Of the vertices from `first` on that are no hubs, these.
    pub(crate) fn new(hubs: &'s Pairs<T>, others: &'s [T], first: u64) -> Self {
        Self { hubs, others, from: first.max(hubs.size()) }
    }

    /// That of a vertex of the window.
    #[inline(always)]
    pub(crate) fn of(&self, vertex: u64) -> T {
        if vertex < self.hubs.size() {
            // SAFETY: it is the only one.
            unsafe { self.hubs.current(vertex, vertex).at(0) }
        } else {
            self.others[(vertex - self.from) as usize]
        }
    }

    /// Those of vertices that are no hubs, from `first` on.
    pub(crate) fn others(&self, first: u64) -> &'s [T] {
        &self.others[(first - self.from) as usize..]
    }
}
