//! [`Peeling`]: the vertices of a graph depart level by level, as [`Bucket`] has them, and take one
//! from each of their neighbors.
//!
//! Where memory has all lists, a step hands each list to all workers. Each has vertices of its own,
//! and neighbors ascend: it takes from those in one piece of the list. So nothing is updated that
//! others may see, which costs more than everything else that a step does. Which vertices a worker
//! has is found for each step, from a few of its lists. A step of few edges is one worker's, and
//! names what departs next one by one: it looks at no set as a whole.
//!
//! Otherwise each list goes to the worker that has read it.

use std::ops::Range;

use outercore_engine::{ALONE, Along, ReadMode, Session, totals};
use outercore_graph::{
    GraphError, Result,
    format::{Group, INDEX_GROUP, List, RowIndex, number},
};

use crate::{Bucket, Frontier, Remaining};

/// Levels whose candidates are gathered at once.
const SPAN: u32 = 16;
/// Vertices that a worker looks through at a time.
const PART: u64 = 1 << 17;
/// Lists whose neighbors tell which vertices each worker is to have.
const ASKED: u64 = 256;
/// The most workers that find their piece of each list faster than they update what others see.
const MANY: usize = 8;

/// How many vertices depart, and how many edges they have.
type Departing = [u64; 2];

/// All lists in memory, and where each lies.
#[derive(Clone, Copy)]
struct Whole<'p> {
    index: &'p RowIndex,
    lists: List<'p>,
}

impl Whole<'_> {
    /// Shows the lists of some vertices.
    #[inline(always)]
    fn each(&self, group: Group, mut show: impl FnMut(List)) {
        self.index.for_lists(group, |_, first, count| show(self.lists.part(first, count)));
    }
}

/// Peeling with counts in memory.
pub struct Peeling<'p> {
    session: &'p Session<'p>,
    lists: Along<'p>,
    whole: Option<Whole<'p>>,
    bucket: Bucket,
    /// What departs now, where it is not the bucket's set.
    few: Vec<u32>,
}

impl<'p> Peeling<'p> {
    /// Before it begins: so many neighbors are left of each vertex. If `all` depart, lists that
    /// stay in memory are read first.
    pub fn new(
        session: &'p Session<'p>,
        lists: Along<'p>,
        left: Remaining,
        all: bool,
    ) -> Result<Self> {
        let set = || session.no_vertices();
        let (near, current, next) = (set()?, set()?, set()?);
        let bucket = Bucket { left, near, horizon: 0, first: 0, current, next };
        // What nothing may be stolen of has the lists as its shares.
        let workers = session.workers.count();
        let whole = match &lists.on_request()[..] {
            [one] if all && session.config.stealing && workers <= MANY => one.load()?,
            _ => None,
        };
        let whole = whole.map(|(index, lists)| Whole { index, lists });
        Ok(Self { session, lists, whole, bucket, few: Vec::new() })
    }

    /// What is left of each vertex's neighbors: of those that have departed, the level at which
    /// they did.
    pub fn left(&self) -> &Remaining {
        &self.bucket.left
    }

    /// Peels off what departs at these levels; returns the number of steps.
    pub fn run(&mut self, levels: Range<u64>) -> Result<u64> {
        let (mut level, mut steps) = (levels.start as u32, 0);
        let mut remaining = self.bucket.near.len();
        self.bucket.first = level;
        while remaining > 0 && u64::from(level) < levels.end {
            if level >= self.bucket.horizon {
                level = self.gather(level);
                continue;
            }
            let mut mark = self.session.mark();
            let mut departing = self.select(level);
            while departing[0] > 0 {
                let [vertices, edges] = departing;
                (steps, remaining) = (steps + 1, remaining - vertices);
                departing = match self.whole {
                    Some(whole) if edges < ALONE => self.depart_few(whole, level),
                    Some(whole) => self.depart_apart(whole, level),
                    None => self.depart(level, edges)?,
                };
                if self.session.stopped() {
                    return Err(GraphError::Cancelled);
                }
                self.session.end_iteration(&mark, vertices, ReadMode::OnDemand);
                mark = self.session.mark();
            }
            level += 1;
        }
        Ok(steps)
    }

    /// Gathers the vertices that may depart at this level and the next ones; returns the first
    /// level at which one does.
    fn gather(&mut self, level: u32) -> u32 {
        let last =
            std::mem::replace(&mut self.bucket.horizon, level.saturating_add(SPAN.max(level / 4)));
        let bucket = &self.bucket;
        let gather = |smallest: &mut u32, range| bucket.gather(last, smallest, range);
        let workers = &self.session.workers;
        let smallest = workers.over(bucket.near.len(), PART, |_| u32::MAX, gather);
        smallest.into_iter().min().unwrap_or(level).max(level)
    }

    /// What departs at this level becomes the frontier.
    fn select(&self, level: u32) -> Departing {
        let select = |[vertices, edges]: &mut Departing, range| {
            let departs = |vertex| *edges += self.lists.degree(vertex);
            *vertices += self.bucket.select(level, range, departs);
        };
        totals(self.session.workers.over(self.bucket.near.len(), PART, |_| [0; 2], select))
    }

    /// The next frontier takes the place of the one that has departed.
    fn turn(&mut self) {
        std::mem::swap(&mut self.bucket.current, &mut self.bucket.next);
        self.bucket.next.clear();
    }

    /// The frontier departs: returns what follows at the same level.
    fn depart(&mut self, level: u32, edges: u64) -> Result<Departing> {
        let alone = edges < ALONE || self.session.workers.count() == 1;
        let (bucket, lists) = (&self.bucket, &self.lists);
        let parts = lists.for_each(
            edges,
            |group| bucket.current.word(group),
            |_| [0; 2],
            |[vertices, edges], _, list| {
                bucket.depart(list, level, alone, |neighbor| {
                    *vertices += 1;
                    *edges += lists.degree(neighbor);
                });
            },
        )?;
        self.turn();
        Ok(totals(parts))
    }

    /// The same on the calling worker, lists in memory.
    fn depart_few(&mut self, whole: Whole, level: u32) -> Departing {
        let (bucket, degrees, workers) = (&self.bucket, &self.lists, &self.session.workers);
        let (mut next, mut edges, mut done) = (Vec::new(), 0, 0);
        let all = 0..bucket.near.len();
        let mut show = |list: List| {
            done += depart_apart(bucket, list, &all, level, |neighbor| {
                edges += degrees.degree(neighbor);
                next.push(neighbor as u32);
            });
        };
        if self.few.is_empty() {
            groups(&bucket.current).for_each(|group| whole.each(group, &mut show));
        } else {
            let one = |&vertex: &u32| (u64::from(vertex) / INDEX_GROUP, 1 << (vertex % 64));
            self.few.iter().map(one).for_each(|group| whole.each(group, &mut show));
        }
        workers.worked(done);
        let departing = [next.len() as u64, edges];
        if self.few.is_empty() {
            self.bucket.current.clear();
        }
        self.few = next;
        if edges >= ALONE {
            let few = self.few.drain(..);
            few.for_each(|vertex| self.bucket.current.insert_alone(vertex.into()));
        }
        departing
    }

    /// The same on all workers, each with vertices of its own.
    fn depart_apart(&mut self, whole: Whole, level: u32) -> Departing {
        let (bucket, degrees, workers) = (&self.bucket, &self.lists, &self.session.workers);
        let bounds = bounds(bucket, whole, workers.count());
        let parts = workers.map(|worker| {
            let own = bounds[worker]..bounds[worker + 1];
            let ([mut vertices, mut edges], mut done) = ([0; 2], 0);
            for group in groups(&bucket.current) {
                whole.each(group, |list| {
                    done += depart_apart(bucket, list, &own, level, |neighbor| {
                        bucket.next.insert_alone(neighbor);
                        (vertices, edges) = (vertices + 1, edges + degrees.degree(neighbor));
                    });
                });
            }
            workers.worked(done);
            [vertices, edges]
        });
        self.turn();
        totals(parts)
    }
}

/// A vertex with this list departs at this level, and takes from `some` neighbors, from which no
/// other worker takes, and in whose places none changes the sets. What departs next is told of, and
/// in no set. Returns how many neighbors there were.
///
/// They are found from that end of the list which is next to them: to look for them in its middle
/// takes as long as all the rest, because nothing of a list is near yet.
#[inline(always)]
fn depart_apart(
    bucket: &Bucket,
    list: List,
    some: &Range<u64>,
    level: u32,
    next: impl FnMut(u64),
) -> u64 {
    match list.width {
        1 => depart_by::<1>(bucket, list.neighbors, some, level, next),
        2 => depart_by::<2>(bucket, list.neighbors, some, level, next),
        3 => depart_by::<3>(bucket, list.neighbors, some, level, next),
        4 => depart_by::<4>(bucket, list.neighbors, some, level, next),
        5 => depart_by::<5>(bucket, list.neighbors, some, level, next),
        6 => depart_by::<6>(bucket, list.neighbors, some, level, next),
        _ => depart_by::<8>(bucket, list.neighbors, some, level, next),
    }
}

fn depart_by<const WIDTH: usize>(
    bucket: &Bucket,
    neighbors: &[u8],
    some: &Range<u64>,
    level: u32,
    mut next: impl FnMut(u64),
) -> u64 {
    let (mut all, mut count) = (neighbors.as_chunks::<WIDTH>().0, 0);
    if some.start > 0 && some.end >= bucket.near.len() {
        for neighbor in all.iter().rev().map(|bytes| number(bytes)) {
            if neighbor < some.start {
                break;
            }
            count += 1;
            take(bucket, neighbor, level, &mut next);
        }
        return count;
    }
    if some.start > 0 {
        all = &all[all.partition_point(|bytes| number(bytes) < some.start)..];
    }
    for neighbor in all.iter().map(|bytes| number(bytes)) {
        if neighbor >= some.end {
            break;
        }
        count += 1;
        take(bucket, neighbor, level, &mut next);
    }
    count
}

#[inline(always)]
fn take(bucket: &Bucket, vertex: u64, level: u32, next: &mut impl FnMut(u64)) {
    let before = bucket.left.take::<true>(vertex, level);
    if before == level + 1 {
        bucket.near.remove_alone(vertex);
        next(vertex);
    } else if before == bucket.horizon {
        bucket.near.insert_alone(vertex);
    }
}

/// The groups of a set that have members.
fn groups(set: &Frontier) -> impl Iterator<Item = Group> {
    let all = 0..set.len().div_ceil(INDEX_GROUP);
    all.map(|group| (group, set.word(group))).filter(|(_, bits)| *bits != 0)
}

/// Where the vertices of each worker begin, and the end: whole groups, which have about as many of
/// the neighbors of what departs. Some of the lists are asked for one neighbor each.
fn bounds(bucket: &Bucket, whole: Whole, workers: usize) -> Vec<u64> {
    let all = bucket.current.len().div_ceil(INDEX_GROUP);
    let (mut found, mut sum) = (Vec::new(), 0);
    for turn in 0..ASKED.min(all) * u64::from(workers > 1) {
        let range = all * turn / ASKED.min(all)..all;
        let mut some = range.map(|group| (group, bucket.current.word(group)));
        let Some((group, bits)) = some.find(|(_, bits)| *bits != 0) else { break };
        let mut one = bits.trailing_zeros();
        if turn % 2 == 1 {
            one = bits.ilog2();
        }
        whole.each((group, 1 << one), |list| {
            let count = list.count();
            // Numbers that are spread over a range, in whatever order (Knuth, 1973).
            let at = (((turn * 0x9e37_79b9) >> 16 & 0xffff) * count) >> 16;
            found.push((list.part(at, 1).neighbors().sum::<u64>(), count));
            sum += count;
        });
    }
    found.sort_unstable();
    let (mut bounds, mut before) = (vec![0], 0);
    for (vertex, count) in found {
        let due = before * workers as u64 / sum.max(1);
        if due as usize >= bounds.len() {
            let bound = vertex / INDEX_GROUP * INDEX_GROUP;
            bounds.push(bound.max(bounds[bounds.len() - 1]));
        }
        before += count;
    }
    bounds.resize(workers + 1, bucket.current.len());
    bounds
}
