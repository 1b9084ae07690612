//! [`Graph`]: an opened, immutable graph; cheap to share. Sizes, sections, and the way between
//! original and internal ids.

mod sections;

use std::{
    any::Any,
    collections::BTreeMap,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use outercore_storage::{DirLock, Disk, PageSums, StorageError, lock};

use self::sections::{OpenedSection, open_sections};
pub use self::sections::{SectionFile, Table};
use crate::{
    build::is_between_names,
    error::{GraphError, Result},
    format::{GridDirectory, GridWeights, IdTable, Manifest, Tile, no_graph},
    types::{Direction, Key, Keys, Layout, WeightKind},
};

/// An opened graph.
#[derive(Clone)]
pub struct Graph {
    inner: Arc<Inner>,
    /// Counts what is read through this handle and its clones.
    disk: Disk,
}

struct Inner {
    path: PathBuf,
    manifest: Manifest,
    /// The sections' files, in the order of the manifest. They stay open: a graph that is replaced
    /// is moved aside, and readers keep what they opened.
    files: Vec<OpenedSection>,
    /// The checksums of the id tables that were used so far.
    id_sums: Mutex<BTreeMap<&'static str, Arc<PageSums>>>,
    /// The grid's directory, once it was read.
    grid: Mutex<Option<Arc<GridDirectory>>>,
    /// How many vertices at the front may have that many edges, as far as it was asked.
    fronts: Mutex<BTreeMap<u64, u64>>,
    /// What runs on it share.
    shared: Mutex<Option<Shared>>,
    lock: DirLock,
}

/// What one run has loaded, for the next.
type Shared = Arc<dyn Any + Send + Sync>;

impl Graph {
    /// Opens the graph at `path`: reads and verifies the manifest, and that every file has its
    /// length. All its files are open from then on, and so it stays this graph if another one gets
    /// its name. One that is replaced while it is opened is left for the new one.
    pub fn open(disk: &Disk, path: &Path) -> Result<Self> {
        const ATTEMPTS: usize = 64;
        for _ in 0..ATTEMPTS {
            let lock = match lock_patiently(disk, path) {
                Err(error) if error.kind() == Some(ErrorKind::NotFound) => {
                    return no_graph(disk, path);
                }
                lock => lock?,
            };
            match open_sections(disk, &lock) {
                Ok((manifest, files)) => return Ok(Self::of(disk, manifest, files, lock)),
                Err(error) if disk.is_in_place(&lock)? => return Err(error),
                Err(_) => {}
            }
        }
        Err(StorageError::Locked { path: path.to_owned() }.into())
    }

    fn of(disk: &Disk, manifest: Manifest, files: Vec<OpenedSection>, lock: DirLock) -> Self {
        let inner = Inner {
            path: lock.path().to_owned(),
            manifest,
            files,
            id_sums: Mutex::default(),
            grid: Mutex::default(),
            fronts: Mutex::default(),
            shared: Mutex::default(),
            lock,
        };
        Self { inner: Arc::new(inner), disk: disk.clone() }
    }

    /// Whether its name still leads to it.
    pub(crate) fn is_in_place(&self) -> Result<bool> {
        Ok(self.disk.is_in_place(&self.inner.lock)?)
    }

    /// The same graph, whose reads and scratch are counted apart, from zero: a handle for one run.
    pub fn counted_apart(&self) -> Self {
        Self { inner: self.inner.clone(), disk: self.disk.counted_apart() }
    }

    /// What was kept with it for runs to come, through any of its handles.
    pub fn shared(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        outercore_storage::lock(&self.inner.shared).clone()
    }

    /// Keeps something with it for runs to come, in the place of what was kept before.
    pub fn share(&self, shared: Option<Arc<dyn Any + Send + Sync>>) {
        *outercore_storage::lock(&self.inner.shared) = shared;
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The disk it is read from.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Everything the manifest says.
    pub fn manifest(&self) -> &Manifest {
        &self.inner.manifest
    }

    /// All vertices.
    pub fn vertices(&self) -> u64 {
        self.inner.manifest.vertices
    }

    /// Vertices with at least one edge: the length of every vertex array.
    pub fn connected(&self) -> u64 {
        self.inner.manifest.connected
    }

    /// Vertices without edges.
    pub fn isolated(&self) -> u64 {
        self.vertices() - self.connected()
    }

    /// Edges, as the user counts them.
    pub fn edges(&self) -> u64 {
        self.inner.manifest.edges
    }

    /// Whether edges have a direction.
    pub fn directed(&self) -> bool {
        self.inner.manifest.directed
    }

    /// The weights' type.
    pub fn weights(&self) -> WeightKind {
        self.inner.manifest.weights
    }

    /// The weights of a grid that has every edge.
    pub fn grid_weights(&self) -> GridWeights {
        let Manifest { weights, weight_bytes, arcs, .. } = *self.manifest();
        GridWeights::new(weights, weight_bytes.into(), arcs)
    }

    /// The direction whose rows hold the edges in `direction`: in an undirected graph they are the
    /// same. `None` where there is no transpose.
    pub fn rows(&self, direction: Direction) -> Option<Direction> {
        match direction {
            Direction::Out => Some(Direction::Out),
            Direction::In if !self.directed() => Some(Direction::Out),
            Direction::In if self.inner.manifest.transpose => Some(Direction::In),
            Direction::In => None,
        }
    }

    /// How the edges lie that passes over all of them read.
    pub fn layout(&self) -> Layout {
        self.inner.manifest.layout
    }

    /// Whether the grid has every edge. Where it has not, a scan sees some of them, and
    /// [`Graph::pass_rows`] has the others.
    pub fn has_whole_grid(&self) -> bool {
        self.layout().is_grid()
    }

    /// The prefix of the lists that a pass over all edges must read beside the grid; `None`: the
    /// grid has every edge.
    pub fn pass_rows(&self) -> Option<&'static str> {
        match self.layout() {
            Layout::Grid => None,
            Layout::Row => Some("out"),
            Layout::Hybrid => Some("row"),
        }
    }

    /// A section. What is read of it counts for this handle of the graph.
    pub fn section(&self, name: &str) -> Result<SectionFile> {
        let mut entries = self.manifest().sections.iter().zip(&self.inner.files);
        let (entry, (file, sums)) =
            entries.find(|(entry, _)| entry.name == name).ok_or_else(|| GraphError::Corrupt {
                path: self.path().join(crate::format::MANIFEST),
                what: format!("section {name} is missing"),
            })?;
        Ok(SectionFile {
            file: Arc::new(file.counted_by(self.disk())),
            name: entry.name.clone(),
            bytes: entry.bytes,
            sums: match sums {
                Ok(sums) => Ok(sums.counted_by(self.disk())),
                Err(error) => Err(error.duplicate()),
            },
            sums_crc: entry.sums_crc,
        })
    }

    /// A section with its checksums.
    pub fn table(&self, name: &str) -> Result<Table> {
        let section = self.section(name)?;
        let sums = Arc::new(section.sums(self.disk())?);
        Ok(Table { section, sums })
    }

    /// An id table; its checksums are read once.
    fn ids(&self, name: &'static str) -> Result<Table> {
        let mut known = lock(&self.inner.id_sums);
        if let Some(sums) = known.get(name) {
            return Ok(Table { section: self.section(name)?, sums: Arc::clone(sums) });
        }
        let table = self.table(name)?;
        known.insert(name, Arc::clone(&table.sums));
        Ok(table)
    }

    /// Reads a whole small section, verified.
    pub fn read_section(&self, name: &str) -> Result<Vec<u8>> {
        self.section(name)?.read_all(self.disk())
    }

    /// What `find` says of the number of vertices at the front that may have `degree` edges or
    /// more; it is asked once.
    pub(crate) fn known_front(
        &self,
        degree: u64,
        find: impl FnOnce() -> Result<u64>,
    ) -> Result<u64> {
        let mut known = lock(&self.inner.fronts);
        if let Some(&front) = known.get(&degree) {
            return Ok(front);
        }
        let front = find()?;
        known.insert(degree, front);
        Ok(front)
    }

    /// The directory of the grid; it is read and verified once.
    pub fn grid(&self) -> Result<Arc<GridDirectory>> {
        let mut known = lock(&self.inner.grid);
        if let Some(directory) = &*known {
            return Ok(directory.clone());
        }
        let directory = Arc::new(self.read_grid()?);
        *known = Some(directory.clone());
        Ok(directory)
    }

    fn read_grid(&self) -> Result<GridDirectory> {
        let words = |name: &str| -> Result<Vec<u8>> { self.read_section(name) };
        let intervals = words("grid.stripes")?
            .chunks_exact(8)
            .map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
            .collect();
        let tiles: Vec<Tile> =
            words("grid.tiles")?.chunks_exact(40).map(bytemuck::pod_read_unaligned).collect();
        if let Some(tile) = tiles.iter().find(|tile| !tile.code().is_sound()) {
            let path = self.section("grid.tiles")?.path().to_owned();
            return Err(GraphError::Corrupt {
                path,
                what: format!("there are no words like {:?}", tile.code()),
            });
        }
        let chunks =
            words("grid.chunks")?.chunks_exact(16).map(bytemuck::pod_read_unaligned).collect();
        Ok(GridDirectory { intervals, tiles, chunks })
    }

    /// The folder in which scratch files are made: beside the graph.
    pub fn scratch_folder(&self) -> PathBuf {
        let parent = self.path().parent().filter(|folder| !folder.as_os_str().is_empty());
        parent.map_or_else(|| PathBuf::from("."), PathBuf::from)
    }

    /// The original id of internal id `vertex`.
    pub fn key_of(&self, vertex: u64) -> Result<Key> {
        let rank = self.id_entry("ids.rank", vertex)?;
        self.key_at(rank)
    }

    /// The internal id of an original id, if there is such a vertex. Where ids are strings, a
    /// number is the string that writes it; where they are numbers, digits are the number.
    pub fn find(&self, key: &Key) -> Result<Option<u64>> {
        let rank = match (&self.manifest().ids, key.as_number()) {
            (IdTable::Range { first }, Some(number)) => {
                number.checked_sub(*first).filter(|&rank| rank < self.vertices())
            }
            (IdTable::Numbers, Some(number)) => self.search(&Key::Number(number))?,
            (IdTable::Range { .. } | IdTable::Numbers, None) => None,
            (IdTable::Names, _) => self.search(&Key::Name(key.to_string()))?,
        };
        rank.map(|rank| self.id_entry("ids.vertex", rank)).transpose()
    }

    /// Binary search for a key's rank.
    fn search(&self, wanted: &Key) -> Result<Option<u64>> {
        let (mut low, mut high) = (0, self.vertices());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.key_at(middle)?.cmp(wanted) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Ok(Some(middle)),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }

    fn id_entry(&self, section: &'static str, index: u64) -> Result<u64> {
        let width = self.manifest().id_bytes as usize;
        if width == 0 {
            return Ok(index);
        }
        let bytes = self.ids(section)?.read(index * width as u64, width)?;
        Ok(numbers(&bytes, width)[0])
    }

    fn key_at(&self, rank: u64) -> Result<Key> {
        Ok(match &self.manifest().ids {
            IdTable::Range { first } => Key::Number(first + rank),
            IdTable::Numbers | IdTable::Names => self.keys(rank, 1)?.get(0),
        })
    }

    /// The keys of `count` ranks from `first` on.
    fn keys(&self, first: u64, count: usize) -> Result<Keys> {
        match &self.manifest().ids {
            IdTable::Range { first: base } => {
                Ok(Keys::Numbers((base + first..base + first + count as u64).collect()))
            }
            IdTable::Numbers => {
                Ok(Keys::Numbers(numbers(&self.ids("ids.keys")?.read(first * 8, count * 8)?, 8)))
            }
            IdTable::Names => {
                let lead = u64::from(first > 0);
                let mut ends = numbers(
                    &self.ids("ids.ends")?.read((first - lead) * 8, (count + lead as usize) * 8)?,
                    8,
                );
                let start = if lead == 1 { ends.remove(0) } else { 0 };
                let keys = self.ids("ids.keys")?;
                if ends
                    .iter()
                    .try_fold(start, |last, &end| (end >= last).then_some(end))
                    .is_none_or(|end| end > keys.section.bytes)
                {
                    return Err(GraphError::Corrupt {
                        path: keys.section.path().to_owned(),
                        what: "names do not end one after the other".to_owned(),
                    });
                }
                let len = ends.last().map_or(0, |end| end - start);
                let bytes = keys.read(start, len as usize)?;
                ends.iter_mut().for_each(|end| *end -= start);
                Ok(Keys::Names { bytes, ends })
            }
        }
    }

    /// The rank of each connected vertex, of a graph with at most 2^32 vertices; `None`: ranks and
    /// internal ids are the same.
    pub fn ranks(&self) -> Result<Option<Vec<u32>>> {
        const BATCH: u64 = 1 << 16;
        let width = self.manifest().id_bytes as usize;
        if width == 0 {
            return Ok(None);
        }
        let (table, vertices) = (self.ids("ids.rank")?, self.vertices());
        let mut ranks = Vec::with_capacity(self.connected() as usize);
        for first in (0..self.connected()).step_by(BATCH as usize) {
            let count = (self.connected() - first).min(BATCH) as usize;
            let batch = numbers(&table.read(first * width as u64, count * width)?, width);
            if let Some(rank) = batch.iter().find(|&&rank| rank >= vertices) {
                return Err(GraphError::Corrupt {
                    path: table.section.path().to_owned(),
                    what: format!("it has rank {rank}, and there are {vertices} vertices"),
                });
            }
            ranks.extend(batch.iter().map(|&rank| rank as u32));
        }
        Ok(Some(ranks))
    }

    /// The internal id of every rank, in order, at most `batch` at a time.
    pub fn for_each_rank(
        &self,
        batch: usize,
        visit: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        let width = self.manifest().id_bytes as usize;
        let mut first = 0;
        while first < self.vertices() {
            let count = (self.vertices() - first).min(batch as u64) as usize;
            let vertices: Vec<u64> = if width == 0 {
                (first..first + count as u64).collect()
            } else {
                numbers(&self.ids("ids.vertex")?.read(first * width as u64, count * width)?, width)
            };
            visit(&vertices)?;
            first += count as u64;
        }
        Ok(())
    }

    /// Every vertex in ascending order of original id: original ids and internal ids, at most
    /// `batch` at a time.
    pub fn for_each_key(
        &self,
        batch: usize,
        visit: &mut dyn FnMut(&Keys, &[u64]) -> Result<()>,
    ) -> Result<()> {
        let mut first = 0;
        self.for_each_rank(batch, &mut |vertices| {
            visit(&self.keys(first, vertices.len())?, vertices)?;
            first += vertices.len() as u64;
            Ok(())
        })
    }
}

/// A shared lock. A process that publishes a graph keeps its lock for a moment longer, and so does
/// a child of that process between fork and exec. Where names cannot be exchanged in one step, a
/// graph that is replaced has no name for a moment. So a refusal counts only when it lasts.
fn lock_patiently(disk: &Disk, path: &Path) -> outercore_storage::Result<DirLock> {
    const ATTEMPTS: u32 = 20;
    for _ in 1..ATTEMPTS {
        match disk.lock_shared(path) {
            Err(StorageError::Locked { .. }) => {}
            Err(error)
                if error.kind() == Some(ErrorKind::NotFound) && is_between_names(disk, path) => {}
            other => return other,
        }
        std::thread::sleep(std::time::Duration::from_millis(25))
    }
    disk.lock_shared(path)
}

/// Little-endian numbers of `width` bytes, at most 8.
pub(crate) fn numbers(bytes: &[u8], width: usize) -> Vec<u64> {
    let mut numbers = Vec::new();
    append_numbers(&mut numbers, bytes, width);
    numbers
}

/// The same, behind others.
pub(crate) fn append_numbers(numbers: &mut Vec<u64>, bytes: &[u8], width: usize) {
    /// With a loop of its own for each width: copies of a length that the compiler knows.
    fn of<const WIDTH: usize>(numbers: &mut Vec<u64>, bytes: &[u8]) {
        let number = |item: &[u8; WIDTH]| {
            let mut number = [0; 8];
            number[..WIDTH].copy_from_slice(item);
            u64::from_le_bytes(number)
        };
        numbers.extend(bytes.as_chunks().0.iter().map(number));
    }
    let of = [of::<1>, of::<2>, of::<3>, of::<4>, of::<5>, of::<6>, of::<7>, of::<8>][width - 1];
    of(numbers, bytes);
}
