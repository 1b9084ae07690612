//! [`PageCache`]: blocks of files in memory, those that were used last, within a fixed size.
//!
//! A block that is used again while it is here gets a second chance ([`SecondChance`]). Blocks are
//! spread over parts with a lock each, so that workers seldom wait for each other.
//!
//! Of each frame it is known which units of 64 bytes were used while its block was here. Their
//! share is the cache's utilization (Lee et al., ATC'19, section 5.1): a low one says that memory
//! holds what nothing wants.
//!
//! Memory: what it is given, with what it notes of its frames.

use std::{collections::HashMap, ops::Range, sync::Mutex};

use serde::Serialize;

use crate::{HugePages, HugeVec, error::Result, lock, second_chance::SecondChance};

/// Bytes that are noted as used, or not, together.
const UNIT: usize = 64;
/// The most parts, and the fewest frames of one.
const PARTS: u64 = 64;
const FRAMES: u64 = 64;
/// Bytes of a frame beside its block and its units: where it is from, and its place in the table.
const ENTRY: u64 = 80;

/// Blocks in memory.
pub struct PageCache {
    block: usize,
    parts: Vec<Mutex<Part>>,
}

/// The number of a file, and a block of it.
type Name = (usize, u64);

/// Frames, and which of them is given away next.
struct Part {
    bytes: HugeVec<u8>,
    frames: Vec<Frame>,
    found: HashMap<Name, usize>,
    chances: SecondChance,
    counts: Counts,
}

/// Which units of some bytes were used.
pub struct Units(Vec<bool>);

impl Units {
    /// None, of so many bytes.
    pub fn none(bytes: usize) -> Self {
        Self(vec![false; bytes.div_ceil(UNIT)])
    }

    /// Notes that some of the bytes were used.
    pub fn note(&mut self, bytes: Range<usize>) {
        self.0[bytes.start / UNIT..bytes.end.div_ceil(UNIT)].fill(true);
    }
}

/// What is known of a block that is here.
struct Frame {
    name: Name,
    /// Its bytes: fewer than a block at the end of a file.
    len: usize,
    /// Units that were used, as bits.
    used: Box<[u64]>,
}

/// What a part has counted.
#[derive(Clone, Copy, Default)]
struct Counts {
    hits: u64,
    misses: u64,
    /// Blocks whose time here is over, the sum of their utilizations, and that of the squares.
    ended: f64,
    used: f64,
    squares: f64,
}

/// What a cache did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PageCacheUse {
    /// Blocks that were found.
    pub hits: u64,
    /// Blocks that were not.
    pub misses: u64,
    /// The share of those that were found.
    pub hit_ratio: f64,
    /// The mean share of a block that was used while it was here, of all blocks that were.
    pub utilization: f64,
    /// The standard deviation of that.
    pub utilization_deviation: f64,
}

impl PageCache {
    /// Frames of `block` bytes, as many as fit into `bytes` with what is noted of them.
    pub fn new(bytes: u64, block: u64, huge: HugePages) -> Result<Self> {
        let frames = Self::frames(bytes, block);
        let parts = (frames / FRAMES).clamp(1, PARTS);
        let part = |at: u64| -> Result<_> {
            let most = (frames / parts + u64::from(at < frames % parts)) as usize;
            Ok(Mutex::new(Part {
                bytes: HugeVec::zeroed(most * block as usize, huge)?,
                frames: Vec::with_capacity(most),
                found: HashMap::with_capacity(most),
                chances: SecondChance::new(most),
                counts: Counts::default(),
            }))
        };
        Ok(Self { block: block as usize, parts: (0..parts).map(part).collect::<Result<_>>()? })
    }

    /// How many frames of `block` bytes fit into `bytes` with what is noted of them.
    pub fn frames(bytes: u64, block: u64) -> u64 {
        bytes / (block + block / UNIT as u64 / 8 + 8 + ENTRY)
    }

    fn part(&self, (file, block): Name) -> std::sync::MutexGuard<'_, Part> {
        // Neighbors are in different parts: what one request has is looked for in many.
        lock(&self.parts[((block + file as u64 * 7) % self.parts.len() as u64) as usize])
    }

    /// The blocks of some bytes of a file: the number of each, and its bytes.
    fn blocks(&self, bytes: Range<u64>) -> impl Iterator<Item = (u64, Range<u64>)> {
        let block = self.block as u64;
        (bytes.start / block..bytes.end.div_ceil(block)).map(move |number| {
            let (start, end) = (number * block, (number + 1) * block);
            (number, start.max(bytes.start)..end.min(bytes.end))
        })
    }

    /// Copies what is here of some bytes of a file, which begin a block, to the beginning of `to`.
    /// Returns the lengths of ranges one after the other that are here, and that are not, in turn;
    /// the first may be empty.
    pub fn copy(&self, file: usize, start: u64, to: &mut [u8]) -> Vec<usize> {
        let (mut ranges, end) = (vec![0], start + to.len() as u64);
        for (number, bytes) in self.blocks(start..end) {
            let len = (bytes.end - bytes.start) as usize;
            let to = &mut to[(bytes.start - start) as usize..][..len];
            let is_here = self.part((file, number)).copy((file, number), self.block, to);
            if is_here != (ranges.len() % 2 == 1) {
                ranges.push(0);
            }
            *ranges.last_mut().expect("it begins with one") += len;
        }
        ranges
    }

    /// Keeps blocks of a file, which begin at `start`, and notes which of their units were used.
    /// Those that are here stay as they are.
    pub fn put(&self, file: usize, start: u64, content: &[u8], used: &Units) {
        for (number, bytes) in self.blocks(start..start + content.len() as u64) {
            let own = (bytes.start - start) as usize..(bytes.end - start) as usize;
            let units = used.0[own.start / UNIT..own.end.div_ceil(UNIT)].iter();
            self.part((file, number)).put((file, number), self.block, &content[own], units);
        }
    }

    /// What it has done so far: blocks that are here count as if their time were over.
    pub fn uses(&self) -> PageCacheUse {
        let mut all = Counts::default();
        for part in &self.parts {
            let part = lock(part);
            let mut counts = part.counts;
            part.frames.iter().for_each(|frame| counts.end(frame));
            all.hits += counts.hits;
            all.misses += counts.misses;
            all.ended += counts.ended;
            all.used += counts.used;
            all.squares += counts.squares;
        }
        let mean = all.used / all.ended.max(1.0);
        let variance = all.squares / all.ended.max(1.0) - mean * mean;
        PageCacheUse {
            hits: all.hits,
            misses: all.misses,
            hit_ratio: all.hits as f64 / (all.hits + all.misses).max(1) as f64,
            utilization: mean,
            utilization_deviation: variance.max(0.0).sqrt(),
        }
    }
}

impl Part {
    fn copy(&mut self, name: Name, block: usize, to: &mut [u8]) -> bool {
        let at = self.found.get(&name).copied().filter(|&at| self.frames[at].len >= to.len());
        let Some(at) = at else {
            self.counts.misses += 1;
            return false;
        };
        to.copy_from_slice(&self.bytes[at * block..][..to.len()]);
        self.chances.touch(at);
        self.counts.hits += 1;
        true
    }

    fn put<'u>(
        &mut self,
        name: Name,
        block: usize,
        content: &[u8],
        units: impl Iterator<Item = &'u bool>,
    ) {
        if self.chances.is_empty() {
            return;
        }
        let at = match self.found.get(&name) {
            Some(&at) => at,
            None => self.place(name, block, content),
        };
        let used = &mut self.frames[at].used;
        units
            .zip(0..)
            .for_each(|(&is_used, unit)| used[unit / 64] |= u64::from(is_used) << (unit % 64));
    }

    /// Puts a block into a frame.
    fn place(&mut self, name: Name, block: usize, content: &[u8]) -> usize {
        let units = vec![0; block.div_ceil(UNIT).div_ceil(64)].into_boxed_slice();
        let frame = Frame { name, len: content.len(), used: units };
        let at = self.chances.place();
        if at == self.frames.len() {
            self.frames.push(frame);
        } else {
            let before = std::mem::replace(&mut self.frames[at], frame);
            self.counts.end(&before);
            self.found.remove(&before.name);
        }
        self.found.insert(name, at);
        self.bytes[at * block..][..content.len()].copy_from_slice(content);
        at
    }
}

impl Counts {
    /// The time of a block is over.
    fn end(&mut self, frame: &Frame) {
        let used: u32 = frame.used.iter().map(|units| units.count_ones()).sum();
        let share = f64::from(used) / frame.len.div_ceil(UNIT) as f64;
        self.ended += 1.0;
        self.used += share;
        self.squares += share * share;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of one part, with so many frames.
    fn cache(frames: u64, block: u64) -> PageCache {
        let each = block + block / 512 + 8 + ENTRY;
        PageCache::new(frames * each + each / 2, block, HugePages::Off).unwrap()
    }

    fn has(cache: &PageCache, file: usize, block: u64) -> bool {
        let mut to = [0; 512];
        let is_here = cache.copy(file, block * 512, &mut to) == [512];
        assert!(!is_here || to == [(block + 10 * file as u64) as u8; 512], "{file} {block}");
        is_here
    }

    fn put(cache: &PageCache, file: usize, block: u64) {
        use_some(cache, file, block, 0..0);
    }

    /// Puts a block of which these bytes are used.
    fn use_some(cache: &PageCache, file: usize, block: u64, bytes: Range<usize>) {
        let mut used = Units::none(512);
        used.note(bytes);
        cache.put(file, block * 512, &[(block + 10 * file as u64) as u8; 512], &used);
    }

    #[test]
    fn a_block_that_is_used_again_gets_a_second_chance() {
        let cache = cache(3, 512);
        (0..3).for_each(|block| put(&cache, 0, block));
        assert!(has(&cache, 0, 0), "used again");
        put(&cache, 1, 0);
        assert!(has(&cache, 0, 0) && !has(&cache, 0, 1) && has(&cache, 0, 2) && has(&cache, 1, 0));
        // All were used again: the hand passes each once, and comes to the first after it.
        put(&cache, 1, 1);
        let left: Vec<_> = [(0, 0), (0, 2), (1, 0), (1, 1)].into_iter().collect();
        let here = left.iter().filter(|&&(file, block)| has(&cache, file, block)).count();
        assert_eq!(here, 3);
        let uses = cache.uses();
        assert_eq!((uses.hits, uses.misses), (4 + 3, 1 + 1));
    }

    #[test]
    fn what_is_missing_is_told_from_what_is_here() {
        let cache = cache(100, 512);
        (2..4).for_each(|block| put(&cache, 0, block));
        put(&cache, 0, 6);
        cache.put(0, 7 * 512, &[7; 100], &Units::none(100));
        let mut to = vec![0; 4096 - 512 + 100];
        assert_eq!(cache.copy(0, 0, &mut to), [0, 1024, 1024, 1024, 612]);
        assert!(to[1024..2048].iter().all(|&byte| byte == 2 || byte == 3));
        assert_eq!(to[3072], 6);
        let mut longer = [0; 200];
        assert_eq!(cache.copy(0, 7 * 512, &mut longer), [0, 200], "it has fewer bytes");
        assert!(PageCache::new(100, 512, HugePages::Off).unwrap().copy(0, 0, &mut to).len() == 2);
    }

    #[test]
    fn units_that_are_used_while_a_block_is_here_are_counted() {
        let cache = cache(2, 512);
        use_some(&cache, 0, 0, 60..70);
        use_some(&cache, 0, 0, 100..128);
        use_some(&cache, 0, 1, 0..512);
        let uses = cache.uses();
        assert_eq!(uses.utilization, (0.25 + 1.0) / 2.0);
        assert_eq!(uses.utilization_deviation, 0.375);
        put(&cache, 0, 2);
        assert_eq!(cache.uses().utilization, (0.25 + 1.0 + 0.0) / 3.0, "what has gone counts");
    }

    #[test]
    fn threads_share_it() {
        let cache = cache(1000, 512);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let cache = &cache;
                scope.spawn(move || {
                    for block in 0..2000 {
                        put(cache, thread % 2, block % 250);
                        has(cache, 0, (block * 7) % 250);
                    }
                });
            }
        });
        assert!((0..250).filter(|&block| has(&cache, 0, block)).count() > 200);
    }
}
