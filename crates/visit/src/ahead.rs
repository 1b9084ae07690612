//! [`Ahead`]: lists that are to stay in memory are read before a visitor wants them, by a worker
//! that has nothing else to do.
//!
//! While few visitors wait, one worker has all of them, and waits for its reads: they hang on each
//! other. What it wants next is not known, but that it wants most of what stays in memory becomes
//! more likely with everything that it wants. So another worker reads that in a row, a few times
//! as much as visitors have wanted so far. A traversal that ends early has read little in vain.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread::sleep,
    time::Duration,
};

use outercore_engine::List;
use outercore_graph::{Result, format::INDEX_GROUP};
use outercore_storage::PAGE;

use crate::{owner::Traversal, visitor::Visitor};

/// How many times as many edges are read ahead as visitors have followed, and so many at first.
const TIMES: u64 = 4;
const FIRST: u64 = 1 << 16;
/// Bytes between lists that are asked for: requests go over gaps, and bring what lies there.
const STEP: u64 = 2 * PAGE as u64;
/// Such lists that are asked for together; about twice as many are in flight at most.
const TOGETHER: usize = 64;
/// How long it waits for visitors to follow more.
const PAUSE: Duration = Duration::from_micros(100);

/// How far lists have been read ahead.
#[derive(Default)]
pub struct Ahead {
    /// The group of vertices that comes next.
    group: u64,
    /// The byte of the list that is asked for next.
    byte: u64,
    /// Edges that were passed.
    edges: u64,
}

impl Ahead {
    /// Goes on, on worker `index`, until another one sets `is_over`.
    pub(crate) fn read<V: Visitor>(
        &mut self,
        all: &Traversal<V>,
        index: usize,
        is_over: &AtomicBool,
    ) -> Result<()> {
        let [lists] = &all.lists[..] else { return Ok(()) };
        lists.serve(index, &mut |_, _: List| (), &mut |requests| {
            while !is_over.load(Relaxed) && !all.session.stopped() {
                let Some(some) = self.next(all) else { break };
                if some.is_empty() {
                    sleep(PAUSE);
                } else {
                    requests.ask(lists, &some)?;
                }
                while requests.deliver(requests.pending() > TOGETHER)? {}
            }
            while requests.deliver(true)? {}
            Ok(())
        })
    }

    /// The lists that are asked for next: none until visitors have followed more edges. `None`:
    /// all were asked for.
    fn next<V: Visitor>(&mut self, all: &Traversal<V>) -> Option<Vec<u64>> {
        let groups = (all.labels.len() as u64).div_ceil(INDEX_GROUP);
        let most = TIMES * all.followed.load(Relaxed) + FIRST;
        let mut some = Vec::new();
        while self.group < groups && self.edges < most && some.len() < TOGETHER {
            self.pass(all, &mut some);
        }
        (self.group < groups || !some.is_empty()).then_some(some)
    }

    /// Adds lists of the next group to those that are asked for.
    fn pass<V: Visitor>(&mut self, all: &Traversal<V>, some: &mut Vec<u64>) {
        let rows = all.lists[0].rows;
        let (edges, front) = (rows.group(self.group), &rows.prefix.0[0]);
        if !edges.is_empty() && front.wants(&edges) && rows.prefix.list(&edges).is_none() {
            let first = self.group * INDEX_GROUP;
            let members = u64::MAX >> (64 - (all.labels.len() as u64 - first).min(64));
            rows.for_lists((self.group, members), |vertex, first, _| {
                if first * front.width >= self.byte {
                    some.push(vertex);
                    self.byte = first * front.width + STEP;
                }
            });
            self.edges += edges.end - edges.start;
        }
        self.group += 1;
    }
}
