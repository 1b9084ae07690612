//! [`InMemory`]: messages to vertices that are all in memory. Workers gather them by range, and
//! combine whole batches under the range's lock.
//!
//! Memory: up to a batch for each worker and range, of which there are at most 128.

use std::sync::Mutex;

use outercore_storage::lock;

use crate::Monoid;
use outercore_graph::Result;

/// Bytes of a batch.
const BATCH: usize = 16 << 10;

/// The inbox cut into ranges, each under a lock.
pub(crate) struct InMemory<'v, M> {
    ranges: Vec<Mutex<&'v mut [M]>>,
    bits: u32,
}

/// A worker's messages on their way, by range.
#[must_use = "what is not collected does not arrive"]
pub(crate) struct LocalSender<M> {
    batches: Vec<Vec<(u64, M)>>,
}

impl<'v, M: Monoid> InMemory<'v, M> {
    /// Bytes of memory of a worker's batches of messages to so many vertices.
    pub(crate) fn bytes(vertices: u64) -> u64 {
        (vertices / 4096 + 1).min(128) * BATCH as u64
    }

    /// An exchange that combines into `inbox`, a message for each vertex.
    pub(crate) fn new(inbox: &'v mut [M]) -> Self {
        let bits = (64 - (inbox.len() as u64 / 64).leading_zeros()).max(12);
        Self { ranges: inbox.chunks_mut(1 << bits).map(Mutex::new).collect(), bits }
    }

    /// What a worker sends with.
    pub(crate) fn sender(&self) -> LocalSender<M> {
        LocalSender { batches: vec![Vec::new(); self.ranges.len()] }
    }

    /// Sends a message to a vertex.
    #[inline(always)]
    pub(crate) fn send(&self, sender: &mut LocalSender<M>, vertex: u64, message: M) {
        let range = (vertex >> self.bits) as usize;
        let batch = &mut sender.batches[range];
        batch.push((vertex, message));
        if batch.len() == BATCH / size_of::<(u64, M)>() {
            self.combine(range, batch);
        }
    }

    /// Takes what the senders still have. There is nothing that can fail: the result is that of the
    /// other exchange.
    pub(crate) fn collect(&self, senders: impl IntoIterator<Item = LocalSender<M>>) -> Result<()> {
        for mut sender in senders {
            for (range, batch) in sender.batches.iter_mut().enumerate() {
                self.combine(range, batch);
            }
        }
        Ok(())
    }

    fn combine(&self, range: usize, batch: &mut Vec<(u64, M)>) {
        let mut inbox = lock(&self.ranges[range]);
        let mask = (1u64 << self.bits) - 1;
        for (vertex, message) in batch.drain(..) {
            inbox[(vertex & mask) as usize].combine(message);
        }
    }
}
