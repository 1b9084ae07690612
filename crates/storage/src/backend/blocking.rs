//! Reads by a pool of threads, each one request at a time: as portable as it gets, and with large
//! requests nearly as fast as io_uring, because the device's time dominates.

use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::bell::Wake;
use super::transfer::{Step, Transfer};
use super::{Completion, Queue, ReadRequest};
use crate::disk::{Disk, DiskFile};
use crate::error::Result;

/// More threads than this cost more in switching than they gain in depth.
const MAX_THREADS: usize = 16;

/// A worker only reads and forwards; the default stack would be wasted address space.
const STACK: usize = 128 << 10;

type Job = (Transfer, Step);

struct Shared {
    disk: Disk,
    files: Vec<Arc<DiskFile>>,
    /// Set when the queue goes away: requests not yet started are dropped unread.
    stop: AtomicBool,
}

/// A queue whose reads block threads of its own.
pub struct BlockingQueue {
    shared: Arc<Shared>,
    /// `None` only while dropping.
    jobs: Option<Sender<Job>>,
    job_source: Receiver<Job>,
    /// `None`: the bell has rung.
    done: Receiver<Option<Completion>>,
    done_sink: Sender<Option<Completion>>,
    workers: Vec<JoinHandle<()>>,
    depth: usize,
    in_flight: usize,
}

impl BlockingQueue {
    /// A queue over `files`. Threads are started as requests come, up to `depth` and at most 16.
    pub fn new(disk: &Disk, files: &[Arc<DiskFile>], depth: usize) -> Self {
        let (jobs, job_source) = unbounded();
        let (done_sink, done) = unbounded();
        let shared =
            Shared { disk: disk.clone(), files: files.to_vec(), stop: AtomicBool::new(false) };
        BlockingQueue {
            shared: Arc::new(shared),
            jobs: Some(jobs),
            job_source,
            done,
            done_sink,
            workers: Vec::new(),
            depth: depth.max(1),
            in_flight: 0,
        }
    }

    /// Starts one more thread if all may be busy. Failing to is harmless as long as there is one.
    fn staff(&mut self) {
        if self.workers.len() >= self.in_flight.min(self.depth).min(MAX_THREADS) {
            return;
        }
        let (shared, jobs, done) =
            (Arc::clone(&self.shared), self.job_source.clone(), self.done_sink.clone());
        let builder = std::thread::Builder::new().name("outercore-read".into()).stack_size(STACK);
        match builder.spawn(move || work(&shared, &jobs, &done)) {
            Ok(worker) => self.workers.push(worker),
            Err(error) => {
                tracing::warn!(%error, threads = self.workers.len(), "no further reading thread")
            }
        }
    }

    /// Without any thread, the waiting one does the reading.
    fn work_here(&mut self) {
        while self.workers.is_empty()
            && let Ok(job) = self.job_source.try_recv()
        {
            run(&self.shared, job, &self.done_sink);
        }
    }
}

impl Queue for BlockingQueue {
    fn submit(&mut self, request: ReadRequest) {
        let files = &self.shared.files;
        let job =
            Transfer::begin(request, &self.shared.disk, files.len(), |file| files[file].path());
        self.in_flight += 1;
        self.staff();
        if let Some(jobs) = &self.jobs {
            // The queue holds a receiver itself, so the channel cannot be closed.
            let _ = jobs.send(job);
        }
    }

    fn wait(&mut self, at_least: usize, out: &mut Vec<Completion>) -> Result<()> {
        self.work_here();
        for _ in 0..at_least.min(self.in_flight) {
            let Ok(Some(completion)) = self.done.recv() else {
                break;
            };
            self.in_flight -= 1;
            out.push(completion);
        }
        while let Ok(completion) = self.done.try_recv() {
            self.in_flight -= usize::from(completion.is_some());
            out.extend(completion);
        }
        Ok(())
    }

    fn bell(&mut self) -> Option<Wake> {
        let sink = self.done_sink.clone();
        // A queue that is gone waits for nothing.
        Some(Box::new(move || _ = sink.send(None)))
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn name(&self) -> &'static str {
        "blocking"
    }

    fn depth(&self) -> usize {
        self.depth
    }

    fn features(&self) -> String {
        format!("{} threads", self.workers.len())
    }
}

impl Drop for BlockingQueue {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.jobs = None;
        for worker in self.workers.drain(..) {
            // A worker does not panic; if one did, its buffers are gone with it and there is
            // nothing left to wait for.
            let _ = worker.join();
        }
    }
}

fn work(shared: &Shared, jobs: &Receiver<Job>, done: &Sender<Option<Completion>>) {
    while let Ok(job) = jobs.recv() {
        if !shared.stop.load(Ordering::Relaxed) {
            run(shared, job, done);
        }
    }
}

/// Carries one request to its end.
fn run(shared: &Shared, (mut transfer, mut step): Job, done: &Sender<Option<Completion>>) {
    let file = &shared.files[transfer.file()];
    let result = loop {
        match step {
            Step::Done(result) => break result,
            Step::Pause(time) => std::thread::sleep(time),
            Step::Read => {}
        }
        let offset = transfer.offset();
        let answer = pread(file.fd(), transfer.window(), offset);
        step = transfer.arrived(answer, file.path());
    };
    // Nobody listens only when the queue is being dropped, and then the completion is not wanted.
    let _ = done.send(Some(transfer.complete(result, &shared.disk)));
}

/// One read, which may be short.
fn pread(fd: RawFd, target: &mut [u8], offset: u64) -> io::Result<usize> {
    // SAFETY: the pointer and length are those of a slice borrowed exclusively for the call.
    let bytes = unsafe {
        libc::pread64(fd, target.as_mut_ptr().cast(), target.len(), offset as libc::off64_t)
    };
    usize::try_from(bytes).map_err(|_| io::Error::last_os_error())
}
