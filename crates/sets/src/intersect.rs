//! Counting triangles by intersecting sorted sets of neighbors, as blocks of bits.
//!
//! Of a triangle a < b < c (by internal id, hubs first), b lies in a window whose sets are in
//! memory, c streams past with its set, and a is found in both ([`SetWindow`]). The set of c is
//! spread over a real bitmap, so that each block of b's is one look-up.

use std::{
    ops::Range,
    sync::atomic::{
        AtomicU32,
        Ordering::{Relaxed, SeqCst},
        compiler_fence,
    },
};

use outercore_engine::CompactCounters;

use crate::sets::{Block, Set, SetWindow};

/// Words of the bitmap over which a set is spread; sets beyond it are searched.
const SPREAD: usize = 1 << 16;
/// Vertices whose counts each worker keeps for itself: they are part of most triangles, and would
/// be fought for.
const HUBS: usize = 1 << 15;
/// A block that is searched for costs about as much as so many that are looked up in passing.
const SEARCH: usize = 6;

/// What is counted.
#[derive(Clone, Copy, PartialEq)]
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

    /// Whether it matters to which neighbors edges lead both ways.
    pub fn reciprocal(self) -> bool {
        self == Counting::Arcs
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
    total: u64,
}

/// The counts of the vertices that a word of a bitmap stands for.
type Word = [u64; 64];

/// The set of a vertex that streams past, and that of a middle vertex. `KIND` is the number of a
/// [`Counting`].
struct Pair<'p, const KIND: u8> {
    window: &'p SetWindow,
    set: &'p Set,
    spread: &'p [u64],
    spread_both: &'p [u64],
    /// Where counts go: those of the hubs, and of the others.
    hubs: &'p mut [Word],
    counts: &'p CompactCounters,
    /// The edges between the two: what each vertex counts that both know.
    weight: u64,
    /// What the middle vertex counts, the edges between the other two, and what the vertex that
    /// streams past does.
    sums: [u64; 2],
}

impl Counter {
    /// Words of the bitmaps of all edges and of those both ways, and of the hubs' counts.
    fn words(counting: Counting, vertices: u64) -> [usize; 3] {
        let words = (vertices as usize / 64 + 1).min(SPREAD);
        let hubs = (vertices as usize).min(HUBS).div_ceil(64);
        let both = usize::from(counting.reciprocal()) * words;
        [words, both, usize::from(counting.by_vertex()) * hubs]
    }

    /// Bytes of a counter, for `vertices` of which none keeps more than `longest` neighbors.
    pub fn bytes(counting: Counting, vertices: u64, longest: u64) -> u64 {
        let [words, both, hubs] = Self::words(counting, vertices);
        Set::bytes(longest) + ((words + both) * 8 + hubs * size_of::<Word>()) as u64
    }

    /// A counter that has counted nothing; its memory is what [`Counter::bytes`] says.
    pub fn new(counting: Counting, vertices: u64, longest: u64) -> Self {
        let [words, both, hubs] = Self::words(counting, vertices);
        Self {
            counting,
            set: Set::new(longest),
            spread: vec![0; words],
            spread_both: vec![0; both],
            hubs: vec![[0; 64]; hubs],
            total: 0,
        }
    }

    /// Counts the triangles whose largest vertex is `vertex`, the one of the set at hand, and whose
    /// middle one is in the window.
    pub fn close(&mut self, window: &SetWindow, vertex: u64, counts: &CompactCounters) {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("popcnt") {
            // SAFETY: the processor has the instruction that the function was compiled for.
            return unsafe { self.close_with_popcnt(window, vertex, counts) };
        }
        self.close_by(window, vertex, counts);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "popcnt")]
    fn close_with_popcnt(&mut self, window: &SetWindow, vertex: u64, counts: &CompactCounters) {
        self.close_by(window, vertex, counts);
    }

    #[inline(always)]
    fn close_by(&mut self, window: &SetWindow, vertex: u64, counts: &CompactCounters) {
        let ids = &self.set.ids;
        let before = |vertex: u64| ids.partition_point(|&id| u64::from(id) < vertex);
        // The first neighbor is the middle of no triangle: no neighbor is smaller.
        let middle = before(window.first).max(1)..before(window.first + window.len as u64);
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
        for block in &self.set.blocks[..self.set.low(self.spread.len())] {
            let word = block.word as usize;
            self.spread[word] = if there { block.bits } else { 0 };
            if let Some(both) = self.spread_both.get_mut(word) {
                *both = if there { block.both } else { 0 };
            }
        }
    }

    /// `middle` says which of the set's ids are middle vertices.
    #[inline(always)]
    fn pairs<const KIND: u8>(
        &mut self,
        window: &SetWindow,
        vertex: u64,
        middle: Range<usize>,
        counts: &CompactCounters,
    ) {
        let Self { set, spread, spread_both, hubs, total, .. } = self;
        let (set, middle) = (&*set, &set.ids[middle]);
        let (weight, sums) = (1, [0; 2]);
        let mut pair =
            Pair::<KIND> { window, set, spread, spread_both, hubs, counts, weight, sums };
        let (low, mut mine) = (set.low(pair.spread.len()), 0);
        // Blocks of this set up to the middle vertex's own.
        let mut before = 0;
        for (at, &b) in middle.iter().enumerate() {
            window.ask_ahead(&middle[at..]);
            let theirs = window.blocks(b);
            while set.blocks.get(before).is_some_and(|block| block.word <= b >> 6) {
                before += 1;
            }
            if KIND == 2 {
                pair.weight = 1 + (set.blocks[before - 1].both >> (b & 63) & 1);
            }
            pair.meet(b, theirs, low..before);
            let [sum, own] = std::mem::take(&mut pair.sums);
            if KIND == 0 {
                *total += sum;
            } else {
                pair.add(b, sum);
                mine += own;
            }
        }
        if KIND != 0 {
            pair.add(vertex as u32, mine);
        }
    }

    /// Adds what was kept apart for the hubs; returns the triangles that were found.
    pub fn finish(&mut self, counts: &CompactCounters) -> u64 {
        for (vertex, count) in (0..).zip(self.hubs.as_flattened_mut()) {
            counts.add(vertex, std::mem::take(count));
        }
        self.total
    }
}

impl<const KIND: u8> Pair<'_, KIND> {
    /// Intersects the set of the middle vertex `b`, which is `theirs`, with the blocks of this set
    /// up to its own; from the first of `mine` on these are beyond the bitmap.
    #[inline(always)]
    fn meet(&mut self, b: u32, theirs: Range<usize>, mine: Range<usize>) {
        if mine.end * SEARCH < theirs.len() {
            self.search(theirs, 0..mine.end);
        } else if (b as usize >> 6) < self.spread.len() {
            self.look_up(theirs);
        } else {
            let words = &self.window.words[theirs.clone()];
            let spread = self.spread.len();
            let low = words.partition_point(|word| (word.load(Relaxed) as usize) < spread);
            let high = theirs.start + low;
            self.look_up(theirs.start..high);
            self.search(high..theirs.end, mine);
        }
    }

    /// Looks up blocks of the window in the bitmap over which this set is spread; they are not
    /// beyond it.
    #[inline(always)]
    fn look_up(&mut self, theirs: Range<usize>) {
        let first = theirs.start;
        let (words, bits) = (&self.window.words[theirs.clone()], &self.window.bits[theirs]);
        for (at, (word, bits)) in words.iter().zip(bits).enumerate() {
            let word = word.load(Relaxed);
            let bits = bits.load(Relaxed) & self.spread[word as usize];
            self.found(word, bits, first + at, |pair| pair.spread_both[word as usize]);
        }
    }

    /// Searches the blocks `mine` of this set among the blocks `theirs` of the window.
    #[inline(always)]
    fn search(&mut self, theirs: Range<usize>, mine: Range<usize>) {
        let mut from = theirs.start;
        for &Block { word, bits, both } in &self.set.blocks[mine] {
            from += words_before(&self.window.words[from..theirs.end], word);
            if from == theirs.end {
                return;
            }
            if self.window.words[from].load(Relaxed) != word {
                continue;
            }
            let bits = self.window.bits[from].load(Relaxed) & bits;
            self.found(word, bits, from, |_| both);
        }
    }

    /// Each of the bits closes a triangle: a counts `weight`, the edges between b and c; b those
    /// between a and c, and c those between a and b. There are two of them where the block `theirs`
    /// of b's set says so, and what `mine` gets of c's.
    #[inline(always)]
    fn found(&mut self, word: u32, bits: u64, theirs: usize, mine: impl Fn(&Self) -> u64) {
        let ones = |bits: u64| u64::from(bits.count_ones());
        if KIND == 0 {
            self.sums[0] += ones(bits);
        } else if bits != 0 {
            self.sums = self.sums.map(|sum| sum + ones(bits));
            if KIND == 2 {
                self.sums[0] += ones(bits & mine(self));
                self.sums[1] += ones(bits & self.window.both[theirs].load(Relaxed));
            }
            self.add_each(word, bits, self.weight);
        }
    }

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

/// How many of ascending words are before `word`. With branches, which the processor guesses: it
/// then waits for several reads at a time, where `partition_point` waits for one after the other.
#[inline(always)]
fn words_before(words: &[AtomicU32], word: u32) -> usize {
    let (mut low, mut high) = (0, words.len());
    while low < high {
        let middle = low.midpoint(high);
        if words[middle].load(Relaxed) < word {
            low = middle + 1;
            // No instruction, but it keeps the compiler from making one move of both branches.
            compiler_fence(SeqCst);
        } else {
            high = middle;
        }
    }
    low
}
