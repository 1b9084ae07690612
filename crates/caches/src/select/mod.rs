//! Which vertices' lists a static cache holds.
//!
//! - [`select()`]: chooses, and saves the choice beside the graph.
//! - `plain`: by degree, or at random; `gvs`: greedy vertex selection (BASC, ATC'19, Algorithm 1),
//!   by what sample searches want together, or what neighbors of a vertex do.
//! - `runs`: sample runs; `layout`: which pages lists lie in; `clock`: which of them a page
//!   cache would have; `stays`: for whose lists each is read; `penalties`: the paper's measure of
//!   that; `worth`: how much of the cache is better left to pages.
//! - [`settings`]: [`SelectSettings`], what can be asked for by name.
//!
//! Each direction of a graph has a choice of its own, each as large as the cache: a run that reads
//! lists of one direction has all of the cache for these, and a run that reads both takes of each
//! what was chosen first. Each kind of [`Runs`] has one.

mod clock;
mod gvs;
mod layout;
mod penalties;
mod plain;
mod runs;
pub mod settings;
mod stays;
mod worth;

use std::time::Instant;

use outercore_graph::{
    BuildProgress, Direction, Graph, Result,
    error::{refuse, too_small},
    format::IdTable,
};

pub use self::settings::{Divisor, Penalty, Select, SelectSettings};
use self::{layout::Pages, penalties::Penalties, stays::Stays, worth::Worth};
use crate::{
    Lists, Runs, SelectedLists,
    degrees::arriving,
    sidecar::{About, Choice, EACH, Side, save},
};

/// Bytes of the program itself, its stacks, and batches on their way.
const PROGRAM: u64 = 14 << 20;
/// The least bytes for what is read at a time.
const READING: u64 = 1 << 20;
/// Bytes of a vertex of a choice, and of its columns while they are saved.
const CHOSEN: u64 = 8;
const SAVED: u64 = 4 + 4 + EACH as u64;

/// How lists are selected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelectOptions {
    /// By what.
    pub select: Select,
    /// Bytes of the cache.
    pub size: u64,
    /// After how many parts of the choice penalties are computed again.
    pub rounds: u64,
    /// Bytes of a page, by which a run reads.
    pub block: u64,
    /// Which penalty is chosen first.
    pub penalty: Penalty,
    /// Searches from which it is learned what is wanted together; none: the neighbors of a vertex.
    pub sample: u64,
    /// Bytes of the page cache of the runs which it is for.
    pub page_cache: u64,
    /// By what a penalty is divided.
    pub divisor: Divisor,
    /// Where random choices begin.
    pub seed: u64,
    /// The budget in bytes.
    pub memory: u64,
    /// Threads.
    pub threads: usize,
}

/// What a selector has.
struct Selector<'a> {
    graph: &'a Graph,
    direction: Direction,
    options: &'a SelectOptions,
    progress: &'a dyn BuildProgress,
    /// Bytes for lists.
    room: u64,
    lists: Lists<'a>,
    /// Bytes of each list as it is packed.
    packed: Vec<u32>,
    /// The runs that it selects for.
    runs: Runs,
}

/// Selects lists of a graph and saves the selection beside it.
pub fn select(
    graph: &Graph,
    options: &SelectOptions,
    progress: &dyn BuildProgress,
) -> Result<About> {
    if graph.connected() >= u64::from(u32::MAX) {
        return refuse(format!("lists of {} vertices cannot be selected", graph.connected()));
    }
    // What runs have loaded takes no part of this budget.
    graph.share(None);
    let (begun, mut sides, mut chosen) = (Instant::now(), Vec::new(), Vec::new());
    progress.stage("selecting lists", None);
    let needed = memory(graph, options);
    if options.memory < needed {
        return too_small(needed, options.memory, "selecting lists");
    }
    for direction in directions(graph) {
        let room = options.memory - needed + READING;
        for (side, choice) in one_side(graph, direction, (options, room), progress)? {
            sides.push(side);
            chosen.push(choice);
        }
    }
    let manifest = graph.manifest();
    let about = About {
        graph: manifest.uuid.clone(),
        directed: manifest.directed,
        names: manifest.ids == IdTable::Names,
        select: options.select.to_string(),
        size: options.size,
        settings: options.said(),
        seconds: begun.elapsed().as_secs_f64(),
        sides,
    };
    save(graph, about, &chosen)
}

/// Selects lists of one direction, for each kind of runs. `spare` is memory for what is read.
fn one_side(
    graph: &Graph,
    direction: Direction,
    (options, spare): (&SelectOptions, u64),
    progress: &dyn BuildProgress,
) -> Result<Vec<(Side, Choice)>> {
    let mut lists = Lists::open(graph, direction, options.threads)?;
    // Those of the other direction may be kept beside them.
    if options.select == Select::Gvs
        && (options.rounds > 1 || options.sample > 0)
        && Lists::entry_bytes(graph) * 2 < spare
    {
        lists.keep()?;
    }
    let room = options.size.saturating_sub(SelectedLists::overhead(graph));
    let packed = lists.packed(progress)?;
    let runs = Runs::Search;
    let mut selector = Selector { graph, direction, options, progress, room, lists, packed, runs };
    let mut choices = vec![selector.choice(spare)?];
    let fits =
        runs::WANTED.saturating_sub(options.sample) * stays::OF_SAMPLE * graph.connected() < spare;
    if options.select == Select::Gvs && options.sample > 0 && selector.lists.is_kept() && fits {
        for runs in others(graph) {
            selector.runs = *runs;
            choices.push(selector.choice(spare)?);
        }
    }
    Ok(choices)
}

/// The runs for which there are selections of their own, beside searches. Labels spread along edges
/// of both directions.
fn others(graph: &Graph) -> &'static [Runs] {
    if graph.manifest().directed { &[Runs::Many] } else { &[Runs::Many, Runs::Spreading] }
}

/// The least budget for selecting lists.
fn memory(graph: &Graph, options: &SelectOptions) -> u64 {
    let of_samples = stays::OF_SAMPLE * options.sample + stays::OF_THREAD * options.threads as u64;
    let samples = options.select == Select::Gvs && options.sample > 0;
    // Of a vertex: what is known of its list, and the choice as it grows.
    let each = 16
        + match options.select {
            Select::Gvs if samples => stays::EACH + of_samples,
            Select::Gvs => penalties::EACH,
            _ => 16,
        };
    let pages = Lists::entry_bytes(graph) / options.block;
    let trials = if samples { pages * worth::OF_PAGE * options.threads as u64 } else { 0 };
    let selecting = graph.connected() * each + trials + Lists::index_bytes(graph);
    let names = graph.manifest().section("ids.keys").map_or(0, |section| section.bytes);
    let saving = graph.connected() * SAVED + names;
    // Choices stay until all are saved, one after the other.
    let kinds = 1 + if samples { others(graph).len() as u64 } else { 0 };
    let chosen = graph.connected() * CHOSEN * kinds * directions(graph).count() as u64;
    PROGRAM + READING + chosen + selecting.max(saving)
}

/// Each direction that has lists of its own.
fn directions(graph: &Graph) -> impl Iterator<Item = Direction> {
    let incoming = graph.rows(Direction::In).filter(|&rows| rows == Direction::In);
    [Direction::Out].into_iter().chain(incoming)
}

impl SelectOptions {
    /// The settings that matter to this way to select.
    fn said(&self) -> Vec<(String, String)> {
        let values = [
            self.rounds.to_string(),
            self.block.to_string(),
            self.sample.to_string(),
            self.page_cache.to_string(),
            self.penalty.to_string(),
            self.divisor.to_string(),
            self.seed.to_string(),
        ];
        let all = settings::OF.into_iter().zip(values);
        let other: &[&str] =
            if self.sample > 0 { &settings::OF_PENALTIES } else { &settings::OF_SAMPLES };
        let own = all.filter(|((name, of), _)| *of == self.select && !other.contains(name));
        own.map(|((name, _), value)| (name.to_owned(), value)).collect()
    }
}

impl Selector<'_> {
    /// Lists for the runs, and what is known of them. `room` is memory for what is read at a time.
    fn choice(&self, room: u64) -> Result<(Side, Choice)> {
        let (vertices, Worth { bytes: worth, searches }) = self.vertices(room)?;
        let stored = vertices.iter().map(|&vertex| self.stored_bytes(vertex)).sum();
        let manifest = self.graph.manifest();
        let packed: Vec<u32> =
            vertices.iter().map(|&vertex| self.packed[vertex as usize]).collect();
        let side = Side {
            direction: self.direction,
            runs: self.runs,
            lists: vertices.len() as u64,
            bytes: [stored, manifest.arcs * u64::from(manifest.neighbor_bytes)],
            packed: packed.iter().map(|&bytes| u64::from(bytes)).sum(),
            name_bytes: 0,
            worth: Some(worth),
            searches,
        };
        Ok((side, Choice { vertices, packed }))
    }

    /// The vertices in the order of their choice, and how many bytes of the cache are worth it.
    /// `room` is memory for what is read at a time.
    fn vertices(&self, room: u64) -> Result<(Vec<u32>, Worth)> {
        let all = Worth { bytes: self.options.size, searches: None };
        match self.options.select {
            Select::Gvs if self.options.sample > 0 => {
                let (pages, runs) = (Pages::new(self), self.samples(room)?);
                let some = &runs[..runs.len().min(self.options.sample as usize)];
                let chosen = self.gvs(Stays::new(self, &pages, some)?)?;
                let worth = self.worth(&pages, &runs, &chosen)?;
                Ok((chosen, worth))
            }
            Select::Gvs => Ok((self.gvs(Penalties::new(self)?)?, all)),
            _ => Ok((self.plain(), all)),
        }
    }

    /// Bytes that a vertex's list takes in the cache.
    fn bytes(&self, vertex: u32) -> u64 {
        self.packed[vertex as usize].into()
    }

    /// Bytes of a vertex's list on disk.
    fn stored_bytes(&self, vertex: u32) -> u64 {
        u64::from(self.lists.degree(vertex)) * u64::from(self.graph.manifest().neighbor_bytes)
    }

    /// How many edges lead to each vertex along the direction.
    fn arriving(&self) -> Result<Vec<u32>> {
        arriving(self.graph, self.direction, self.progress)
    }
}
