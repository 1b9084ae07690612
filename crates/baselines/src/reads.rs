//! Plain reads past the page cache: what a device gives to someone who only reads.

use std::{
    alloc::{Layout, alloc, dealloc},
    fs::{File, OpenOptions},
    io,
    os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
    path::Path,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::{Duration, Instant},
};

use io_uring::{IoUring, opcode, types::Fd};
use serde_json::{Value, json};

use crate::Result;

/// Offsets, lengths and buffers of direct reads are multiples of this.
const PAGE: usize = 4096;
/// A huge page.
const HUGE: usize = 2 << 20;

/// What reads took.
pub struct Done {
    pub requests: u64,
    pub bytes: u64,
    pub seconds: f64,
}

/// One read.
#[derive(Clone, Copy)]
struct Request {
    /// Which of the open files.
    file: usize,
    offset: u64,
    bytes: usize,
}

/// Memory for all reads in flight, in huge pages where the system grants them, and there already:
/// no read waits for a page of memory.
struct Buffer {
    start: *mut u8,
    layout: Layout,
}

impl Buffer {
    fn new(bytes: usize) -> Result<Buffer> {
        let bytes = bytes.next_multiple_of(HUGE);
        let layout = Layout::from_size_align(bytes, HUGE)?;
        // SAFETY: the layout is not empty.
        let start = unsafe { alloc(layout) };
        if start.is_null() {
            return Err(format!("no memory for {bytes} bytes").into());
        }
        // SAFETY: `start` begins so many bytes that are ours; the advice changes none of them.
        unsafe {
            libc::madvise(start.cast(), bytes, libc::MADV_HUGEPAGE);
            start.write_bytes(0, bytes);
        }
        Ok(Buffer { start, layout })
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: `new` allocated it with this layout.
        unsafe { dealloc(self.start, self.layout) }
    }
}

fn open(path: &Path) -> Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path);
    file.map_err(|error| format!("{}: {error}", path.display()).into())
}

/// Makes all requests that there are, so many in flight, none longer than `most`.
fn read(
    files: &[File],
    depth: usize,
    most: usize,
    mut next: impl FnMut() -> Option<Request>,
) -> Result<Done> {
    let depth = depth.max(1);
    let buffer = Buffer::new(depth * most)?;
    let mut ring = IoUring::new(depth.next_power_of_two() as u32)?;
    let mut free: Vec<usize> = (0..depth).collect();
    let mut wanted = vec![0; depth];
    let mut done = Done { requests: 0, bytes: 0, seconds: 0.0 };
    let start = Instant::now();
    loop {
        while let Some(&slot) = free.last() {
            let Some(request) = next() else { break };
            free.pop();
            wanted[slot] = request.bytes;
            let to = buffer.start.wrapping_add(slot * most);
            let entry =
                opcode::Read::new(Fd(files[request.file].as_raw_fd()), to, request.bytes as u32);
            let entry = entry.offset(request.offset).build().user_data(slot as u64);
            // SAFETY: the slot's part of the buffer has `most` bytes and belongs to no other read.
            // It outlives the read: all are answered before the end, or it is leaked.
            unsafe { ring.submission().push(&entry) }.expect("as many entries as slots");
        }
        if free.len() == depth {
            break;
        }
        if let Err(error) = ring.submit_and_wait(1) {
            std::mem::forget(buffer);
            return Err(error.into());
        }
        for answer in ring.completion() {
            let slot = answer.user_data() as usize;
            if answer.result() != wanted[slot] as i32 {
                std::mem::forget(buffer);
                return Err(short(answer.result(), wanted[slot]));
            }
            done.requests += 1;
            done.bytes += wanted[slot] as u64;
            free.push(slot);
        }
    }
    done.seconds = start.elapsed().as_secs_f64();
    Ok(done)
}

fn short(result: i32, wanted: usize) -> Box<dyn std::error::Error> {
    match result {
        ..0 => io::Error::from_raw_os_error(-result).into(),
        _ => format!("a read of {wanted} bytes gave {result}").into(),
    }
}

/// Reads at random places for so many seconds, at least once.
pub fn random(path: &Path, bytes: usize, depth: usize, seconds: f64) -> Result<Done> {
    let file = open(path)?;
    let bytes = bytes.next_multiple_of(PAGE);
    let places = file.metadata()?.len() / bytes as u64;
    if places == 0 {
        return Err("the file is shorter than a read".into());
    }
    let (mut state, end) =
        (0x9e37_79b9_7f4a_7c15u64, Instant::now() + Duration::from_secs_f64(seconds));
    let mut begun = false;
    read(&[file], depth, bytes, || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let offset = (state >> 11) % places * bytes as u64;
        let goes_on = !std::mem::replace(&mut begun, true) || Instant::now() < end;
        goes_on.then_some(Request { file: 0, offset, bytes })
    })
}

/// Makes the reads of a list in its order. Every thread takes the next that no other has taken.
pub fn replay(folder: &Path, list: &Path, threads: usize, depth: usize) -> Result<Value> {
    let (files, requests) = listed(folder, list)?;
    let most = requests.iter().map(|request| request.bytes).max().unwrap_or(PAGE);
    let next = AtomicUsize::new(0);
    let one = || {
        let request = || requests.get(next.fetch_add(1, Relaxed)).copied();
        read(&files, depth, most, request).map_err(|error| error.to_string())
    };
    let done = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(one)).collect();
        let done = workers.into_iter().map(|worker| worker.join().expect("no panic"));
        done.collect::<std::result::Result<Vec<_>, _>>()
    })?;
    let bytes: u64 = done.iter().map(|done| done.bytes).sum();
    let seconds = done.iter().map(|done| done.seconds).fold(0.0, f64::max);
    Ok(json!({"requests": requests.len(), "bytes": bytes, "seconds": seconds}))
}

/// The reads of a list of lines `file offset bytes`, and the files.
fn listed(folder: &Path, list: &Path) -> Result<(Vec<File>, Vec<Request>)> {
    let (mut names, mut files, mut requests) = (Vec::new(), Vec::new(), Vec::new());
    for line in std::fs::read_to_string(list)?.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, offset, bytes] = words[..] else {
            return Err(format!("no read: {line}").into());
        };
        let known = names.iter().position(|known| known == name);
        let file = known.unwrap_or(names.len());
        if known.is_none() {
            names.push(name.to_owned());
            files.push(open(&folder.join(name))?);
        }
        requests.push(Request { file, offset: offset.parse()?, bytes: bytes.parse()? });
    }
    Ok((files, requests))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that can be read past the page cache; none where the file system cannot.
    fn file(pages: usize) -> Option<tempfile::NamedTempFile> {
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        std::fs::write(file.path(), vec![7; pages * PAGE]).unwrap();
        if open(file.path()).is_err() || IoUring::new(1).is_err() {
            println!("SKIPPED: no direct reads or no io_uring here");
            return None;
        }
        Some(file)
    }

    #[test]
    fn a_list_is_read_to_its_end() {
        let Some(file) = file(20) else { return };
        let (folder, name) = (file.path().parent().unwrap(), file.path().file_name().unwrap());
        let list = tempfile::NamedTempFile::new().unwrap();
        let read = |reads: &[&str]| {
            let lines = reads.iter().map(|read| format!("{} {read}\n", name.display()));
            std::fs::write(list.path(), lines.collect::<String>()).unwrap();
            replay(folder, list.path(), 2, 2)
        };
        let done = read(&["0 4096", "8192 8192", "73728 8192"]).unwrap();
        assert_eq!((done["requests"].as_u64(), done["bytes"].as_u64()), (Some(3), Some(20480)));
        assert!(read(&["77824 8192"]).is_err(), "beyond the end");
        assert!(read(&["1"]).is_err(), "no list");
    }

    #[test]
    fn random_reads_end() {
        let Some(file) = file(20) else { return };
        let done = random(file.path(), PAGE, 8, 0.01).unwrap();
        assert!(done.requests > 0 && done.bytes == done.requests * PAGE as u64);
    }
}
