//! [`MergedLists`]: the lists of a graph as the sorted records of its simple view.
//!
//! They are in order already. Where a graph has those of both directions, a bucket of the view is
//! the merge of two stretches of its adjacency: nothing goes to scratch, and nothing is sorted.

use std::ops::Range;

use super::{
    buckets::{Bucket, BucketCut, Buckets},
    packed::RecordCode,
    radix::{InOrder, Record},
    weights::WeightCode,
};
use crate::{
    error::{GraphError, Result},
    format::INDEX_GROUP,
    graph::{Graph, Table, append_numbers, numbers},
    types::Direction,
};

/// The lists of a graph, by bucket.
pub struct MergedLists {
    sides: Vec<Side>,
    /// Where the lists of each bucket begin in the adjacency of each side, and where the last end.
    starts: Vec<[u64; 2]>,
    /// Bits of a neighbor in a record.
    other_bits: u32,
    /// Neighbors of a side that a worker has at hand.
    window: u64,
}

/// The lists of one direction.
struct Side {
    degrees: Table,
    index: Table,
    adjacency: Table,
    width: usize,
    connected: u64,
}

/// Bytes of a neighbor that is at hand: as it was read, as a record, and a degree.
const AT_HAND: usize = 16;
/// Groups of the index that are read together.
const GROUPS: u64 = 1 << 12;
/// The lists of a group go to one bucket, where they are at most this part of what that has.
const PART: u64 = 16;

impl MergedLists {
    /// The lists of `graph`, and buckets of at most `most` records, unless one vertex has more, and
    /// of so many vertices. A worker has `memory` bytes to read them.
    pub fn cut(
        graph: &Graph,
        (most, vertices): (u64, u64),
        memory: usize,
    ) -> Result<(Self, Buckets)> {
        let directions = [Direction::Out, Direction::In];
        let directions = &directions[..if graph.directed() { 2 } else { 1 }];
        let open = |&direction| Side::open(graph, direction);
        let sides: Vec<Side> = directions.iter().map(open).collect::<Result<_>>()?;
        let window = (memory / (sides.len() * AT_HAND)).clamp(1 << 10, 1 << 16) as u64;
        let mut lists = Self { sides, starts: Vec::new(), other_bits: 0, window };
        let mut cut = BucketCut::new((most, most), vertices);
        let mut at = [0; 2];
        let groups = graph.connected().div_ceil(INDEX_GROUP);
        for first in (0..groups).step_by(GROUPS as usize) {
            let count = GROUPS.min(groups - first);
            let entries = |side: &Side| side.entries(first, count + 1);
            let entries: Vec<Vec<u64>> = lists.sides.iter().map(entries).collect::<Result<_>>()?;
            for group in 0..count {
                let vertex = (first + group) * INDEX_GROUP;
                let vertices = INDEX_GROUP.min(graph.connected() - vertex);
                let group = group as usize;
                let mut records = [0; 2];
                for (records, entries) in records.iter_mut().zip(&entries) {
                    *records = entries[group + 1].saturating_sub(entries[group]);
                }
                if records.iter().sum::<u64>() <= most / PART {
                    lists.push(&mut cut, &mut at, vertices, records);
                    continue;
                }
                let degrees = |side: &Side| side.degrees(vertex, vertices);
                let of: Vec<Vec<u64>> = lists.sides.iter().map(degrees).collect::<Result<_>>()?;
                for index in 0..vertices as usize {
                    let other = of.get(1).map_or(0, |degrees| degrees[index]);
                    lists.push(&mut cut, &mut at, 1, [of[0][index], other]);
                }
            }
        }
        lists.starts.push(at);
        let buckets = cut.finish();
        lists.other_bits =
            RecordCode::new(graph.connected(), &buckets, WeightCode::NONE).other_bits;
        Ok((lists, buckets))
    }

    /// The next vertices, whose lists begin `at` and have so many records.
    fn push(&mut self, cut: &mut BucketCut, at: &mut [u64; 2], vertices: u64, records: [u64; 2]) {
        if cut.push_whole(vertices, records.iter().sum()) {
            self.starts.push(*at);
        }
        for (at, records) in at.iter_mut().zip(records) {
            *at += records;
        }
    }

    /// The most records of a bucket: repeats and loops are among them.
    pub fn records(&self, bucket: usize) -> u64 {
        let [begin, end] = [self.starts[bucket], self.starts[bucket + 1]];
        begin.iter().zip(end).map(|(begin, end)| end - begin).sum()
    }

    /// The records of a bucket of whole lists: each pair of neighbors once, and no loops.
    pub fn of(&self, number: usize, bucket: &Bucket) -> Merged<'_> {
        let mut stretches = self.sides.iter().enumerate().map(|(at, side)| {
            let [next, end] = [number, number + 1].map(|bucket| self.starts[bucket][at]);
            Stretch::new(self, side, bucket, next..end)
        });
        let (one, other) = (stretches.next().expect("a side"), stretches.next());
        Merged { one, other, first: bucket.first, other_bits: self.other_bits, last: None }
    }
}

impl Side {
    fn open(graph: &Graph, direction: Direction) -> Result<Self> {
        let table = |part: &str| graph.table(&format!("{}.{part}", direction.name()));
        Ok(Self {
            degrees: table("degrees")?,
            index: table("index")?,
            adjacency: table("adjacency")?,
            width: graph.manifest().neighbor_bytes as usize,
            connected: graph.connected(),
        })
    }

    fn degrees(&self, first: u64, count: u64) -> Result<Vec<u64>> {
        Ok(numbers(&self.degrees.read(first * 4, count as usize * 4)?, 4))
    }

    /// Where the lists of groups begin.
    fn entries(&self, first: u64, count: u64) -> Result<Vec<u64>> {
        Ok(numbers(&self.index.read(first * 8, count as usize * 8)?, 8))
    }

    #[cold]
    fn corrupt<T>(&self, what: &str) -> Result<T> {
        let path = self.adjacency.section.path().to_owned();
        Err(GraphError::Corrupt { path, what: what.to_owned() })
    }
}

/// The lists of a bucket's vertices, of one side, as records.
struct Stretch<'l> {
    lists: &'l MergedLists,
    side: &'l Side,
    bucket: Bucket,
    /// The entries that were not read yet.
    next: u64,
    end: u64,
    /// Degrees that are at hand, of the vertices from this one on.
    vertex: u64,
    degrees: std::vec::IntoIter<u64>,
    /// Entries of the list of the vertex before that one that were not read yet.
    left: u64,
    records: Vec<u64>,
    /// The first record that was not taken.
    at: usize,
}

impl<'l> Stretch<'l> {
    /// What lies between these entries.
    fn new(lists: &'l MergedLists, side: &'l Side, bucket: &Bucket, entries: Range<u64>) -> Self {
        Self {
            lists,
            side,
            bucket: *bucket,
            next: entries.start,
            end: entries.end,
            vertex: bucket.first,
            degrees: Vec::new().into_iter(),
            left: 0,
            records: Vec::new(),
            at: 0,
        }
    }

    /// The records at hand; none: there are no more.
    fn at_hand(&mut self) -> Result<()> {
        if self.at < self.records.len() || self.next >= self.end {
            return Ok(());
        }
        let (side, count) = (self.side, (self.end - self.next).min(self.lists.window));
        let bytes =
            side.adjacency.read(self.next * side.width as u64, count as usize * side.width)?;
        self.records.clear();
        self.at = 0;
        append_numbers(&mut self.records, &bytes, side.width);
        let mut records = std::mem::take(&mut self.records);
        let mut list = &mut records[..];
        while !list.is_empty() {
            if self.left == 0 {
                self.left = self.next_degree()?;
                continue;
            }
            let (part, rest) = list.split_at_mut(list.len().min(self.left as usize));
            if part.last().is_some_and(|&neighbor| neighbor >= side.connected) {
                return side.corrupt("an edge leads to a vertex that there is not");
            }
            if !part.is_sorted() {
                return side.corrupt("a list is not in order");
            }
            self.left -= part.len() as u64;
            let vertex = (self.vertex - 1 - self.bucket.first) << self.lists.other_bits;
            part.iter_mut().for_each(|record| *record |= vertex);
            list = rest;
        }
        self.next += count;
        self.records = records;
        Ok(())
    }

    fn next_degree(&mut self) -> Result<u64> {
        if self.degrees.len() == 0 {
            let count = (self.bucket.end - self.vertex).min(self.lists.window);
            if count == 0 {
                return self.side.corrupt("its lists are longer than the degrees say");
            }
            self.degrees = self.side.degrees(self.vertex, count)?.into_iter();
        }
        self.vertex += 1;
        Ok(self.degrees.next().expect("it was read"))
    }

    fn rest(&self) -> &[u64] {
        &self.records[self.at..]
    }
}

/// The records of a bucket.
pub struct Merged<'l> {
    one: Stretch<'l>,
    other: Option<Stretch<'l>>,
    /// The bucket's first vertex.
    first: u64,
    other_bits: u32,
    /// The last record.
    last: Option<u64>,
}

impl<R: Record> InOrder<R> for Merged<'_> {
    fn fill(&mut self, records: &mut Vec<R>, most: usize) -> Result<bool> {
        loop {
            self.one.at_hand()?;
            self.other.as_mut().map_or(Ok(()), Stretch::at_hand)?;
            let (one, other) =
                (self.one.rest(), self.other.as_ref().map_or(&[][..], Stretch::rest));
            if one.is_empty() && other.is_empty() {
                return Ok(true);
            }
            let (mut at, mut at_other, mut last) = (0, 0, self.last);
            let mask = (1 << self.other_bits) - 1;
            // Of a side that has ended, all is before what the other one has.
            let ends = (one.is_empty(), other.is_empty());
            let is_full = loop {
                let next = match (one.get(at), other.get(at_other)) {
                    (Some(&one), Some(&other)) => one.min(other),
                    (Some(&one), None) if ends.1 => one,
                    (None, Some(&other)) if ends.0 => other,
                    _ => break false,
                };
                let is_loop = self.first + (next >> self.other_bits) == next & mask;
                if last != Some(next) && !is_loop {
                    if records.len() == most {
                        break true;
                    }
                    records.push(R::new(next, 0));
                    last = Some(next);
                }
                at += usize::from(one.get(at) == Some(&next));
                at_other += usize::from(other.get(at_other) == Some(&next));
            };
            self.last = last;
            self.one.at += at;
            if let Some(other) = &mut self.other {
                other.at += at_other;
            }
            if is_full {
                return Ok(false);
            }
        }
    }
}
