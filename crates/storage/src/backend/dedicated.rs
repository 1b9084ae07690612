//! Reads by threads that do nothing else (Graphene, FAST'17, section 4.2): a thread that computes
//! hands its requests to one that submits them and waits for the device in its place.
//!
//! ```text
//! worker 0 -- orders --\                        /-- answers -- worker 0
//!                       I/O thread: its queue --
//! worker 2 -- orders --/                        \-- answers -- worker 2
//! ```
//!
//! While reads are in flight the I/O thread sleeps until one of them ends or, by the queue's bell,
//! until something is ordered.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst, fence};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::bell::Wake;
use super::{Completion, Queue, QueueOptions, ReadRequest, open_queue, queue_error};
use crate::disk::{Disk, DiskFile};
use crate::error::{Result, StorageError};
use crate::threads::{beside, pin, processors};

/// A client's number and its request.
type Order = (usize, ReadRequest);
type Answer = Result<Completion>;

/// A thread that reads for its clients.
struct IoThread {
    /// `None` only while dropping.
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
    sleep: Arc<Sleep>,
}

/// How an I/O thread is woken.
struct Sleep {
    /// Whether it may be waiting for the device.
    is_asleep: AtomicBool,
    bell: Option<Wake>,
}

impl Sleep {
    /// After an order. The thread falls asleep after it has looked for orders once more, so either
    /// it sees this one, or it is seen to be asleep.
    fn end(&self) {
        fence(SeqCst);
        if self.is_asleep.load(Relaxed)
            && self.is_asleep.swap(false, SeqCst)
            && let Some(bell) = &self.bell
        {
            bell();
        }
    }
}

/// The queue of one client of an [`IoThread`].
struct DedicatedQueue {
    thread: Arc<IoThread>,
    client: usize,
    answers: Receiver<Answer>,
    in_flight: usize,
    depth: usize,
    name: &'static str,
    features: String,
}

/// Opens `count` queues over `files`. With `io_threads`, so many threads read for them, each for
/// every so-many-th queue, on the core of the worker with its number, where the system lets it.
pub fn open_queues(
    disk: &Disk,
    files: &[Arc<DiskFile>],
    options: &QueueOptions,
    (count, io_threads): (usize, usize),
) -> Result<Vec<Box<dyn Queue>>> {
    if io_threads == 0 {
        return (0..count).map(|_| open_queue(disk, files, options)).collect();
    }
    let mut queues: Vec<Option<Box<dyn Queue>>> = (0..count).map(|_| None).collect();
    for number in 0..io_threads.min(count) {
        let clients: Vec<usize> = (number..count).step_by(io_threads).collect();
        let mut options = options.clone();
        let each = options.depth;
        options.depth *= clients.len();
        let queue = open_queue(disk, files, &options)?;
        let (name, features) = (queue.name(), format!("{}, by an I/O thread", queue.features()));
        let (sinks, answers): (Vec<_>, Vec<_>) = clients.iter().map(|_| unbounded()).unzip();
        let thread = Arc::new(IoThread::start(number, disk.clone(), queue, sinks)?);
        for (client, (at, answers)) in clients.into_iter().zip(answers).enumerate() {
            let (thread, features) = (Arc::clone(&thread), features.clone());
            let depth = each;
            let queue =
                DedicatedQueue { thread, client, answers, in_flight: 0, depth, name, features };
            queues[at] = Some(Box::new(queue));
        }
    }
    Ok(queues.into_iter().flatten().collect())
}

impl IoThread {
    fn start(
        number: usize,
        disk: Disk,
        mut queue: Box<dyn Queue>,
        sinks: Vec<Sender<Answer>>,
    ) -> Result<Self> {
        let (orders, inbox) = unbounded();
        let sleep = Arc::new(Sleep { is_asleep: AtomicBool::new(false), bell: queue.bell() });
        let of_thread = Arc::clone(&sleep);
        let thread = std::thread::Builder::new()
            .name(format!("outercore-io-{number}"))
            .spawn(move || {
                let all = processors();
                if !all.is_empty() {
                    pin(&beside(all[number % all.len()], &all));
                }
                let (asked, free) = (Vec::new(), Vec::new());
                Serving { disk, queue, sinks, asked, free }.run(&inbox, &of_thread.is_asleep);
            })
            .map_err(|source| StorageError::Thread { source })?;
        Ok(Self { orders: Some(orders), thread: Some(thread), sleep })
    }
}

impl Drop for IoThread {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What an I/O thread has.
struct Serving {
    disk: Disk,
    queue: Box<dyn Queue>,
    /// Where each client gets its answers.
    sinks: Vec<Sender<Answer>>,
    /// Whose request each one in flight is, and its tag there.
    asked: Vec<(usize, u64)>,
    /// The places of `asked` that are not in use.
    free: Vec<usize>,
}

impl Serving {
    /// Serves until all clients are gone, or the queue fails; then nothing answers clients any
    /// more.
    fn run(mut self, inbox: &Receiver<Order>, is_asleep: &AtomicBool) {
        let mut done = Vec::new();
        loop {
            if self.queue.in_flight() == 0 {
                let Ok(order) = inbox.recv() else { return };
                self.take(order);
            }
            while let Ok(order) = inbox.try_recv() {
                self.take(order);
            }
            is_asleep.store(true, SeqCst);
            fence(SeqCst);
            let least = usize::from(inbox.is_empty());
            let waited = self.queue.wait(least, &mut done);
            is_asleep.store(false, SeqCst);
            if let Err(error) = waited {
                tracing::error!(%error, "an I/O thread ends");
                for sink in &self.sinks {
                    let said = io::Error::other(error.to_string());
                    let _ = sink.send(Err(queue_error("wait", said)));
                }
                return;
            }
            let ended = done.len() as u64;
            self.disk.counters().requests_by_io_threads.fetch_add(ended, Relaxed);
            for completion in done.drain(..) {
                let place = completion.tag as usize;
                let (client, tag) = self.asked[place];
                self.free.push(place);
                // A client that is gone does not want it.
                let _ = self.sinks[client].send(Ok(Completion { tag, ..completion }));
            }
        }
    }

    fn take(&mut self, (client, request): Order) {
        let asked = (client, request.tag);
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                self.asked.push(asked);
                self.asked.len() - 1
            }
        };
        self.asked[place] = asked;
        self.queue.submit(ReadRequest { tag: place as u64, ..request });
    }
}

impl Queue for DedicatedQueue {
    fn submit(&mut self, request: ReadRequest) {
        self.in_flight += 1;
        if let Some(orders) = &self.thread.orders {
            // A thread that has ended answers no more: the next wait says so.
            let _ = orders.send((self.client, request));
            self.thread.sleep.end();
        }
    }

    fn wait(&mut self, at_least: usize, out: &mut Vec<Completion>) -> Result<()> {
        let goal = at_least.min(self.in_flight);
        let mut taken = 0;
        while self.in_flight > 0 {
            let answer = if taken < goal {
                self.answers.recv().ok()
            } else {
                match self.answers.try_recv() {
                    Ok(answer) => Some(answer),
                    Err(error) if error.is_empty() => break,
                    Err(_) => None,
                }
            };
            let ended = || Err(queue_error("wait", io::Error::other("the I/O thread has ended")));
            match answer.unwrap_or_else(ended) {
                Ok(completion) => out.push(completion),
                Err(error) => {
                    self.in_flight = 0;
                    return Err(error);
                }
            }
            (taken, self.in_flight) = (taken + 1, self.in_flight - 1);
        }
        Ok(())
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn depth(&self) -> usize {
        self.depth
    }

    fn features(&self) -> String {
        self.features.clone()
    }
}

impl Drop for DedicatedQueue {
    fn drop(&mut self) {
        // Memory that is read into is not given back before that is over.
        let mut rest = Vec::new();
        let _ = self.wait(self.in_flight, &mut rest);
    }
}
