//! [`Pages`]: in which pages the lists of vertices lie.

use std::ops::RangeInclusive;

use super::Selector;

/// Where lists lie.
pub(super) struct Pages<'s> {
    packed: &'s [u32],
    block: u64,
    /// Where each list begins, in bytes, and the end of all.
    starts: Vec<u64>,
    /// The first vertex whose list begins in each page or behind it, and the end.
    first: Vec<u32>,
}

impl<'s> Pages<'s> {
    pub fn new(selector: &'s Selector) -> Self {
        let (connected, block) = (selector.graph.connected() as u32, selector.options.block);
        let (mut starts, mut first, mut byte) = (vec![0], Vec::new(), 0u64);
        for vertex in 0..connected {
            while first.len() as u64 <= byte / block {
                first.push(vertex);
            }
            byte += selector.stored_bytes(vertex);
            starts.push(byte);
        }
        let pages = byte.div_ceil(block) as usize + 1;
        first.resize(pages.max(first.len()) + 1, connected);
        Self { packed: &selector.packed, block, starts, first }
    }

    /// How many pages there are.
    pub fn count(&self) -> usize {
        self.first.len() - 1
    }

    /// Bytes of a vertex's list in the static cache.
    pub fn bytes(&self, vertex: u32) -> u64 {
        self.packed[vertex as usize].into()
    }

    /// The pages of a vertex's list, which has at least one byte.
    pub fn of(&self, vertex: u32) -> RangeInclusive<u32> {
        let [start, end] = [0, 1].map(|next| self.starts[vertex as usize + next]);
        (start / self.block) as u32..=((end - 1) / self.block) as u32
    }

    /// Bytes in the static cache of what a page has of a vertex's list.
    pub fn portion(&self, vertex: u32, page: u32) -> u64 {
        let [start, end] = [0, 1].map(|next| self.starts[vertex as usize + next]);
        let page = u64::from(page) * self.block;
        let here = end.min(page + self.block) - start.max(page);
        (self.bytes(vertex) * here / (end - start)).max(1)
    }

    /// The vertices whose lists may lie in a page, whole or in part.
    pub fn mates(&self, page: u32) -> std::ops::Range<u32> {
        let page = page as usize;
        self.first[page].saturating_sub(1)..self.first[page + 1]
    }

    /// The pages of the lists of some vertices, in ascending order.
    pub fn wanted(&self, vertices: impl Iterator<Item = u32>, pages: &mut Vec<u32>) {
        pages.clear();
        for vertex in vertices {
            let mut own = self.of(vertex);
            if pages.last() == Some(own.start()) {
                own.next();
            }
            pages.extend(own);
        }
    }
}
