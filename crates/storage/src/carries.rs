//! [`Carries`]: what carries records to numbers, whether all of these are in memory or a part at a
//! time. Every thread has a sender, sends, and at the end of the step all senders are collected.
//! Then the records of a part are handed out, once.

use crate::error::Result;

/// What carries records to numbers.
pub trait Carries<R>: Sync {
    /// What a thread sends with.
    type Sender: Send;
    /// What a thread sends with.
    fn sender(&self) -> Self::Sender;
    /// Sends a record to a number.
    fn send(&self, sender: &mut Self::Sender, number: u64, record: R);
    /// What is sent from now on is likely to be for numbers near this one.
    fn turn_to(&self, _sender: &mut Self::Sender, _number: u64) {}
    /// Takes what the senders still have.
    fn collect(&self, senders: impl IntoIterator<Item = Self::Sender>) -> Result<()>;
    /// Whether records wait for a part.
    fn pending(&self, part: usize) -> bool;
    /// Hands out the records of a part, which then wait no more. Returns how many there were, and
    /// how many bytes of them came from scratch.
    fn drain(&self, part: usize, take: impl FnMut(u64, R)) -> Result<[u64; 2]>;
    /// The number of the first of so many shares, which arrive in their order, whatever threads
    /// send them; `None`: only what one thread sends has an order.
    fn shares(&self, _count: u32) -> Option<u32> {
        None
    }
    /// What a thread sends the records of a share with.
    fn sender_of(&self, _share: u32) -> Self::Sender {
        self.sender()
    }
}
