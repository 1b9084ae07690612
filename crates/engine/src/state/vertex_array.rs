//! [`VertexArray`]: an item for each connected vertex, cut by intervals. As many of the first
//! intervals as there is room for are in memory; the others are on scratch.

use std::{
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use outercore_storage::{
    Block, HugePages, HugeVec, PAGE, Pod, Resident, ScratchFile, backend::IoBackend, lock, widest,
};

use super::scratch::Scratch;
use crate::{plan::Planner, session::Session};
use outercore_graph::{Graph, Result};

/// An item for each vertex. Workers may read and change different intervals at the same time.
pub struct VertexArray<T: Pod> {
    /// The first intervals, and the bounds of all.
    pub(super) memory: Resident<T>,
    /// The others, if there are any.
    pub(super) rest: Option<Rest<T>>,
}

/// The intervals that are on scratch.
pub(super) struct Rest<T: Pod> {
    pub scratch: Scratch,
    pub file: Arc<ScratchFile>,
    /// How often something was stored.
    stores: AtomicU64,
    at_hand: Mutex<Option<AtHand<T>>>,
}

/// The interval that was shown last, with how often something had been stored when it was loaded.
type AtHand<T> = ((usize, u64), Block<T>);

impl<T: Pod> From<HugeVec<T>> for VertexArray<T> {
    /// An array in memory, of one interval.
    fn from(memory: HugeVec<T>) -> Self {
        let bounds = Arc::new([0, memory.len() as u64]);
        Self { memory: Resident::new(memory, bounds, 1), rest: None }
    }
}

impl<T: Pod> VertexArray<T> {
    /// An array whose interval `i` has the vertices `bounds[i]..bounds[i + 1]`. As many of the
    /// first ones as `room` bytes hold stay in memory, which is taken from `room`. What is on
    /// scratch must be written before it is read.
    pub(crate) fn create(
        scratch: &Scratch,
        bounds: impl Into<Arc<[u64]>>,
        room: &mut u64,
    ) -> Result<Self> {
        let bounds = bounds.into();
        let fits = |pair: &&[u64]| {
            let left = room.checked_sub(Self::kept_bytes((pair[1] - pair[0]) as usize));
            *room = left.unwrap_or(*room);
            left.is_some()
        };
        let count = bounds.windows(2).take_while(fits).count();
        let rest = if count + 1 < bounds.len() {
            let file = scratch.file(&bounds[count..], size_of::<T>())?;
            let (scratch, stores) = (scratch.clone(), AtomicU64::new(0));
            Some(Rest { scratch, file, stores, at_hand: Mutex::default() })
        } else {
            None
        };
        Ok(Self { memory: Resident::zeroed(bounds, count, HugePages::Off)?, rest })
    }

    /// States what [`VertexArray::of`] takes.
    pub fn declare(planner: &mut Planner, name: &'static str) -> Result<()> {
        let graph = planner.job.graph;
        let bytes = graph.connected() * size_of::<T>() as u64;
        planner.memory(name, [bytes, Self::memory_of(graph)?]);
        planner.scratch(bytes);
        planner.traffic_external([bytes; 2]);
        Ok(())
    }

    /// The array of a run whose plan declared it, by intervals of the grid: in memory, or on
    /// scratch while values are on storage.
    pub fn of(session: &Session) -> Result<Self> {
        let bounds: Arc<[u64]> = session.graph.grid()?.intervals.as_slice().into();
        if session.decision.is_external() {
            return Self::create(&Scratch::of(session), bounds, &mut 0);
        }
        Self::in_memory(bounds, session.config.huge_pages)
    }

    /// The same with everything in memory, in pages as `huge` says.
    pub(crate) fn in_memory(bounds: Arc<[u64]>, huge: HugePages) -> Result<Self> {
        let count = bounds.len().saturating_sub(1);
        Ok(Self { memory: Resident::zeroed(bounds, count, huge)?, rest: None })
    }

    /// The same items by other intervals, where all are in memory.
    pub(crate) fn cut(self, bounds: &Arc<[u64]>) -> Self {
        if self.rest.is_some() {
            return self;
        }
        let count = bounds.len().saturating_sub(1);
        Self { memory: Resident::new(self.memory.into_memory(), Arc::clone(bounds), count), ..self }
    }

    /// Bytes of memory of an interval of `items` items that stays, and of what guards it.
    pub(crate) fn kept_bytes(items: usize) -> u64 {
        (items * size_of::<T>() + 64) as u64
    }

    /// Bytes of memory of its intervals that stay, with items of this type.
    pub(crate) fn resident_bytes<U: Pod>(&self) -> u64 {
        let bytes = |interval| VertexArray::<U>::kept_bytes(self.items(interval));
        (0..self.memory.count()).map(bytes).sum()
    }

    /// Bytes of memory for an array of `items` items in `intervals` intervals on scratch.
    pub(crate) fn memory(items: u64, intervals: u64) -> u64 {
        (items * size_of::<T>() as u64 / PAGE as u64 + intervals) * 4 + intervals * 8
    }

    /// The same for an array by intervals of the grid.
    pub fn memory_of(graph: &Graph) -> Result<u64> {
        Ok(Self::memory(graph.connected(), graph.grid()?.intervals.len() as u64))
    }

    /// The bounds of the intervals.
    pub fn bounds(&self) -> &[u64] {
        self.memory.bounds()
    }

    /// How many items an interval has.
    pub(crate) fn items(&self, interval: usize) -> usize {
        self.memory.items(interval).len()
    }

    /// How many intervals there are.
    pub(crate) fn intervals(&self) -> usize {
        self.bounds().len().saturating_sub(1)
    }

    /// How many items there are.
    pub(crate) fn len(&self) -> usize {
        self.bounds().last().copied().unwrap_or(0) as usize
    }

    /// All items, where they are in memory. They stay as they are from then on.
    #[inline(always)]
    pub(crate) fn resident(&self) -> Option<&[T]> {
        self.rest.is_none().then(|| self.memory.all())
    }

    /// The intervals whose first vertices are among these.
    pub(crate) fn within(&self, vertices: &Range<u64>) -> Range<usize> {
        let starts = &self.bounds()[..self.intervals()];
        let first = |vertex| starts.partition_point(|&bound| bound < vertex);
        first(vertices.start)..first(vertices.end)
    }

    /// The interval's place in the file.
    fn in_file(&self, interval: usize) -> Option<(&Rest<T>, usize)> {
        let place = interval.checked_sub(self.memory.count())?;
        Some((self.rest.as_ref().expect("it has all intervals"), place))
    }
}

impl VertexArray<u64> {
    /// The items as the bits of numbers.
    pub fn into_floats(self) -> VertexArray<f64> {
        let (bounds, count) = (Arc::clone(self.memory.bounds()), self.memory.count());
        let memory = Resident::new(self.memory.into_memory().into_floats(), bounds, count);
        let rest = self.rest.map(|Rest { scratch, file, stores, .. }| {
            let at_hand = Mutex::default();
            Rest { scratch, file, stores, at_hand }
        });
        VertexArray { memory, rest }
    }
}

impl<T: Pod + Copy> VertexArray<T> {
    /// Shows the items of an interval, in `block` unless they are in memory.
    pub(crate) fn read<R>(
        &self,
        interval: usize,
        block: &mut Block<T>,
        see: impl FnOnce(&[T]) -> R,
    ) -> Result<R> {
        if interval < self.memory.count() {
            return Ok(self.memory.read(interval, see));
        }
        self.load(interval, block)?;
        Ok(see(block.items(self.items(interval))))
    }

    /// Writes the items of an interval, all of which `make` makes; what it finds in their place
    /// means nothing.
    pub(crate) fn write<R>(
        &self,
        interval: usize,
        block: &mut Block<T>,
        make: impl FnOnce(&mut [T]) -> R,
    ) -> Result<R> {
        if interval < self.memory.count() {
            return Ok(self.memory.update(interval, make));
        }
        let result = make(block.items(self.items(interval)));
        self.store(interval, block)?;
        Ok(result)
    }

    /// Changes the items of an interval.
    pub fn update<R>(
        &self,
        interval: usize,
        block: &mut Block<T>,
        change: impl FnOnce(&mut [T]) -> R,
    ) -> Result<R> {
        if interval >= self.memory.count() {
            self.load(interval, block)?;
        }
        self.write(interval, block, change)
    }

    /// Copies the items of an interval into `block`.
    pub(crate) fn load(&self, interval: usize, block: &mut Block<T>) -> Result<()> {
        self.load_front(interval, self.items(interval), block)
    }

    /// Asks for the first `items` items of an interval, which are then on their way into `block`
    /// until they are loaded. Nothing may change them until then.
    pub(crate) fn ask(
        &self,
        (interval, items): (usize, usize),
        block: &mut Block<T>,
        io: IoBackend,
    ) -> Result<()> {
        let Some((rest, place)) = self.in_file(interval) else { return Ok(()) };
        Ok(block.ask((&rest.scratch.disk, io), (&rest.file, place), items)?)
    }

    /// Copies the items of an interval from `block`. What is behind them there, up to a page,
    /// becomes zeros.
    pub(crate) fn store(&self, interval: usize, block: &mut Block<T>) -> Result<()> {
        self.store_front(interval, self.items(interval), block)
    }

    /// The same for its first `items` items, which are those that were stored.
    pub(crate) fn load_front(
        &self,
        interval: usize,
        items: usize,
        block: &mut Block<T>,
    ) -> Result<()> {
        let Some((rest, place)) = self.in_file(interval) else {
            let copy = |kept: &[T]| block.items(items).copy_from_slice(&kept[..items]);
            self.memory.read(interval, copy);
            return Ok(());
        };
        block.load((&rest.file, place), items)?;
        let useful = (items * size_of::<T>()) as u64;
        rest.scratch.counters.useful_bytes.fetch_add(useful, Relaxed);
        Ok(())
    }

    /// The same for its first `items` items.
    pub(crate) fn store_front(
        &self,
        interval: usize,
        items: usize,
        block: &mut Block<T>,
    ) -> Result<()> {
        let Some((rest, place)) = self.in_file(interval) else {
            let copy = |kept: &mut [T]| kept[..items].copy_from_slice(block.items(items));
            self.memory.update(interval, copy);
            return Ok(());
        };
        let pages = block.pages(items);
        pages[items * size_of::<T>()..].fill(0);
        rest.stores.fetch_add(1, Relaxed);
        Ok(rest.file.write(place, pages)?)
    }

    /// The most items of an interval.
    pub(crate) fn widest(&self) -> usize {
        widest(self.bounds()) as usize
    }

    /// Memory for an interval on its way; none where all items are in memory.
    pub fn block(&self) -> Result<Block<T>> {
        Ok(Block::new(if self.rest.is_some() { self.widest() } else { 0 })?)
    }

    /// Shows an interval, with the number of its first item. Shown again, it is not read again.
    pub(crate) fn with<R>(&self, interval: usize, see: impl FnOnce(u64, &[T]) -> R) -> Result<R> {
        let (first, items) = (self.bounds()[interval], self.items(interval));
        let Some((rest, _)) = self.in_file(interval) else {
            return Ok(self.memory.read(interval, |items| see(first, items)));
        };
        let mut guard = lock(&rest.at_hand);
        let wanted = (interval, rest.stores.load(Relaxed));
        const NONE: (usize, u64) = (usize::MAX, 0);
        let (at_hand, block) = match &mut *guard {
            Some(at_hand) => at_hand,
            none => none.insert((NONE, self.block()?)),
        };
        if *at_hand != wanted {
            *at_hand = NONE;
            self.load(interval, block)?;
            *at_hand = wanted;
        }
        Ok(see(first, block.items(items)))
    }
}
