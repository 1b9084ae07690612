//! Turns: threads that work side by side and write in order.

use outercore_storage::Monitor;

use crate::error::{GraphError, Result};

/// Lets workers write in the order of the buckets.
pub struct Turns<T>(Monitor<(usize, T)>);

impl<T> Turns<T> {
    /// Turn 0 comes first.
    pub fn new(writer: T) -> Self {
        Self(Monitor::new((0, writer)))
    }

    /// Waits for turn number `turn`, then runs `write` alone. A turn may be taken in several parts:
    /// it ends with the last one.
    pub fn take_part(
        &self,
        turn: usize,
        is_last: bool,
        write: impl FnOnce(&mut T) -> Result<()>,
    ) -> Result<()> {
        let its_turn = |(next, _): &mut (usize, T)| (*next == turn).then_some(());
        self.0.wait(its_turn).ok_or(GraphError::Cancelled)?;
        // Nothing but this turn can change the number now.
        self.0.attend(|| {
            self.0.change(|(next, writer)| {
                let result = write(writer);
                // After one that failed there is no next one.
                *next += usize::from(is_last && result.is_ok());
                result
            })
        })
    }

    /// Lets every waiting worker go: one has failed and its turn will not come.
    pub fn stop(&self) {
        self.0.close();
    }

    /// The writer, after the last turn.
    pub fn into_writer(self) -> T {
        self.0.into_inner().1
    }
}
