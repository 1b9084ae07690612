//! Words of the grid: what they are by the letter of `docs/format.md` is what `check` and passes
//! in every model see, and words of edges that cannot be are found by `check`.

use outercore::{
    Layout, MemoryModel,
    format::{Chunk, Tile, WordCode, WordKind},
};

use crate::{
    choices::Choices,
    forged::{Forged, is_clean, naive_pass, pass},
};

const PAGE: usize = 4096;

pub fn run(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let model = choices.of(&[
        MemoryModel::InMemory,
        MemoryModel::SemiExternal,
        MemoryModel::FullyExternal,
        MemoryModel::FullyExternal,
    ]);
    let n = 1 + u64::from(choices.short()) % 9000;
    let cut = if choices.below(2) == 0 { n } else { 1 + u64::from(choices.short()) % n };
    let mut tiles = Vec::new();
    for (interval, (first, end)) in [(0, cut), (cut, n)].into_iter().enumerate() {
        if first == end {
            continue;
        }
        let code = code(&mut choices, end - first);
        let source = u64::from(choices.short()) % n * u64::from(choices.byte() & 1);
        let len = if end == n { choices.0.len() } else { choices.0.len() / 2 };
        let words = code.words(len as u64);
        let bytes = choices.take(code.bytes(words) as usize);
        let edges = decode(code, source, (bytes, words));
        if words > 0 {
            tiles.push(Written {
                interval: interval as u32,
                range: (first, end),
                code,
                source,
                words,
                bytes,
                edges,
            });
        }
    }
    let all: Vec<(u64, u64)> = tiles.iter().flat_map(Written::edges).collect();
    let inside = |tile: &Written| {
        let width = tile.range.1 - tile.range.0;
        tile.edges.iter().all(|&(source, target)| source < n && target < width)
    };
    let sound = tiles.iter().all(inside);
    let lists = lists(n, &all);
    if lists.iter().all(Vec::is_empty) {
        return;
    }
    let folder = graph(&lists, (n, cut), &tiles).write();
    assert_eq!(is_clean(&folder), sound, "{} edges", all.len());
    if sound {
        let found = pass(&folder, model).expect("a graph that is sound");
        assert_eq!(found, naive_pass(n, all.into_iter()), "{}", model.name());
    }
}

/// The lists of those edges that there may be.
fn lists(n: u64, edges: &[(u64, u64)]) -> Vec<Vec<u64>> {
    let mut lists = vec![Vec::new(); n as usize];
    for &(source, target) in edges.iter().filter(|&&(source, target)| source.max(target) < n) {
        lists[source as usize].push(target);
    }
    lists.iter_mut().for_each(|list| list.sort_unstable());
    lists
}

/// A tile.
struct Written<'a> {
    interval: u32,
    /// The vertices of the interval.
    range: (u64, u64),
    code: WordCode,
    /// Where its chunk begins.
    source: u64,
    words: u64,
    bytes: &'a [u8],
    edges: Vec<(u64, u64)>,
}

impl Written<'_> {
    fn edges(&self) -> impl Iterator<Item = (u64, u64)> {
        self.edges.iter().map(|&(source, target)| (source, self.range.0.saturating_add(target)))
    }
}

/// A code that there may be, for an interval of this width.
fn code(choices: &mut Choices, width: u64) -> WordCode {
    let kind = choices.of(&[WordKind::Gaps, WordKind::Gaps, WordKind::Deltas]);
    let (bits, more) = (choices.of(&WordCode::LENGTHS), choices.below(3) as u32);
    let low_bits = (64 - (width - 1).leading_zeros() + more / 2).min(17);
    let code = WordCode { bits, low_bits, kind };
    let first = WordCode { bits: 24, low_bits: low_bits.max(8), kind: WordKind::Deltas };
    if code.is_sound() { code } else { first }
}

/// Every edge: the source within the segment, and the destination within the interval.
fn decode(code: WordCode, source: u64, (bytes, words): (&[u8], u64)) -> Vec<(u64, u64)> {
    let bit = |at: u64| u64::from(bytes[(at / 8) as usize] >> (at % 8) & 1);
    let bits = u64::from(code.bits);
    let (mut source, mut place) = (source, u128::from(source) << code.low_bits);
    let mut edges = Vec::new();
    for word in 0..words {
        let value = (0..bits).rev().fold(0, |value, at| value << 1 | bit(word * bits + at));
        match code.kind {
            WordKind::Gaps => {
                let skip = value.checked_sub((1 << bits) - 8);
                place += skip.map_or(value.into(), |skip| 1 << (bits - 1 + skip));
                if skip.is_none() {
                    let low = place & ((1 << code.low_bits) - 1);
                    edges.push(((place >> code.low_bits) as u64, low as u64));
                }
            }
            WordKind::Deltas => {
                let (delta, low) = (value >> code.low_bits, value & ((1 << code.low_bits) - 1));
                let skips = delta == (1 << (code.bits - code.low_bits)) - 1;
                source += if skips { low } else { delta };
                edges.extend((!skips).then_some((source, low)));
            }
        }
    }
    edges
}

fn graph(lists: &[Vec<u64>], (n, cut): (u64, u64), written: &[Written]) -> Forged {
    let mut forged = Forged::of_lists(lists);
    forged.layout = Layout::Grid;
    let bounds: &[u64] = if cut == n { &[0, n] } else { &[0, cut, n] };
    let (mut tiles, mut chunks, mut words) = (Vec::new(), Vec::new(), Vec::new());
    let mut edges = 0;
    for tile in written {
        words.resize(words.len().next_multiple_of(PAGE), 0);
        let entry = Tile {
            segment: 0,
            interval: tile.interval,
            offset: words.len() as u64,
            packed: 0,
            first_edge: edges,
            first_chunk: chunks.len() as u64,
        };
        tiles.push(entry.with_words(tile.words, tile.code));
        chunks.push(Chunk { source: tile.source, edge: 0 });
        words.extend(tile.bytes);
        edges += tile.edges.len() as u64;
        forged.grid_words += tile.words;
    }
    let bounds = bounds.iter().flat_map(|bound| bound.to_le_bytes()).collect();
    forged.sections.extend([
        ("grid.stripes", bounds),
        ("grid.tiles", bytemuck::cast_slice(&tiles).to_vec()),
        ("grid.chunks", bytemuck::cast_slice(&chunks).to_vec()),
        ("grid.words", words),
    ]);
    forged
}
