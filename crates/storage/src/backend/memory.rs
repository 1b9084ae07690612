//! Reads from bytes in memory, for tests: no device, the same rules, and completions in an order
//! that no caller may rely on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::transfer::{Step, Transfer};
use super::{Completion, Queue, ReadRequest};
use crate::disk::Disk;
use crate::error::Result;

struct Pending {
    transfer: Transfer,
    step: Step,
    /// Not to be finished before this moment.
    due: Option<Instant>,
}

/// A queue over byte vectors.
pub struct MemoryQueue {
    disk: Disk,
    files: Vec<(PathBuf, Arc<Vec<u8>>)>,
    pending: Vec<Pending>,
    depth: usize,
    random: u64,
}

impl MemoryQueue {
    /// A queue over `files`; `seed` decides the order of completions among the oldest `depth`
    /// requests. Faults and counters are the disk's.
    pub fn new(disk: &Disk, files: &[Arc<Vec<u8>>], depth: usize, seed: u64) -> Self {
        let named = |(at, bytes): (usize, &Arc<Vec<u8>>)| {
            (PathBuf::from(format!("memory:{at}")), Arc::clone(bytes))
        };
        let files = files.iter().enumerate().map(named).collect();
        MemoryQueue {
            disk: disk.clone(),
            files,
            pending: Vec::new(),
            depth: depth.max(1),
            random: seed | 1,
        }
    }

    /// Takes out one of the oldest requests that may finish now, at random; or tells until when
    /// there is none.
    fn pick(&mut self) -> std::result::Result<Pending, Option<Instant>> {
        let now = Instant::now();
        let oldest = &self.pending[..self.depth.min(self.pending.len())];
        let ready: Vec<usize> =
            (0..oldest.len()).filter(|&at| oldest[at].due.is_none_or(|due| due <= now)).collect();
        if ready.is_empty() {
            return Err(oldest.iter().filter_map(|pending| pending.due).min());
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        Ok(self.pending.remove(ready[self.random as usize % ready.len()]))
    }

    /// Carries a request on until it is finished or has to pause.
    fn advance(&mut self, mut pending: Pending) -> Option<Completion> {
        let (path, bytes) = &self.files[pending.transfer.file()];
        loop {
            match pending.step {
                Step::Done(result) => return Some(pending.transfer.complete(result, &self.disk)),
                Step::Pause(time) if pending.due.is_none() => {
                    pending.due = Some(Instant::now() + time);
                    self.pending.insert(0, pending);
                    return None;
                }
                Step::Pause(_) | Step::Read => {
                    pending.due = None;
                    pending.step = read(&mut pending.transfer, path, bytes);
                }
            }
        }
    }
}

/// Copies what the file has of the wanted bytes.
fn read(transfer: &mut Transfer, path: &Path, bytes: &[u8]) -> Step {
    let start =
        usize::try_from(transfer.offset()).map_or(bytes.len(), |offset| offset.min(bytes.len()));
    let target = transfer.window();
    let count = target.len().min(bytes.len() - start);
    target[..count].copy_from_slice(&bytes[start..start + count]);
    transfer.arrived(Ok(count), path)
}

impl Queue for MemoryQueue {
    fn submit(&mut self, request: ReadRequest) {
        let files = &self.files;
        let (transfer, step) =
            Transfer::begin(request, &self.disk, files.len(), |file| &files[file].0);
        self.pending.push(Pending { transfer, step, due: None });
    }

    fn wait(&mut self, at_least: usize, out: &mut Vec<Completion>) -> Result<()> {
        let goal = out.len() + at_least.min(self.pending.len()).max(1);
        while out.len() < goal && !self.pending.is_empty() {
            match self.pick() {
                Ok(pending) => out.extend(self.advance(pending)),
                Err(_) if at_least == 0 => break,
                Err(due) => {
                    let now = Instant::now();
                    std::thread::sleep(
                        due.map_or(Default::default(), |due| due.saturating_duration_since(now)),
                    );
                }
            }
        }
        Ok(())
    }

    fn in_flight(&self) -> usize {
        self.pending.len()
    }

    fn name(&self) -> &'static str {
        "memory"
    }

    fn depth(&self) -> usize {
        self.depth
    }
}
