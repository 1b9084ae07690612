//! Hangs become failures.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How often a watchdog looks.
const TICK: Duration = Duration::from_secs(1);

/// Ends the process when one step takes longer than it can: a hang is a failure too.
#[derive(Clone)]
pub struct Watchdog {
    steps: Arc<AtomicU64>,
    what: Arc<Mutex<String>>,
}

impl Watchdog {
    /// Starts to watch; a step may take `limit`.
    pub fn new(limit: Duration) -> Self {
        let dog = Self { steps: Arc::default(), what: Arc::default() };
        let watched = dog.clone();
        std::thread::spawn(move || {
            let (mut last, mut still) = (u64::MAX, Duration::ZERO);
            // Gone when the test is: then nobody else holds it.
            while Arc::strong_count(&watched.steps) > 1 {
                let now = watched.steps.load(Relaxed);
                still = if now == last { still + TICK } else { Duration::ZERO };
                if still >= limit {
                    watched.bark();
                }
                last = now;
                // Ticks are counted, not time: a machine that stood still for a minute has ticked
                // once.
                std::thread::sleep(TICK);
            }
        });
        dog
    }

    /// Ends the process, with a word about each thread. Not by `eprintln`, which the test's runner
    /// keeps to itself and loses with the process.
    fn bark(&self) -> ! {
        let mut text = format!("this hangs: {}\n", self.what.lock().unwrap());
        for thread in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
            let read = |file| {
                std::fs::read_to_string(thread.path().join(file))
                    .unwrap_or_default()
                    .trim()
                    .to_owned()
            };
            let state = read("stat")
                .rsplit(')')
                .next()
                .unwrap_or_default()
                .chars()
                .take(3)
                .collect::<String>();
            text += &format!(
                "thread {}:{state}, in {}, {}\n{}\n",
                read("comm"),
                read("wchan"),
                read("syscall"),
                read("stack")
            );
        }
        let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
        std::process::abort();
    }

    /// The next step begins.
    pub fn step(&self, what: impl Into<String>) {
        *self.what.lock().unwrap() = what.into();
        self.steps.fetch_add(1, Relaxed);
    }
}
