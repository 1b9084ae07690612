//! Scratch space of an external sort: partitions of raw bytes in one file, appended to in blocks by
//! several threads, and read back one partition at a time.
//!
//! Memory:
//!
//! - 16 bytes for each block that was appended; at most 32, as the list doubles;
//! - for appending, up to four buffers of one block, once a block came that could not be written
//!   from where it was;
//! - for reading, one block per [`SpillReader`].
//!
//! The file has no name: it goes with the process, however that ends.

use crate::PAGE;
use crate::arena::{Arena, Buffer, HugePages};
use crate::checksum::crc32c;
use crate::disk::{Disk, DiskFile};
use crate::error::{Result, StorageError};
use crate::monitor::{Monitor, lock};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// How many unaligned blocks are copied and written at the same time; more would not make the
/// device faster.
const BOUNCES: usize = 4;

/// A block in the file.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    page: u32,
    len: u32,
    /// CRC-32C of the block, so that what comes back is what was written, or an error.
    sum: u32,
    /// What it was appended with.
    pub(crate) tag: u32,
}

/// A block in memory that is to be appended to a part.
#[derive(Clone, Copy)]
pub(crate) struct Placed {
    pub part: usize,
    /// Where it begins in memory, and how many bytes it has.
    pub at: usize,
    pub len: usize,
    /// Comes back with the block, and means nothing here.
    pub tag: u32,
}

impl Extent {
    pub(crate) fn offset(self) -> u64 {
        u64::from(self.page) * PAGE as u64
    }

    pub(crate) fn len(self) -> usize {
        self.len as usize
    }

    /// Bytes of the pages that it occupies.
    pub(crate) fn padded(self) -> usize {
        (self.len as usize).next_multiple_of(PAGE)
    }
}

/// What a partition has: its blocks in the order in which they were written.
#[derive(Default)]
struct Partition {
    extents: Vec<Extent>,
    bytes: u64,
}

/// Partitions of bytes in a scratch file. All methods may be called from several threads at once.
pub struct Spill {
    pub(crate) file: Arc<DiskFile>,
    block: usize,
    partitions: Vec<Mutex<Partition>>,
    /// Where the next block goes.
    end: AtomicU64,
    /// Pages in a row that were freed: where they begin, and how many there are.
    freed: Mutex<BTreeMap<u32, u32>>,
    bounces: Monitor<Bounces>,
}

/// Aligned memory for blocks that are not.
#[derive(Default)]
struct Bounces {
    made: bool,
    free: Vec<Buffer>,
}

impl Spill {
    /// Creates a scratch file in a folder, for `partitions` partitions and blocks of at most
    /// `block_bytes`.
    ///
    /// # Panics
    /// If a block would be empty or larger than 1 GiB.
    pub fn create(disk: &Disk, dir: &Path, partitions: usize, block_bytes: usize) -> Result<Self> {
        assert!((1..=1 << 30).contains(&block_bytes), "a block of {block_bytes} bytes");
        let file = Arc::new(disk.create_unnamed(dir, ".spill")?);
        Ok(Self {
            file,
            block: block_bytes.next_multiple_of(PAGE),
            partitions: (0..partitions).map(|_| Mutex::default()).collect(),
            end: AtomicU64::new(0),
            freed: Mutex::default(),
            bounces: Monitor::default(),
        })
    }

    /// The number of partitions.
    pub fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// Bytes of the scratch file, padding counted.
    pub fn file_bytes(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    /// Bytes appended to a partition so far.
    pub fn partition_bytes(&self, partition: usize) -> u64 {
        lock(&self.partitions[partition]).bytes
    }

    /// Appends one block to a partition. A block that starts at a multiple of a page in memory and
    /// is whole pages long is written from where it is; others are copied first. In the file a
    /// block occupies whole pages, so it should be large.
    ///
    /// # Panics
    /// If the block is larger than was said at creation.
    pub fn append(&self, partition: usize, block: &[u8]) -> Result<()> {
        assert!(block.len() <= self.block, "a block of {} bytes, not {}", block.len(), self.block);
        if block.is_empty() {
            return Ok(());
        }
        let padded = block.len().next_multiple_of(PAGE);
        let placed = Placed { part: partition, at: 0, len: block.len(), tag: 0 };
        if padded == block.len() && (block.as_ptr() as usize).is_multiple_of(PAGE) {
            return self.append_all(block, &[placed]);
        }
        let mut bounce = self.bounce()?;
        let memory = &mut bounce.buffer()[..padded];
        memory[..block.len()].copy_from_slice(block);
        memory[block.len()..].fill(0);
        self.append_all(memory, &[placed])
    }

    /// Appends blocks that lie in some memory, which begins at a page and is whole pages long, each
    /// from a page on, in one write.
    pub(crate) fn append_all(&self, memory: &[u8], blocks: &[Placed]) -> Result<()> {
        let bytes = memory.len() as u64;
        let offset = match self.freed_room(memory.len() / PAGE) {
            Some(page) => u64::from(page) * PAGE as u64,
            None => self.end.fetch_add(bytes, Ordering::Relaxed),
        };
        if u32::try_from((offset + bytes) / PAGE as u64).is_err() {
            let source = io::Error::from_raw_os_error(libc::EFBIG);
            return Err(StorageError::write("write", self.file.path(), offset, bytes, source));
        }
        self.file.write_at(memory, offset)?;
        for &Placed { part, at, len, tag } in blocks {
            let (page, sum) = ((offset as usize + at) / PAGE, crc32c(&memory[at..at + len]));
            let mut partition = lock(&self.partitions[part]);
            partition.extents.push(Extent { page: page as u32, len: len as u32, sum, tag });
            partition.bytes += len as u64;
        }
        Ok(())
    }

    /// So many pages in a row that were freed: where they begin.
    fn freed_room(&self, pages: usize) -> Option<u32> {
        let mut freed = lock(&self.freed);
        let (&page, &room) = freed.iter().find(|&(_, &room)| room as usize >= pages)?;
        freed.remove(&page);
        if room as usize > pages {
            freed.insert(page + pages as u32, room - pages as u32);
        }
        Some(page)
    }

    /// Waits for aligned memory.
    fn bounce(&self) -> Result<Bounce<'_>> {
        self.bounces.change(|bounces| {
            if !bounces.made {
                let arena = Arena::new(BOUNCES * self.block, HugePages::Auto)?;
                let buffer = |number| arena.buffer(number * self.block, self.block);
                *bounces = Bounces { made: true, free: (0..BOUNCES).map(buffer).collect() };
            }
            Ok::<_, StorageError>(())
        })?;
        Ok(Bounce { spill: self, buffer: self.bounces.wait(|bounces| bounces.free.pop()) })
    }

    /// A reader of single blocks, for one thread.
    pub fn reader(&self) -> SpillReader<'_> {
        SpillReader { spill: self, memory: None }
    }

    /// A partition's blocks, in the order in which they were written.
    pub fn extents(&self, partition: usize) -> Vec<Extent> {
        lock(&self.partitions[partition]).extents.clone()
    }

    /// Empties a partition; returns its blocks, to be read and then freed.
    pub fn take(&self, partition: usize) -> Vec<Extent> {
        std::mem::take(&mut *lock(&self.partitions[partition])).extents
    }

    /// Lets the room of blocks that are not read any more be used again.
    pub fn free(&self, extents: Vec<Extent>) {
        let mut freed = lock(&self.freed);
        for extent in extents {
            let (mut page, mut pages) = (extent.page, (extent.padded() / PAGE) as u32);
            if let Some(after) = freed.remove(&(page + pages)) {
                pages += after;
            }
            if let Some((&before, &room)) = freed.range(..page).next_back()
                && before + room == page
            {
                (page, pages) = (before, pages + room);
            }
            freed.insert(page, pages);
        }
    }

    /// What `extent` holds must be what was written.
    pub(crate) fn verify(&self, extent: Extent, bytes: &[u8]) -> Result<()> {
        if crc32c(bytes) == extent.sum {
            return Ok(());
        }
        Err(StorageError::scratch(self.file.path(), extent.offset()))
    }

    /// Reads a block into memory that is made at the first call.
    fn read_block<'a>(&self, extent: Extent, memory: &'a mut Option<Buffer>) -> Result<&'a [u8]> {
        if memory.is_none() {
            *memory = Some(Arena::new(self.block, HugePages::Auto)?.buffer(0, self.block));
        }
        let memory = memory.as_mut().expect("made above");
        self.file.read_at(&mut memory[..extent.padded()], extent.offset())?;
        self.verify(extent, &memory[..extent.len as usize])?;
        Ok(&memory[..extent.len as usize])
    }
}

impl std::fmt::Debug for Spill {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spill")
            .field("partitions", &self.partitions())
            .field("file_bytes", &self.file_bytes())
            .finish()
    }
}

/// Reads blocks, one at a time, into memory of its own: one block.
pub struct SpillReader<'a> {
    spill: &'a Spill,
    memory: Option<Buffer>,
}

impl SpillReader<'_> {
    /// The bytes of a block.
    pub fn read(&mut self, extent: Extent) -> Result<&[u8]> {
        self.spill.read_block(extent, &mut self.memory)
    }
}

/// Aligned memory that goes back when it is dropped.
struct Bounce<'a> {
    spill: &'a Spill,
    buffer: Option<Buffer>,
}

impl Bounce<'_> {
    fn buffer(&mut self) -> &mut [u8] {
        self.buffer.as_deref_mut().expect("only taken when dropped")
    }
}

impl Drop for Bounce<'_> {
    fn drop(&mut self) {
        self.spill.bounces.change(|bounces| bounces.free.extend(self.buffer.take()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{Fault, FaultPlan};
    use std::sync::Arc;
    use std::time::Duration;

    const BLOCK: usize = 3 * PAGE;

    fn content(partition: usize, number: usize, len: usize) -> Vec<u8> {
        (0..len).map(|i| (partition * 131 + number * 17 + i * 7 + i / 255) as u8).collect()
    }

    /// A partition's blocks, in the order in which they were written.
    fn blocks(spill: &Spill, partition: usize) -> Result<Vec<Vec<u8>>> {
        let mut reader = spill.reader();
        let block = |extent| reader.read(extent).map(<[u8]>::to_vec);
        spill.extents(partition).into_iter().map(block).collect()
    }

    #[test]
    fn partitions_keep_their_bytes_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let spill = Spill::create(&Disk::new(), dir.path(), 3, BLOCK).unwrap();
        let mut wanted = vec![Vec::new(); 3];
        for (number, len) in [BLOCK, 1, 4096, 0, 5000, BLOCK - 1, 8192].into_iter().enumerate() {
            for p in [0, 2] {
                let block = content(p, number, len);
                spill.append(p, &block).unwrap();
                wanted[p].extend(block);
            }
        }
        for (p, wanted) in wanted.iter().enumerate() {
            assert_eq!(spill.partition_bytes(p), wanted.len() as u64);
            assert_eq!(&blocks(&spill, p).unwrap().concat(), wanted);
        }
    }

    #[test]
    fn aligned_blocks_are_not_copied() {
        let dir = tempfile::tempdir().unwrap();
        let spill = Spill::create(&Disk::new(), dir.path(), 1, BLOCK).unwrap();
        let mut block = Arena::new(BLOCK, HugePages::Auto).unwrap().buffer(0, BLOCK);
        for n in 0..3 {
            block.copy_from_slice(&content(0, n, BLOCK));
            spill.append(0, &block).unwrap();
        }
        assert!(!spill.bounces.change(|bounces| bounces.made));
        assert_eq!(spill.file_bytes(), 3 * BLOCK as u64);
        assert_eq!(blocks(&spill, 0).unwrap(), [0, 1, 2].map(|n| content(0, n, BLOCK)));
    }

    #[test]
    fn threads_append_and_read_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let spill = Spill::create(&Disk::new(), dir.path(), 4, BLOCK).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let spill = &spill;
                scope.spawn(move || {
                    for n in 0..50 {
                        spill.append(n % 4, &[thread as u8; 1000]).unwrap();
                    }
                });
            }
        });
        for p in 0..4 {
            let mut counts = [0; 8];
            for block in blocks(&spill, p).unwrap() {
                assert!(block.len() == 1000 && block.iter().all(|&b| b == block[0]));
                counts[block[0] as usize] += 1;
            }
            // Of 50 blocks of a thread, 13 go to each of the first two parts, 12 to the others.
            assert_eq!(counts, [[13, 13, 12, 12][p]; 8]);
        }
    }

    #[test]
    fn leaves_no_file_behind() {
        let dir = tempfile::tempdir().unwrap();
        let spill = Spill::create(&Disk::new(), dir.path(), 1, BLOCK).unwrap();
        spill.append(0, b"some bytes").unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    /// Some work, and whether what it read is right.
    fn work(disk: &Disk, dir: &Path) -> Result<bool> {
        let spill = Spill::create(disk, dir, 2, BLOCK)?;
        for n in 0..4 {
            spill.append(n % 2, &content(0, n, BLOCK - n))?;
        }
        Ok(blocks(&spill, 1)? == [content(0, 1, BLOCK - 1), content(0, 3, BLOCK - 3)])
    }

    #[test]
    fn every_operation_may_fail() {
        let dir = tempfile::tempdir().unwrap();
        let plan = Arc::new(FaultPlan::count_only());
        assert!(work(&Disk::with_faults(plan.clone()), dir.path()).unwrap());
        for n in 0..plan.operations() {
            for fault in [Fault::Short, Fault::Interrupted, Fault::Stall(Duration::from_millis(1))]
            {
                assert!(
                    work(&Disk::with_faults(Arc::new(FaultPlan::nth(n, fault))), dir.path())
                        .unwrap(),
                    "{n} {fault:?}"
                );
            }
            let full = work(
                &Disk::with_faults(Arc::new(FaultPlan::nth(n, Fault::Error(libc::EIO)))),
                dir.path(),
            );
            assert!(matches!(full, Err(StorageError::Io { .. })), "{n}");
        }
        let full = work(
            &Disk::with_faults(Arc::new(FaultPlan::from(2, Fault::Error(libc::ENOSPC)))),
            dir.path(),
        );
        assert!(matches!(full, Err(StorageError::Full { .. })));
        assert!(
            work(&Disk::with_faults(Arc::new(FaultPlan::from(0, Fault::Short))), dir.path())
                .unwrap()
        );
        let endless =
            work(&Disk::with_faults(Arc::new(FaultPlan::from(0, Fault::Interrupted))), dir.path());
        assert!(matches!(endless, Err(StorageError::Interrupted)));
    }
}
