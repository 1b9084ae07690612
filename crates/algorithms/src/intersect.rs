//! Counting triangles by intersecting sorted sets of neighbors, as blocks of bits.
//!
//! Of a triangle a < b < c (by internal id, hubs first), b lies in a window whose sets are in memory, c streams past with its set, and a is found in both. A set is kept as
//! the words of a bitmap that are not zero, with their numbers (as in Han, Zou and Yu, SIGMOD 2018): in the order of degrees neighbors crowd at the front, so that one AND finds
//! many. The set of c is spread over a real bitmap, so that each block of b's is one look-up.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use outercore_engine::{HugePages, HugeVec, Result};

use crate::lists::Batch;

/// Words of the bitmap over which a set is spread; sets beyond it are searched.
const SPREAD: usize = 1 << 16;
/// Vertices whose counts each worker keeps for itself: they are part of most triangles, and would be fought for.
const HUBS: usize = 1 << 15;
/// A block that is searched for costs about as much as so many that are looked up in passing.
const SEARCH: usize = 6;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// Triangles.
    Total,
    /// The triangles of each vertex.
    Each,
    /// For each vertex the directed edges between its neighbors.
    Arcs,
}

impl Counting {
    /// Whether each vertex has a count.
    pub fn by_vertex(self) -> bool {
        self != Counting::Total
    }
}

/// A vertex's smaller neighbors, each once: as numbers and as blocks.
pub struct Set {
    ids: Vec<u32>,
    incoming: Vec<u32>,
    mutual: Vec<u32>,
    words: Vec<u32>,
    bits: Vec<u64>,
    /// Those to which edges lead both ways; empty where that does not matter.
    both: Vec<u64>,
}

impl Set {
    /// Bytes for a vertex with so many edges.
    pub fn bytes(edges: u64) -> u64 {
        edges * 32
    }

    /// An empty set; its memory is that of a vertex with so many edges, from the start.
    fn new(edges: u64) -> Self {
        let edges = edges as usize;
        let ids = || Vec::with_capacity(edges);
        Self { ids: ids(), incoming: ids(), mutual: ids(), words: ids(), bits: Vec::with_capacity(edges), both: Vec::with_capacity(edges) }
    }

    /// Takes the set of `vertex` from a batch.
    pub fn collect(&mut self, batch: &[Batch], vertex: u64, reciprocal: bool) {
        ascending(&mut self.ids, &batch[0], vertex);
        self.mutual.clear();
        if let Some(batch) = batch.get(1) {
            ascending(&mut self.incoming, batch, vertex);
            if reciprocal {
                shared(&mut self.mutual, &self.ids, &self.incoming);
            }
            self.ids.extend_from_slice(&self.incoming);
            self.ids.sort_unstable();
            self.ids.dedup();
        }
        self.words.clear();
        self.bits.clear();
        self.both.clear();
        for &id in &self.ids {
            if self.words.last() != Some(&(id >> 6)) {
                self.words.push(id >> 6);
                self.bits.push(0);
            }
            *self.bits.last_mut().expect("just pushed") |= 1 << (id & 63);
        }
        if reciprocal {
            self.both.resize(self.words.len(), 0);
            for &id in &self.mutual {
                let at = self.words.partition_point(|&word| word < id >> 6);
                self.both[at] |= 1 << (id & 63);
            }
        }
    }

    /// The neighbors, ascending.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        self.words.len()
    }
}

/// A list of a batch, sorted, without repetitions.
fn ascending(ids: &mut Vec<u32>, batch: &Batch, vertex: u64) {
    ids.clear();
    ids.extend(batch.neighbors(vertex));
    if !ids.is_sorted() {
        ids.sort_unstable();
    }
    ids.dedup();
}

/// Adds to `common` what two ascending lists have in common.
fn shared(common: &mut Vec<u32>, left: &[u32], right: &[u32]) {
    let mut right = right.iter().copied().peekable();
    for &id in left {
        while right.next_if(|&other| other < id).is_some() {}
        if right.peek() == Some(&id) {
            common.push(id);
        }
    }
}

/// The sets of consecutive vertices, in memory.
pub struct Window {
    /// The first vertex.
    pub first: u64,
    /// How many vertices there are.
    pub len: usize,
    /// Where each set begins; one more than there are vertices.
    starts: HugeVec<u32>,
    words: HugeVec<AtomicU32>,
    bits: HugeVec<AtomicU64>,
    both: HugeVec<AtomicU64>,
}

impl Window {
    /// Bytes of a window of so many blocks.
    pub fn bytes(blocks: u64, reciprocal: bool) -> u64 {
        blocks * if reciprocal { 22 } else { 14 } + 4
    }

    /// Blocks of a window of so many bytes.
    pub fn blocks_in(bytes: u64, reciprocal: bool) -> u64 {
        bytes / if reciprocal { 22 } else { 14 }
    }

    /// An empty window for so many blocks, and half as many vertices.
    pub fn new(blocks: u64, reciprocal: bool, huge: HugePages) -> Result<Self> {
        let blocks = blocks as usize;
        Ok(Self {
            first: 0,
            len: 0,
            starts: HugeVec::zeroed(blocks / 2 + 1, huge)?,
            words: HugeVec::zeroed(blocks, huge)?,
            bits: HugeVec::zeroed(blocks, huge)?,
            both: HugeVec::zeroed(if reciprocal { blocks } else { 0 }, huge)?,
        })
    }

    /// Empties it; the next vertex to be added is `first`.
    pub fn clear(&mut self, first: u64) {
        (self.first, self.len) = (first, 0);
    }

    /// Lays out further vertices with so many blocks each; `false`, and nothing done, where they do not fit.
    pub fn extend(&mut self, blocks: impl ExactSizeIterator<Item = u32>) -> bool {
        let mut len = self.len;
        if len + blocks.len() >= self.starts.len() {
            return false;
        }
        for count in blocks {
            let end = u64::from(self.starts[len]) + u64::from(count);
            if end > self.words.len() as u64 {
                return false;
            }
            len += 1;
            self.starts[len] = end as u32;
        }
        self.len = len;
        true
    }

    /// Puts the set of a vertex where [`Window::extend`] made room for it.
    pub fn put(&self, vertex: u64, set: &Set) {
        let start = self.starts[(vertex - self.first) as usize] as usize;
        for at in 0..set.words.len() {
            self.words[start + at].store(set.words[at], Relaxed);
            self.bits[start + at].store(set.bits[at], Relaxed);
            if let Some(&both) = set.both.get(at) {
                self.both[start + at].store(both, Relaxed);
            }
        }
    }
}

/// What a worker counts with.
pub struct Counter {
    counting: Counting,
    /// The set of the vertex at hand.
    pub set: Set,
    spread: Vec<u64>,
    spread_both: Vec<u64>,
    hubs: Vec<u64>,
    /// Triangles found so far.
    pub total: u64,
}

/// A block of b's set, and where it is.
struct Found {
    word: u32,
    bits: u64,
    /// Those of b's that are mutual, and of c's.
    mutual: [u64; 2],
}

impl Counter {
    /// Bytes of a counter, for `vertices` of which none keeps more than `longest` neighbors.
    pub fn bytes(counting: Counting, vertices: u64, longest: u64) -> u64 {
        let spread = (vertices / 64 + 1).min(SPREAD as u64) * 8;
        let hubs = vertices.min(HUBS as u64) * 8;
        Set::bytes(longest)
            + match counting {
                Counting::Total => spread,
                Counting::Each => spread + hubs,
                Counting::Arcs => 2 * spread + hubs,
            }
    }

    /// A counter that has counted nothing; its memory is what [`Counter::bytes`] says.
    pub fn new(counting: Counting, vertices: u64, longest: u64) -> Self {
        let words = (vertices as usize / 64 + 1).min(SPREAD);
        Self {
            counting,
            set: Set::new(longest),
            spread: vec![0; words],
            spread_both: vec![0; if counting == Counting::Arcs { words } else { 0 }],
            hubs: vec![0; if counting.by_vertex() { (vertices as usize).min(HUBS) } else { 0 }],
            total: 0,
        }
    }

    /// Counts the triangles whose largest vertex is `vertex`, the one of the set at hand, and whose middle one is in the window.
    pub fn close(&mut self, window: &Window, vertex: u64, counts: &[AtomicU64]) {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("popcnt") {
            // SAFETY: the processor has the instruction that the function was compiled for.
            return unsafe { self.close_with_popcnt(window, vertex, counts) };
        }
        self.close_by(window, vertex, counts);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "popcnt")]
    fn close_with_popcnt(&mut self, window: &Window, vertex: u64, counts: &[AtomicU64]) {
        self.close_by(window, vertex, counts);
    }

    #[inline(always)]
    fn close_by(&mut self, window: &Window, vertex: u64, counts: &[AtomicU64]) {
        let ids = std::mem::take(&mut self.set.ids);
        let end = window.first + window.len as u64;
        let middle = ids.partition_point(|&id| u64::from(id) < window.first)..ids.partition_point(|&id| u64::from(id) < end);
        // The first neighbor is the middle of no triangle: nobody is smaller.
        let middle = middle.start.max(1)..middle.end;
        if !middle.is_empty() {
            self.lay_out(true);
            match self.counting {
                Counting::Total => self.pairs::<0>(window, vertex, &ids[middle], counts),
                Counting::Each => self.pairs::<1>(window, vertex, &ids[middle], counts),
                Counting::Arcs => self.pairs::<2>(window, vertex, &ids[middle], counts),
            }
            self.lay_out(false);
        }
        self.set.ids = ids;
    }

    /// Spreads the set over the bitmap, or takes it back.
    #[inline(always)]
    fn lay_out(&mut self, there: bool) {
        let low = self.set.words.partition_point(|&word| (word as usize) < self.spread.len());
        for at in 0..low {
            let word = self.set.words[at] as usize;
            self.spread[word] = if there { self.set.bits[at] } else { 0 };
            if let Some(both) = self.spread_both.get_mut(word) {
                *both = if there { self.set.both[at] } else { 0 };
            }
        }
    }

    /// `KIND` is the number of a [`Counting`].
    #[inline(always)]
    fn pairs<const KIND: u8>(&mut self, window: &Window, vertex: u64, middle: &[u32], counts: &[AtomicU64]) {
        let mut mine = 0;
        // Blocks of this set up to the middle vertex's own.
        let mut before = 0;
        for &b in middle {
            let at = (u64::from(b) - window.first) as usize;
            let (start, end) = (window.starts[at] as usize, window.starts[at + 1] as usize);
            while before < self.set.words.len() && self.set.words[before] <= b >> 6 {
                before += 1;
            }
            let weight = if KIND == 2 { 1 + u64::from(self.is_mutual(before - 1, b)) } else { 1 };
            let mut sums = [0; 2];
            if before * SEARCH < end - start {
                self.search::<KIND>(window, start..end, 0..before, weight, counts, &mut sums);
            } else {
                let low = if (b >> 6) as usize >= self.spread.len() {
                    let low = |at: usize| (window.words[at].load(Relaxed) as usize) < self.spread.len();
                    start + partition(end - start, |at| low(start + at))
                } else {
                    end
                };
                for at in start..low {
                    let word = window.words[at].load(Relaxed);
                    let bits = window.bits[at].load(Relaxed) & self.spread[word as usize];
                    if KIND == 0 {
                        sums[0] += u64::from(bits.count_ones());
                    } else if bits != 0 {
                        let mutual = if KIND == 2 { [window.both[at].load(Relaxed), self.spread_both[word as usize]] } else { [0; 2] };
                        self.found::<KIND>(&Found { word, bits, mutual }, weight, counts, &mut sums);
                    }
                }
                if low < end {
                    let high = self.set.words.partition_point(|&word| (word as usize) < self.spread.len());
                    self.search::<KIND>(window, low..end, high..before, weight, counts, &mut sums);
                }
            }
            if KIND == 0 {
                self.total += sums[0];
            } else {
                self.add(b, sums[0], counts);
                mine += sums[1];
            }
        }
        if KIND != 0 {
            self.add(vertex as u32, mine, counts);
        }
    }

    /// Searches the blocks `mine` of this set among the blocks `others` of the window.
    #[inline(always)]
    fn search<const KIND: u8>(
        &mut self,
        window: &Window,
        others: std::ops::Range<usize>,
        mine: std::ops::Range<usize>,
        weight: u64,
        counts: &[AtomicU64],
        sums: &mut [u64; 2],
    ) {
        let mut from = others.start;
        for at in mine {
            let word = self.set.words[at];
            from += partition(others.end - from, |offset| window.words[from + offset].load(Relaxed) < word);
            if from == others.end {
                return;
            }
            if window.words[from].load(Relaxed) != word {
                continue;
            }
            let bits = window.bits[from].load(Relaxed) & self.set.bits[at];
            if KIND == 0 {
                sums[0] += u64::from(bits.count_ones());
            } else if bits != 0 {
                let mutual = if KIND == 2 { [window.both[from].load(Relaxed), self.set.both[at]] } else { [0; 2] };
                self.found::<KIND>(&Found { word, bits, mutual }, weight, counts, sums);
            }
        }
    }

    /// Each of the bits closes a triangle. What b counts (the edges between a and c) goes to `sums[0]`, what c counts (those between a and b) to `sums[1]`; a counts `weight`,
    /// those between b and c.
    #[inline(always)]
    fn found<const KIND: u8>(&mut self, found: &Found, weight: u64, counts: &[AtomicU64], sums: &mut [u64; 2]) {
        let ones = |bits: u64| u64::from(bits.count_ones());
        sums[0] += ones(found.bits) + if KIND == 2 { ones(found.bits & found.mutual[1]) } else { 0 };
        sums[1] += ones(found.bits) + if KIND == 2 { ones(found.bits & found.mutual[0]) } else { 0 };
        let mut bits = found.bits;
        while bits != 0 {
            self.add(found.word << 6 | bits.trailing_zeros(), weight, counts);
            bits &= bits - 1;
        }
    }

    #[inline(always)]
    fn add(&mut self, vertex: u32, count: u64, counts: &[AtomicU64]) {
        match self.hubs.get_mut(vertex as usize) {
            Some(hub) => *hub += count,
            None if count > 0 => {
                counts[vertex as usize].fetch_add(count, Relaxed);
            }
            None => {}
        }
    }

    /// Whether edges lead both ways between this set's vertex and its neighbor `id`, which is in block `block`.
    fn is_mutual(&self, block: usize, id: u32) -> bool {
        self.set.both[block] >> (id & 63) & 1 == 1
    }

    /// Adds what was kept apart for the hubs.
    pub fn finish(&mut self, counts: &[AtomicU64]) {
        for (count, hub) in counts.iter().zip(&mut self.hubs) {
            count.fetch_add(std::mem::take(hub), Relaxed);
        }
    }
}

/// How many of `0..len` come first with `is_before`, which holds for those and for none after them.
#[inline(always)]
fn partition(len: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = (low + high) / 2;
        if is_before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
