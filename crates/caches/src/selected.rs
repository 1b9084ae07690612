//! [`SelectedLists`]: whole lists of vertices that were selected before, in memory from the
//! beginning of a run to its end: the static cache of BASC (Lee et al., ATC'19, section 3).
//!
//! Runs on one opened graph share them: they stay with the graph until a run asks for others, or
//! for none.
//!
//! Nothing is read along, nothing is replaced: what a page cache would hold of a list's page and
//! nobody wants takes no room here. Memory: what it is given, two bits for each vertex and
//! direction within.

use std::{
    sync::{Arc, Mutex},
    time::Instant,
};

use outercore_graph::{
    Direction, Graph, Result, Table, error,
    format::{Group, INDEX_GROUP, List, RowIndex},
};
use outercore_storage::{Bitmap, HugePages, HugeVec, lock, threads};
use serde::Serialize;

use crate::{
    Kept, ListCache, degrees,
    sidecar::{Found, Saved},
};

/// Lists that are not further apart than this are read in one go, up to so many bytes.
const GAP: u64 = 16 << 10;
const PIECE: u64 = 1 << 20;

/// Lists of selected vertices.
pub struct SelectedLists {
    sides: Arc<Vec<(Direction, SideLists)>>,
    /// What was loaded.
    pub report: SelectedReport,
}

/// What was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SelectedReport {
    /// Lists in memory, of all directions.
    pub lists: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes that were read to load them. A run's `bytes_read` is without them: a cache that is
    /// loaded once serves many runs.
    pub load_bytes_read: u64,
    /// Seconds that loading them took.
    pub load_seconds: f64,
    /// Seconds that it had taken to select them.
    pub select_seconds: f64,
    /// Whether an earlier run on the same opened graph had loaded them.
    pub is_shared: bool,
    /// Whether they were selected for this very graph, not for an earlier version of it.
    pub is_current: bool,
    /// Bytes that were given, and are better spent on pages, if there is a page cache.
    pub left_to_pages: u64,
    /// The share of the selected vertices whose lists are about as long as they were.
    pub valid_share: f64,
}

/// Lists of one direction.
struct SideLists {
    held: Bitmap,
    /// Entries that are here before each group of vertices.
    before: Vec<u64>,
    neighbors: HugeVec<u8>,
    weights: HugeVec<u8>,
    width: usize,
    weight_width: usize,
}

/// What was found of a direction, and how much of that is as it was.
struct Chosen {
    lists: Vec<Found>,
    valid: u64,
}

impl SelectedReport {
    /// Refuses a selection of another graph; says what is left of one of an earlier version.
    fn is_taken(&self, saved: &Saved) -> Result<()> {
        if self.is_current {
            return Ok(());
        }
        if self.valid_share < 0.5 {
            return saved.is_of_another();
        }
        let (path, share) = (saved.path.display(), self.valid_share * 100.0);
        tracing::warn!(
            "{path} was selected for an earlier version of the graph; {share:.1} % of its \
             vertices are as they were"
        );
        Ok(())
    }
}

/// What decides which lists are loaded: the selection's checksum, the sections, the bytes, and
/// whether pages have a share.
type Asked = (u32, Vec<String>, u64, bool, HugePages);

impl SelectedLists {
    /// What is selected beside the graph, as [`load`](Self::load) has it, or as the last run on the
    /// graph did; nothing for 0 bytes.
    pub fn shared(
        graph: &Graph,
        sections: &[String],
        bytes: u64,
        paged: bool,
        (threads, huge): (usize, HugePages),
    ) -> Result<Option<Self>> {
        let begun = Instant::now();
        let before = graph.shared();
        if bytes == 0 {
            graph.share(None);
            return Ok(None);
        }
        let parts = ["adjacency", "weights"];
        let own =
            |name: &&String| name.rsplit('.').next().is_some_and(|part| parts.contains(&part));
        let sections: Vec<String> = sections.iter().filter(own).cloned().collect();
        let checksum = Saved::of(&graph.counted_apart())?.checksum();
        let asked: Asked = (checksum, sections, bytes, paged, huge);
        if let Some(lists) = before.as_ref().and_then(|any| any.downcast_ref::<(Asked, Self)>())
            && lists.0 == asked
        {
            let report = SelectedReport {
                load_bytes_read: 0,
                load_seconds: begun.elapsed().as_secs_f64(),
                is_shared: true,
                ..lists.1.report
            };
            return Ok(Some(Self { sides: lists.1.sides.clone(), report }));
        }
        // Two of them never are in memory.
        drop(before);
        graph.share(None);
        let loaded = Self::load(graph, &asked.1, bytes, paged, (threads, huge))?;
        let same = Self { sides: loaded.sides.clone(), report: loaded.report };
        graph.share(Some(Arc::new((asked, same))));
        Ok(Some(loaded))
    }

    /// Loads what is selected beside the graph: of each direction that has its lists among these
    /// sections, as much as fits into its share of `bytes`, what was chosen first before the rest.
    /// Beside a page cache (`paged`) no more than is worth it: pages have the rest.
    pub fn load(
        graph: &Graph,
        sections: &[String],
        bytes: u64,
        paged: bool,
        (threads, huge): (usize, HugePages),
    ) -> Result<Self> {
        let (begun, graph) = (Instant::now(), &graph.counted_apart());
        let saved = Saved::of(graph)?;
        let has = |direction: Direction, part: &str| {
            sections.contains(&format!("{}.{part}", direction.name()))
        };
        let directions = [Direction::Out, Direction::In];
        let directions: Vec<_> =
            directions.into_iter().filter(|&it| has(it, "adjacency")).collect();
        let (mut sides, mut report) = (Vec::new(), SelectedReport::default());
        report.is_current = saved.about.graph == graph.manifest().uuid;
        let (mut valid, mut selected, mut used) = (0, 0, 0);
        for &direction in &directions {
            let Some(found) = saved.find(graph, direction)? else { continue };
            let mut chosen = located(graph, direction, found)?;
            valid += chosen.valid;
            let about = saved.about.sides.iter().find(|side| side.direction == direction);
            selected += about.map_or(0, |side| side.lists);
            let share = bytes / directions.len() as u64;
            let share = about.filter(|_| paged).map_or(share, |side| saved.worth(side, share));
            let room = share.saturating_sub(Self::overhead(graph));
            let weighted = has(direction, "weights");
            chosen.fit(entry_bytes(graph, weighted), room);
            if chosen.lists.is_empty() {
                continue;
            }
            let side = SideLists::load(graph, direction, &chosen.lists, (weighted, threads, huge))?;
            report.lists += chosen.lists.len() as u64;
            report.bytes += (side.neighbors.len() + side.weights.len()) as u64;
            used += Self::overhead(graph) + (side.neighbors.len() + side.weights.len()) as u64;
            sides.push((direction, side));
        }
        report.left_to_pages = if paged { bytes.saturating_sub(used) } else { 0 };
        report.valid_share = if selected == 0 { 1.0 } else { valid as f64 / selected as f64 };
        report.is_taken(&saved)?;
        report.select_seconds = saved.about.seconds;
        report.load_bytes_read =
            graph.disk().counters().bytes_read.load(std::sync::atomic::Ordering::Relaxed);
        report.load_seconds = begun.elapsed().as_secs_f64();
        Ok(Self { sides: Arc::new(sides), report })
    }

    /// Bytes of memory of a direction beside its lists.
    pub fn overhead(graph: &Graph) -> u64 {
        Bitmap::bytes(graph.connected()) + (graph.connected() / INDEX_GROUP + 1) * 8
    }

    /// The lists of a section, if some are here.
    pub fn of(&self, section: &str) -> Option<&dyn ListCache> {
        let name = section.strip_suffix(".adjacency")?;
        let side = self.sides.iter().find(|(direction, _)| direction.name() == name)?;
        Some(&side.1 as &dyn ListCache)
    }
}

/// Bytes of an entry of a list.
fn entry_bytes(graph: &Graph, weighted: bool) -> u64 {
    let manifest = graph.manifest();
    u64::from(manifest.neighbor_bytes) + if weighted { u64::from(manifest.weight_bytes) } else { 0 }
}

/// Where the lists of vertices lie, in ascending order of the vertices. Vertices without edges are
/// left out. How many have about as many as they had is counted.
fn located(graph: &Graph, direction: Direction, mut found: Vec<Found>) -> Result<Chosen> {
    found.sort_unstable_by_key(|list| list.vertex);
    let (mut at, mut edges, mut valid) = (0, 0u64, 0);
    degrees::for_each(graph, direction, |first, batch| {
        for (vertex, &degree) in (first..).zip(batch) {
            let degree = u32::from_le_bytes(degree);
            if let Some(list) = found.get_mut(at).filter(|list| list.vertex == vertex) {
                let before = std::mem::replace(&mut list.degree, degree);
                valid += u64::from(before.abs_diff(degree) <= (before / 4).max(1));
                list.first = edges;
                at += 1;
            }
            edges += u64::from(degree);
        }
    })?;
    found.retain(|list| list.degree > 0);
    Ok(Chosen { lists: found, valid })
}

impl Chosen {
    /// Keeps what fits into `room` bytes, in the order of the choice.
    fn fit(&mut self, entry: u64, mut room: u64) {
        self.lists.sort_unstable_by_key(|list| list.order);
        self.lists.retain(|list| {
            let bytes = u64::from(list.degree) * entry;
            let fits = bytes <= room;
            room -= if fits { bytes } else { 0 };
            fits
        });
        self.lists.sort_unstable_by_key(|list| list.vertex);
    }
}

impl SideLists {
    fn load(
        graph: &Graph,
        direction: Direction,
        lists: &[Found],
        (weighted, threads, huge): (bool, usize, HugePages),
    ) -> Result<Self> {
        let (manifest, connected) = (graph.manifest(), graph.connected());
        let width = manifest.neighbor_bytes as usize;
        let weight_width = if weighted { manifest.weight_bytes as usize } else { 0 };
        let entries: usize = lists.iter().map(|list| list.degree as usize).sum();
        let mut side = Self {
            held: Bitmap::new(connected, HugePages::Off)?,
            before: Vec::with_capacity((connected / INDEX_GROUP) as usize + 1),
            neighbors: HugeVec::zeroed(entries * width, huge)?,
            weights: HugeVec::zeroed(entries * weight_width, huge)?,
            width,
            weight_width,
        };
        let (mut at, mut sum) = (0, 0);
        for group in 0..=connected / INDEX_GROUP {
            side.before.push(sum);
            while let Some(list) = lists.get(at).filter(|list| list.vertex / INDEX_GROUP == group) {
                side.held.insert(list.vertex);
                sum += u64::from(list.degree);
                at += 1;
            }
        }
        let name = |part: &str| format!("{}.{part}", direction.name());
        read(&graph.table(&name("adjacency"))?, lists, (width, threads), &mut side.neighbors)?;
        if weight_width > 0 {
            let table = graph.table(&name("weights"))?;
            read(&table, lists, (weight_width, threads), &mut side.weights)?;
        }
        Ok(side)
    }
}

/// Reads lists of a section, ascending, one behind the other.
fn read(
    table: &Table,
    lists: &[Found],
    (width, threads): (usize, usize),
    mut to: &mut [u8],
) -> Result<()> {
    let width = width as u64;
    let start = |list: &Found| list.first * width;
    let end = |list: &Found| (list.first + u64::from(list.degree)) * width;
    let (mut parts, mut rest) = (Vec::new(), lists);
    while let Some(first) = rest.first() {
        let near = rest.windows(2).take_while(|pair| {
            start(&pair[1]) <= end(&pair[0]) + GAP && end(&pair[1]) <= start(first) + PIECE
        });
        let (part, after) = rest.split_at(near.count() + 1);
        let bytes: u64 = part.iter().map(|list| end(list) - start(list)).sum();
        let (own, others) = std::mem::take(&mut to).split_at_mut(bytes as usize);
        parts.push((part, own));
        (rest, to) = (after, others);
    }
    let parts = Mutex::new(parts.into_iter());
    let work = |_| {
        while let Some((part, mut own)) = { lock(&parts).next() } {
            let (first, last) = (start(&part[0]), end(&part[part.len() - 1]));
            let bytes = table.read(first, (last - first) as usize)?;
            for list in part {
                let list = &bytes[(start(list) - first) as usize..(end(list) - first) as usize];
                own[..list.len()].copy_from_slice(list);
                own = &mut own[list.len()..];
            }
        }
        Ok(())
    };
    error::all(threads::at_once(threads, work)?).map(drop)
}

impl ListCache for SideLists {
    fn held(&self, _: &RowIndex, (group, bits): Group) -> u64 {
        self.held.word(group) & bits
    }

    fn show(
        &self,
        index: &RowIndex,
        (group, bits): Group,
        _: usize,
        visit: &mut dyn FnMut(u64, List),
    ) -> u64 {
        let (mut at, mut hits) = (self.before[group as usize] as usize, 0);
        index.for_lists((group, self.held.word(group)), |vertex, _, count| {
            let own = at..at + count as usize;
            at = own.end;
            if bits >> (vertex % INDEX_GROUP) & 1 == 1 {
                visit(
                    vertex,
                    List {
                        neighbors: &self.neighbors[own.start * self.width..own.end * self.width],
                        weights: &self.weights
                            [own.start * self.weight_width..own.end * self.weight_width],
                        width: self.width,
                        weight_width: self.weight_width,
                    },
                );
                hits += 1;
            }
        });
        hits
    }

    fn kept(&self) -> Kept {
        Kept::Selected
    }
}
