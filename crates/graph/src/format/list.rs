//! [`List`]: the neighbors of a vertex as they are stored, or some of them.

use super::number;

/// A vertex's list, or a piece of it.
#[derive(Clone, Copy)]
pub struct List<'a> {
    /// The neighbors as they are stored.
    pub neighbors: &'a [u8],
    /// The bits of their weights, as they are stored; none where weights are not asked for.
    pub weights: &'a [u8],
    /// Bytes of a neighbor.
    pub width: usize,
    /// Bytes of a weight.
    pub weight_width: usize,
}

/// Neighbors that are decoded together.
const MANY: usize = 32;
/// Neighbors that are decoded one by one.
const FEW: usize = 8;

/// Decodes numbers of `width` bytes, as many as there are and room is for; returns how many.
#[inline(always)]
fn copy(bytes: &[u8], width: usize, room: &mut [u64]) -> usize {
    #[inline(always)]
    fn fill<const WIDTH: usize>(bytes: &[u8], room: &mut [u64]) -> usize {
        let copied = room.iter_mut().zip(bytes.chunks_exact(WIDTH));
        copied.map(|(place, bytes)| *place = number(bytes)).count()
    }
    match width {
        1 => fill::<1>(bytes, room),
        2 => fill::<2>(bytes, room),
        3 => fill::<3>(bytes, room),
        4 => fill::<4>(bytes, room),
        5 => fill::<5>(bytes, room),
        6 => fill::<6>(bytes, room),
        _ => fill::<8>(bytes, room),
    }
}

impl<'a> List<'a> {
    /// A list of such bytes, `width` for each neighbor, without weights.
    pub fn of(neighbors: &'a [u8], width: usize) -> Self {
        Self { neighbors, weights: &[], width, weight_width: 0 }
    }

    /// `count` of the neighbors, from number `first` on.
    #[inline(always)]
    pub fn part(&self, first: u64, count: u64) -> Self {
        let part = |bytes: &'a [u8], width: usize| {
            &bytes[first as usize * width..(first + count) as usize * width]
        };
        Self {
            neighbors: part(self.neighbors, self.width),
            weights: part(self.weights, self.weight_width),
            ..*self
        }
    }

    /// How many neighbors there are.
    #[inline(always)]
    pub fn count(&self) -> u64 {
        (self.neighbors.len() / self.width) as u64
    }

    /// The neighbors, ascending.
    #[inline(always)]
    pub fn neighbors(&self) -> impl Iterator<Item = u64> + 'a {
        let width = self.width;
        self.neighbors.chunks_exact(width).map(number)
    }

    /// The neighbors from number `first` on, as many as there is room for; returns how many. Where
    /// each is met more than once, this is faster than asking for it again.
    #[inline(always)]
    pub fn copy(&self, first: usize, room: &mut [u64]) -> usize {
        copy(&self.neighbors[first * self.width..], self.width, room)
    }

    /// Hands every neighbor with the bits of its weight to `each`: faster than
    /// [`List::weighted`], because widths are looked at once for many.
    #[inline(always)]
    pub fn for_each_weighted(&self, each: impl FnMut(u64, u64)) {
        self.for_each_weighted_told(|_| (), each);
    }

    /// The same, and `soon` is told of so many neighbors before: what belongs to them can be
    /// brought near together.
    #[inline(always)]
    pub fn for_each_weighted_told(
        &self,
        mut soon: impl FnMut(u64),
        mut each: impl FnMut(u64, u64),
    ) {
        // To make room for many takes longer than to decode few.
        if self.neighbors.len() <= FEW * self.width {
            return self.weighted().for_each(|(neighbor, weight)| each(neighbor, weight));
        }
        let (mut neighbors, mut weights, mut first) = ([0; MANY], [0; MANY], 0);
        while first < self.count() as usize {
            let count = self.copy(first, &mut neighbors);
            neighbors[..count].iter().for_each(|&neighbor| soon(neighbor));
            if self.weight_width > 0 {
                let bytes = &self.weights[first * self.weight_width..];
                copy(bytes, self.weight_width, &mut weights[..count]);
            }
            for (&neighbor, &weight) in neighbors[..count].iter().zip(&weights) {
                each(neighbor, weight);
            }
            first += count;
        }
    }

    /// The neighbors with the bits of their weights (0 where weights were not asked for).
    #[inline(always)]
    pub fn weighted(&self) -> impl Iterator<Item = (u64, u64)> + 'a {
        let (weights, weight_width) = (self.weights, self.weight_width);
        self.neighbors().enumerate().map(move |(index, neighbor)| {
            let weight = if weight_width == 0 {
                0
            } else {
                number(&weights[index * weight_width..(index + 1) * weight_width])
            };
            (neighbor, weight)
        })
    }

    /// What every list is, and what a computation may rely on: ascending, and of vertices that
    /// exist.
    pub fn is_sound(&self, connected: u64) -> bool {
        let mut before = 0;
        self.neighbors().all(|neighbor| {
            std::mem::replace(&mut before, neighbor) <= neighbor && neighbor < connected
        })
    }
}
