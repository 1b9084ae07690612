//! [`Owner`]: what a worker does in a traversal. It takes the visitors of its vertices by priority,
//! follows at once the lists that are in memory, and keeps reads of others in flight.
//!
//! The bit of a vertex in `due` says that its label fell since its edges were last followed. A
//! visitor that finds the bit unset is stale.

use std::{
    cell::RefCell,
    mem::take,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use outercore_engine::{Frontier, IoIterator, List, Requests, Session, Technique, VisitReport};
use outercore_graph::{GraphError, Result};
use outercore_storage::{PAGE, memory::prefetch};

use crate::{mail::Mail, queue::Queue, visitor::Visitor};

/// A visitor on its way: a vertex, and the label that it brings.
pub type Letter = (u64, u64);

/// Letters of a batch.
pub const BATCH: usize = 1 << 9;
/// Lists in memory that are followed before a worker looks around.
const STEPS: u64 = 64;
/// Labels that a processor has near anyway.
const NEARBY: usize = 1 << 18;
/// Letters whose labels are brought near before the first of them is opened.
const AHEAD: usize = 16;
/// Visitors whose lists are brought near together.
const BLOCK: usize = 8;
/// Such blocks after which a worker looks for mail.
const ROUNDS: u64 = 16;
/// Turns after which letters are sent, however few there are.
const TURNS: u64 = 4;

/// What all workers share.
pub struct Traversal<'t, V> {
    pub session: &'t Session<'t>,
    pub visitor: &'t V,
    pub labels: &'t [AtomicU64],
    pub due: &'t Frontier,
    /// The lists of each direction.
    pub lists: Vec<IoIterator<'t>>,
    pub workers: usize,
    /// Vertices that belong together, as a power of two.
    pub grain: u32,
    /// Whether a neighbor's label is looked at before a visitor is sent to it.
    pub peek: bool,
    /// Whether some lists are read while visitors go.
    pub reads: bool,
    /// The most visitors of a worker with reads pending; `None`: as many as suit.
    pub in_flight: Option<usize>,
    /// Visitors that a worker's queue holds.
    pub most: usize,
    /// One worker goes on alone with fewer visitors than this in all.
    pub few: usize,
    /// The visitors in each worker's queue.
    pub waiting: Vec<AtomicU64>,
    /// About how many edges a worker that is alone has followed.
    pub followed: AtomicU64,
}

impl<V: Visitor> Traversal<'_, V> {
    /// The priority of a visitor with this label.
    #[inline(always)]
    pub(crate) fn priority(&self, label: u64) -> u64 {
        let Self { visitor, reads, .. } = self;
        if *reads { visitor.rough_priority(label) } else { visitor.priority(label) }
    }

    /// The worker to which a vertex belongs.
    #[inline(always)]
    pub(crate) fn owner(&self, vertex: u64) -> usize {
        let hash = (vertex >> self.grain).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (hash as usize * self.workers) >> 32
    }
}

/// What a worker did.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    /// Visitors that came to their vertex.
    pub visits: u64,
    /// Those whose vertex sent visitors on.
    pub reads: u64,
    /// Vertices that had never been visited.
    pub reached: u64,
    /// Visitors for vertices of other workers.
    pub sent: u64,
    /// Visitors that a full queue dropped.
    pub spilled: u64,
    /// Most visitors with reads pending, the sum over all turns with some, and such turns.
    pub in_flight: [u64; 3],
    /// Most bytes of the queue.
    pub queue_bytes: u64,
    edges: u64,
    pages: u64,
}

impl Counts {
    /// These and another worker's.
    pub(crate) fn with(self, other: Self) -> Self {
        let ([most, sum, turns], [others, more, later]) = (self.in_flight, other.in_flight);
        Self {
            visits: self.visits + other.visits,
            reads: self.reads + other.reads,
            reached: self.reached + other.reached,
            sent: self.sent + other.sent,
            spilled: self.spilled + other.spilled,
            in_flight: [most.max(others), sum + more, turns + later],
            queue_bytes: self.queue_bytes + other.queue_bytes,
            ..Self::default()
        }
    }

    pub(crate) fn report(&self) -> VisitReport {
        let [most, sum, turns] = self.in_flight;
        VisitReport {
            visits: self.visits,
            reads: self.reads,
            stale: self.visits.saturating_sub(self.reads),
            corrected: self.reads.saturating_sub(self.reached),
            sent: self.sent,
            most_in_flight: most,
            mean_in_flight: sum as f64 / turns.max(1) as f64,
            queue_bytes: self.queue_bytes,
            spilled: self.spilled,
        }
    }
}

/// A worker and the visitors of its vertices.
pub struct Owner<'t, V> {
    all: &'t Traversal<'t, V>,
    index: usize,
    pub queue: Queue,
    /// The other workers' letters and mail; `None`: this one works alone.
    pub mail: Option<Arc<Mail<Letter>>>,
    /// Letters for each worker.
    pub letters: Vec<Vec<Letter>>,
    /// Vertices whose lists are to be read, by direction.
    absent: [Vec<u64>; 2],
    /// Lists that were followed since a read was last awaited.
    ahead: usize,
    /// Edges that it has followed alone.
    followed: u64,
    pub counts: Counts,
}

/// What became of a visitor.
enum Visited {
    /// Its vertex's lists were here.
    Here,
    /// They are to be read.
    Absent,
    /// Another one was faster.
    Stale,
}

impl<'t, V: Visitor> Owner<'t, V> {
    /// A worker without visitors.
    pub(crate) fn new(all: &'t Traversal<'t, V>, index: usize) -> Self {
        let (queue, letters) = (Queue::new(all.reads), vec![Vec::new(); all.workers]);
        let (absent, counts) = (<_>::default(), Counts::default());
        Self { all, index, queue, mail: None, letters, absent, ahead: 0, followed: 0, counts }
    }

    /// A visitor comes to one of the worker's vertices.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, (vertex, label): Letter) {
        let (all, cell) = (self.all, &self.all.labels[vertex as usize]);
        let old = cell.load(Relaxed);
        if label >= old {
            return;
        }
        cell.store(label, Relaxed);
        if all.visitor.spreads(old, label) {
            self.counts.reached += u64::from(old == all.visitor.unreached());
            let priority = all.priority(label);
            // One that waits already will find the better label.
            if !all.due.contains(vertex) || priority < all.priority(old) {
                all.due.insert(vertex);
                self.queue.push((priority, vertex));
            }
        }
    }

    /// Visitors come from other workers.
    pub(crate) fn receive(&mut self, mail: impl IntoIterator<Item = Vec<Letter>>) {
        for letters in mail {
            self.counts.visits += letters.len() as u64;
            let mut soon = letters.iter();
            let mut bring = |many| {
                for &(vertex, _) in soon.by_ref().take(many) {
                    prefetch(&raw const self.all.labels[vertex as usize]);
                }
            };
            bring(AHEAD);
            for &letter in &letters {
                bring(1);
                self.arrive(letter);
            }
        }
        self.shed();
    }

    /// Sends visitors along the edges of a list. With a look at the neighbor, only those that have
    /// a better label for it are on their way at all.
    fn follow(&mut self, vertex: u64, list: List) {
        let (all, alone, mut visits) = (self.all, self.mail.is_none(), 0);
        let label = all.labels[vertex as usize].load(Relaxed);
        let is_far = all.labels.len() > NEARBY;
        let soon = |neighbor: u64| {
            if is_far {
                prefetch(&raw const all.labels[neighbor as usize]);
            }
        };
        list.for_each_weighted_told(soon, |neighbor, weight| {
            let letter = (neighbor, all.visitor.along(vertex, label, weight));
            if all.peek && letter.1 >= all.labels[neighbor as usize].load(Relaxed) {
                return;
            }
            let to = if alone { self.index } else { all.owner(neighbor) };
            if to == self.index {
                self.arrive(letter);
                visits += 1;
            } else {
                self.write(to, letter);
            }
        });
        self.counts.visits += visits;
        if alone {
            self.followed += list.count();
            all.followed.store(self.followed, Relaxed);
        }
        self.shed();
    }

    #[inline(always)]
    fn write(&mut self, to: usize, letter: Letter) {
        self.counts.sent += 1;
        self.letters[to].push(letter);
        if self.letters[to].len() == BATCH {
            self.send(to);
        }
    }

    /// Sends what was written to a worker.
    fn send(&mut self, to: usize) {
        let mut batch = take(&mut self.letters[to]);
        let Some(mail) = self.mail.clone().filter(|_| !batch.is_empty()) else { return };
        self.look_for_mail();
        loop {
            let Err(back) = mail.send(to, batch) else { return };
            // Another worker has failed: no worker reads this.
            let Some(letters) = mail.wait_for_room(self.index, to) else { return };
            self.receive(letters);
            batch = back;
        }
    }

    /// Takes what has come: a full box would make others wait.
    fn look_for_mail(&mut self) {
        if let Some(mail) = &self.mail {
            let letters = mail.take(self.index);
            if !letters.is_empty() {
                self.receive(letters);
            }
        }
    }

    fn send_all(&mut self) {
        (0..self.letters.len()).for_each(|to| self.send(to));
    }

    /// A list that was read has arrived, or a piece of it.
    pub(crate) fn arrived(&mut self, vertex: u64, list: List) {
        self.ahead = 0;
        if let [lists] = &self.all.lists[..]
            && u64::from(lists.rows.degree(vertex)) == list.count()
        {
            // It has the newest label: a visitor that waits with it has nothing to add.
            self.all.due.remove(vertex);
        }
        self.follow(vertex, list);
        self.look_for_mail();
    }

    /// Visitors that a full queue drops come back when the queues are empty: they are due. Stale
    /// ones are dropped first.
    fn shed(&mut self) {
        let all = self.all;
        let most = all.most * if self.mail.is_none() { all.workers } else { 1 };
        if self.queue.len > most {
            self.counts.queue_bytes = self.counts.queue_bytes.max(self.queue.bytes());
            self.queue.retain(|(priority, vertex)| {
                let label = all.labels[vertex as usize].load(Relaxed);
                all.due.contains(vertex) && all.priority(label) == priority
            });
        }
        if self.queue.len > most {
            self.queue.shed(most / 2);
        }
    }

    /// The lists of a vertex that are in memory, which are brought near.
    #[inline(always)]
    fn find<'l>(&self, requests: &'l Requests<'t, '_>, vertex: u64) -> [Option<List<'l>>; 2] {
        let mut found = [None; 2];
        for (found, lists) in found.iter_mut().zip(&self.all.lists) {
            *found = requests.list(lists, vertex);
            if let Some(list) = found {
                prefetch(list.neighbors.as_ptr());
                prefetch(list.weights.as_ptr());
            }
        }
        found
    }

    /// A visitor's turn: what was found of its vertex's lists is followed, the others are asked
    /// for.
    #[inline(always)]
    fn visit(&mut self, vertex: u64, found: &[Option<List>; 2]) -> Visited {
        if !self.all.due.contains(vertex) {
            return Visited::Stale;
        }
        self.all.due.remove(vertex);
        self.counts.reads += 1;
        let mut visited = Visited::Here;
        for (side, found) in found.iter().enumerate().take(self.all.lists.len()) {
            let Some(list) = found else {
                self.absent[side].push(vertex);
                visited = Visited::Absent;
                continue;
            };
            self.counts.edges += list.count();
            self.counts.pages += (list.neighbors.len() / PAGE) as u64 + 1;
            self.follow(vertex, *list);
        }
        visited
    }

    /// The next visitors. Returns how many of them were not stale.
    fn turn(&mut self, requests: &Requests<'t, '_>) -> u64 {
        let (all, pending, mut steps, mut reads) = (self.all, requests.pending(), 0, 0);
        let least = if self.mail.is_none() { ALONE } else { USUAL };
        let usual = || (self.queue.len / 16).clamp(least, LARGEST);
        let most = all.in_flight.unwrap_or_else(usual);
        // Where lists are read, as many as can be are to be asked for at once.
        let enough = if all.reads { STEPS.max(most as u64) } else { STEPS };
        self.ahead *= usize::from(pending > 0);
        for round in 0u64.. {
            if round % ROUNDS == ROUNDS - 1 {
                self.look_for_mail();
            }
            let room = (most.saturating_sub(pending + self.ahead + reads)).min(BLOCK);
            let room = room.min((enough - steps) as usize);
            let (mut block, mut len) = ([(0, [None; 2]); BLOCK], 0);
            while len < room
                && let Some(vertex) = self.queue.pop()
            {
                if all.due.contains(vertex) {
                    block[len] = (vertex, self.find(requests, vertex));
                    len += 1;
                }
            }
            if len == 0 {
                break;
            }
            for (vertex, found) in &block[..len] {
                match self.visit(*vertex, found) {
                    Visited::Here => steps += 1,
                    Visited::Absent => reads += 1,
                    Visited::Stale => {}
                }
            }
            // One that is alone may find that there are many.
            if self.mail.is_none() && self.is_many() {
                break;
            }
        }
        self.ahead += steps as usize;
        all.waiting[self.index].store(self.queue.len as u64, Relaxed);
        steps + reads as u64
    }

    /// Whether there are so many visitors that all workers should go on with them.
    pub(crate) fn is_many(&self) -> bool {
        self.all.workers > 1 && self.queue.len > 8 * self.all.few
    }

    /// Whether the worker is to leave off: it is no longer to be alone, or is to be.
    fn leaves(&self) -> bool {
        let Some(mail) = &self.mail else {
            return self.is_many();
        };
        if self.queue.len < self.all.few {
            let waiting = self.all.waiting.iter().map(|waiting| waiting.load(Relaxed));
            if waiting.sum::<u64>() < self.all.few as u64 {
                mail.stop();
            }
        }
        mail.is_stopped()
    }

    /// Notes the visitors with reads pending.
    fn note(&mut self, pending: usize) {
        let [most, sum, turns] = &mut self.counts.in_flight;
        *most = (*most).max(pending as u64);
        *sum += pending as u64;
        *turns += u64::from(pending > 0);
    }

    /// Counts what was done in the session.
    fn end(&mut self) {
        let (session, counts) = (&self.all.session, &mut self.counts);
        session.workers.worked(take(&mut counts.edges));
        let pages = take(&mut counts.pages);
        session.counters.note(Technique::ListCache, [pages, pages * PAGE as u64]);
        counts.queue_bytes = counts.queue_bytes.max(self.queue.bytes());
        counts.spilled = self.queue.dropped;
    }
}

/// Visitors with reads pending where nothing was asked for: a sixteenth of those that wait, within
/// these bounds. Reads of neighbors merge where many are asked for at once, and a visitor that is
/// read too early may have to be read again.
pub const USUAL: usize = 1 << 8;
const LARGEST: usize = 1 << 16;
/// The same of a worker alone. Its few visitors hang on each other: to wait for each of them takes
/// longer than to read some lists again.
const ALONE: usize = 1 << 12;

/// Does a worker's part, until nothing is left or it is to leave off.
pub(crate) fn work<'t, V: Visitor>(
    owner: &RefCell<Owner<'t, V>>,
    all: &'t Traversal<'t, V>,
    index: usize,
) -> Result<()> {
    let mut follow = |vertex, list: List| owner.borrow_mut().arrived(vertex, list);
    let mut ask = |requests: &mut Requests<'t, '_>| turns(owner, all, requests);
    let result = all.lists[0].serve(index, &mut follow, &mut ask);
    owner.borrow_mut().end();
    result
}

fn turns<'t, V: Visitor>(
    owner: &RefCell<Owner<'t, V>>,
    all: &'t Traversal<'t, V>,
    requests: &mut Requests<'t, '_>,
) -> Result<()> {
    let (mail, index) = (owner.borrow().mail.clone(), owner.borrow().index);
    for turn in 0u64.. {
        if all.session.stopped() {
            return Err(GraphError::Cancelled);
        }
        owner.borrow_mut().look_for_mail();
        if owner.borrow().leaves() {
            break;
        }
        let done = owner.borrow_mut().turn(requests);
        for (side, lists) in all.lists.iter().enumerate() {
            let mut absent = take(&mut owner.borrow_mut().absent[side]);
            if !absent.is_empty() {
                absent.sort_unstable();
                requests.ask(lists, &absent)?;
            }
        }
        owner.borrow_mut().note(requests.pending());
        if mail.is_some() && (done == 0 || turn % TURNS == 0) {
            owner.borrow_mut().send_all();
        }
        if requests.pending() > 0 {
            requests.deliver(done == 0)?;
            while requests.deliver(false)? {}
        } else if done == 0 && owner.borrow().queue.len == 0 {
            let Some(letters) = mail.as_ref().and_then(|mail| mail.rest(index)) else {
                return Ok(());
            };
            owner.borrow_mut().receive(letters);
        }
    }
    while requests.deliver(true)? {}
    Ok(())
}
