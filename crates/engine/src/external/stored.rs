//! [`Stored`]: an array of results on scratch, which is read in order or gathered.

use std::sync::Mutex;

use outercore_graph::Graph;
use outercore_storage::Pod;

use super::array::{Block, DiskArray};
use crate::{error::Result, session::Counters};

/// An array of results on scratch, in blocks. It goes with its last user.
pub struct Stored<T: Pod> {
    array: DiskArray<T>,
    bounds: Vec<u64>,
    /// The block that was read last.
    at_hand: Mutex<(usize, Block<T>)>,
    counters: Box<Counters>,
}

impl<T: Pod + Copy> Stored<T> {
    /// The items of `array`, whose block `b` has items `bounds[b]..bounds[b + 1]`.
    pub fn new(array: DiskArray<T>, bounds: Vec<u64>) -> Result<Self> {
        let widest = bounds.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        Ok(Self {
            array,
            bounds,
            at_hand: Mutex::new((usize::MAX, Block::new(widest as usize)?)),
            counters: Box::default(),
        })
    }

    /// The array, to store blocks in that have not been shown yet.
    pub fn array(&self) -> &DiskArray<T> {
        &self.array
    }

    /// The bounds of its blocks.
    pub fn bounds(&self) -> &[u64] {
        &self.bounds
    }

    /// The most items of a block.
    pub fn widest(&self) -> usize {
        self.bounds.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0) as usize
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.bounds.last().copied().unwrap_or(0) as usize
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Shows every block in order, with the number of its first item.
    pub fn for_each(&self, mut visit: impl FnMut(u64, &[T]) -> Result<()>) -> Result<()> {
        (0..self.bounds.len() - 1)
            .try_for_each(|block| self.with(block, |first, items| visit(first, items)))
    }

    /// An array made of this one, item by item, beside the graph.
    pub fn map<U: Pod + Copy>(
        &self,
        graph: &Graph,
        mut make: impl FnMut(&T) -> U,
    ) -> Result<Stored<U>> {
        let array = DiskArray::create(graph.disk(), &graph.scratch_folder(), &self.bounds)?;
        let mut block = Block::new(self.widest())?;
        let (counters, mut index) = (Counters::default(), 0);
        self.for_each(|_, items| {
            let len = items.len();
            block
                .items(len)
                .iter_mut()
                .zip(items.iter())
                .for_each(|(made, item)| *made = make(item));
            array.store(&counters, index, len, &mut block)?;
            index += 1;
            Ok(())
        })?;
        Stored::new(array, self.bounds.clone())
    }

    /// Copies the items from `first` on, which are a block.
    pub fn copy(&self, first: u64, items: &mut [T]) -> Result<()> {
        let block = self.bounds.partition_point(|&bound| bound <= first) - 1;
        self.with(block, |_, stored| {
            items.copy_from_slice(stored);
            Ok(())
        })
    }

    fn with<R>(&self, block: usize, look: impl FnOnce(u64, &[T]) -> Result<R>) -> Result<R> {
        let mut at_hand = self.at_hand.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (first, len) =
            (self.bounds[block], (self.bounds[block + 1] - self.bounds[block]) as usize);
        if self.array.is_kept(block) {
            return self
                .array
                .read(&self.counters, block, len, &mut at_hand.1, |items| look(first, items))?;
        }
        if at_hand.0 != block {
            at_hand.0 = usize::MAX;
            self.array.load(&self.counters, block, len, &mut at_hand.1)?;
            at_hand.0 = block;
        }
        look(first, at_hand.1.items(len))
    }

    /// The items with these numbers, in this order; each block is read at most once.
    pub fn gather(&self, numbers: &[u64]) -> Result<Vec<T>> {
        let mut order: Vec<u32> = (0..numbers.len() as u32).collect();
        order.sort_unstable_by_key(|&at| numbers[at as usize]);
        let mut found: Vec<Option<T>> = vec![None; numbers.len()];
        let mut rest = &order[..];
        while let Some(&next) = rest.first() {
            let block = self.bounds.partition_point(|&bound| bound <= numbers[next as usize]) - 1;
            rest = self.with(block, |first, items| {
                let count =
                    rest.partition_point(|&at| numbers[at as usize] < first + items.len() as u64);
                rest[..count].iter().for_each(|&at| {
                    found[at as usize] = Some(items[(numbers[at as usize] - first) as usize])
                });
                Ok(&rest[count..])
            })?;
        }
        Ok(found.into_iter().flatten().collect())
    }
}
