//! The tiles: inside the grid, and sound edges in each. They are decoded here by the letter of
//! `docs/format.md`, word by word, and not by the loops of a run.

use super::{Fault, digest::Digest};
use crate::{
    build::BuildProgress,
    error::Result,
    format::{GridDirectory, SEGMENT_BITS, Tile, WordCode, WordKind},
    graph::{Graph, Table},
    scan::weight,
};

/// Intervals cover the vertices, tiles lie inside the words, and their edges inside the graph.
/// Returns what edges there are.
pub fn check_grid(graph: &Graph, progress: &dyn BuildProgress) -> Result<(Digest, Vec<Fault>)> {
    let (directory, words) = (graph.grid()?, graph.table("grid.words")?);
    let mut faults: Vec<String> =
        shape(graph, &directory, words.section.bytes).into_iter().map(str::to_owned).collect();
    let mut digest = Digest::default();
    if faults.is_empty() {
        let weights = if graph.manifest().section("grid.weights").is_some() {
            Some(graph.table("grid.weights")?)
        } else {
            None
        };
        let mut tiles = Tiles {
            graph,
            directory: &directory,
            words: &words,
            weights,
            edges: 0,
            digest: Digest::default(),
        };
        for number in 0..directory.tiles.len() {
            if let Err(what) = tiles.tile(number, progress)? {
                faults.push(what);
                break;
            }
        }
        digest = tiles.digest;
    }
    Ok((
        digest,
        faults
            .into_iter()
            .map(|what| Fault { path: words.section.path().to_owned(), what })
            .collect(),
    ))
}

/// What is wrong with the directory.
fn shape(graph: &Graph, grid: &GridDirectory, bytes: u64) -> Vec<&'static str> {
    let mut faults = Vec::new();
    if grid.intervals.first() != Some(&0)
        || grid.intervals.last() != Some(&graph.connected())
        || !grid.intervals.is_sorted()
    {
        faults.push("the intervals do not cover the vertices");
    }
    let intervals = grid.intervals.len() as u64 - 1;
    let end = |tile: &Tile| tile.offset.saturating_add(tile.code().bytes(tile.words()));
    let last = grid.tiles.iter().map(end).max().unwrap_or(0);
    // Some graphs have zeros up to the next page after the last tile: no reader minds.
    if bytes != last && bytes != last.next_multiple_of(outercore_storage::PAGE as u64) {
        faults.push("the tiles do not end where the words do");
    }
    let inside = |tile: &Tile| {
        u64::from(tile.interval) < intervals
            && tile.first_chunk.saturating_add(tile.chunks()) <= grid.chunks.len() as u64
    };
    if !grid.tiles.iter().all(|tile| inside(tile) && tile.code().is_sound()) {
        faults.push("a tile lies outside of the grid");
    }
    faults
}

/// The tiles, one after the other.
struct Tiles<'g> {
    graph: &'g Graph,
    directory: &'g GridDirectory,
    words: &'g Table,
    weights: Option<Table>,
    /// Edges of the tiles before.
    edges: u64,
    digest: Digest,
}

/// `Err`: what is wrong with a tile.
type Verdict<T> = std::result::Result<T, String>;

impl Tiles<'_> {
    fn tile(&mut self, number: usize, progress: &dyn BuildProgress) -> Result<Verdict<()>> {
        let tile = &self.directory.tiles[number];
        let wrong = |what: &str| Ok(Err(format!("tile {number}: {what}")));
        if tile.first_edge != self.edges {
            return wrong("it does not say how many edges are before it");
        }
        let (mut edges, mut place) = (0, None);
        for index in 0..tile.chunks() {
            let chunk = &self.directory.chunks[(tile.first_chunk + index) as usize];
            if chunk.edge != edges
                || place.is_some_and(|place: u64| place >> tile.code().low_bits != chunk.source)
            {
                return wrong("a chunk does not say where it begins");
            }
            let (offset, len) = tile.chunk_bytes(index);
            let bytes = self.words.read(offset, len)?;
            let words = tile.code().words(len as u64).min(tile.words());
            let mut found = Vec::with_capacity(words as usize);
            place = Some(decode(tile.code(), chunk.source, (&bytes, words), |source, target| {
                found.push((source, target))
            }));
            if let Err(what) = self.add(tile, &found)? {
                return wrong(&what);
            }
            edges += found.len() as u64;
            progress.advance(found.len() as u64);
            progress.check()?;
        }
        self.edges += edges;
        Ok(Ok(()))
    }

    /// The next edges of a tile, sources within its segment and targets within its interval.
    fn add(&mut self, tile: &Tile, edges: &[(u64, u64)]) -> Result<Verdict<()>> {
        let (first, targets) =
            (u64::from(tile.segment) << SEGMENT_BITS, self.directory.interval(tile.interval));
        let sources = (self.graph.connected().saturating_sub(first)).min(1 << SEGMENT_BITS);
        let width = targets.end - targets.start;
        if let Some((source, target)) =
            edges.iter().find(|&&(source, target)| source >= sources || target >= width)
        {
            return Ok(Err(format!(
                "an edge from {source} of its segment to {target} of its interval is outside of \
                 the graph"
            )));
        }
        let manifest = self.graph.manifest();
        let bytes = u64::from(manifest.weight_bytes);
        let weights = match &self.weights {
            Some(weights) => crate::graph::numbers(
                &weights.read(self.digest.edges() * bytes, edges.len() * bytes as usize)?,
                bytes as usize,
            ),
            None => Vec::new(),
        };
        for (at, &(source, target)) in edges.iter().enumerate() {
            self.digest.add(
                first + source,
                targets.start + target,
                weights.get(at).map(|&bits| weight(manifest.weights, bits)),
            );
        }
        Ok(Ok(()))
    }
}

/// The edges of some words of a chunk that begins at `source`; returns the last place.
fn decode(
    code: WordCode,
    source: u64,
    (bytes, words): (&[u8], u64),
    mut edge: impl FnMut(u64, u64),
) -> u64 {
    let (low, mask) = (code.low_bits, (1u64 << code.low_bits) - 1);
    let mut place = source << low;
    for index in 0..words {
        let (byte, bit) =
            ((index * u64::from(code.bits) / 8) as usize, index * u64::from(code.bits) % 8);
        let four = match bytes.get(byte..byte + 4) {
            Some(four) => u32::from_le_bytes(four.try_into().expect("four bytes")),
            None => (byte..bytes.len()).rev().fold(0, |word, at| word << 8 | u32::from(bytes[at])),
        };
        let word = four >> bit & ((1 << code.bits) - 1);
        match code.kind {
            WordKind::Gaps if word >= WordCode::first_skip(code.bits) => {
                place = place.saturating_add(WordCode::skipped(code.bits, word));
                continue;
            }
            WordKind::Gaps => place = place.saturating_add(word.into()),
            WordKind::Deltas => {
                let (delta, target) = (word >> low, u64::from(word) & mask);
                if delta == code.skip() {
                    place = (place >> low).saturating_add(target) << low;
                    continue;
                }
                place = ((place >> low) + u64::from(delta)) << low | target;
            }
        }
        edge(place >> low, place & mask);
    }
    place
}
