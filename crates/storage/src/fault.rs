//! Failing on purpose. A [`FaultPlan`] counts the operations of a [`crate::Disk`] and lets chosen
//! ones fail, so that a test can run the same work once for every operation in it and every kind of
//! failure.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What happens to a chosen operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails with this error number and has no effect.
    Error(i32),
    /// A read or write moves half of its bytes; other operations are not changed.
    Short,
    /// It succeeds, later.
    Stall(Duration),
    /// It fails with `EINTR` and has no effect.
    Interrupted,
}

impl Fault {
    /// How many of `len` bytes a request moves under [`Fault::Short`]: half, in whole granules, and
    /// never zero, so that a caller that continues always comes to an end.
    pub fn half(len: usize, granule: usize) -> usize {
        let half = len / 2 / granule * granule;
        if half == 0 { len } else { half }
    }

    /// Lets the fault act before the operation: sleeps, or returns the error to report.
    /// [`Fault::Short`] passes.
    pub fn strike(self) -> io::Result<()> {
        match self {
            Fault::Error(number) => Err(io::Error::from_raw_os_error(number)),
            Fault::Interrupted => Err(io::Error::from_raw_os_error(libc::EINTR)),
            Fault::Stall(time) => {
                std::thread::sleep(time);
                Ok(())
            }
            Fault::Short => Ok(()),
        }
    }
}

/// Counts operations and says which of them fail. Operations are numbered from 0 in the order in
/// which they start.
#[derive(Debug)]
pub struct FaultPlan {
    started: AtomicU64,
    first: u64,
    last: u64,
    fault: Option<Fault>,
}

impl FaultPlan {
    fn new(first: u64, last: u64, fault: Option<Fault>) -> Self {
        Self { started: AtomicU64::new(0), first, last, fault }
    }

    /// Operation number `n` (from 0) fails, all others work.
    pub fn nth(n: u64, fault: Fault) -> Self {
        Self::new(n, n, Some(fault))
    }

    /// Operation number `n` (from 0) and all later ones fail.
    pub fn from(n: u64, fault: Fault) -> Self {
        Self::new(n, u64::MAX, Some(fault))
    }

    /// Nothing fails: to learn how many operations some work has.
    pub fn count_only() -> Self {
        Self::new(0, 0, None)
    }

    /// Operations started so far.
    pub fn operations(&self) -> u64 {
        self.started.load(Ordering::Relaxed)
    }

    /// Starts an operation: counts it and says what shall happen to it.
    pub fn start(&self) -> Option<Fault> {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        self.fault.filter(|_| (self.first..=self.last).contains(&number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chooses_operations() {
        let nth = FaultPlan::nth(2, Fault::Short);
        let from = FaultPlan::from(2, Fault::Interrupted);
        let none = FaultPlan::count_only();
        for n in 0..5 {
            assert_eq!(nth.start(), (n == 2).then_some(Fault::Short));
            assert_eq!(from.start(), (n >= 2).then_some(Fault::Interrupted));
            assert_eq!(none.start(), None);
        }
        assert_eq!(none.operations(), 5);
    }

    #[test]
    fn half_always_moves_something() {
        assert_eq!(Fault::half(1, 1), 1);
        assert_eq!(Fault::half(9, 1), 4);
        assert_eq!(Fault::half(4096, 4096), 4096);
        assert_eq!(Fault::half(3 * 4096, 4096), 4096);
    }

    #[test]
    fn strikes() {
        assert_eq!(Fault::Error(libc::EIO).strike().unwrap_err().raw_os_error(), Some(libc::EIO));
        assert_eq!(Fault::Interrupted.strike().unwrap_err().kind(), io::ErrorKind::Interrupted);
        assert!(Fault::Short.strike().is_ok());
        assert!(Fault::Stall(Duration::from_millis(1)).strike().is_ok());
    }
}
