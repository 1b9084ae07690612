//! Reads by io_uring. Each request has a slot; the slot's number and generation travel as the
//! request's user data, so that an answer always finds its request, whatever was refused,
//! interrupted or repeated in between.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use io_uring::types::Timespec;

use super::bell::{self, Bell};
use super::ring::{MAX_DEPTH, Ring};
use super::transfer::{Step, Transfer};
use super::{Completion, Queue, QueueOptions, ReadRequest, queue_error};
use crate::arena::Arena;
use crate::disk::{Disk, DiskFile};
use crate::error::Result;

/// After this many seconds without an answer, and again after each as many, reads that the kernel
/// has not begun are asked for anew: one that its workers have lost costs seconds, not the run.
const LOST: u32 = 5;

/// After this many seconds without an answer, and again after each as many, it is said that the
/// device is waited for.
const LATE: u32 = 20;

/// A place for a request that the kernel has, or is about to get.
struct Slot {
    /// `None`: the slot is free.
    transfer: Option<Transfer>,
    /// Counts the slot's uses: an answer to an earlier one is recognized.
    generation: u32,
    /// The kernel holds an alarm for this slot and not yet a read.
    pausing: bool,
    /// Where the kernel reads the alarm's time. Slots never move in memory.
    alarm: Timespec,
}

/// A queue on an io_uring of its own.
pub struct UringQueue {
    disk: Disk,
    files: Vec<Arc<DiskFile>>,
    registered: Vec<Arc<Arena>>,
    ring: Ring,
    slots: Box<[Slot]>,
    free: Vec<usize>,
    /// Requests without a slot, oldest first, and what is to be done for them.
    held: VecDeque<(Transfer, Step)>,
    finished: VecDeque<Completion>,
    answers: Vec<(u64, i32)>,
    /// What another thread ends a wait with, and whether the kernel listens for it.
    bell: Option<Arc<Bell>>,
    listens: bool,
}

impl UringQueue {
    /// A queue over `files`, with the options' arenas registered as far as limits allow.
    pub fn new(disk: &Disk, files: &[Arc<DiskFile>], options: &QueueOptions) -> Result<Self> {
        let depth = options.depth.clamp(1, MAX_DEPTH);
        let ring =
            Ring::new(files, &options.registered, depth).map_err(|e| queue_error("set-up", e))?;
        let slot =
            |_| Slot { transfer: None, generation: 0, pausing: false, alarm: Timespec::new() };
        Ok(UringQueue {
            disk: disk.clone(),
            files: files.to_vec(),
            registered: options.registered.clone(),
            ring,
            slots: (0..depth).map(slot).collect(),
            free: (0..depth).rev().collect(),
            held: VecDeque::new(),
            finished: VecDeque::new(),
            answers: Vec::new(),
            bell: None,
            listens: false,
        })
    }

    fn active(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Makes the ring usable by this thread; a ring without requests is replaced if it belongs to
    /// another.
    fn claim(&mut self) -> io::Result<()> {
        if self.ring.claim()? {
            return Ok(());
        }
        if self.active() > 0 {
            return Err(io::Error::other("reads are in flight that another thread submitted"));
        }
        self.ring = Ring::new(&self.files, &self.registered, self.slots.len())?;
        self.listens = false;
        self.ring.claim().map(drop)
    }

    /// Gives slots to the requests that wait for one.
    fn start_held(&mut self) {
        while let Some(&slot) = self.free.last() {
            let Some((transfer, step)) = self.held.pop_front() else {
                break;
            };
            self.free.pop();
            self.slots[slot].transfer = Some(transfer);
            self.follow(slot, step);
        }
    }

    /// Does what a slot's request needs next.
    fn follow(&mut self, at: usize, step: Step) {
        let pushed = match step {
            Step::Read => self.push_read(at),
            Step::Pause(time) => self.push_alarm(at, time),
            Step::Done(result) => return self.finish(at, result),
        };
        if let Err(error) = pushed {
            self.finish(at, Err(queue_error("submission", error)));
        }
    }

    fn finish(&mut self, at: usize, result: Result<()>) {
        let slot = &mut self.slots[at];
        slot.generation = slot.generation.wrapping_add(1);
        slot.pausing = false;
        if let Some(transfer) = slot.transfer.take() {
            self.finished.push_back(transfer.complete(result, &self.disk));
            self.free.push(at);
        }
    }

    fn push_read(&mut self, at: usize) -> io::Result<()> {
        let slot = &mut self.slots[at];
        let name = user_data(at, slot.generation);
        let Some(transfer) = &mut slot.transfer else {
            return Ok(());
        };
        let (file, offset) = (transfer.file(), transfer.offset());
        let window = transfer.window();
        let target = (window.as_mut_ptr(), window.len());
        // SAFETY: the slot keeps the buffer, untouched, until `answered` takes it out; dropping the
        // queue waits for that.
        unsafe { self.ring.push_read(file, offset, target, name) }
    }

    fn push_alarm(&mut self, at: usize, time: Duration) -> io::Result<()> {
        let slot = &mut self.slots[at];
        slot.pausing = true;
        slot.alarm = Timespec::from(time);
        // SAFETY: slots do not move and live as long as the ring, and this one's alarm is not set
        // again before the answer.
        unsafe { self.ring.push_timeout(&raw const slot.alarm, user_data(at, slot.generation)) }
    }

    /// Takes in what the kernel has answered.
    fn reap(&mut self) {
        let mut answers = std::mem::take(&mut self.answers);
        self.ring.reap(&mut answers);
        for (name, result) in answers.drain(..) {
            self.answered(name, result);
        }
        self.answers = answers;
    }

    fn answered(&mut self, name: u64, result: i32) {
        let (at, generation) = (name as u32 as usize, (name >> 32) as u32);
        let known = self.slots.get_mut(at).filter(|slot| slot.generation == generation);
        let Some(Slot { transfer: Some(transfer), pausing, .. }) = known else {
            tracing::error!(at, generation, result, "an answer to a request that nobody made");
            return;
        };
        let step = if std::mem::take(pausing) {
            Step::Read
        } else {
            let answer = usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result));
            // A read that was given up is as one that a signal broke off: it is asked for again.
            let answer = answer.map_err(|error| match error.raw_os_error() {
                Some(libc::ECANCELED) => io::ErrorKind::Interrupted.into(),
                _ => error,
            });
            transfer.arrived(answer, self.files[transfer.file()].path())
        };
        self.follow(at, step);
    }

    fn wait_for(&mut self, at_least: usize, out: &mut Vec<Completion>) -> io::Result<()> {
        let goal = out.len() + at_least.min(self.in_flight());
        if self.active() + self.held.len() > 0 {
            self.claim()?;
            if at_least == 0 {
                self.ring.enter(0)?;
            }
        }
        let mut late = 0;
        loop {
            self.reap();
            self.start_held();
            out.extend(self.finished.drain(..));
            let missing = goal.saturating_sub(out.len());
            if missing == 0 || self.was_called() {
                return self.ring.enter(0).map(drop);
            }
            self.listen()?;
            // With requests held back, each completion makes room for one: the device must not run
            // dry in between.
            let batch = if self.held.is_empty() { missing.min(self.active()) } else { 1 };
            late = if self.ring.enter(batch)? { late + 1 } else { 0 };
            if late > 0 && late % LOST == 0 {
                self.withdraw()?;
            }
            if late > 0 && late % LATE == 0 {
                self.complain(late);
            }
        }
    }

    /// Whether the bell has ended the wait.
    fn was_called(&mut self) -> bool {
        let rang = self.ring.has_rung();
        if let (true, Some(bell)) = (rang, &self.bell) {
            bell.silence();
            self.listens = false;
        }
        rang
    }

    /// Has the kernel listen for the bell, if there is one.
    fn listen(&mut self) -> io::Result<()> {
        if let (false, Some(bell)) = (self.listens, &self.bell) {
            self.ring.push_bell(bell.file())?;
            self.listens = true;
        }
        Ok(())
    }

    /// Has every read given up that the kernel has not begun; their answers make them start anew.
    fn withdraw(&mut self) -> io::Result<()> {
        for (at, slot) in self.slots.iter().enumerate() {
            if slot.transfer.is_some() && !slot.pausing {
                self.ring.push_withdrawal(user_data(at, slot.generation))?;
            }
        }
        Ok(())
    }

    /// Says which read the device has not answered.
    fn complain(&self, seconds: u32) {
        let Some(transfer) = self.slots.iter().find_map(|slot| slot.transfer.as_ref()) else {
            return;
        };
        let (path, offset) = (self.files[transfer.file()].path(), transfer.offset());
        tracing::warn!(
            path = %path.display(), offset, reads = self.active(),
            "the device has answered no read for {seconds} s; still waiting"
        );
    }

    /// Waits until the kernel writes to none of the buffers.
    fn settle(&mut self) -> io::Result<()> {
        let reading =
            |slots: &[Slot]| slots.iter().any(|slot| slot.transfer.is_some() && !slot.pausing);
        while reading(&self.slots) {
            if !self.ring.claim()? {
                return Err(io::Error::other("the ring belongs to another thread"));
            }
            self.ring.enter(1)?;
            let mut answers = Vec::new();
            self.ring.reap(&mut answers);
            for (name, _) in answers {
                // Whatever was answered, the slot is not being read into now.
                self.slots[name as u32 as usize].transfer = None;
            }
        }
        Ok(())
    }
}

impl Queue for UringQueue {
    fn submit(&mut self, request: ReadRequest) {
        let files = &self.files;
        self.held.push_back(Transfer::begin(request, &self.disk, files.len(), |file| {
            files[file].path()
        }));
        if self.claim().is_ok() {
            self.start_held();
            // An error comes back, or has gone away, at the next wait.
            let _ = self.ring.send_batch();
        }
    }

    fn wait(&mut self, at_least: usize, out: &mut Vec<Completion>) -> Result<()> {
        self.wait_for(at_least, out).map_err(|error| queue_error("wait", error))
    }

    fn bell(&mut self) -> Option<bell::Wake> {
        if self.bell.is_none() {
            self.bell = Bell::new().ok();
        }
        let bell = self.bell.clone()?;
        Some(Box::new(move || bell.ring()))
    }

    fn in_flight(&self) -> usize {
        self.active() + self.held.len() + self.finished.len()
    }

    fn name(&self) -> &'static str {
        "uring"
    }

    fn depth(&self) -> usize {
        self.slots.len()
    }

    fn features(&self) -> String {
        self.ring.features()
    }
}

impl Drop for UringQueue {
    fn drop(&mut self) {
        if let Err(error) = self.settle() {
            // The kernel may still write: rather lose the memory than let someone else have it.
            tracing::error!(
                %error,
                "reads in flight could not be waited for, their buffers are given up"
            );
            std::mem::forget(std::mem::take(&mut self.slots));
        }
    }
}

fn user_data(at: usize, generation: u32) -> u64 {
    u64::from(generation) << 32 | at as u64
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::FromRawFd;

    use super::*;
    use crate::arena::HugePages;

    /// A read that is never answered: of a pipe into which nobody writes.
    #[test]
    fn a_read_that_was_given_up_is_asked_for_anew() {
        let mut ends = [0; 2];
        // SAFETY: the array has room for both descriptors.
        assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
        // SAFETY: nobody else owns the descriptor that was just made.
        let mut writer = unsafe { File::from_raw_fd(ends[1]) };
        let (disk, folder) = (Disk::new(), tempfile::tempdir().unwrap());
        let file = Arc::new(disk.create_buffered(&folder.path().join("file")).unwrap());
        // SAFETY: the first descriptor is the file's own, and is the pipe from here on.
        assert_eq!(unsafe { libc::dup2(ends[0], file.fd()) }, file.fd());
        let options = QueueOptions { depth: 2, ..QueueOptions::default() };
        let Ok(mut queue) = UringQueue::new(&disk, &[file], &options) else {
            return;
        };
        let buffer = Arena::new(4096, HugePages::Auto).unwrap().buffer(0, 4096);
        queue.submit(ReadRequest { file: 0, offset: 0, buffer, len: 5, tag: 7 });
        queue.ring.enter(0).unwrap();
        queue.withdraw().unwrap();
        queue.ring.enter(2).unwrap();
        let mut answers = Vec::new();
        queue.ring.reap(&mut answers);
        assert_eq!(answers, [(user_data(0, 0), -libc::ECANCELED)]);
        queue.answered(answers[0].0, answers[0].1);

        writer.write_all(b"bytes").unwrap();
        let mut done = Vec::new();
        queue.wait(1, &mut done).unwrap();
        assert!(done[0].result.is_ok() && done[0].tag == 7, "{:?}", done[0].result);
        assert_eq!(&done[0].buffer[..5], b"bytes");
    }
}
