//! [`Block`]: memory for one part of an array on its way from or to scratch.

use std::{
    marker::PhantomData,
    sync::{Arc, Mutex},
};

use super::scratch::ScratchFile;
use crate::{
    PAGE,
    arena::{Arena, Buffer, HugePages, Pod},
    backend::{Completion, IoBackend, Queue, QueueOptions, ReadRequest, open_queue, probe_uring},
    disk::Disk,
    error::Result,
    monitor::locked,
};

/// Memory for the items of one part, and for what pads them to whole pages.
pub struct Block<T: Pod> {
    /// `None`: a part is on its way into it.
    memory: Option<Buffer>,
    bytes: usize,
    ahead: Option<Ahead>,
    items: PhantomData<Vec<T>>,
}

/// How parts of a file are read before they are wanted.
struct Ahead {
    /// Never locked: shared blocks have nothing to do with it.
    queue: Mutex<Box<dyn Queue>>,
    file: Arc<ScratchFile>,
    /// The part that was asked for last, and its bytes.
    asked: (usize, usize),
    there: Vec<Completion>,
}

impl<T: Pod> Block<T> {
    /// Room for `items` items.
    pub fn new(items: usize) -> Result<Self> {
        let bytes = padded::<T>(items).max(PAGE);
        Ok(Self { memory: Some(room(bytes)?), bytes, ahead: None, items: PhantomData })
    }

    /// Bytes of memory of a block of `items` items.
    pub fn bytes(items: usize) -> u64 {
        padded::<T>(items) as u64
    }

    /// The first `items` items. A part that was asked for is no longer.
    pub fn items(&mut self, items: usize) -> &mut [T] {
        let memory = self.memory();
        assert!(items * size_of::<T>() <= memory.len(), "the block has room for the part");
        // SAFETY: the block's memory begins at a page, is that long, belongs to it alone for the
        // length of the borrow, and any bytes are valid items of a `Pod`.
        unsafe { std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast::<T>(), items) }
    }

    /// The bytes of the first `items` items, and of what pads them to whole pages. A part that was
    /// asked for is no longer.
    pub fn pages(&mut self, items: usize) -> &mut [u8] {
        &mut self.memory()[..pages_of::<T>(items)]
    }

    /// Asks for the first `items` items of a part, which [`Block::load`] then waits for: where the
    /// system reads while others work. Threads that read would wait for a processor. Nothing may
    /// write the part until it was loaded.
    pub fn ask(
        &mut self,
        (disk, backend): (&Disk, IoBackend),
        (file, part): (&Arc<ScratchFile>, usize),
        items: usize,
    ) -> Result<()> {
        self.memory();
        if backend == IoBackend::Blocking || items == 0 || !probe_uring() {
            return Ok(());
        }
        if self.ahead.as_ref().is_none_or(|ahead| !Arc::ptr_eq(&ahead.file, file)) {
            let options = QueueOptions { backend, depth: 1, registered: Vec::new() };
            let queue = open_queue(disk, &[Arc::clone(&file.file)], &options)?.into();
            let (file, asked, there) = (Arc::clone(file), (0, 0), Vec::new());
            self.ahead = Some(Ahead { queue, file, asked, there });
        }
        let ahead = self.ahead.as_mut().expect("made above");
        let (buffer, len) = (self.memory.take().expect("it is here"), pages_of::<T>(items));
        let offset = file.place(part, &buffer[..len]);
        ahead.asked = (part, len);
        let queue = own(&mut ahead.queue);
        queue.submit(ReadRequest { file: 0, offset, buffer, len, tag: 0 });
        // It starts now, and may be there already.
        queue.wait(0, &mut ahead.there)
    }

    /// Reads the first `items` items of a part, or waits for them if they were asked for.
    pub fn load(&mut self, (file, part): (&Arc<ScratchFile>, usize), items: usize) -> Result<()> {
        if let (None, Some(ahead)) = (&self.memory, &self.ahead)
            && Arc::ptr_eq(&ahead.file, file)
            && ahead.asked == (part, pages_of::<T>(items))
        {
            self.arrived()?;
            return file.verify(part, self.pages(items));
        }
        file.read(part, self.pages(items))
    }

    /// Writes these items to the beginning of a part.
    pub fn store(
        &mut self,
        (file, part): (&ScratchFile, usize),
        items: impl ExactSizeIterator<Item = T>,
    ) -> Result<()> {
        let count = items.len();
        self.items(count).iter_mut().zip(items).for_each(|(to, item)| *to = item);
        let pages = self.pages(count);
        pages[count * size_of::<T>()..].fill(0);
        file.write(part, pages)
    }

    /// Waits until the memory is back, and returns what became of the read.
    fn arrived(&mut self) -> Result<()> {
        while let (None, Some(ahead)) = (&self.memory, &mut self.ahead) {
            if ahead.there.is_empty() {
                own(&mut ahead.queue).wait(1, &mut ahead.there)?;
            }
            if let Some(Completion { buffer, result, .. }) = ahead.there.pop() {
                self.memory = Some(buffer);
                result?;
            }
        }
        Ok(())
    }

    /// The memory. What became of a part that was asked for does not matter.
    fn memory(&mut self) -> &mut Buffer {
        _ = self.arrived();
        if self.memory.is_none() {
            // The queue itself has failed, and keeps what it got.
            self.ahead = None;
            self.memory = Some(room(self.bytes).expect("memory for a part"));
        }
        self.memory.as_mut().expect("it is here")
    }
}

fn own(queue: &mut Mutex<Box<dyn Queue>>) -> &mut Box<dyn Queue> {
    locked(queue)
}

/// Memory of so many bytes.
fn room(bytes: usize) -> Result<Buffer> {
    Ok(Arena::new(bytes, HugePages::Off)?.buffer(0, bytes))
}

/// Bytes of the pages of `items` items.
fn pages_of<T>(items: usize) -> usize {
    (items * size_of::<T>()).next_multiple_of(PAGE)
}

/// Bytes of `items` items, in whole pages that hold whole items.
fn padded<T>(items: usize) -> usize {
    const { assert!(PAGE.is_multiple_of(size_of::<T>()) || size_of::<T>().is_multiple_of(8)) };
    let bytes = (items * size_of::<T>()).next_multiple_of(PAGE);
    // A block's memory is cut into items: with odd sizes it takes a few pages more.
    if bytes.is_multiple_of(size_of::<T>()) {
        bytes
    } else {
        bytes.next_multiple_of(PAGE * size_of::<T>())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    const ITEMS: usize = 9000;

    fn file(disk: &Disk, parts: usize, fill: impl Fn(usize) -> u32) -> Arc<ScratchFile> {
        let folder = tempfile::tempdir().unwrap();
        let bounds: Vec<u64> = (0..=parts).map(|part| (part * ITEMS) as u64).collect();
        let file = ScratchFile::create(disk, folder.path(), &bounds, 4).unwrap();
        let mut block = Block::<u32>::new(ITEMS).unwrap();
        for part in 0..parts {
            let items = std::iter::repeat_n(fill(part), ITEMS);
            block.store((&file, part), items).unwrap();
        }
        Arc::new(file)
    }

    #[test]
    fn parts_that_were_asked_for_come_as_others_do() {
        let disk = Disk::new();
        let (file, other) = (file(&disk, 5, |part| part as u32), file(&disk, 5, |_| 9));
        for backend in [IoBackend::Auto, IoBackend::Blocking] {
            let mut block = Block::<u32>::new(ITEMS).unwrap();
            let how = (&disk, backend);
            let read = || disk.counters().bytes_read.load(Relaxed);
            for (asked, loaded, reads) in [(1, 1, 1), (2, 4, 2), (3, 3, 1), (0, 0, 1)] {
                let before = read();
                block.ask(how, (&file, asked), ITEMS).unwrap();
                block.load((&file, loaded), ITEMS).unwrap();
                assert_eq!(block.items(ITEMS), [loaded as u32; ITEMS]);
                let reads = if backend == IoBackend::Auto && probe_uring() { reads } else { 1 };
                assert_eq!(read() - before, reads * 36_864, "{asked} {loaded}");
            }
            block.ask(how, (&file, 2), ITEMS).unwrap();
            block.items(ITEMS).fill(7);
            block.load((&file, 2), 1000).unwrap();
            assert_eq!(block.items(1000), [2; 1000], "what was asked for before means nothing");
            block.ask(how, (&file, 2), ITEMS).unwrap();
            block.ask(how, (&file, 1), 1000).unwrap();
            block.load((&other, 1), 1000).unwrap();
            assert_eq!(block.items(1000), [9; 1000], "another file");
            block.ask(how, (&other, 3), 1000).unwrap();
            block.load((&other, 3), 1000).unwrap();
            assert_eq!(block.items(1000), [9; 1000], "which may be asked for, too");
            block.ask(how, (&file, 2), ITEMS).unwrap();
        }
    }

    #[test]
    fn a_damaged_part_is_an_error_of_its_load() {
        let disk = Disk::new();
        let file = file(&disk, 2, |part| part as u32 + 1);
        let mut block = Block::<u32>::new(ITEMS).unwrap();
        let how = (&disk, IoBackend::Auto);
        let mut other = Block::<u32>::new(ITEMS).unwrap();
        file.file.write_at(other.pages(1), 4096 * 8).unwrap();
        block.ask(how, (&file, 0), ITEMS).unwrap();
        block.load((&file, 0), ITEMS).unwrap_err();
        block.ask(how, (&file, 0), ITEMS).unwrap();
        block.load((&file, 1), ITEMS).unwrap();
        assert_eq!(block.items(ITEMS), [2; ITEMS]);
    }
}
