//! [`Course`]: a traversal by visitors under way.
//!
//! While few visitors wait, one worker does everything alone: handing each other a handful of
//! visitors takes workers longer than following their edges. When there are many, all workers go
//! on, each with its own vertices, until few are left or none.
//!
//! A queue has its share of the planned memory. A full one drops what is to come last, whose
//! vertices stay due: a bit each. Nothing passes them over, and they come back, the first ones
//! first, once no queue has visitors.

use std::{
    cell::RefCell,
    mem::take,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use outercore_engine::{MemoryModel, ReadMode, Start, VisitReport};
use outercore_graph::{GraphError, Result, error};
use outercore_storage::{lock, locked};

use crate::{
    ahead::Ahead,
    mail::Mail,
    owner::{Counts, Owner, Traversal, work},
    queue::Waiting,
    visitor::Visitor,
};

/// Batches that a worker's box holds.
pub const ROOM: usize = 64;

/// A traversal under way.
pub struct Course<'t, V> {
    all: &'t Traversal<'t, V>,
    owners: Vec<Mutex<RefCell<Owner<'t, V>>>>,
    /// How many visitors come back next time.
    back: usize,
    ahead: Ahead,
}

/// Says that something is over, however it ends.
struct Over<'o>(&'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

impl<'t, V: Visitor> Course<'t, V> {
    /// Nothing is done yet.
    pub(crate) fn new(all: &'t Traversal<'t, V>) -> Self {
        let owner = |index| Mutex::new(RefCell::new(Owner::new(all, index)));
        Self {
            all,
            owners: (0..all.workers).map(owner).collect(),
            back: all.few,
            ahead: Ahead::default(),
        }
    }

    fn owner(&mut self, index: usize) -> &mut Owner<'t, V> {
        locked(&mut self.owners[index]).get_mut()
    }

    /// Goes to the end.
    pub(crate) fn run(mut self, start: Start) -> Result<VisitReport> {
        let (all, session) = (self.all, self.all.session);
        match start {
            Start::All => {
                session.workers.each(all.labels.len() as u64, 1 << 16, |vertices| {
                    for vertex in vertices {
                        all.labels[vertex as usize].store(all.visitor.first(vertex), Relaxed);
                    }
                });
                let counts = &mut self.owner(0).counts;
                counts.reached = all.labels.len() as u64;
                counts.visits = counts.reached;
            }
            Start::Vertices(vertices) => {
                // Those without edges have no label.
                let connected = vertices.into_iter().filter(|&at| at < all.labels.len() as u64);
                let letters = connected.map(|vertex| (vertex, all.visitor.first(vertex)));
                self.owner(0).receive([letters.collect()]);
            }
        }
        self.load()?;
        while self.owner(0).queue.len > 0 || self.bring_back() {
            let (mark, before) = (session.mark(), self.counts().reads);
            self.alone()?;
            if self.owner(0).is_many() {
                self.together()?;
            }
            session.end_iteration(&mark, self.counts().reads - before, ReadMode::OnDemand);
            if session.stopped() {
                return Err(GraphError::Cancelled);
            }
        }
        Ok(self.counts().report())
    }

    /// The first worker goes on alone. Where lists are read, another one reads ahead.
    fn alone(&mut self) -> Result<()> {
        let (all, is_over, owner) = (self.all, AtomicBool::new(false), &self.owners[0]);
        if !all.reads || all.workers == 1 {
            return work(&lock(owner), all, 0);
        }
        let ahead = Mutex::new(&mut self.ahead);
        let part = |index| match index {
            0 => {
                let _over = Over(&is_over);
                work(&lock(owner), all, 0)
            }
            1 => lock(&ahead).read(all, 1, &is_over),
            _ => Ok(()),
        };
        error::all(all.session.workers.map(part)).map(drop)
    }

    /// Loads the lists, where all of them are to be in memory.
    fn load(&self) -> Result<()> {
        let Traversal { session, lists, .. } = self.all;
        if session.decision.model == MemoryModel::InMemory {
            lists.iter().try_for_each(|lists| lists.rows.keep(session, u64::MAX))?;
        }
        session.loaded();
        Ok(())
    }

    /// Takes due vertices with the smallest priorities into the first queue, each time twice as
    /// many; `false`: none is due. All queues are empty.
    fn bring_back(&mut self) -> bool {
        let (all, most) = (self.all, self.back);
        self.back = (2 * most).min(all.most / 2).max(1);
        let (mut lowest, mut horizon): (Vec<Waiting>, _) = (Vec::new(), u64::MAX);
        let mut keep = |lowest: &mut Vec<Waiting>| {
            if lowest.len() > most {
                horizon = lowest.select_nth_unstable(most).1.0;
                lowest.truncate(most);
            }
        };
        for vertex in all.due.iter(0..all.labels.len() as u64) {
            let label = all.labels[vertex as usize].load(Relaxed);
            lowest.push((all.priority(label), vertex));
            if lowest.len() == 2 * most {
                keep(&mut lowest);
            }
        }
        keep(&mut lowest);
        let queue = &mut self.owner(0).queue;
        queue.horizon = horizon;
        lowest.into_iter().for_each(|waiting| queue.push(waiting));
        queue.len > 0
    }

    /// All workers go on, each with its own vertices, until nothing or little is left. That is the
    /// first worker's then.
    fn together(&mut self) -> Result<()> {
        let (all, mail) = (self.all, Arc::new(Mail::new(self.all.workers, ROOM)));
        let (waiting, horizon) = (self.owner(0).queue.drain(), self.owner(0).queue.horizon);
        (0..all.workers).for_each(|index| self.owner(index).queue.horizon = horizon);
        for waiting in waiting {
            self.owner(all.owner(waiting.1)).queue.push(waiting);
        }
        for index in 0..all.workers {
            let owner = self.owner(index);
            owner.mail = Some(Arc::clone(&mail));
            all.waiting[index].store(owner.queue.len as u64, Relaxed);
        }
        let owners = &self.owners;
        let part = |index| mail.attend(|| work(&lock(&owners[index]), all, index));
        error::all(all.session.workers.map(part))?;
        let (mut letters, mut left, mut horizon) = (Vec::new(), Vec::new(), horizon);
        for index in 0..all.workers {
            let owner = self.owner(index);
            owner.mail = None;
            letters.extend(owner.letters.iter_mut().flat_map(take));
            left.extend(owner.queue.drain());
            horizon = horizon.min(owner.queue.horizon);
        }
        letters.extend(Arc::into_inner(mail).into_iter().flat_map(Mail::left));
        let first = self.owner(0);
        first.queue.horizon = horizon;
        first.receive([letters]);
        left.into_iter().for_each(|waiting| first.queue.push(waiting));
        Ok(())
    }

    /// What all workers did so far.
    fn counts(&mut self) -> Counts {
        let all = (0..self.owners.len()).map(|index| self.owner(index).counts);
        all.fold(Counts::default(), Counts::with)
    }
}
