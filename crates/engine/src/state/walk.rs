//! What is done with all items of a [`VertexArray`]: showing them in order, gathering some, making
//! another array of them.

use std::sync::Arc;

use outercore_storage::{HugePages, HugeVec, Pod};

use super::vertex_array::VertexArray;
use crate::session::Session;
use outercore_graph::Result;

impl<T: Pod + Copy> VertexArray<T> {
    /// Shows every interval in order, with the number of its first item.
    pub(crate) fn for_each_interval(&self, mut visit: impl FnMut(u64, &[T])) -> Result<()> {
        (0..self.intervals()).try_for_each(|interval| self.with(interval, &mut visit))
    }

    /// Shows every item in order, with its vertex.
    pub fn for_each(&self, mut visit: impl FnMut(u64, &T)) -> Result<()> {
        self.for_each_interval(|first, items| {
            (first..).zip(items).for_each(|(vertex, item)| visit(vertex, item));
        })
    }

    /// Writes the item of every vertex.
    pub fn fill(&self, mut make: impl FnMut(u64) -> T) -> Result<()> {
        let mut block = self.block()?;
        (0..self.intervals()).try_for_each(|interval| {
            self.write(interval, &mut block, |items| {
                let vertices = self.bounds()[interval]..;
                items.iter_mut().zip(vertices).for_each(|(item, vertex)| *item = make(vertex));
            })
        })
    }

    /// An array made of this one, item by item; in memory where this one is.
    pub fn map<U: Pod + Copy>(&self, make: impl FnMut(&T) -> U) -> Result<VertexArray<U>> {
        self.map_to(self.like()?, make)
    }

    /// The same where the plan has decided that values are: in memory or on scratch.
    pub fn map_in<U: Pod + Copy>(
        self,
        session: &Session,
        make: impl FnMut(&T) -> U,
    ) -> Result<VertexArray<U>> {
        let made = VertexArray::of(session)?;
        self.cut(made.memory.bounds()).map_to(made, make)
    }

    fn map_to<U: Pod + Copy>(
        &self,
        made: VertexArray<U>,
        mut make: impl FnMut(&T) -> U,
    ) -> Result<VertexArray<U>> {
        let mut block = made.block()?;
        (0..self.intervals()).try_for_each(|interval| {
            self.with(interval, |_, items| {
                made.write(interval, &mut block, |made| {
                    made.iter_mut().zip(items).for_each(|(made, item)| *made = make(item));
                })
            })?
        })?;
        Ok(made)
    }

    /// An array of other items, of which as many intervals are in memory.
    fn like<U: Pod + Copy>(&self) -> Result<VertexArray<U>> {
        let bounds = Arc::clone(self.memory.bounds());
        let Some(rest) = &self.rest else {
            return VertexArray::in_memory(bounds, self.memory.pages());
        };
        VertexArray::create(&rest.scratch, bounds, &mut self.resident_bytes::<U>())
    }

    /// The same items in memory.
    pub(crate) fn into_memory(self) -> Result<HugeVec<T>> {
        if self.rest.is_none() {
            return Ok(self.memory.into_memory());
        }
        let mut memory: HugeVec<T> = HugeVec::zeroed(self.len(), HugePages::Off)?;
        self.for_each_interval(|first, items| {
            memory[first as usize..][..items.len()].copy_from_slice(items);
        })?;
        Ok(memory)
    }

    /// The items with these numbers, in this order; each interval is read at most once.
    pub(crate) fn gather(&self, numbers: &[u64]) -> Result<Vec<T>> {
        let mut order: Vec<u32> = (0..numbers.len() as u32).collect();
        order.sort_unstable_by_key(|&at| numbers[at as usize]);
        let mut found: Vec<Option<T>> = vec![None; numbers.len()];
        let mut rest = &order[..];
        while let Some(&next) = rest.first() {
            let vertex = numbers[next as usize];
            let interval = self.bounds().partition_point(|&bound| bound <= vertex) - 1;
            rest = self.with(interval, |first, items| {
                let end = first + items.len() as u64;
                let count = rest.partition_point(|&at| numbers[at as usize] < end);
                rest[..count].iter().for_each(|&at| {
                    found[at as usize] = Some(items[(numbers[at as usize] - first) as usize])
                });
                &rest[count..]
            })?;
        }
        Ok(found.into_iter().flatten().collect())
    }
}
