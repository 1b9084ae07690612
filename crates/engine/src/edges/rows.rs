//! [`Rows`]: where each vertex's list lies. Degrees are in memory; a list's offset is that of its group of 64 plus the degrees before it.

use outercore_graph::{Direction, Graph, format::INDEX_GROUP};
use outercore_storage::{HugePages, HugeVec, PAGE};

use crate::{
    edges::{cache::PrefixCache, degrees::Degrees},
    error::{EngineError, Result},
    session::{OpenSection, Session},
};

/// The rows of one direction.
pub struct Rows {
    /// The degree of each vertex.
    pub degrees: Degrees,
    index: HugeVec<u64>,
    /// Bytes of a neighbor.
    pub width: usize,
    /// Bytes of a weight; 0: not read.
    pub weight_width: usize,
    pub(super) adjacency: OpenSection,
    pub(super) weights: Option<OpenSection>,
    pub(super) cache: PrefixCache,
    pub(super) weight_cache: PrefixCache,
}

impl Rows {
    /// The sections that must be opened for these rows, in this order; the last one only with weights.
    pub fn sections(direction: Direction, weights: bool) -> Vec<String> {
        let parts: &[&str] = if weights { &["degrees", "index", "adjacency", "weights"] } else { &["degrees", "index", "adjacency"] };
        parts.iter().map(|part| format!("{}.{part}", direction.name())).collect()
    }

    /// Bytes of memory beside caches and checksums.
    pub fn index_bytes(graph: &Graph) -> u64 {
        graph.connected() * 4 + graph.connected() / INDEX_GROUP * 8 + 16
    }

    /// Loads degrees and index. `cache` bytes are for the front of the adjacency (and of the weights, in proportion).
    pub fn load(session: &Session, sections: Vec<OpenSection>, cache: u64) -> Result<Self> {
        Self::load_with(session, sections, cache, Degrees::wide)
    }

    /// The same with degrees of about one byte.
    pub fn load_narrow(session: &Session, sections: Vec<OpenSection>, cache: u64) -> Result<Self> {
        Self::load_with(session, sections, cache, Degrees::narrow)
    }

    fn load_with(
        session: &Session,
        sections: Vec<OpenSection>,
        cache: u64,
        load_degrees: fn(&Session, &OpenSection) -> Result<Degrees>,
    ) -> Result<Self> {
        let mut sections = sections.into_iter();
        let mut next = || sections.next().ok_or_else(|| EngineError::Usage("the rows' sections were not opened".to_owned()));
        let (degrees, index, adjacency) = (next()?, next()?, next()?);
        let weights = next().ok();
        let manifest = session.graph.manifest();
        let vertices = session.graph.connected();
        let huge = session.config.huge_pages;
        let total = adjacency.section.bytes + weights.as_ref().map_or(0, |weights| weights.section.bytes);
        let share = |section: &OpenSection| -> Result<PrefixCache> {
            let bytes = (u128::from(cache) * u128::from(section.section.bytes) / u128::from(total.max(1))) as u64;
            PrefixCache::new((bytes / PrefixCache::PAGE_COST).min(section.section.pages()), huge)
        };
        let (cache, weight_cache) = (share(&adjacency)?, weights.as_ref().map_or_else(|| PrefixCache::new(0, HugePages::Off), share)?);
        let rows = Self {
            degrees: load_degrees(session, &degrees)?,
            index: load_table(session, &index, vertices.div_ceil(INDEX_GROUP) as usize + 1)?,
            width: manifest.neighbor_bytes as usize,
            weight_width: if weights.is_some() { manifest.weight_bytes as usize } else { 0 },
            adjacency,
            weights,
            cache,
            weight_cache,
        };
        Ok(rows)
    }

    /// Edges of all rows.
    pub fn edges(&self) -> u64 {
        self.index[self.index.len() - 1]
    }

    /// Edges before group `group` of 64 vertices.
    pub fn group_offset(&self, group: u64) -> u64 {
        self.index[group as usize]
    }

    /// Edges before `vertex`'s.
    #[inline(always)]
    pub fn offset(&self, vertex: u64) -> u64 {
        let group = vertex / INDEX_GROUP;
        let first = group * INDEX_GROUP;
        self.index[group as usize] + self.degrees.sum(first..vertex)
    }
}

/// The mean of the first weights of the rows: they belong to the hubs, and stand for all.
pub fn mean_weight(graph: &Graph) -> Result<f64> {
    let section = graph.section("out.weights")?;
    let width = graph.manifest().weight_bytes as usize;
    let len = section.bytes.min(1 << 16) as usize / width * width;
    let mut bytes = vec![0; len];
    section.file.read_at(&mut bytes, 0)?;
    let weights = bytes.chunks_exact(width).map(|weight| {
        let mut bits = [0; 8];
        bits[..width].copy_from_slice(weight);
        crate::execute::weight_value(graph.weights(), u64::from_le_bytes(bits))
    });
    Ok(weights.sum::<f64>() / (len / width).max(1) as f64)
}

/// Reads a section of little-endian numbers into memory, in parallel and verified.
pub fn load_table<T: outercore_storage::Pod + bytemuck::Pod + Send + Sync>(
    session: &Session,
    section: &OpenSection,
    len: usize,
) -> Result<HugeVec<T>> {
    let mut table: HugeVec<T> = HugeVec::zeroed(len, session.config.huge_pages)?;
    for_each_part(session, section, &mut table, |_, part, content: &[T]| part.copy_from_slice(content))?;
    Ok(table)
}

/// Reads a section of numbers part by part, in parallel and verified; `take` gets the number of a part's first entry, the same part of `table`, and the numbers.
pub fn for_each_part<T: bytemuck::Pod, U: Send>(
    session: &Session,
    section: &OpenSection,
    table: &mut [U],
    take: impl Fn(u64, &mut [U], &[T]) + Sync,
) -> Result<()> {
    let wanted = (table.len() * size_of::<T>()) as u64;
    if section.section.bytes < wanted {
        let what = format!("it has {} bytes where {wanted} are needed", section.section.bytes);
        return Err(outercore_graph::GraphError::Corrupt { path: section.section.path().to_owned(), what }.into());
    }
    let step = session.buffer_bytes() / PAGE * PAGE / size_of::<T>();
    let parts: Vec<std::sync::Mutex<&mut [U]>> = table.chunks_mut(step).map(std::sync::Mutex::new).collect();
    let results = session.workers.over(
        parts.len() as u64,
        1,
        |index| (index, Ok(())),
        |(worker, result): &mut (usize, Result<()>), range| {
            for index in range {
                let mut part = parts[index as usize].lock().expect("each part has one worker");
                if result.is_ok() {
                    let first = index * step as u64;
                    *result = load_part(session, *worker, section, first * size_of::<T>() as u64, part.len() * size_of::<T>(), |bytes| {
                        take(first, &mut part, bytemuck::cast_slice(bytes));
                    });
                }
            }
        },
    );
    results.into_iter().try_for_each(|(_, result)| result)
}

/// `len` bytes from `offset` on: through a buffer, because a table's end is not a whole page.
fn load_part(session: &Session, worker: usize, section: &OpenSection, offset: u64, len: usize, take: impl FnOnce(&[u8])) -> Result<()> {
    session.check()?;
    let mut reader = session.reader(worker);
    session.counters.useful_bytes.fetch_add(len as u64, std::sync::atomic::Ordering::Relaxed);
    reader.fetch(&session.counters, section, offset, len.next_multiple_of(PAGE), |content| take(&content[..len]))
}
