//! [`Window`]: several intervals of a [`VertexArray`] in memory, with atomic cells that workers
//! change at the same time. Where the array is in memory its window has all of it, without a copy,
//! so what is written for windows runs in memory too.

use std::{ops::Range, sync::Arc};

use outercore_storage::{AtomicItem, Block, HugePages, HugeVec, Resident, cut_windows, widest};

use super::vertex_array::VertexArray;
use crate::{plan::Planner, session::Session};
use outercore_graph::Result;

/// Puts an item into all of these cells, on all workers.
pub(super) fn fill<T: AtomicItem>(session: &Session, cells: &[T::Cell], item: T) {
    session.workers.each(cells.len() as u64, 1 << 16, |part| {
        let part = &cells[part.start as usize..part.end as usize];
        part.iter().for_each(|cell| T::store(cell, item));
    });
}

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
        let (windows, cells) =
            (cut_windows(&intervals, u64::MAX), T::cells(array.memory.into_memory()));
        Ok(Self { cells, vertices, windows, intervals, stored: None, fresh: None })
    }

    /// One of several windows of an array on scratch, of at most `most` vertices.
    pub(crate) fn over(array: &Arc<VertexArray<T>>, most: u64, huge: HugePages) -> Result<Self> {
        let intervals = Arc::clone(array.memory.bounds());
        let windows = cut_windows(&intervals, most);
        let cells = HugeVec::zeroed(widest(&windows) as usize, huge)?;
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
        T::lower(self.cell(vertex), to)
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
