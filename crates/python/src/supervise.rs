//! Long work on a thread of its own.
//!
//! The calling thread releases the interpreter and wakes ten times a second: to see whether a
//! signal came (Ctrl-C), to tell the user's function how far the work is, and, where edges come
//! from a Python iterable, to fetch more of them: an iterable is never touched by another thread
//! than the caller's. Whatever goes wrong on the calling thread cancels the work, waits until it
//! has cleaned up, and is then raised.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError, SendTimeoutError, Sender, bounded};
use outercore_engine::{IterationReport, RunProgress};
use outercore_graph::{BuildProgress, GraphError};
use pyo3::prelude::*;

use crate::failure;

/// Time between two looks at signals.
pub const POLL: Duration = Duration::from_millis(100);
/// Batches that wait for their reader.
const WAITING: usize = 4;

/// How far the work is, and whether it shall stop: what the two threads share.
pub struct Watch {
    cancelled: AtomicBool,
    stage: Mutex<(&'static str, Option<u64>)>,
    done: AtomicU64,
}

impl Watch {
    /// At the beginning of a stage.
    pub fn new(stage: &'static str, total: Option<u64>) -> Self {
        Self {
            cancelled: AtomicBool::new(false),
            stage: Mutex::new((stage, total)),
            done: AtomicU64::new(0),
        }
    }

    fn tell(&self, listener: &Bound<'_, PyAny>) -> PyResult<()> {
        let (stage, total) = *self.stage.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        listener.call1((stage, self.done.load(Relaxed), total)).map(drop)
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }
}

impl BuildProgress for Watch {
    fn stage(&self, name: &'static str, total: Option<u64>) {
        let mut stage = self.stage.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.done.store(0, Relaxed);
        *stage = (name, total);
    }

    fn advance(&self, amount: u64) {
        self.done.fetch_add(amount, Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.is_cancelled()
    }
}

impl RunProgress for Watch {
    fn iteration(&self, _: &IterationReport) {
        self.done.fetch_add(1, Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.is_cancelled()
    }
}

/// Something that only the calling thread can do, step by step, while the work goes on.
pub trait Errand {
    /// Does a little, and says whether there is more.
    fn step(&mut self, py: Python<'_>) -> PyResult<bool>;
}

/// What an [`Errand`] fetches from Python, on its way to the work; `None` is its end.
pub struct Feed<T, G> {
    gather: G,
    /// Fetched, and not yet taken.
    pending: Option<Option<T>>,
    sender: Sender<Option<T>>,
}

impl<T: Send, G: FnMut(Python<'_>) -> PyResult<Option<T>>> Feed<T, G> {
    /// A feed that begins with `first`, and where it leads to.
    pub fn new(first: T, gather: G) -> (Self, Receiver<Option<T>>) {
        let (sender, receiver) = bounded(WAITING);
        (Self { gather, pending: Some(Some(first)), sender }, receiver)
    }
}

impl<T: Send, G: FnMut(Python<'_>) -> PyResult<Option<T>>> Errand for Feed<T, G> {
    fn step(&mut self, py: Python<'_>) -> PyResult<bool> {
        let item = match self.pending.take() {
            Some(item) => item,
            None => (self.gather)(py)?,
        };
        let last = item.is_none();
        let sender = &self.sender;
        match py.detach(|| sender.send_timeout(item, POLL)) {
            Ok(()) => Ok(!last),
            Err(SendTimeoutError::Timeout(item)) => {
                self.pending = Some(item);
                Ok(true)
            }
            // Nobody reads any more: the work is over, and says itself how it ended.
            Err(SendTimeoutError::Disconnected(_)) => Ok(false),
        }
    }
}

/// The whole of a piece of work as its caller sees it.
pub struct Supervision<'a, 'py> {
    /// What the work is given too.
    pub watch: &'a Watch,
    /// Called with stage, amount done and total.
    pub listener: Option<Bound<'py, PyAny>>,
    /// What else the calling thread has to do.
    pub errand: Option<Box<dyn Errand + 'a>>,
}

impl<'py> Supervision<'_, 'py> {
    /// Runs `work` to its end.
    pub fn run<T: Send>(
        self,
        py: Python<'py>,
        work: impl FnOnce() -> Result<T, GraphError> + Send,
    ) -> PyResult<T> {
        std::thread::scope(|scope| {
            let (sender, receiver) = bounded(1);
            let body = move || {
                let result = catch_unwind(AssertUnwindSafe(work));
                // The receiver waits until the result is there.
                let _ = sender.send(result);
            };
            let name = std::thread::Builder::new().name("outercore".to_owned());
            name.spawn_scoped(scope, body).map_err(|error| {
                failure::usage(py, format!("no thread can be started: {error}"))
            })?;
            match self.wait(py, &receiver)? {
                Ok(result) => result.map_err(|error| failure::raise(py, error)),
                Err(panic) => Err(failure::bug(py, &*panic)),
            }
        })
    }

    /// Waits for the result. An error of the calling thread is returned once the work has ended.
    fn wait<R: Send>(mut self, py: Python<'py>, receiver: &Receiver<R>) -> PyResult<R> {
        let mut error = None;
        let mut told = Instant::now();
        loop {
            let pause = if self.errand.is_some() { Duration::ZERO } else { POLL };
            match py.detach(|| receiver.recv_timeout(pause)) {
                Ok(result) => {
                    if let (None, Some(listener)) = (&error, &self.listener) {
                        self.watch.tell(listener)?;
                    }
                    return error.map_or(Ok(result), Err);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(failure::bug(py, &"a thread vanished"));
                }
            }
            if error.is_none()
                && let Err(raised) = self.look(py, &mut told)
            {
                self.watch.cancelled.store(true, Relaxed);
                // With its sender gone, a reader does not wait any longer.
                self.errand = None;
                error = Some(raised);
            }
        }
    }

    /// Signals, progress, and a step of the errand.
    fn look(&mut self, py: Python<'py>, told: &mut Instant) -> PyResult<()> {
        py.check_signals()?;
        if let Some(listener) = &self.listener
            && told.elapsed() >= POLL
        {
            *told = Instant::now();
            self.watch.tell(listener)?;
        }
        if let Some(errand) = &mut self.errand
            && !errand.step(py)?
        {
            self.errand = None;
        }
        Ok(())
    }
}
