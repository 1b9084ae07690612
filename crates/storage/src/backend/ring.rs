//! An io_uring and what is registered with it: the part that speaks to the kernel. What its answers
//! mean is `uring`'s part.

use std::io;
use std::os::fd::RawFd;
use std::sync::{Arc, OnceLock};
use std::thread::ThreadId;
use std::time::Duration;

use io_uring::types::{Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, Probe, opcode, squeue};

use crate::arena::Arena;
use crate::disk::DiskFile;

/// More entries than this never help a device, and cost locked memory.
pub(super) const MAX_DEPTH: usize = 4096;

/// The kernel takes registered buffers of at most this size; larger arenas are registered in parts.
const MAX_REGION: usize = 1 << 30;

/// The kernel's table of registered buffers.
const MAX_REGIONS: usize = 1024;

/// Bytes of requests that are worth a system call of their own. Smaller requests are collected
/// until they add up to it.
const BATCH: usize = 64 << 10;

/// How often the kernel may refuse to take requests, each time for a millisecond, before the queue
/// is given up.
const MAX_REFUSALS: u32 = 5000;

/// A wait asks the kernel again after this long. A wake-up that the kernel has lost then costs a
/// second, not the run.
const PATIENCE: Timespec = Timespec::new().sec(1);

/// The user data of calls that give up requests; no request has it.
const WITHDRAWAL: u64 = u64::MAX;

/// The user data of the call that waits for a bell; no request has it.
const BELL: u64 = u64::MAX - 1;

/// Whether this process may use io_uring with what a queue needs.
pub fn probe_uring() -> bool {
    static POSSIBLE: OnceLock<bool> = OnceLock::new();
    *POSSIBLE.get_or_init(|| {
        let Ok((ring, _)) = build(2) else {
            return false;
        };
        let mut probe = Probe::new();
        let needed = [opcode::Read::CODE, opcode::ReadFixed::CODE, opcode::Timeout::CODE];
        ring.submitter().register_probe(&mut probe).is_ok()
            && needed.iter().all(|&code| probe.is_supported(code))
    })
}

/// How the kernel delivers completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Only when asked, on the submitting thread: the least overhead, but bound to that thread.
    Deferred,
    /// At the next system call.
    Cooperative,
    /// By interrupting.
    Plain,
}

/// The best ring the kernel is willing to make. A deferred one starts disabled: the thread that
/// enables it owns it.
fn build(entries: u32) -> io::Result<(IoUring, Mode)> {
    let mut refusal = io::Error::from_raw_os_error(libc::ENOSYS);
    for mode in [Mode::Deferred, Mode::Cooperative, Mode::Plain] {
        let mut builder = IoUring::builder();
        match mode {
            Mode::Deferred => {
                builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag();
                builder.setup_r_disabled().setup_submit_all()
            }
            Mode::Cooperative => {
                builder.setup_coop_taskrun().setup_taskrun_flag().setup_submit_all()
            }
            Mode::Plain => &mut builder,
        };
        match builder.build(entries) {
            Ok(ring) => return Ok((ring, mode)),
            // Only an unknown flag gives reason to ask for less.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => refusal = error,
            Err(error) => return Err(error),
        }
    }
    Err(refusal)
}

/// A part of an arena that the kernel keeps mapped.
struct Region {
    start: usize,
    len: usize,
    index: u16,
}

/// A ring, its files and its buffers.
pub(super) struct Ring {
    ring: IoUring,
    mode: Mode,
    /// The thread that enabled a deferred ring.
    owner: Option<ThreadId>,
    descriptors: Vec<i32>,
    fixed_files: bool,
    /// By address.
    regions: Vec<Region>,
    wanted_regions: usize,
    /// Bytes pushed since the last system call.
    unsent: usize,
    refusals: u32,
    /// Whether the bell that is listened for has rung.
    has_rung: bool,
    /// What is registered must stay mapped.
    _arenas: Vec<Arc<Arena>>,
    _files: Vec<Arc<DiskFile>>,
}

impl Ring {
    pub(super) fn new(
        files: &[Arc<DiskFile>],
        arenas: &[Arc<Arena>],
        depth: usize,
    ) -> io::Result<Ring> {
        let (ring, mode) = build(depth.clamp(1, MAX_DEPTH) as u32)?;
        let descriptors: Vec<i32> = files.iter().map(|file| file.fd()).collect();
        let fixed_files =
            !files.is_empty() && ring.submitter().register_files(&descriptors).is_ok();
        let parts = parts(arenas);
        let regions = register(&ring, &parts);
        Ok(Ring {
            ring,
            mode,
            owner: None,
            descriptors,
            fixed_files,
            regions,
            wanted_regions: parts.len(),
            unsent: 0,
            refusals: 0,
            has_rung: false,
            _arenas: arenas.to_vec(),
            _files: files.to_vec(),
        })
    }

    /// Makes the ring usable by this thread. `Ok(false)`: it belongs to another one.
    pub(super) fn claim(&mut self) -> io::Result<bool> {
        if self.mode != Mode::Deferred {
            return Ok(true);
        }
        let here = std::thread::current().id();
        if self.owner.is_none() {
            self.ring.submitter().register_enable_rings()?;
            self.owner = Some(here);
        }
        Ok(self.owner == Some(here))
    }

    pub(super) fn features(&self) -> String {
        let completions = match self.mode {
            Mode::Deferred => "deferred",
            Mode::Cooperative => "cooperative",
            Mode::Plain => "plain",
        };
        let files = if self.fixed_files { "registered" } else { "plain" };
        let (regions, wanted) = (self.regions.len(), self.wanted_regions);
        format!(
            "{completions} completions, {files} files, {regions} of {wanted} buffer regions \
             registered"
        )
    }

    /// Queues a read of `target`.
    ///
    /// # Safety
    ///
    /// The memory at `target` must stay mapped and untouched until the completion with `user_data`
    /// has arrived.
    pub(super) unsafe fn push_read(
        &mut self,
        file: usize,
        offset: u64,
        target: (*mut u8, usize),
        user_data: u64,
    ) -> io::Result<()> {
        let (pointer, len) = target;
        let entry = match (self.region(pointer as usize, len), self.fixed_files) {
            (Some(region), true) => {
                opcode::ReadFixed::new(Fixed(file as u32), pointer, len as u32, region)
                    .offset(offset)
                    .build()
            }
            (Some(region), false) => {
                opcode::ReadFixed::new(Fd(self.descriptors[file]), pointer, len as u32, region)
                    .offset(offset)
                    .build()
            }
            (None, true) => {
                opcode::Read::new(Fixed(file as u32), pointer, len as u32).offset(offset).build()
            }
            (None, false) => opcode::Read::new(Fd(self.descriptors[file]), pointer, len as u32)
                .offset(offset)
                .build(),
        };
        self.unsent += len;
        // SAFETY: the caller's promise.
        unsafe { self.push(&entry.user_data(user_data)) }
    }

    /// Queues an alarm.
    ///
    /// # Safety
    ///
    /// `time` must stay where it is until the completion with `user_data` has arrived.
    pub(super) unsafe fn push_timeout(
        &mut self,
        time: *const Timespec,
        user_data: u64,
    ) -> io::Result<()> {
        self.unsent += BATCH;
        // SAFETY: the caller's promise.
        unsafe { self.push(&opcode::Timeout::new(time).build().user_data(user_data)) }
    }

    /// Queues a call for the request `name` to be given up, if the kernel has not begun it. Both
    /// are answered: the request by `ECANCELED` or as ever, the call under [`WITHDRAWAL`].
    pub(super) fn push_withdrawal(&mut self, name: u64) -> io::Result<()> {
        let entry = opcode::AsyncCancel::new(name).build().user_data(WITHDRAWAL);
        // SAFETY: the entry refers to no memory.
        unsafe { self.push(&entry) }
    }

    /// Queues a call that is answered when a bell rings; see [`Ring::has_rung`].
    pub(super) fn push_bell(&mut self, file: RawFd) -> io::Result<()> {
        let entry = opcode::PollAdd::new(Fd(file), libc::POLLIN as u32).build().user_data(BELL);
        // SAFETY: the entry refers to no memory.
        unsafe { self.push(&entry) }
    }

    /// Whether the bell was found to have rung; asked once, it has not.
    pub(super) fn has_rung(&mut self) -> bool {
        std::mem::take(&mut self.has_rung)
    }

    /// # Safety
    ///
    /// As for [`io_uring::SubmissionQueue::push`].
    unsafe fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: the caller's promise.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.enter(0)?;
        }
        Ok(())
    }

    /// The registered buffer that contains the range.
    fn region(&self, start: usize, len: usize) -> Option<u16> {
        let after = self.regions.partition_point(|region| region.start <= start);
        let region = &self.regions[after.checked_sub(1)?];
        (start + len <= region.start + region.len).then_some(region.index)
    }

    /// Sends what has been pushed if it is worth a system call by now.
    pub(super) fn send_batch(&mut self) -> io::Result<()> {
        if self.unsent >= BATCH { self.enter(0).map(drop) } else { Ok(()) }
    }

    /// Sends everything pushed, and sleeps until `wait` completions are there, or less if a signal
    /// comes or the kernel is short of resources: callers look and ask again. Returns whether
    /// nothing came for [`PATIENCE`].
    pub(super) fn enter(&mut self, wait: usize) -> io::Result<bool> {
        let pending = {
            let queue = self.ring.submission();
            !queue.is_empty() || queue.taskrun() || queue.cq_overflow()
        };
        if wait == 0 && !pending {
            return Ok(false);
        }
        let sent = if wait > 0 && self.ring.params().is_feature_ext_arg() {
            self.ring.submitter().submit_with_args(wait, &SubmitArgs::new().timespec(&PATIENCE))
        } else {
            self.ring.submit_and_wait(wait)
        };
        match sent {
            Ok(_) => {
                self.refusals = 0;
                self.unsent = 0;
                Ok(false)
            }
            Err(error) => match error.raw_os_error() {
                Some(libc::EINTR) => Ok(false),
                Some(libc::ETIME) => Ok(true),
                // The entries stay in the queue and go with the next call.
                Some(libc::EAGAIN | libc::EBUSY) if self.refusals < MAX_REFUSALS => {
                    self.refusals += 1;
                    std::thread::sleep(Duration::from_millis(1));
                    Ok(false)
                }
                _ => Err(error),
            },
        }
    }

    /// Moves the completions of requests that are there to `into`: user data and result.
    pub(super) fn reap(&mut self, into: &mut Vec<(u64, i32)>) {
        for answer in self.ring.completion() {
            match answer.user_data() {
                WITHDRAWAL => {}
                BELL => self.has_rung = true,
                name => into.push((name, answer.result())),
            }
        }
    }
}

/// Cuts arenas into pieces that can be registered, ordered by address.
fn parts(arenas: &[Arc<Arena>]) -> Vec<libc::iovec> {
    let mut parts = Vec::new();
    for arena in arenas {
        for offset in (0..arena.len()).step_by(MAX_REGION) {
            let iov_base = arena.as_ptr().wrapping_add(offset).cast();
            parts.push(libc::iovec { iov_base, iov_len: MAX_REGION.min(arena.len() - offset) });
        }
    }
    parts.sort_by_key(|part| part.iov_base as usize);
    parts.dedup_by_key(|part| part.iov_base as usize);
    parts.truncate(MAX_REGIONS);
    parts
}

/// Registers as many parts as the limit of locked memory allows: all at once, or else one by one.
fn register(ring: &IoUring, parts: &[libc::iovec]) -> Vec<Region> {
    let region = |(index, part): (usize, &libc::iovec)| Region {
        start: part.iov_base as usize,
        len: part.iov_len,
        index: index as u16,
    };
    if parts.is_empty() {
        return Vec::new();
    }
    let submitter = ring.submitter();
    // SAFETY: the parts lie in arenas that the `Ring` keeps alive.
    if unsafe { submitter.register_buffers(parts) }.is_ok() {
        return parts.iter().enumerate().map(region).collect();
    }
    if parts.len() == 1 || submitter.register_buffers_sparse(parts.len() as u32).is_err() {
        return Vec::new();
    }
    let one = |at: usize| {
        // SAFETY: as above.
        unsafe { submitter.register_buffers_update(at as u32, &parts[at..=at], None) }.is_ok()
    };
    parts.iter().enumerate().filter(|&(at, _)| one(at)).map(region).collect()
}
