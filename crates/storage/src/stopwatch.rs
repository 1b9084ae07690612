//! [`Stopwatch`]: a thread's processor time, in parts.

use std::{sync::OnceLock, time::Duration};

use crate::memory::thread_time;

/// Measures the thread's processor time while it runs, without what measuring itself costs.
#[derive(Default)]
pub struct Stopwatch {
    since: Option<Duration>,
    /// Nanoseconds so far.
    pub nanos: u64,
}

impl Stopwatch {
    /// Runs from now on.
    pub fn start(&mut self) {
        self.since = Some(thread_time());
    }

    /// Stands still.
    pub fn stop(&mut self) {
        if let Some(since) = self.since.take() {
            self.nanos += (thread_time() - since).saturating_sub(cost()).as_nanos() as u64;
        }
    }
}

/// What asking for the time costs.
fn cost() -> Duration {
    static COST: OnceLock<Duration> = OnceLock::new();
    *COST.get_or_init(|| {
        let between = |_| {
            let begun = thread_time();
            thread_time() - begun
        };
        (0..16).map(between).min().unwrap_or_default()
    })
}
