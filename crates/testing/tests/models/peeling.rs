//! Peeling: each vertex departs once, at its level, in whatever order workers take from it. The
//! sets and counts are the checker's; in which order they are asked is the code of k-core.

#[path = "../../../sets/src/bucket.rs"]
mod bucket;

use std::ops::Range;

use loom::{
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    thread,
};

use bucket::Bucket;

/// A set of numbers below 64.
struct Frontier(AtomicU64);

impl Frontier {
    fn insert(&self, number: u64) {
        self.0.fetch_or(1 << number, Relaxed);
    }

    fn remove(&self, number: u64) {
        self.0.fetch_and(!(1 << number), Relaxed);
    }

    fn insert_alone(&self, number: u64) {
        self.insert(number);
    }

    fn remove_alone(&self, number: u64) {
        self.remove(number);
    }

    fn members(&self, range: Range<u64>) -> impl Iterator<Item = u64> + use<> {
        let bits = self.0.load(Relaxed);
        range.filter(move |number| bits >> number & 1 == 1)
    }

    fn replace_words(&self, range: Range<u64>, mut members: impl FnMut(Range<u64>) -> u64) {
        self.0.store(members(range.clone()) << range.start, Relaxed);
    }

    fn move_to(&self, to: &Self, range: Range<u64>, mut moves: impl FnMut(u64) -> bool) -> u64 {
        let moved: Vec<u64> = self.members(range).filter(|&number| moves(number)).collect();
        to.0.store(0, Relaxed);
        for &number in &moved {
            self.remove(number);
            to.insert(number);
        }
        moved.len() as u64
    }
}

/// A count for each vertex.
struct Remaining(Vec<AtomicU32>);

impl Remaining {
    fn get(&self, item: u64) -> u32 {
        self.0[item as usize].load(Relaxed)
    }

    /// A hint to a processor; the checker has none.
    fn prefetch(&self, _: u64) {}

    fn each(&self, items: Range<u64>, mut show: impl FnMut(usize, u32)) {
        items.enumerate().for_each(|(at, item)| show(at, self.get(item)));
    }

    fn take<const ALONE: bool>(&self, item: u64, floor: u32) -> u32 {
        let step = |count: u32| (count > floor).then(|| count - 1);
        let done = self.0[item as usize].fetch_update(Relaxed, Relaxed, step);
        done.unwrap_or_else(|unchanged| unchanged)
    }
}

/// What is asked of peeling.
const EACH_ONCE: &str = "each vertex departs once, at its level";

/// Neighbors of each vertex, and their core numbers.
struct Case(&'static [&'static [u64]], &'static [u32]);

/// Of the first vertex's three neighbors two depart at level 1, and it follows. With three levels
/// to a bucket, the one worker takes it across the horizon, and the other has it depart.
const TAIL: Case =
    Case(&[&[1, 2, 3], &[0], &[0], &[0, 4, 5], &[3, 5], &[3, 4]], &[1, 1, 1, 2, 2, 2]);

/// The frontier departs: two workers take turns at its vertices. Returns how many follow.
fn depart(bucket: Bucket, neighbors: &'static [&[u64]], level: u32) -> (Bucket, u64) {
    let shared = Arc::new(bucket);
    let worker = |first: usize| {
        let bucket = Arc::clone(&shared);
        move || {
            let all = bucket.current.members(0..neighbors.len() as u64);
            let lists = all.skip(first).step_by(2).flat_map(|vertex| neighbors[vertex as usize]);
            lists.filter(|&&neighbor| bucket.take::<false>(neighbor, level)).count() as u64
        }
    };
    let other = thread::spawn(worker(1));
    let follow = worker(0)() + other.join().unwrap();
    (Arc::try_unwrap(shared).ok().expect("all workers have ended"), follow)
}

/// Peels all, with so many levels to a bucket; `first` is the level that is taken for the first
/// one.
fn peel(Case(neighbors, cores): Case, span: u32, first: impl Fn(u32) -> u32) {
    let all = neighbors.len() as u64;
    let set = || Frontier(AtomicU64::new(0));
    let counts = neighbors.iter().map(|list| AtomicU32::new(list.len() as u32)).collect();
    let left = Remaining(counts);
    let (near, current, next) = (set(), set(), set());
    let mut bucket = Bucket { left, near, horizon: 0, first: 0, current, next };
    let (mut level, mut departed) = (0, Vec::new());
    while departed.len() < neighbors.len() {
        assert!(level <= all as u32, "all have departed by then");
        if level >= bucket.horizon {
            let last = std::mem::replace(&mut bucket.horizon, level + span);
            let mut smallest = u32::MAX;
            bucket.gather(last, &mut smallest, 0..all);
            level = smallest.max(level);
            continue;
        }
        bucket.first = first(level);
        let mut count = bucket.select(level, 0..all, drop);
        while count > 0 {
            departed.extend(bucket.current.members(0..all).map(|vertex| (vertex, level)));
            (bucket, count) = depart(bucket, neighbors, level);
            std::mem::swap(&mut bucket.current, &mut bucket.next);
            bucket.next.0.store(0, Relaxed);
        }
        level += 1;
    }
    departed.sort_unstable();
    let expected: Vec<(u64, u32)> = (0..).zip(cores.iter().copied()).collect();
    assert_eq!(departed, expected, "{EACH_ONCE}");
}

#[test]
fn each_vertex_departs_once_at_its_level() {
    for span in [1, 2, 3] {
        loom::model(move || peel(TAIL, span, |_| 0));
    }
}

/// Every level is taken for the first: whoever is near and has too little left departs, also what
/// has departed.
#[test]
fn a_vertex_that_departs_twice_is_found() {
    crate::is_found("peeling::a_vertex_that_departs_twice_is_found", EACH_ONCE, || {
        loom::model(|| peel(TAIL, 3, |level| level));
    });
}
