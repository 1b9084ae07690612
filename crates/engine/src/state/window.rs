//! [`Window`]: several intervals of a [`VertexArray`] in memory, with atomic cells that workers
//! change at the same time. Where the array is in memory its window has all of it, without a copy,
//! so what is written for windows runs in memory too.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
};

use outercore_storage::{Block, HugePages, HugeVec, Pod, Resident};

use super::vertex_array::VertexArray;
use crate::{plan::Planner, session::Session};
use outercore_graph::Result;

/// Cuts intervals with these bounds into windows of at most `most` vertices, or of one interval;
/// returns the windows' bounds.
pub(crate) fn cut(bounds: &[u64], most: u64) -> Vec<u64> {
    let mut windows = vec![0];
    for pair in bounds.windows(2) {
        let begun = windows[windows.len() - 1];
        if pair[1] - begun > most && pair[0] > begun {
            windows.push(pair[0]);
        }
    }
    windows.extend(bounds.last().filter(|&&last| last > 0));
    windows
}

/// Puts an item into all of these cells, on all workers.
pub(super) fn fill<T: AtomicItem>(session: &Session, cells: &[T::Cell], item: T) {
    session.workers.each(cells.len() as u64, 1 << 16, |part| {
        let part = &cells[part.start as usize..part.end as usize];
        part.iter().for_each(|cell| T::store(cell, item));
    });
}

/// An item that workers can change at the same time, and a number of 64 bits at most.
pub trait AtomicItem: Pod + Copy + Ord + Send + Sync + Into<u64> {
    /// Its cell.
    type Cell: Pod + Send + Sync;
    /// What a cell holds.
    fn load(cell: &Self::Cell) -> Self;
    /// Puts an item into a cell.
    fn store(cell: &Self::Cell, item: Self);
    /// Puts an item into a cell that holds a larger one; returns what it held.
    fn fetch_min(cell: &Self::Cell, item: Self) -> Self;
    /// Items as cells.
    fn cells(items: HugeVec<Self>) -> HugeVec<Self::Cell>;
    /// Cells as items.
    fn items(cells: HugeVec<Self::Cell>) -> HugeVec<Self>;
    /// The item whose bits are the lowest of a number.
    fn of_bits(bits: u64) -> Self;
}

macro_rules! atomic_item {
    ($item:ty, $cell:ty) => {
        impl AtomicItem for $item {
            type Cell = $cell;
            #[inline(always)]
            fn load(cell: &$cell) -> $item {
                cell.load(Relaxed)
            }
            #[inline(always)]
            fn store(cell: &$cell, item: $item) {
                cell.store(item, Relaxed);
            }
            #[inline(always)]
            fn fetch_min(cell: &$cell, item: $item) -> $item {
                cell.fetch_min(item, Relaxed)
            }
            fn cells(items: HugeVec<$item>) -> HugeVec<$cell> {
                items.into_shared()
            }
            fn items(cells: HugeVec<$cell>) -> HugeVec<$item> {
                cells.into_plain()
            }
            #[inline(always)]
            fn of_bits(bits: u64) -> $item {
                bits as $item
            }
        }
    };
}
atomic_item!(u8, AtomicU8);
atomic_item!(u16, AtomicU16);
atomic_item!(u32, AtomicU32);
atomic_item!(u64, AtomicU64);

/// Some intervals of an array, side by side, in memory; the array itself until it is given back.
pub struct Window<T: AtomicItem> {
    cells: HugeVec<T::Cell>,
    /// Its vertices.
    pub(crate) vertices: Range<u64>,
    /// The bounds of all windows, and of the intervals.
    pub(crate) windows: Vec<u64>,
    intervals: Arc<[u64]>,
    /// The array, and memory on the way from or to it; `None`: the cells are the array.
    stored: Option<(Arc<VertexArray<T>>, Block<T>)>,
    /// What vertices have that were never in the window, and by interval whether they were.
    fresh: Option<(T, Vec<bool>)>,
}

impl<T: AtomicItem> Window<T> {
    /// Bytes of the smallest window: it has room for the widest interval.
    pub(crate) const SMALLEST: u64 = (size_of::<T>() as u64) << 17;

    /// States what [`Window::open`] takes.
    pub(crate) fn declare(planner: &mut Planner) {
        planner.memory("smallest window", [0, Self::SMALLEST]);
        planner.caches([0, 1]);
    }

    /// A window of an array every item of which is `item` at first, in a run whose plan declared
    /// it. Of an array in memory it has all vertices.
    pub fn open(session: &Session, array: VertexArray<T>, item: T) -> Result<Self> {
        let most = (Self::SMALLEST + session.decision.share(1)) / size_of::<T>() as u64;
        let mut window = Self::of(array, most, session.config.huge_pages)?;
        match &window.stored {
            Some((array, _)) => window.fresh = Some((item, vec![true; array.intervals()])),
            None => fill(session, window.cells(), item),
        }
        Ok(window)
    }

    /// Room for windows of at most `most` vertices of `array`, still empty. Of an array in memory
    /// it has all vertices.
    pub(crate) fn of(array: VertexArray<T>, most: u64, huge: HugePages) -> Result<Self> {
        if array.rest.is_some() {
            return Self::over(&Arc::new(array), most, huge);
        }
        let (intervals, vertices) = (Arc::clone(array.memory.bounds()), 0..array.len() as u64);
        let (windows, cells) = (cut(&intervals, u64::MAX), T::cells(array.memory.into_memory()));
        Ok(Self { cells, vertices, windows, intervals, stored: None, fresh: None })
    }

    /// One of several windows of an array on scratch, of at most `most` vertices.
    pub(crate) fn over(array: &Arc<VertexArray<T>>, most: u64, huge: HugePages) -> Result<Self> {
        let intervals = Arc::clone(array.memory.bounds());
        let windows = cut(&intervals, most);
        let widest = windows.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        let cells = HugeVec::zeroed(widest as usize, huge)?;
        let stored = Some((Arc::clone(array), array.block()?));
        Ok(Self { cells, vertices: 0..0, windows, intervals, stored, fresh: None })
    }

    /// Whether it has `vertex`.
    #[inline(always)]
    pub(crate) fn has(&self, vertex: u64) -> bool {
        self.vertices.contains(&vertex)
    }

    /// The cells of its vertices, in order.
    #[inline(always)]
    pub fn cells(&self) -> &[T::Cell] {
        &self.cells[..(self.vertices.end - self.vertices.start) as usize]
    }

    /// The cell of a vertex that it has.
    #[inline(always)]
    pub(crate) fn cell(&self, vertex: u64) -> &T::Cell {
        &self.cells[(vertex - self.vertices.start) as usize]
    }

    /// The item of a vertex that it has.
    #[inline(always)]
    pub(crate) fn load(&self, vertex: u64) -> T {
        T::load(self.cell(vertex))
    }

    /// Lowers a vertex's item; `true`: it was higher.
    #[inline(always)]
    pub(crate) fn lower(&self, vertex: u64, to: T) -> bool {
        let cell = self.cell(vertex);
        to < T::load(cell) && to < T::fetch_min(cell, to)
    }

    /// Stores what it has, and has the vertices of another window from now on; what it holds of
    /// them means nothing.
    pub(crate) fn turn_to(&mut self, window: usize) -> Result<()> {
        self.put_away()?;
        self.vertices = self.windows[window]..self.windows[window + 1];
        Ok(())
    }

    /// Stores what it has, and has no vertices then, unless it is the array.
    pub(crate) fn put_away(&mut self) -> Result<()> {
        let Self { cells, vertices, stored: Some((array, block)), .. } = self else {
            return Ok(());
        };
        for interval in array.within(vertices) {
            array.write(interval, block, |items| {
                let at = (array.bounds()[interval] - vertices.start) as usize;
                items.iter_mut().zip(&cells[at..]).for_each(|(item, cell)| *item = T::load(cell));
            })?;
        }
        self.vertices = 0..0;
        Ok(())
    }

    /// Stores what it has, and has the vertices of another window from now on, with their items;
    /// returns the bytes that moved.
    pub(crate) fn bring(&mut self, window: usize) -> Result<u64> {
        let before = self.vertices.clone();
        if before == (self.windows[window]..self.windows[window + 1]) {
            return Ok(0);
        }
        self.turn_to(window)?;
        let Self { cells, vertices, stored: Some((array, block)), fresh, .. } = self else {
            return Ok(0);
        };
        for interval in array.within(vertices) {
            let at = (array.bounds()[interval] - vertices.start) as usize;
            let cells = &cells[at..at + array.items(interval)];
            let take = |(item, fresh): &mut (T, Vec<bool>)| {
                std::mem::take(&mut fresh[interval]).then_some(*item)
            };
            match fresh.as_mut().and_then(take) {
                Some(item) => cells.iter().for_each(|cell| T::store(cell, item)),
                None => array.read(interval, block, |items| {
                    cells.iter().zip(items).for_each(|(cell, &item)| T::store(cell, item));
                })?,
            }
        }
        let moved = before.end - before.start + vertices.end - vertices.start;
        Ok(moved * size_of::<T>() as u64)
    }

    /// The array, with what the window has.
    pub fn give_back(mut self) -> Result<VertexArray<T>> {
        self.put_away()?;
        let Some((array, mut block)) = self.stored else {
            let count = self.intervals.len().saturating_sub(1);
            let memory = Resident::new(T::items(self.cells), self.intervals, count);
            return Ok(VertexArray { memory, rest: None });
        };
        if let Some((item, fresh)) = self.fresh {
            (0..fresh.len()).filter(|&interval| fresh[interval]).try_for_each(|interval| {
                array.write(interval, &mut block, |items| items.fill(item))
            })?;
        }
        Ok(Arc::into_inner(array).expect("the last window"))
    }
}
