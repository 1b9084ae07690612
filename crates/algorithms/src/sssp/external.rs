//! Shortest paths with the distances on storage: a window of vertices is in memory at a time.
//!
//! When a window comes in, the distances that others have sent it are taken from its log (vertex
//! passing, Seraph, FAST'24, section 3.3); then its vertices within the bound relax their edges
//! until none is left. What leads into another window goes to that window's log. Windows in which
//! nothing lies within the bound stay out. Distances only fall, so the order of all this changes
//! nothing.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use outercore_engine::{
    EngineError, Result, Values,
    edges::{io_iterator::IoIterator, rows::Rows},
    frontier::Frontier,
    session::Session,
    state::{Scratch, VertexArray, Window, cut},
};
use outercore_storage::Spill;

use super::Lengths;

/// Bytes of a distance on its way: the vertex and the distance.
const ENTRY: usize = 16;
/// Distances that a worker gathers for a window before they go to its log.
const BATCH: usize = 1 << 12;
/// Vertices whose best distance a worker remembers, not to send worse ones.
const REMEMBERED: usize = 1 << 14;
/// Bytes of memory for each worker: what it remembers, and batches for a few windows.
pub const WORKER: u64 = (REMEMBERED * 16 + 8 * BATCH * ENTRY) as u64;
/// Bytes of the smallest window: the widest interval.
pub const SMALLEST: u64 = 8 << 17;

/// What is known of a window while it is on storage.
#[derive(Clone, Copy)]
struct Note {
    /// The smallest distance of an improved vertex.
    nearest: u64,
}

/// A search with its distances on storage.
pub struct Search<'s> {
    session: &'s Session<'s>,
    rows: &'s Rows,
    lengths: Lengths,
    delta: f64,
    windows: Vec<u64>,
    /// The number of the window in memory; none has the largest number.
    at_hand: usize,
    stored: VertexArray<u64>,
    logs: Spill,
    /// The smallest distance in each log.
    sent: Vec<AtomicU64>,
    notes: Vec<Note>,
    /// Vertices whose distance improved since their edges were last read.
    improved: Frontier,
    current: Frontier,
}

/// A worker's distances on their way to other windows.
struct Outbox {
    batches: Vec<Vec<u8>>,
    nearest: Vec<u64>,
    remembered: Vec<(u64, u64)>,
    failed: Option<EngineError>,
}

impl<'s> Search<'s> {
    /// A search that has not begun; windows take at most `room` bytes.
    pub fn new(
        session: &'s Session<'s>,
        rows: &'s Rows,
        lengths: Lengths,
        delta: f64,
        room: u64,
    ) -> Result<Self> {
        let (graph, huge) = (session.graph, session.config.huge_pages);
        let grid = graph.grid()?;
        let intervals = grid.intervals.as_slice();
        let windows = cut(intervals, room / 8);
        let (disk, folder, count) =
            (session.disk(), graph.scratch_folder(), windows.len().max(2) - 1);
        Ok(Self {
            session,
            rows,
            lengths,
            delta,
            stored: VertexArray::on_scratch(&Scratch::of(session), intervals)?,
            windows,
            at_hand: usize::MAX,
            logs: Spill::create(disk, &folder, count, BATCH * ENTRY).map_err(EngineError::from)?,
            sent: (0..count).map(|_| AtomicU64::new(u64::MAX)).collect(),
            notes: vec![Note { nearest: u64::MAX }; count],
            improved: Frontier::new(graph.connected(), huge)?,
            current: Frontier::new(graph.connected(), huge)?,
        })
    }

    /// Runs from a source with edges to the end; returns the number of rounds. Without one, no
    /// distance is known.
    pub fn run(&mut self, source: Option<u64>) -> Result<u64> {
        let widest = self.windows.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        self.stored.fill(|_| self.lengths.unreached())?;
        let Some(source) = source else { return Ok(0) };
        let huge = self.session.config.huge_pages;
        let mut window = Window::of(&mut self.stored, widest, huge)?;
        let home = self.window_of(source);
        self.bring(&mut window, home)?;
        window.lower(source, 0);
        self.improved.insert(source);
        self.notes[home].nearest = 0;
        let mut rounds = 0;
        while let Some(nearest) = self.nearest() {
            let (mark, bound) = (self.session.mark(), self.lengths.plus(nearest, self.delta));
            let (mut active, mut lists, mut brought) = (0, 0, 0);
            while let Some(index) = self.next_window(bound) {
                brought += self.bring(&mut window, index)?;
                let before = self.session.bytes_read();
                active += self.settle(&window, bound)?;
                lists += self.session.bytes_read() - before;
            }
            // Distances that move to and fro cost more than lists that are read again.
            if brought > 2 * lists {
                self.delta *= 2.0;
            }
            self.session.end_iteration(&mark, active, "on-demand");
            self.session.check()?;
            rounds += 1;
        }
        window.give_back(&mut self.stored)?;
        Ok(rounds)
    }

    /// The distances, as a column's values.
    pub fn into_values(self) -> Result<Values> {
        if self.lengths.whole() {
            Ok(self.stored.into())
        } else {
            Ok(self.stored.map(|&bits| f64::from_bits(bits))?.into())
        }
    }

    #[inline(always)]
    fn window_of(&self, vertex: u64) -> usize {
        self.windows.partition_point(|&bound| bound <= vertex) - 1
    }

    /// The smallest distance that is still to be worked on.
    fn nearest(&self) -> Option<u64> {
        let least = self
            .notes
            .iter()
            .zip(&self.sent)
            .map(|(note, sent)| note.nearest.min(sent.load(Relaxed)))
            .min();
        least.filter(|&least| least != u64::MAX)
    }

    /// A window with work within the bound: the one at hand, which costs no reading, or else the
    /// next in turn, so that what is sent to a window gathers until all others had theirs.
    fn next_window(&self, bound: u64) -> Option<usize> {
        let count = self.notes.len();
        let first = if self.at_hand < count { self.at_hand } else { 0 };
        (first..count)
            .chain(0..first)
            .find(|&index| self.notes[index].nearest.min(self.sent[index].load(Relaxed)) < bound)
    }

    /// Puts a window into memory, and its log's distances into it; returns the bytes that moved.
    fn bring(&mut self, window: &mut Window<u64>, index: usize) -> Result<u64> {
        let mut moved = window.bring(&self.stored, self.windows[index]..self.windows[index + 1])?;
        self.at_hand = index;
        self.sent[index].store(u64::MAX, Relaxed);
        let mut reader = self.logs.reader();
        let extents = self.logs.take(index);
        for &extent in &extents {
            let bytes = reader.read(extent).map_err(EngineError::from)?;
            moved += bytes.len() as u64;
            self.session.counters.useful_bytes.fetch_add(bytes.len() as u64, Relaxed);
            for entry in bytes.chunks_exact(ENTRY) {
                let number = |at: usize| {
                    u64::from_le_bytes(entry[at..at + 8].try_into().expect("eight bytes"))
                };
                let (vertex, length) = (number(0), number(8));
                if window.lower(vertex, length) {
                    self.improved.insert(vertex);
                    self.notes[index].nearest = self.notes[index].nearest.min(length);
                }
            }
        }
        self.logs.free(extents);
        Ok(moved)
    }

    /// Relaxes the window's vertices within the bound until none is left; returns how many lists
    /// that took.
    fn settle(&mut self, window: &Window<u64>, bound: u64) -> Result<u64> {
        let mut lists = 0;
        loop {
            let (vertices, edges, nearest) = self.take(window, bound);
            self.notes[self.at_hand].nearest = nearest;
            if vertices == 0 {
                return Ok(lists);
            }
            lists += vertices;
            self.relax(window, edges)?;
            self.current.clear();
        }
    }

    /// Moves the improved vertices of the window below `bound` to the frontier; returns how many,
    /// their edges, and the smallest distance of the others.
    fn take(&self, window: &Window<u64>, bound: u64) -> (u64, u64, u64) {
        let (mut vertices, mut edges, mut nearest) = (0, 0, u64::MAX);
        let found: Vec<u64> = self
            .improved
            .iter(window.vertices())
            .filter(|&vertex| {
                let length = window.cell(vertex).load(Relaxed);
                nearest = if length < bound { nearest } else { nearest.min(length) };
                length < bound
            })
            .inspect(|&vertex| {
                vertices += 1;
                edges += u64::from(self.rows.degrees.get(vertex));
                self.current.insert(vertex);
            })
            .take(TAKEN)
            .collect();
        if found.len() == TAKEN {
            // Others within the bound may be left.
            nearest = 0;
        }
        found.into_iter().for_each(|vertex| self.improved.remove(vertex));
        (vertices, edges, nearest)
    }

    fn relax(&self, window: &Window<u64>, edges: u64) -> Result<()> {
        let outboxes = IoIterator::new(self.session, self.rows).for_each(
            edges,
            |group| self.current.word(group),
            |_| self.outbox(),
            |outbox, vertex, list| {
                let length = window.cell(vertex).load(Relaxed);
                for (target, weight) in list.weighted() {
                    let through = self.lengths.add(length, weight);
                    if window.has(target) {
                        if window.lower(target, through) {
                            self.improved.insert(target);
                        }
                    } else {
                        self.send(outbox, target, through);
                    }
                }
            },
        )?;
        for mut outbox in outboxes {
            (0..outbox.batches.len()).for_each(|index| self.flush(&mut outbox, index));
            if let Some(error) = outbox.failed {
                return Err(error);
            }
            for (sent, nearest) in self.sent.iter().zip(outbox.nearest) {
                sent.fetch_min(nearest, Relaxed);
            }
        }
        Ok(())
    }

    fn outbox(&self) -> Outbox {
        let count = self.notes.len();
        Outbox {
            batches: vec![Vec::new(); count],
            nearest: vec![u64::MAX; count],
            remembered: vec![(u64::MAX, 0); REMEMBERED],
            failed: None,
        }
    }

    #[inline(always)]
    fn send(&self, outbox: &mut Outbox, target: u64, length: u64) {
        let slot = &mut outbox.remembered[target as usize % REMEMBERED];
        if slot.0 == target && slot.1 <= length {
            return;
        }
        *slot = (target, length);
        let index = self.window_of(target);
        outbox.nearest[index] = outbox.nearest[index].min(length);
        let batch = &mut outbox.batches[index];
        batch.extend_from_slice(&target.to_le_bytes());
        batch.extend_from_slice(&length.to_le_bytes());
        if batch.len() == BATCH * ENTRY {
            self.flush(outbox, index);
        }
    }

    fn flush(&self, outbox: &mut Outbox, index: usize) {
        if let Err(error) = self.logs.append(index, &outbox.batches[index]) {
            outbox.failed.get_or_insert(error.into());
        }
        outbox.batches[index].clear();
    }
}

/// Vertices that are relaxed together at most: bounds the memory of a round.
const TAKEN: usize = 1 << 18;
