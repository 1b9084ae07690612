//! Files of known content, a queue of every kind over them, and checks of what they bring.

use std::path::PathBuf;
use std::sync::Arc;

use outercore_storage::backend::MemoryQueue;
use outercore_storage::{
    Arena, Completion, Disk, DiskFile, HugePages, IoBackend, Queue, QueueOptions, ReadRequest,
    open_queue, open_queues, probe_uring,
};

pub const SLOT: usize = 256 << 10;

/// The last file ends in the middle of a page.
pub const LENGTHS: [usize; 3] = [3 << 20, 1 << 20, (2 << 20) + 1234];

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Uring,
    UringPlainBuffers,
    UringBufferedFiles,
    Blocking,
    Memory,
    /// The second of three that two I/O threads serve.
    Dedicated,
    DedicatedBlocking,
}

pub fn kinds() -> Vec<Kind> {
    use Kind::*;
    let mut kinds = vec![Blocking, Memory, DedicatedBlocking];
    if probe_uring() {
        kinds.extend([Uring, UringPlainBuffers, UringBufferedFiles, Dedicated]);
    } else {
        eprintln!("SKIPPED: io_uring is not available");
    }
    kinds
}

/// A xorshift generator: reproducible, and no dependency.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }
}

/// Files with random content, and the content.
pub struct Fixture {
    pub folder: tempfile::TempDir,
    pub contents: Vec<Arc<Vec<u8>>>,
}

impl Fixture {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        let mut contents = Vec::new();
        for (at, &len) in LENGTHS.iter().enumerate() {
            let content: Vec<u8> = (0..len).map(|_| random.below(256) as u8).collect();
            std::fs::write(folder.path().join(at.to_string()), &content).unwrap();
            contents.push(Arc::new(content));
        }
        Fixture { folder, contents }
    }

    pub fn path(&self, kind: Kind, file: usize) -> PathBuf {
        if kind == Kind::Memory {
            format!("memory:{file}").into()
        } else {
            self.folder.path().join(file.to_string())
        }
    }

    pub fn files(&self, buffered: bool) -> Vec<Arc<DiskFile>> {
        let disk = Disk::new();
        let open = |at: usize| {
            let path = self.folder.path().join(at.to_string());
            Arc::new(if buffered { disk.open_buffered(&path) } else { disk.open(&path) }.unwrap())
        };
        (0..LENGTHS.len()).map(open).collect()
    }

    pub fn queue(
        &self,
        kind: Kind,
        disk: &Disk,
        arena: &Arc<Arena>,
        depth: usize,
    ) -> Box<dyn Queue> {
        let backend = match kind {
            Kind::Memory => return Box::new(MemoryQueue::new(disk, &self.contents, depth, 7)),
            Kind::Blocking | Kind::DedicatedBlocking => IoBackend::Blocking,
            _ => IoBackend::Uring,
        };
        let registered =
            if kind == Kind::UringPlainBuffers { vec![] } else { vec![Arc::clone(arena)] };
        let files = self.files(kind == Kind::UringBufferedFiles);
        let options = QueueOptions { backend, depth, registered };
        if matches!(kind, Kind::Dedicated | Kind::DedicatedBlocking) {
            return open_queues(disk, &files, &options, (3, 2)).unwrap().swap_remove(1);
        }
        open_queue(disk, &files, &options).unwrap()
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub file: usize,
    pub offset: usize,
    pub len: usize,
}

impl Wanted {
    /// Whole pages, inside of the file.
    pub fn random(random: &mut Random) -> Self {
        let file = random.below(LENGTHS.len());
        let pages = LENGTHS[file] / 4096;
        let first = random.below(pages);
        let count = 1 + random.below((SLOT / 4096).min(pages - first));
        Wanted { file, offset: first * 4096, len: count * 4096 }
    }
}

pub fn arena(slots: usize) -> Arc<Arena> {
    Arena::new(slots * SLOT, HugePages::Auto).unwrap()
}

pub fn submit(queue: &mut dyn Queue, arena: &Arc<Arena>, slot: usize, wanted: Wanted, tag: usize) {
    let mut buffer = arena.buffer(slot * SLOT, SLOT);
    buffer[..wanted.len].fill(0xEE);
    queue.submit(ReadRequest {
        file: wanted.file,
        offset: wanted.offset as u64,
        buffer,
        len: wanted.len,
        tag: tag as u64,
    });
}

/// Whether a completion has the file's bytes.
pub fn check(fixture: &Fixture, wanted: Wanted, completion: &Completion) {
    completion.result.as_ref().unwrap_or_else(|error| panic!("{wanted:?}: {error}"));
    assert_eq!(completion.len, wanted.len);
    let expected = &fixture.contents[wanted.file][wanted.offset..wanted.offset + wanted.len];
    assert!(completion.buffer[..wanted.len] == *expected, "wrong bytes for {wanted:?}");
}

/// Submits `wanted` one after the other and waits for all: completions by tag.
pub fn read_all(queue: &mut dyn Queue, arena: &Arc<Arena>, wanted: &[Wanted]) -> Vec<Completion> {
    for (tag, &wanted) in wanted.iter().enumerate() {
        submit(queue, arena, tag, wanted, tag);
    }
    assert_eq!(queue.in_flight(), wanted.len());
    let mut done = Vec::new();
    queue.wait(wanted.len(), &mut done).unwrap();
    assert_eq!((done.len(), queue.in_flight()), (wanted.len(), 0));
    done.sort_by_key(|completion| completion.tag);
    assert!(done.iter().enumerate().all(|(at, completion)| completion.tag == at as u64));
    done
}

pub fn some_requests(count: usize) -> Vec<Wanted> {
    let mut random = Random(99);
    (0..count).map(|_| Wanted::random(&mut random)).collect()
}
