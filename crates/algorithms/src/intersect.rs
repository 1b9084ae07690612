//! Counting triangles by intersecting sorted sets of neighbors, as blocks of bits.
//!
//! Of a triangle a < b < c (by internal id, hubs first), b lies in a window whose sets are in
//! memory, c streams past with its set, and a is found in both. A set is kept as the words of a
//! bitmap that are not zero, with their numbers (as in Han, Zou and Yu, SIGMOD 2018): in the order
//! of degrees neighbors crowd at the front, so that one AND finds many. The set of c is spread over
//! a real bitmap, so that each block of b's is one look-up.

use std::{
    ops::Range,
    sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
};

use outercore_engine::{HugePages, HugeVec, Result};

use crate::{counts::Counts, lists::Batch};

/// Words of the bitmap over which a set is spread; sets beyond it are searched.
const SPREAD: usize = 1 << 16;
/// Vertices whose counts each worker keeps for itself: they are part of most triangles, and would
/// be fought for.
const HUBS: usize = 1 << 15;
/// How many middle vertices ahead the place of a set is asked for.
const FAR: usize = 8;
/// How many middle vertices ahead a set is asked for.
const NEAR: usize = 3;
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
        Self {
            ids: ids(),
            incoming: ids(),
            mutual: ids(),
            words: ids(),
            bits: Vec::with_capacity(edges),
            both: Vec::with_capacity(edges),
        }
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

    /// Blocks at the front whose words are before this one.
    fn low(&self, word: usize) -> usize {
        self.words.partition_point(|&other| (other as usize) < word)
    }

    /// Whether edges lead both ways between this set's vertex and its neighbor `id`, which is in
    /// block `block`.
    fn is_mutual(&self, block: usize, id: u32) -> bool {
        self.both[block] >> (id & 63) & 1 == 1
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

    /// Lays out further vertices with so many blocks each; `false`, and nothing done, where they do
    /// not fit.
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

    /// The blocks of a vertex of the window.
    #[inline(always)]
    fn blocks(&self, vertex: u32) -> Range<usize> {
        let at = (u64::from(vertex) - self.first) as usize;
        self.starts[at] as usize..self.starts[at + 1] as usize
    }

    /// Asks for what is needed of the vertices that come soon: sets lie anywhere in memory, and
    /// most are short, so that nearly all the time would go into waiting for their first block.
    #[inline(always)]
    fn ask_ahead(&self, coming: &[u32]) {
        if let Some(&far) = coming.get(FAR) {
            prefetch(&self.starts, (u64::from(far) - self.first) as usize);
        }
        if let Some(&near) = coming.get(NEAR) {
            let blocks = self.blocks(near);
            // 16 words, or 8 words of bits, are in a line of the cache.
            prefetch(&self.words, blocks.start);
            prefetch(&self.bits, blocks.start);
            if blocks.len() > 8 {
                prefetch(&self.bits, blocks.start + 8);
            }
            if blocks.len() > 16 {
                prefetch(&self.words, blocks.start + 16);
                prefetch(&self.bits, blocks.start + 16);
            }
        }
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
    hubs: Vec<Word>,
    /// Triangles found so far.
    pub total: u64,
}

/// The counts of the vertices that a word of a bitmap stands for.
type Word = [u64; 64];

/// Where counts go.
struct Target<'c> {
    hubs: &'c mut [Word],
    counts: &'c Counts,
}

impl Target<'_> {
    #[inline(always)]
    fn add(&mut self, vertex: u32, count: u64) {
        match self.hubs.get_mut(vertex as usize >> 6) {
            Some(hubs) => hubs[vertex as usize & 63] += count,
            None => self.counts.add(u64::from(vertex), count),
        }
    }

    /// Adds to the counts of all vertices that the bits of a word stand for.
    #[inline(always)]
    fn add_each(&mut self, word: u32, mut bits: u64, count: u64) {
        // Asked once for all bits: most of them are hubs'.
        if let Some(hubs) = self.hubs.get_mut(word as usize) {
            while bits != 0 {
                hubs[bits.trailing_zeros() as usize & 63] += count;
                bits &= bits - 1;
            }
        }
        while bits != 0 {
            self.counts.add(u64::from(word << 6 | bits.trailing_zeros()), count);
            bits &= bits - 1;
        }
    }
}

/// The set of a vertex that streams past, and that of a middle vertex.
struct Pair<'p> {
    window: &'p Window,
    set: &'p Set,
    spread: &'p [u64],
    spread_both: &'p [u64],
    to: Target<'p>,
    /// The edges between the two: what each vertex counts that both know.
    weight: u64,
    /// What the middle vertex counts, the edges between the other two, and what the vertex that
    /// streams past does.
    sums: [u64; 2],
}

impl Counter {
    /// Bytes of a counter, for `vertices` of which none keeps more than `longest` neighbors.
    pub fn bytes(counting: Counting, vertices: u64, longest: u64) -> u64 {
        let spread = (vertices / 64 + 1).min(SPREAD as u64) * 8;
        let hubs = vertices.next_multiple_of(64).min(HUBS as u64) * 8;
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
            hubs: vec![
                [0; 64];
                if counting.by_vertex() {
                    (vertices as usize).min(HUBS).div_ceil(64)
                } else {
                    0
                }
            ],
            total: 0,
        }
    }

    /// Counts the triangles whose largest vertex is `vertex`, the one of the set at hand, and whose
    /// middle one is in the window.
    pub fn close(&mut self, window: &Window, vertex: u64, counts: &Counts) {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("popcnt") {
            // SAFETY: the processor has the instruction that the function was compiled for.
            return unsafe { self.close_with_popcnt(window, vertex, counts) };
        }
        self.close_by(window, vertex, counts);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "popcnt")]
    fn close_with_popcnt(&mut self, window: &Window, vertex: u64, counts: &Counts) {
        self.close_by(window, vertex, counts);
    }

    #[inline(always)]
    fn close_by(&mut self, window: &Window, vertex: u64, counts: &Counts) {
        let ids = &self.set.ids;
        let end = window.first + window.len as u64;
        let middle = ids.partition_point(|&id| u64::from(id) < window.first)
            ..ids.partition_point(|&id| u64::from(id) < end);
        // The first neighbor is the middle of no triangle: nobody is smaller.
        let middle = middle.start.max(1)..middle.end;
        if !middle.is_empty() {
            self.lay_out(true);
            match self.counting {
                Counting::Total => self.pairs::<0>(window, vertex, middle, counts),
                Counting::Each => self.pairs::<1>(window, vertex, middle, counts),
                Counting::Arcs => self.pairs::<2>(window, vertex, middle, counts),
            }
            self.lay_out(false);
        }
    }

    /// Spreads the set over the bitmap, or takes it back.
    #[inline(always)]
    fn lay_out(&mut self, there: bool) {
        for at in 0..self.set.low(self.spread.len()) {
            let word = self.set.words[at] as usize;
            self.spread[word] = if there { self.set.bits[at] } else { 0 };
            if let Some(both) = self.spread_both.get_mut(word) {
                *both = if there { self.set.both[at] } else { 0 };
            }
        }
    }

    /// `KIND` is the number of a [`Counting`]; `middle` says which of the set's ids are middle
    /// vertices.
    #[inline(always)]
    fn pairs<const KIND: u8>(
        &mut self,
        window: &Window,
        vertex: u64,
        middle: Range<usize>,
        counts: &Counts,
    ) {
        let Self { set, spread, spread_both, hubs, total, .. } = self;
        let (set, middle) = (&*set, &set.ids[middle]);
        let mut pair = Pair {
            window,
            set,
            spread,
            spread_both,
            to: Target { hubs, counts },
            weight: 1,
            sums: [0; 2],
        };
        let (low, mut mine) = (set.low(pair.spread.len()), 0);
        // Blocks of this set up to the middle vertex's own.
        let mut before = 0;
        for (at, &b) in middle.iter().enumerate() {
            window.ask_ahead(&middle[at..]);
            let theirs = window.blocks(b);
            while before < set.words.len() && set.words[before] <= b >> 6 {
                before += 1;
            }
            if KIND == 2 {
                pair.weight = 1 + u64::from(set.is_mutual(before - 1, b));
            }
            if before * SEARCH < theirs.len() {
                pair.search::<KIND>(theirs, 0..before);
            } else if (b as usize >> 6) < pair.spread.len() {
                pair.look_up::<KIND>(theirs);
            } else {
                let is_low = |at: usize| {
                    (window.words[theirs.start + at].load(Relaxed) as usize) < pair.spread.len()
                };
                let high = theirs.start + partition(theirs.len(), is_low);
                pair.look_up::<KIND>(theirs.start..high);
                pair.search::<KIND>(high..theirs.end, low..before);
            }
            let [sum, own] = std::mem::take(&mut pair.sums);
            if KIND == 0 {
                *total += sum;
            } else {
                pair.to.add(b, sum);
                mine += own;
            }
        }
        if KIND != 0 {
            pair.to.add(vertex as u32, mine);
        }
    }

    /// Adds what was kept apart for the hubs.
    pub fn finish(&mut self, counts: &Counts) {
        for (vertex, count) in (0..).zip(self.hubs.as_flattened_mut()) {
            counts.add(vertex, std::mem::take(count));
        }
    }
}

impl Pair<'_> {
    /// Looks up blocks of the window in the bitmap over which this set is spread; they are not
    /// beyond it.
    #[inline(always)]
    fn look_up<const KIND: u8>(&mut self, theirs: Range<usize>) {
        let first = theirs.start;
        let (words, bits) = (&self.window.words[theirs.clone()], &self.window.bits[theirs]);
        for (at, (word, bits)) in words.iter().zip(bits).enumerate() {
            let word = word.load(Relaxed);
            let bits = bits.load(Relaxed) & self.spread[word as usize];
            if KIND == 0 {
                self.sums[0] += u64::from(bits.count_ones());
            } else if bits != 0 {
                let mutual = if KIND == 2 {
                    [self.window.both[first + at].load(Relaxed), self.spread_both[word as usize]]
                } else {
                    [0; 2]
                };
                self.found::<KIND>(word, bits, mutual);
            }
        }
    }

    /// Searches the blocks `mine` of this set among the blocks `theirs` of the window.
    #[inline(always)]
    fn search<const KIND: u8>(&mut self, theirs: Range<usize>, mine: Range<usize>) {
        let mut from = theirs.start;
        for at in mine {
            let word = self.set.words[at];
            from += partition(theirs.end - from, |offset| {
                self.window.words[from + offset].load(Relaxed) < word
            });
            if from == theirs.end {
                return;
            }
            if self.window.words[from].load(Relaxed) != word {
                continue;
            }
            let bits = self.window.bits[from].load(Relaxed) & self.set.bits[at];
            if KIND == 0 {
                self.sums[0] += u64::from(bits.count_ones());
            } else if bits != 0 {
                let mutual = if KIND == 2 {
                    [self.window.both[from].load(Relaxed), self.set.both[at]]
                } else {
                    [0; 2]
                };
                self.found::<KIND>(word, bits, mutual);
            }
        }
    }

    /// Each of the bits closes a triangle: a counts `weight`, the edges between b and c; b those
    /// between a and c, and c those between a and b. `mutual` says of which a's there are two of
    /// them, of b's set and of c's.
    #[inline(always)]
    fn found<const KIND: u8>(&mut self, word: u32, bits: u64, mutual: [u64; 2]) {
        let ones = |bits: u64| u64::from(bits.count_ones());
        self.sums[0] += ones(bits) + if KIND == 2 { ones(bits & mutual[1]) } else { 0 };
        self.sums[1] += ones(bits) + if KIND == 2 { ones(bits & mutual[0]) } else { 0 };
        self.to.add_each(word, bits, self.weight);
    }
}

/// Asks the processor to bring an item into its cache, if there is such an item.
#[inline(always)]
pub fn prefetch<T>(items: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = items.get(at) {
        // SAFETY: a hint, which changes nothing that a program can see, about an item that exists.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(
                std::ptr::from_ref(item).cast(),
            )
        };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, at);
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
