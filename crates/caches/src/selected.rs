//! [`SelectedLists`]: whole lists of vertices that were selected before, in memory from the
//! beginning of a run to its end: the static cache of BASC (Lee et al., ATC'19, section 3).
//!
//! Runs on one opened graph share them: they stay with the graph until a run asks for others, or
//! for none.
//!
//! Nothing is read along, nothing is replaced: what a page cache would hold of a list's page and
//! nothing wants takes no room here. Lists are [`packed`](crate::packed), and unpacked when they
//! are shown. Memory: what it is given, two bits for each vertex and direction within, three where
//! there are weights.

use std::{
    sync::{Arc, Mutex},
    time::Instant,
};

use outercore_graph::{
    Direction, Graph, Result, Table, error,
    format::{Group, INDEX_GROUP, List, RowIndex},
};
use outercore_storage::{Bitmap, HugePages, HugeVec, PageCache, lock, threads};
use serde::Serialize;

use crate::{
    Kept, ListCache, Runs, degrees,
    packed::{Packed, SLACK, Unpacked},
    sidecar::{Found, Saved, Side},
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
    /// Bytes that are here before each group of vertices, and entries, where there are weights.
    before: Vec<u64>,
    entries: Vec<u64>,
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
        is_valid(self.valid_share, saved)?;
        let (path, share) = (saved.path.display(), self.valid_share * 100.0);
        tracing::warn!(
            "{path} was selected for an earlier version of the graph; {share:.1} % of its \
             vertices are as they were"
        );
        Ok(())
    }
}

/// Refuses a selection of which too little is as it was: it was made for another graph.
fn is_valid(share: f64, saved: &Saved) -> Result<()> {
    if share < 0.5 { saved.is_of_another() } else { Ok(()) }
}

/// What decides which lists are loaded: the selection's checksum, the sections, the bytes, and what
/// they are for.
type Asked = (u32, Vec<String>, u64, For, HugePages);

/// Whether pages have a share, and which runs it is for.
type For = (bool, Runs);

impl SelectedLists {
    /// Those of a run that begins at so many vertices, and its page cache, of blocks: of so many
    /// bytes each, if any, and what lists are not worth is the pages'.
    pub fn with_pages(
        (graph, sections): (&Graph, &[String]),
        (lists, pages, block): (Option<u64>, Option<u64>, u64),
        begins: usize,
        (threads, huge): (usize, HugePages),
    ) -> Result<(Option<Self>, Option<PageCache>)> {
        let serves = (pages.is_some(), Runs::that_begin_at(begins));
        let selected = Self::shared(graph, sections, lists, serves, (threads, huge))?;
        let spare = selected.as_ref().map_or(0, |selected| selected.report.left_to_pages);
        let pages = pages.map(|bytes| PageCache::new(bytes + spare, block, huge)).transpose()?;
        Ok((selected, pages))
    }

    /// What is selected beside the graph, as [`load`](Self::load) has it, or as the last run on the
    /// graph did; nothing for no bytes.
    fn shared(
        graph: &Graph,
        sections: &[String],
        bytes: Option<u64>,
        what: For,
        (threads, huge): (usize, HugePages),
    ) -> Result<Option<Self>> {
        let begun = Instant::now();
        let before = graph.shared();
        let Some(bytes) = bytes.filter(|&bytes| bytes > 0) else {
            graph.share(None);
            return Ok(None);
        };
        let parts = ["adjacency", "weights"];
        let own =
            |name: &&String| name.rsplit('.').next().is_some_and(|part| parts.contains(&part));
        let sections: Vec<String> = sections.iter().filter(own).cloned().collect();
        let checksum = Saved::checksum(&graph.counted_apart())?;
        let asked: Asked = (checksum, sections, bytes, what, huge);
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
        let loaded = Self::load(graph, &asked.1, bytes, what, (threads, huge))?;
        let same = Self { sides: loaded.sides.clone(), report: loaded.report };
        graph.share(Some(Arc::new((asked, same))));
        Ok(Some(loaded))
    }

    /// Refuses what [`load`](Self::load) would refuse as a selection of another graph, for runs
    /// that begin at so many vertices. Reads lengths of lists of another version alone.
    pub fn check(graph: &Graph, sections: &[String], begins: usize, threads: usize) -> Result<()> {
        let (graph, runs) = (&graph.counted_apart(), Runs::that_begin_at(begins));
        let saved = Saved::of(graph)?;
        if saved.about.graph == graph.manifest().uuid {
            return Ok(());
        }
        let (mut valid, mut selected) = (0, 0);
        for direction in directions(sections) {
            let Some(about) = saved.side(direction, runs) else { continue };
            valid += Chosen::of(graph, (&saved, about), threads)?.valid;
            selected += about.lists;
        }
        is_valid(share(valid, selected), &saved)
    }

    /// Loads what is selected beside the graph: of each direction that has its lists among these
    /// sections, as much as fits into its share of `bytes`, what was chosen first before the rest.
    /// Beside a page cache (`paged`) no more than is worth it: pages have the rest.
    pub fn load(
        graph: &Graph,
        sections: &[String],
        bytes: u64,
        (paged, runs): For,
        (threads, huge): (usize, HugePages),
    ) -> Result<Self> {
        let (begun, graph) = (Instant::now(), &graph.counted_apart());
        let saved = Saved::of(graph)?;
        let directions = directions(sections);
        let (mut sides, mut report) = (Vec::new(), SelectedReport::default());
        report.is_current = saved.about.graph == graph.manifest().uuid;
        let (mut valid, mut selected, mut used) = (0, 0, 0);
        for &direction in &directions {
            let Some(about) = saved.side(direction, runs) else { continue };
            let mut chosen = Chosen::of(graph, (&saved, about), threads)?;
            valid += chosen.valid;
            selected += about.lists;
            let part = bytes / directions.len() as u64;
            let part = if paged { saved.worth(about, part) } else { part };
            let weighted = has(sections, direction, "weights");
            let own = overhead(graph, weighted);
            chosen.fit(weight_bytes(graph, weighted), part.saturating_sub(own));
            if chosen.lists.is_empty() {
                continue;
            }
            let Some(side) =
                SideLists::load(graph, direction, &chosen.lists, (weighted, threads, huge))?
            else {
                return saved.is_damaged("its lists take other bytes than it says");
            };
            report.lists += chosen.lists.len() as u64;
            report.bytes += side.bytes();
            used += own + side.bytes();
            sides.push((direction, side));
        }
        report.left_to_pages = if paged { bytes.saturating_sub(used) } else { 0 };
        report.valid_share = share(valid, selected);
        report.is_taken(&saved)?;
        report.select_seconds = saved.about.seconds;
        report.load_bytes_read =
            graph.disk().counters().bytes_read.load(std::sync::atomic::Ordering::Relaxed);
        report.load_seconds = begun.elapsed().as_secs_f64();
        Ok(Self { sides: Arc::new(sides), report })
    }

    /// Bytes of memory of a direction beside its lists, without weights.
    pub fn overhead(graph: &Graph) -> u64 {
        overhead(graph, false)
    }

    /// The lists of a section, if some are here.
    pub fn of(&self, section: &str) -> Option<&dyn ListCache> {
        let name = section.strip_suffix(".adjacency")?;
        let side = self.sides.iter().find(|(direction, _)| direction.name() == name)?;
        Some(&side.1 as &dyn ListCache)
    }
}

/// Whether a part of a direction is among some sections.
fn has(sections: &[String], direction: Direction, part: &str) -> bool {
    sections.contains(&format!("{}.{part}", direction.name()))
}

/// The directions whose lists are among some sections.
fn directions(sections: &[String]) -> Vec<Direction> {
    let all = [Direction::Out, Direction::In];
    all.into_iter().filter(|&direction| has(sections, direction, "adjacency")).collect()
}

/// How much is as it was, of so much that was selected.
fn share(valid: u64, selected: u64) -> f64 {
    if selected == 0 { 1.0 } else { valid as f64 / selected as f64 }
}

/// Bytes of memory of a direction beside its lists.
fn overhead(graph: &Graph, weighted: bool) -> u64 {
    let groups = graph.connected() / INDEX_GROUP + 1;
    Bitmap::bytes(graph.connected()) + groups * if weighted { 16 } else { 8 } + SLACK as u64
}

/// Bytes of the weight of an entry, where there are weights.
fn weight_bytes(graph: &Graph, weighted: bool) -> u64 {
    if weighted { graph.manifest().weight_bytes.into() } else { 0 }
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
    fn of(graph: &Graph, (saved, side): (&Saved, &Side), threads: usize) -> Result<Self> {
        let mut chosen = located(graph, side.direction, saved.find(graph, side)?)?;
        if saved.about.graph != graph.manifest().uuid {
            chosen.measure(graph, side.direction, threads)?;
        }
        Ok(chosen)
    }

    /// How many bytes each list takes here: internal ids are not those that it was selected by.
    fn measure(&mut self, graph: &Graph, direction: Direction, threads: usize) -> Result<()> {
        let table = graph.table(&format!("{}.adjacency", direction.name()))?;
        let width = graph.manifest().neighbor_bytes as usize;
        let mut sizes = vec![0u32; self.lists.len()];
        read(&table, &self.lists, (width, threads), (&mut sizes, |_| 1), |list, bytes, size| {
            size[0] = list.unpacked(bytes, width).packed_bytes() as u32;
            true
        })?;
        self.lists.iter_mut().zip(sizes).for_each(|(list, size)| list.packed = size);
        Ok(())
    }

    /// Keeps what fits into `room` bytes, in the order of the choice.
    fn fit(&mut self, weight_bytes: u64, mut room: u64) {
        self.lists.sort_unstable_by_key(|list| list.order);
        self.lists.retain(|list| {
            let bytes = u64::from(list.packed) + u64::from(list.degree) * weight_bytes;
            let fits = bytes <= room;
            room -= if fits { bytes } else { 0 };
            fits
        });
        self.lists.sort_unstable_by_key(|list| list.vertex);
    }
}

impl Found {
    fn unpacked<'l>(&self, neighbors: &'l [u8], width: usize) -> Unpacked<'l> {
        Unpacked { vertex: self.vertex, neighbors, width }
    }
}

impl SideLists {
    /// Nothing, if lists take other bytes than was said.
    fn load(
        graph: &Graph,
        direction: Direction,
        lists: &[Found],
        (weighted, threads, huge): (bool, usize, HugePages),
    ) -> Result<Option<Self>> {
        let (manifest, connected) = (graph.manifest(), graph.connected());
        let width = manifest.neighbor_bytes as usize;
        let weight_width = weight_bytes(graph, weighted) as usize;
        let packed: usize = lists.iter().map(|list| list.packed as usize).sum();
        let entries: usize = lists.iter().map(|list| list.degree as usize).sum();
        let mut side = Self {
            held: Bitmap::new(connected, HugePages::Off)?,
            before: Vec::with_capacity((connected / INDEX_GROUP) as usize + 1),
            entries: Vec::new(),
            neighbors: HugeVec::zeroed(packed + SLACK, huge)?,
            weights: HugeVec::zeroed(entries * weight_width, huge)?,
            width,
            weight_width,
        };
        side.index(lists, connected);
        let name = |part: &str| format!("{}.{part}", direction.name());
        let table = graph.table(&name("adjacency"))?;
        let to = (&mut side.neighbors[..packed], |list: &Found| list.packed as usize);
        let is_right = read(&table, lists, (width, threads), to, |list, bytes, own| {
            let mut packed = Vec::with_capacity(own.len());
            list.unpacked(bytes, width).pack(&mut packed);
            let fits = packed.len() == own.len();
            if fits {
                own.copy_from_slice(&packed);
            }
            fits
        })?;
        if weight_width > 0 {
            let table = graph.table(&name("weights"))?;
            let len = |list: &Found| list.degree as usize * weight_width;
            let to = (&mut side.weights[..], len);
            read(&table, lists, (weight_width, threads), to, |_, bytes, own| {
                own.copy_from_slice(bytes);
                true
            })?;
        }
        Ok(is_right.then_some(side))
    }

    /// Notes where lists begin.
    fn index(&mut self, lists: &[Found], connected: u64) {
        let (mut at, mut sum, mut entries) = (0, 0, 0);
        for group in 0..=connected / INDEX_GROUP {
            self.before.push(sum);
            if self.weight_width > 0 {
                self.entries.push(entries);
            }
            while let Some(list) = lists.get(at).filter(|list| list.vertex / INDEX_GROUP == group) {
                self.held.insert(list.vertex);
                sum += u64::from(list.packed);
                entries += u64::from(list.degree);
                at += 1;
            }
        }
    }

    /// Bytes of the lists.
    fn bytes(&self) -> u64 {
        (self.neighbors.len() - SLACK + self.weights.len()) as u64
    }
}

/// Reads lists of a section, ascending, and hands each with its part of `to`, which is as long as
/// the second of that says. Returns whether `put` was content with all of them.
fn read<T: Send>(
    table: &Table,
    lists: &[Found],
    (width, threads): (usize, usize),
    (mut to, len): (&mut [T], impl Fn(&Found) -> usize + Sync),
    put: impl Fn(&Found, &[u8], &mut [T]) -> bool + Sync,
) -> Result<bool> {
    let width = width as u64;
    let start = |list: &Found| list.first * width;
    let end = |list: &Found| (list.first + u64::from(list.degree)) * width;
    let (mut parts, mut rest) = (Vec::new(), lists);
    while let Some(first) = rest.first() {
        let near = rest.windows(2).take_while(|pair| {
            start(&pair[1]) <= end(&pair[0]) + GAP && end(&pair[1]) <= start(first) + PIECE
        });
        let (part, after) = rest.split_at(near.count() + 1);
        let (own, others) = std::mem::take(&mut to).split_at_mut(part.iter().map(&len).sum());
        parts.push((part, own));
        (rest, to) = (after, others);
    }
    let parts = Mutex::new(parts.into_iter());
    let work = |_| {
        let mut are_right = true;
        while let Some((part, mut own)) = { lock(&parts).next() } {
            let (first, last) = (start(&part[0]), end(&part[part.len() - 1]));
            let bytes = table.read(first, (last - first) as usize)?;
            for list in part {
                let (place, rest) = own.split_at_mut(len(list));
                let bytes = &bytes[(start(list) - first) as usize..(end(list) - first) as usize];
                are_right &= put(list, bytes, place);
                own = rest;
            }
        }
        Ok(are_right)
    };
    Ok(error::all(threads::at_once(threads, work)?)?.into_iter().all(|are_right| are_right))
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
        let Self { width, weight_width, .. } = *self;
        let mut at = self.before[group as usize] as usize;
        let mut entry = self.entries.get(group as usize).map_or(0, |&entry| entry as usize);
        let (mut hits, mut room) = (0, Vec::new());
        index.for_lists((group, self.held.word(group)), |vertex, _, count| {
            let (first, count) = (entry, count as usize);
            let packed = Packed { vertex, bytes: &self.neighbors[at..], count, width };
            entry += count;
            at += if bits >> (vertex % INDEX_GROUP) & 1 == 1 {
                hits += 1;
                packed.show(&mut room, |from, neighbors| {
                    let own = first + from..first + from + neighbors.len() / width;
                    let weights = &self.weights[own.start * weight_width..own.end * weight_width];
                    visit(vertex, List { neighbors, weights, width, weight_width });
                })
            } else {
                packed.len()
            };
        });
        hits
    }

    fn kept(&self) -> Kept {
        Kept::Selected
    }
}
