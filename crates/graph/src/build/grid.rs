//! Writing the grid: a bucket's records, sorted by source within each interval, become tiles of
//! words.

use super::{
    buckets::Bucket,
    radix,
    radix::Record,
    rows::push_bytes,
    sections::{Folders, Section},
    weights::WeightCode,
};
use crate::{
    error::Result,
    format::{
        CHUNK_WORDS, Cells, Chunk, GridDirectory, SEGMENT_BITS, STRIPE_BITS, SectionEntry, Tile,
        WordCode,
    },
    types::GridPartition,
};

/// A bucket's tiles, encoded and ready to be written in turn; offsets and numbers count from the
/// bucket's first.
#[derive(Default)]
pub struct EncodedTiles {
    /// Ends of the bucket's intervals.
    interval_ends: Vec<u64>,
    tiles: Vec<Tile>,
    chunks: Vec<Chunk>,
    words: Vec<u8>,
    weights: Vec<u8>,
    edges: u64,
}

/// How tiles are made of records.
#[derive(Clone, Copy)]
pub struct TileCode<'c> {
    /// Bits of a source in a record.
    pub other_bits: u32,
    /// Where an interval ends.
    pub cut: IntervalCut,
    /// Intervals on either side of an interval whose sources have tiles of their own.
    pub lag: u64,
    /// How weights are stored.
    pub weights: WeightCode,
    /// Which edges are in row format, and so in no tile.
    pub cells: Option<&'c Cells>,
}

impl TileCode<'_> {
    /// Moves the records of edges in grid format to the front, in their order; returns how many.
    /// `first` is their bucket's first vertex.
    fn keep_tiled<R: Record>(&self, records: &mut [R], first: u64) -> usize {
        let Some(cells) = self.cells else { return records.len() };
        let mask = (1u64 << self.other_bits) - 1;
        let mut kept = 0;
        for at in 0..records.len() {
            let record = records[at];
            if !cells.in_rows(record.key() & mask, first + (record.key() >> self.other_bits)) {
                records[kept] = record;
                kept += 1;
            }
        }
        kept
    }
}

/// Where an interval of the grid ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntervalCut {
    /// After about so many edges.
    Edges(u64),
    /// At multiples of so many vertices, whatever their edges (and where a bucket ends).
    Vertices(u64),
}

impl IntervalCut {
    /// The cut of a graph: enough intervals for many workers, enough edges in each that a 7-bit
    /// source delta rarely overflows; or as many intervals, of equal width.
    pub fn new(partition: GridPartition, edges: u64, connected: u64) -> Self {
        let interval_edges = (edges / 64).clamp(1 << 16, 1 << 22).max(connected / 16);
        match partition {
            GridPartition::Balanced => IntervalCut::Edges(interval_edges),
            GridPartition::Uniform => IntervalCut::Vertices(
                connected
                    .div_ceil(edges.div_ceil(interval_edges).max(1))
                    .clamp(1, STRIPE_VERTICES as u64),
            ),
        }
    }

    /// About what [`GridDirectory::lag`] will be, which is known only when all intervals are cut.
    /// Of so many edges in the grid, from so many pieces, each of which ends an interval. Rather
    /// more than less: with less, no tile would serve two iterations.
    pub fn lag(self, edges: u64, connected: u64, pieces: u64) -> u64 {
        let intervals = match self {
            // Those before the widest ones, and these, which have few edges.
            IntervalCut::Edges(most) => edges / most.max(1) + connected / STRIPE_VERTICES as u64,
            IntervalCut::Vertices(width) => connected / width,
        };
        // The last interval of a piece is half as large as others; in small pieces the only one.
        GridDirectory::lag_of((intervals + pieces / 2).max(pieces + pieces / 8))
    }
}

/// The words of the tile that is being encoded.
struct Words<'a> {
    bytes: &'a mut Vec<u8>,
    chunks: &'a mut Vec<Chunk>,
    code: WordCode,
    /// The last edge's place, within the segment.
    place: u64,
    count: u64,
    edges: u64,
    /// Bits that are not yet a byte, and how many.
    pending: (u64, u32),
}

impl Words<'_> {
    /// An edge: its place within the segment.
    #[inline(always)]
    fn edge(&mut self, place: u64) {
        let first_skip = WordCode::first_skip(self.code.bits);
        loop {
            if self.count.is_multiple_of(CHUNK_WORDS) {
                // A chunk can be decoded without those before it.
                let source = self.place >> self.code.low_bits;
                self.place = source << self.code.low_bits;
                self.chunks.push(Chunk { source, edge: self.edges });
            }
            let gap = place - self.place;
            if gap < u64::from(first_skip) {
                self.word(gap);
                break;
            }
            let skip = self.code.skip_over(gap);
            self.word(skip.into());
            self.place += WordCode::skipped(self.code.bits, skip);
        }
        self.place = place;
        self.edges += 1;
    }

    #[inline(always)]
    fn word(&mut self, word: u64) {
        self.count += 1;
        let (mut bits, mut len) = self.pending;
        bits |= word << len;
        len += self.code.bits;
        if len >= 32 {
            self.push(&(bits as u32).to_le_bytes());
            bits >>= 32;
            len -= 32;
        }
        self.pending = (bits, len);
    }

    /// Ends the words; the last byte is filled up with zeros.
    fn finish(mut self) -> (u64, u64) {
        let (bits, len) = self.pending;
        self.push(&bits.to_le_bytes()[..len.div_ceil(8) as usize]);
        (self.count, self.edges)
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.bytes.capacity() < self.bytes.len() + 8 {
            self.bytes.reserve(1 << 16);
        }
        self.bytes.extend_from_slice(bytes);
    }
}

impl EncodedTiles {
    /// Encodes a bucket. `records` are sorted by target, then source. Uses and destroys both
    /// arrays.
    pub fn encode<R: Record>(
        &mut self,
        bucket: &Bucket,
        records: &mut [R],
        scratch: &mut [R],
        degrees: &[u64],
        code: &TileCode,
    ) {
        let TileCode { other_bits, cut, .. } = *code;
        self.interval_ends.clear();
        self.tiles.clear();
        self.chunks.clear();
        self.words.clear();
        self.weights.clear();
        self.words.reserve_exact(records.len() * 4 + 4096);
        self.weights.reserve_exact(records.len() * code.weights.bytes + 8);
        self.edges = 0;
        let (mut start, mut at, mut before) = (0usize, 0usize, 0);
        while start < degrees.len() {
            let (end, edges) = interval_end(degrees, start, bucket.first, cut);
            let width = (end - start) as u64;
            // The last interval of a bucket is narrower than those before it.
            let margin = code.lag * width.max(before);
            let tiled = code.keep_tiled(&mut records[at..at + edges], bucket.first);
            let (sorted, _) = radix::sort(
                &mut records[at..at + tiled],
                &mut scratch[at..at + tiled],
                0,
                other_bits,
            );
            self.interval(sorted, ((start as u64, width), margin), bucket.first, code);
            self.interval_ends.push(bucket.first + end as u64);
            (start, at, before) = (end, at + edges, width);
        }
    }

    /// One interval, whose records are sorted by source: its first vertex, counted from `base`, and
    /// how many it has are `targets`. Sources are well before it or well after it where at least
    /// `margin` vertices are between.
    ///
    /// A segment's edges are one tile, or up to three: those from sources well before the interval,
    /// around it, and well after it. A run updates intervals in order, so the signals of all
    /// sources well before the interval are settled, or those of all sources well after it. A tile
    /// is read or left out as a whole, so its sources should have this in common.
    fn interval<R: Record>(
        &mut self,
        records: &[R],
        (targets, margin): ((u64, u64), u64),
        base: u64,
        code: &TileCode,
    ) {
        let mask = (1u64 << code.other_bits) - 1;
        let first = base + targets.0;
        // Intervals become wider with falling degrees.
        let (lower, upper) =
            (first.saturating_sub(margin), first + targets.1 + margin + margin / 4);
        let upto = |source: u64| records.partition_point(|record| (record.key() & mask) < source);
        let mut start = 0;
        while start < records.len() {
            let segment = (records[start].key() & mask) >> SEGMENT_BITS;
            let (whole, mut from) = (upto((segment + 1) << SEGMENT_BITS), segment << SEGMENT_BITS);
            let (before, after) = (upto(lower).min(whole), upto(upper).min(whole));
            for (cut, end, worth) in
                [(lower, before, before.saturating_sub(start)), (upper, after, whole - after)]
            {
                if worth >= FEWEST_EDGES && (start + 1..whole).contains(&end) {
                    self.tiles(&records[start..end], from, targets, code);
                    (start, from) = (end, cut);
                }
            }
            self.tiles(&records[start..whole], from, targets, code);
            start = whole;
        }
    }

    /// Edges of one segment, from sources `from` and above: a tile, or several where some of them
    /// are denser than others, as those of hubs are, and other words suit them.
    fn tiles<R: Record>(&mut self, records: &[R], from: u64, targets: (u64, u64), code: &TileCode) {
        let source = |record: &R| record.key() & ((1u64 << code.other_bits) - 1);
        let blocks = records.len().div_ceil(CHUNK_WORDS as usize);
        let mut parts: Vec<(usize, WordCode)> = Vec::with_capacity(blocks);
        let (mut start, mut first) = (0, from);
        for block in 1..=blocks {
            // All edges of a source are in one tile.
            let end = records.len() * block / blocks;
            let end = records.get(end).map_or(end, |next| {
                records.partition_point(|record| source(record) < source(next))
            });
            if end > start {
                let best = best_code(&records[start..end], first, targets, code.other_bits);
                match parts.last_mut() {
                    Some((upto, same)) if *same == best => *upto = end,
                    _ => parts.push((end, best)),
                }
                start = end;
                first = records.get(end).map_or(first, source);
            }
        }
        let (mut start, mut first) = (0, from);
        for (end, words) in parts {
            self.tile(&records[start..end], first, targets, (code, words));
            start = end;
            first = records.get(end).map_or(first, source);
        }
    }

    /// One tile; the first gap is from the place of source `from` and destination 0.
    fn tile<R: Record>(
        &mut self,
        records: &[R],
        from: u64,
        targets: (u64, u64),
        (code, best): (&TileCode, WordCode),
    ) {
        self.words.resize(self.words.len().next_multiple_of(outercore_storage::PAGE), 0);
        let (offset, first_chunk) = (self.words.len() as u64, self.chunks.len() as u64);
        self.words.reserve(best.bytes(records.len() as u64) as usize + 64);
        let (bytes, chunks) = (&mut self.words, &mut self.chunks);
        let place = (from % (1 << SEGMENT_BITS)) << best.low_bits;
        let mut words =
            Words { bytes, chunks, code: best, place, count: 0, edges: 0, pending: (0, 0) };
        records.iter().for_each(|record| words.edge(place_of(record, targets, code.other_bits)));
        let (count, edges) = words.finish();
        let (segment, interval) = ((from >> SEGMENT_BITS) as u32, self.interval_ends.len() as u32);
        let tile =
            Tile { segment, interval, offset, first_edge: self.edges, first_chunk, packed: 0 };
        self.tiles.push(tile.with_words(count, best));
        self.edges += edges;
        if !code.weights.is_none() {
            records.iter().for_each(|record| {
                push_bytes(&mut self.weights, record.payload(), code.weights.bytes)
            });
        }
    }
}

/// The place of an edge within its segment and interval, whose first vertex and number of vertices
/// are `targets`.
#[inline(always)]
fn place_of<R: Record>(record: &R, (first, width): (u64, u64), other_bits: u32) -> u64 {
    let source = record.key() & ((1u64 << other_bits) - 1) & ((1 << SEGMENT_BITS) - 1);
    source << WordCode::low_bits_of(width) | ((record.key() >> other_bits) - first)
}

/// The words that suit edges from sources `from` and above.
fn best_code<R: Record>(
    records: &[R],
    from: u64,
    targets: (u64, u64),
    other_bits: u32,
) -> WordCode {
    let mut lengths = [0; 64];
    let from = (from % (1 << SEGMENT_BITS)) << WordCode::low_bits_of(targets.1);
    records.iter().fold(from, |last, record| {
        let place = place_of(record, targets, other_bits);
        lengths[(64 - (place - last).leading_zeros()) as usize] += 1;
        place
    });
    WordCode::best(targets.1, &lengths)
}

/// Fewest edges well before or after an interval that become a tile of their own: below that,
/// requests cost more than bytes.
const FEWEST_EDGES: usize = 1 << 14;

/// Most vertices of an interval that this builder makes: half of what the words allow. Their 8-byte
/// sums are 512 KiB, which a second-level cache holds.
const STRIPE_VERTICES: usize = 1 << (STRIPE_BITS - 1);

/// Where the interval that begins at `start` (of a bucket whose first vertex is `first`) ends, and
/// how many edges it has.
fn interval_end(degrees: &[u64], start: usize, first: u64, cut: IntervalCut) -> (usize, usize) {
    let (most_edges, most_vertices) = match cut {
        IntervalCut::Edges(edges) => (edges, STRIPE_VERTICES),
        IntervalCut::Vertices(width) => {
            (u64::MAX, (width - (first + start as u64) % width) as usize)
        }
    };
    let (mut end, mut edges) = (start, 0);
    while end < degrees.len()
        && end - start < most_vertices
        && (edges == 0 || edges + degrees[end] <= most_edges)
    {
        edges += degrees[end];
        end += 1;
    }
    (end, edges as usize)
}

/// What the grid came to.
pub struct GridSummary {
    /// The sections.
    pub sections: Vec<SectionEntry>,
    /// Words of all tiles.
    pub words: u64,
    /// Edges of all tiles.
    pub edges: u64,
}

/// The sections of the grid.
pub struct GridWriter {
    words: Section,
    weights: Option<Section>,
    tiles: Section,
    chunks: Section,
    intervals: Section,
    last_bound: u64,
    interval_count: u32,
    edges: u64,
    chunk_count: u64,
    total_words: u64,
}

impl GridWriter {
    /// Begins the sections.
    pub fn create(folders: &Folders, weights: WeightCode) -> Result<Self> {
        let mut intervals = folders.section("grid.stripes", false)?;
        intervals.write(&0u64.to_le_bytes())?;
        Ok(Self {
            words: folders.section("grid.words", true)?,
            weights: if weights.is_none() {
                None
            } else {
                Some(folders.section("grid.weights", true)?)
            },
            tiles: folders.section("grid.tiles", false)?,
            chunks: folders.section("grid.chunks", false)?,
            intervals,
            last_bound: 0,
            interval_count: 0,
            edges: 0,
            chunk_count: 0,
            total_words: 0,
        })
    }

    /// Appends the next bucket.
    pub fn append(&mut self, tiles: &mut EncodedTiles) -> Result<()> {
        // A vertex with several buckets keeps its interval: the later buckets add tiles to it.
        let continued = tiles.interval_ends.first() == Some(&self.last_bound);
        let base_interval = self.interval_count - u32::from(continued);
        for &end in &tiles.interval_ends[usize::from(continued)..] {
            self.intervals.write(&end.to_le_bytes())?;
            self.interval_count += 1;
            self.last_bound = end;
        }
        // A bucket without tiles leaves no gap: the words end where the last tile does.
        if !tiles.tiles.is_empty() {
            self.words.align_to(outercore_storage::PAGE)?;
        }
        let base = self.words.position();
        for tile in &mut tiles.tiles {
            tile.offset += base;
            tile.interval += base_interval;
            tile.first_edge += self.edges;
            tile.first_chunk += self.chunk_count;
            self.total_words += tile.words();
        }
        self.words.write(&tiles.words)?;
        if let Some(weights) = &mut self.weights {
            weights.write(&tiles.weights)?;
        }
        self.tiles.write(bytemuck::cast_slice(&tiles.tiles))?;
        self.chunks.write(bytemuck::cast_slice(&tiles.chunks))?;
        self.edges += tiles.edges;
        self.chunk_count += tiles.chunks.len() as u64;
        Ok(())
    }

    /// Ends the sections.
    pub fn finish(self) -> Result<GridSummary> {
        let mut sections = vec![
            self.words.finish()?,
            self.tiles.finish()?,
            self.chunks.finish()?,
            self.intervals.finish()?,
        ];
        if let Some(weights) = self.weights {
            sections.push(weights.finish()?);
        }
        Ok(GridSummary { sections, words: self.total_words, edges: self.edges })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ends of all intervals of a bucket, and the edges of each.
    fn intervals(degrees: &[u64], first: u64, cut: IntervalCut) -> Vec<(usize, usize)> {
        let mut start = 0;
        std::iter::from_fn(|| {
            (start < degrees.len()).then(|| {
                let (end, edges) = interval_end(degrees, start, first, cut);
                start = end;
                (end, edges)
            })
        })
        .collect()
    }

    #[test]
    fn balanced_intervals_have_equal_edges_and_uniform_ones_equal_widths() {
        // A skewed bucket: the first vertices have most of the edges.
        let degrees: Vec<u64> = (0..1000u64).map(|vertex| 100_000 / (vertex + 1)).collect();
        let total: u64 = degrees.iter().sum();
        let balanced = intervals(&degrees, 24, IntervalCut::Edges(100_000));
        assert!(balanced.iter().all(|&(_, edges)| edges <= 100_000));
        assert_eq!(balanced.len() as u64, total.div_ceil(100_000));
        let uniform = intervals(&degrees, 24, IntervalCut::Vertices(100));
        assert_eq!(
            uniform.iter().map(|&(end, _)| end).collect::<Vec<_>>(),
            [76, 176, 276, 376, 476, 576, 676, 776, 876, 976, 1000]
        );
        assert!(uniform[0].1 as u64 * 2 > total, "the first has more than half of the edges");
        assert_eq!(
            IntervalCut::new(GridPartition::Balanced, 1 << 28, 1 << 24),
            IntervalCut::Edges(1 << 22)
        );
        assert_eq!(
            IntervalCut::new(GridPartition::Uniform, 1 << 28, 1 << 20),
            IntervalCut::Vertices(1 << 14)
        );
    }
}
