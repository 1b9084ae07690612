//! Writing the grid: a bucket's records, sorted by source within each interval, become tiles of
//! words.

use super::{
    buckets::Bucket,
    intervals::{Interval, IntervalCut},
    radix,
    radix::Record,
    rows::push_bytes,
    sections::{Folders, Section},
    weights::WeightCode,
};
use crate::{
    error::Result,
    format::{CHUNK_WORDS, Cells, Chunk, SEGMENT_BITS, SectionEntry, Tile, WordCode},
};

/// A bucket's tiles, encoded and ready to be written in turn; offsets and numbers count from the
/// bucket's first.
#[derive(Default)]
pub struct EncodedTiles {
    /// Ends of the bucket's intervals; the last one may end behind the bucket.
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
        let other_bits = code.other_bits;
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
            let Interval { first, end, upto, edges } =
                code.cut.interval(degrees, start, bucket.first);
            let width = end - first;
            // The last interval of a bucket is narrower than those before it.
            let margin = code.lag * width.max(before);
            let tiled = code.keep_tiled(&mut records[at..at + edges], bucket.first);
            let (sorted, _) = radix::sort(
                &mut records[at..at + tiled],
                &mut scratch[at..at + tiled],
                0,
                other_bits,
            );
            // Records count from the bucket's first vertex, before which the interval may begin.
            let targets = (first.wrapping_sub(bucket.first), width);
            self.interval(sorted, (targets, margin), bucket.first, code);
            self.interval_ends.push(end);
            (start, at, before) = (upto, at + edges, width);
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
        let first = base.wrapping_add(targets.0);
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

    /// Edges of one segment, from sources `from` and above: a tile, or several. The rows of a
    /// balanced grid are cut by edges, interval by interval: tiles of equally many, each a chunk.
    /// In a uniform one there are several where some edges are denser than others, as those of hubs
    /// are, and other words suit them.
    fn tiles<R: Record>(&mut self, records: &[R], from: u64, targets: (u64, u64), code: &TileCode) {
        let source = |record: &R| record.key() & ((1u64 << code.other_bits) - 1);
        let by_edges = code.cut.is_by_edges();
        let blocks =
            records.len().div_ceil(if by_edges { TILE_EDGES } else { CHUNK_WORDS as usize });
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
                    Some((upto, same)) if *same == best && !by_edges => *upto = end,
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
    source << WordCode::low_bits_of(width) | (record.key() >> other_bits).wrapping_sub(first)
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

/// Most edges of a tile whose rows are cut by edges: with the skips between them, hardly one in
/// fifty, they are a chunk.
const TILE_EDGES: usize = CHUNK_WORDS as usize / 16 * 15;

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
        // A vertex with several buckets keeps its interval, as do those of equal width that several
        // buckets share: the later buckets add tiles to it.
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
        let mut sections = vec![self.words, self.tiles, self.chunks, self.intervals];
        sections.extend(self.weights);
        let sections = Section::finish_all(sections)?;
        Ok(GridSummary { sections, words: self.total_words, edges: self.edges })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tiles of a bucket of 4096 targets, in which low sources have most edges: edges, and the
    /// first source.
    fn tiles(cut: IntervalCut) -> Vec<(u64, u64)> {
        const EDGES: u64 = 1 << 20;
        let (other_bits, sources) = (20, 1u64 << 20);
        let mut records: Vec<u64> = (0..EDGES)
            .map(|edge| {
                let part = (edge * 0x9e37_79b9 % EDGES) as f64 / EDGES as f64;
                ((edge % 4096) << other_bits) | (part.powi(3) * sources as f64) as u64
            })
            .collect();
        records.sort_unstable();
        let bucket = Bucket { first: 512, end: 512 + 4096, other_first: 0, other_end: sources };
        let code = TileCode { other_bits, cut, lag: 1, weights: WeightCode::NONE, cells: None };
        let (mut encoded, mut scratch) = (EncodedTiles::default(), records.clone());
        encoded.encode(&bucket, &mut records, &mut scratch, &[EDGES / 4096; 4096], &code);
        let ends = encoded.tiles.iter().skip(1).map(|tile| tile.first_edge).chain([EDGES]);
        let first = |tile: &Tile| encoded.chunks[tile.first_chunk as usize].source;
        encoded
            .tiles
            .iter()
            .zip(ends)
            .map(|(tile, end)| (end - tile.first_edge, first(tile)))
            .collect()
    }

    #[test]
    fn rows_are_cut_by_edges() {
        let balanced = tiles(IntervalCut::Edges(1 << 20));
        let (largest, mean) =
            (balanced.iter().map(|tile| tile.0).max().unwrap(), (1 << 20) / balanced.len() as u64);
        assert!(balanced.len() >= 5 && largest <= TILE_EDGES as u64, "{balanced:?}");
        assert!(largest * 10 < mean * 13, "{balanced:?}");
        let sources: Vec<u64> = balanced.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
        assert!(sources[0] * 20 < sources[sources.len() - 1], "other numbers of rows: {sources:?}");
        let uniform = tiles(IntervalCut::Vertices { width: 8192, connected: 1 << 20 });
        let largest = uniform.iter().map(|tile| tile.0).max().unwrap();
        assert!(largest > 2 * TILE_EDGES as u64, "{uniform:?}");
    }
}
