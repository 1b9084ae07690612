//! [`Workers`]: the threads of a run, started once. Every parallel step of every iteration runs on
//! them.

use std::{
    cell::Cell,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread::JoinHandle,
};

use crossbeam_channel::{Receiver, Sender, unbounded};

use crate::{
    error::{Result, StorageError},
    memory::thread_time,
    monitor::{lock, locked},
    threads::{pin, processors},
};

/// A step as the threads see it: called with the worker's number.
type SharedStep = &'static (dyn Fn(usize) + Sync);
type Payload = Box<dyn std::any::Any + Send>;

/// What workers counted, by two things at once.
pub fn totals(parts: impl IntoIterator<Item = [u64; 2]>) -> [u64; 2] {
    parts.into_iter().fold([0; 2], |sum, part| [sum[0] + part[0], sum[1] + part[1]])
}

/// The threads of a run. Worker 0 is the thread that calls.
pub struct Workers {
    helpers: Vec<Helper>,
    /// Nanoseconds of processor time that each spent in shared steps.
    busy: Arc<[AtomicU64]>,
    /// The work that each counted.
    done: Box<[AtomicU64]>,
}

thread_local! {
    /// The number of the worker that a thread is: 0 is whatever thread began the run.
    static NUMBER: Cell<usize> = const { Cell::new(0) };
}

struct Helper {
    steps: Option<Sender<SharedStep>>,
    done: Receiver<std::result::Result<(), Payload>>,
    thread: Option<JoinHandle<()>>,
}

impl Workers {
    /// Starts `count` workers, the calling thread among them.
    pub fn new(count: usize) -> Result<Self> {
        let zeros = || (0..count.max(1)).map(|_| AtomicU64::new(0));
        let busy: Arc<[AtomicU64]> = zeros().collect();
        let helpers = (1..count.max(1)).map(|index| Helper::start(index, busy.clone()));
        Ok(Self { helpers: helpers.collect::<Result<_>>()?, busy, done: zeros().collect() })
    }

    /// Has each worker but the calling thread, which is not ours, run on a processor of its own,
    /// where the system lets it.
    pub fn pin(&self) {
        let all = processors();
        self.map(|index| {
            if index > 0 && !all.is_empty() {
                pin(&[all[index % all.len()]]);
            }
        });
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.helpers.len() + 1
    }

    /// The processor time that each worker spent so far in steps that all of them share, in
    /// seconds.
    pub fn busy_seconds(&self) -> Vec<f64> {
        self.busy.iter().map(|nanos| nanos.load(Relaxed) as f64 / 1e9).collect()
    }

    /// Counts work, edges say, of the worker that calls.
    pub fn worked(&self, amount: u64) {
        self.done[NUMBER.get() % self.done.len()].fetch_add(amount, Relaxed);
    }

    /// The work that each worker counted so far.
    pub fn work(&self) -> Vec<u64> {
        self.done.iter().map(|done| done.load(Relaxed)).collect()
    }

    /// That of all of them.
    pub fn total_work(&self) -> u64 {
        self.work().into_iter().sum()
    }

    /// Runs `step` on every worker and waits for all of them. A panic in one is raised here.
    fn run(&self, step: &(dyn Fn(usize) + Sync)) {
        // SAFETY: the reference outlives its use: this function returns, normally or by a panic,
        // only after every helper that got the reference has answered that its step is over.
        let erased: SharedStep =
            unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), SharedStep>(step) };
        for helper in &self.helpers {
            helper
                .steps
                .as_ref()
                .expect("open until dropped")
                .send(erased)
                .expect("a helper lives as long as the workers");
        }
        let mut panic = catch_unwind(AssertUnwindSafe(|| timed(&self.busy[0], || step(0)))).err();
        for helper in &self.helpers {
            let done = helper.done.recv().expect("a helper answers every step");
            panic = panic.or(done.err());
        }
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
    }

    /// Runs `step` on every worker and collects the results, in the order of the workers.
    pub fn map<T: Send>(&self, step: impl Fn(usize) -> T + Sync) -> Vec<T> {
        let slots: Vec<Mutex<Option<T>>> = (0..self.count()).map(|_| Mutex::new(None)).collect();
        self.run(&|index| {
            let result = step(index);
            *lock(&slots[index]) = Some(result);
        });
        slots
            .into_iter()
            .map(|slot| {
                slot.into_inner().expect("each worker has its own slot").expect("every worker ran")
            })
            .collect()
    }

    /// Runs `work` over the parts of `0..len`, each of at most `grain`, on all workers; `state`
    /// makes each worker's state, and all states are returned.
    pub fn over<S: Send>(
        &self,
        len: u64,
        grain: u64,
        state: impl Fn(usize) -> S + Sync,
        work: impl Fn(&mut S, Range<u64>) + Sync,
    ) -> Vec<S> {
        let next = AtomicU64::new(0);
        let body = |index: usize| {
            let mut state = state(index);
            loop {
                let first = next.fetch_add(grain, Relaxed);
                if first >= len {
                    return state;
                }
                work(&mut state, first..(first + grain).min(len));
            }
        };
        if len <= grain { vec![body(0)] } else { self.map(body) }
    }

    /// The sum of what `count` finds in the parts.
    pub fn sum(&self, len: u64, grain: u64, count: impl Fn(Range<u64>) -> u64 + Sync) -> u64 {
        self.over(len, grain, |_| 0, |sum, part| *sum += count(part)).into_iter().sum()
    }

    /// The same without states.
    pub fn each(&self, len: u64, grain: u64, work: impl Fn(Range<u64>) + Sync) {
        self.over(len, grain, |_| (), |(), part| work(part));
    }

    /// The same with work that may fail; a worker that has failed does no more. Returns each one's
    /// state or error.
    pub fn try_over<S: Send, E: Send>(
        &self,
        len: u64,
        grain: u64,
        state: impl Fn(usize) -> std::result::Result<S, E> + Sync,
        work: impl Fn(&mut S, Range<u64>) -> std::result::Result<(), E> + Sync,
    ) -> Vec<std::result::Result<S, E>> {
        self.over(len, grain, state, |state, range| {
            if let Ok(made) = state
                && let Err(error) = work(made, range)
            {
                *state = Err(error);
            }
        })
    }
}

/// A state for each worker, which lasts longer than a step.
pub struct PerWorker<S>(Vec<Apart<S>>);

/// A state on cache lines of its own (two: processors fetch pairs): workers that write theirs all
/// the time must not take each other's line away.
#[repr(align(128))]
struct Apart<S>(Mutex<S>);

impl<S> PerWorker<S> {
    /// One for each of these workers.
    pub fn new(workers: &Workers, make: impl Fn() -> S) -> Self {
        Self((0..workers.count()).map(|_| Apart(Mutex::new(make()))).collect())
    }

    /// That of a worker, for the length of a step.
    pub fn of(&self, worker: usize) -> MutexGuard<'_, S> {
        lock(&self.0[worker].0)
    }

    /// All of them, between steps.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut S> {
        self.0.iter_mut().map(|state| locked(&mut state.0))
    }
}

/// Does something and adds the processor time that it took.
fn timed(nanos: &AtomicU64, step: impl FnOnce()) {
    let begun = thread_time();
    step();
    nanos.fetch_add((thread_time() - begun).as_nanos() as u64, Relaxed);
}

impl Helper {
    fn start(index: usize, busy: Arc<[AtomicU64]>) -> Result<Self> {
        let (steps, inbox) = unbounded::<SharedStep>();
        let (outbox, done) = unbounded();
        let thread = std::thread::Builder::new()
            .name(format!("outercore-{index}"))
            .spawn(move || {
                NUMBER.set(index);
                while let Ok(step) = inbox.recv() {
                    let result =
                        catch_unwind(AssertUnwindSafe(|| timed(&busy[index], || step(index))));
                    if outbox.send(result).is_err() {
                        return;
                    }
                }
            })
            .map_err(|source| StorageError::Thread { source })?;
        Ok(Self { steps: Some(steps), done, thread: Some(thread) })
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.steps = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::*;

    #[test]
    fn every_worker_runs_every_step() {
        let workers = Workers::new(3).unwrap();
        let sum = AtomicU64::new(0);
        for _ in 0..100 {
            workers.run(&|index| {
                sum.fetch_add(index as u64 + 1, Relaxed);
            });
        }
        assert_eq!(sum.load(Relaxed), 600);
        assert_eq!(workers.map(|index| index * 2), [0, 2, 4]);
        assert!(workers.busy_seconds().iter().all(|&seconds| seconds > 0.0));
    }

    #[test]
    fn work_is_counted_by_worker() {
        let workers = Workers::new(3).unwrap();
        for _ in 0..2 {
            workers.map(|index| workers.worked(10 * index as u64 + 1));
        }
        workers.worked(5);
        assert_eq!((workers.work(), workers.total_work()), (vec![7, 22, 42], 71));
    }

    #[test]
    fn parts_cover_the_range_once() {
        let workers = Workers::new(2).unwrap();
        let sums = workers.over(1000, 7, |_| 0, |sum, range| *sum += range.sum::<u64>());
        assert_eq!(sums.iter().sum::<u64>(), 499_500);
    }

    #[test]
    fn a_panic_comes_back_after_all_are_done() {
        let workers = Workers::new(2).unwrap();
        let caught =
            catch_unwind(AssertUnwindSafe(|| workers.run(&|index| assert_eq!(index, 0, "helper"))));
        assert!(caught.is_err());
        workers.run(&|_| {});
    }
}
