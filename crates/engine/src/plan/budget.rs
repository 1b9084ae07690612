//! From the budget to the plan: what must be in memory, what may be, and which model that makes.

use std::collections::BTreeSet;

use outercore_graph::{
    Graph, Result,
    error::{refuse, too_small},
    format::PassEdges,
};

use outercore_storage::{
    memory::thread_bytes,
    reader::{buffers_bytes, smallest_budget},
};

use crate::{
    config::{MemoryModel, Preset, RunConfig},
    plan::{Plan, PlanItem},
};

/// 10.5 MiB: set aside for the program's own code and heap, without its threads.
const PROCESS: u64 = 21 << 19;

/// 8 MiB: what a plan shows for the program and its threads, which is what they usually take.
pub(super) const USUAL: u64 = 8 << 20;

/// 3.5 MiB: what stays free beside everything that is counted, before edges are kept.
const MARGIN: u64 = 7 << 19;

/// The room that a fully-external run has at the least: with less, small graphs are read again and
/// again. Presets are as their papers.
fn least_room(config: &RunConfig) -> u64 {
    if config.preset == Preset::Best { 5 << 20 } else { 0 }
}

const PAGE: u64 = outercore_storage::PAGE as u64;

/// What a run needs; a [`Plan`] is made of it.
#[derive(Default)]
pub struct Needs {
    /// The algorithm.
    pub algorithm: &'static str,
    /// How it goes about it.
    pub method: String,
    /// The method that runs, where there are several, and why.
    pub runs: Option<(&'static str, &'static str)>,
    /// How it does with the values of the vertices on storage, where that differs.
    pub external_method: Option<String>,
    /// Vertex state and indexes, which must be resident.
    pub resident: Vec<PlanItem>,
    /// The least that must be resident when everything else is on storage; `None`: the algorithm
    /// has no fully-external run.
    pub external: Option<Vec<PlanItem>>,
    /// Sections that are read, and may be kept.
    pub edges: Vec<String>,
    /// Those of each of several programs that run one after the other, and keep them in turn.
    pub in_turn: Vec<Vec<String>>,
    /// How many scans there will be, each of which reads all of `edges`; `None`: as many as a
    /// frontier takes.
    pub scans: Option<u64>,
    /// About how many that will be, if that is known.
    pub guess: Option<u64>,
    /// Weights of caches when vertex state is in memory, and fully externally.
    pub shares: [u64; 2],
    /// Bytes of scratch of a fully-external run.
    pub disk_bytes: u64,
    /// The most that one of several programs takes beside that.
    pub disk_bytes_in_turn: u64,
    /// Whether a run is as fast as it has memory beside its vertex state.
    pub wants_room: bool,
    /// What a semi-external run may do instead of scanning.
    pub passes: Option<Passes>,
}

/// Passes over the grid, interval by interval, with everything in memory that a fully-external run
/// has on scratch.
pub struct Passes {
    /// How, in words.
    pub method: &'static str,
    /// What must be in memory.
    pub arrays: Vec<PlanItem>,
    /// The part of `arrays` that the run itself decides to keep, in bytes.
    pub kept: u64,
    /// The edges that they read.
    pub edges: fn(&Graph) -> Result<PassEdges>,
}

/// What every run has in memory beside its buffers.
fn always(graph: &Graph, config: &RunConfig, edge_pages: u64) -> Vec<PlanItem> {
    let mut items = vec![
        PlanItem {
            name: "program",
            bytes: PROCESS + (config.threads + config.io_threads) as u64 * thread_bytes(),
        },
        PlanItem { name: "checksums", bytes: edge_pages * 4 + graph.connected() / 400 },
    ];
    items.extend(caches(config).map(|(name, bytes)| PlanItem { name, bytes }));
    items
}

/// Caches that were asked for.
fn caches(config: &RunConfig) -> impl Iterator<Item = (&'static str, u64)> + use<> {
    let all = [("page cache", config.page_cache), ("static cache", config.static_cache)];
    all.into_iter().filter_map(|(name, bytes)| Some((name, bytes?)))
}

/// What every run has in memory.
fn base(graph: &Graph, config: &RunConfig, edge_pages: u64) -> Vec<PlanItem> {
    let mut items = always(graph, config, edge_pages);
    let bytes = buffers_bytes(config.threads, config.memory);
    items.insert(1, PlanItem { name: "I/O buffers", bytes });
    items
}

impl Passes {
    /// Changes a plan of scans to passes if these leave less to be done; `whole` is the bytes of
    /// all edges. Returns the bytes that are left then.
    fn over(
        self,
        plan: &mut Plan,
        whole: u64,
        graph: &Graph,
        config: &RunConfig,
    ) -> Result<Option<u64>> {
        let edge_pages = whole / (PAGE + 1);
        let mut memory = base(graph, config, edge_pages);
        memory.extend(self.arrays);
        let used = PlanItem::sum(&memory) + MARGIN;
        let most = most_kept(plan.memory_model, config, whole);
        let left = if config.sub_blocks.are_kept() { most } else { 0 };
        let left = config.memory.saturating_sub(used).min(left);
        let edges = (self.edges)(graph)?;
        let bytes_per_pass = edges.read(left);
        // Work on an edge takes about as long as reading it.
        let pass = bytes_per_pass + edges.read(0);
        let is_partial = left < whole && config.model == Some(MemoryModel::InMemory);
        if used > config.memory || is_partial || pass >= plan.bytes_per_scan + whole {
            return Ok(None);
        }
        if left < whole && plan.memory_model == MemoryModel::InMemory {
            plan.memory_model = MemoryModel::SemiExternal;
            plan.reason = "passes do less than scans of what fits the budget".to_owned();
        }
        plan.in_memory_budget_bytes = plan.in_memory_budget_bytes.max(used + whole);
        memory.push(PlanItem { name: "edges", bytes: left });
        plan.memory = memory;
        plan.bytes_per_scan = bytes_per_pass;
        plan.method = self.method.to_owned();
        plan.in_passes = true;
        // The run itself decides what stays in memory; the plan has seen to it that all does.
        Ok(Some(left + self.kept))
    }
}

/// The smallest budgets that work.
struct Budgets {
    /// With vertex state in memory.
    resident: u64,
    /// With all edges in memory, too.
    whole: u64,
    /// With vertex state on storage.
    external: Option<u64>,
    /// Whether edges are to be read: lists through a page cache, or all edges each time.
    reads: bool,
}

impl Needs {
    /// Decides the model. Returns the plan, the bytes that are left, and whether the run is one of
    /// passes.
    pub(crate) fn decided(
        mut self,
        graph: &Graph,
        config: &RunConfig,
    ) -> Result<(Plan, u64, bool)> {
        let (passes, external_method) = (self.passes.take(), self.external_method.take());
        let (scans, is_one, runs) = (self.scans(graph), self.scans == Some(1), self.runs);
        let (mut plan, mut room) = self.decide(graph, config)?;
        let whole = plan.bytes_per_scan + room;
        match (plan.memory_model, passes) {
            (MemoryModel::FullyExternal, _) => {
                plan.method = external_method.unwrap_or(plan.method);
            }
            // The first one reads all edges.
            (_, Some(passes)) if !is_one => {
                if let Some(left) = passes.over(&mut plan, whole, graph, config)? {
                    room = left;
                    let more = plan.bytes_per_scan * (scans.max(1) - 1);
                    plan.expected_bytes_read = whole + more;
                }
            }
            _ => {}
        }
        if let Some((method, why)) = runs {
            plan.method = format!("{method} ({why}): {}", plan.method);
        }
        let in_passes = plan.in_passes;
        Ok((plan, room, in_passes))
    }

    fn decide(self, graph: &Graph, config: &RunConfig) -> Result<(Plan, u64)> {
        let ((edge_pages, edge_bytes, read), scans) = (self.edges(graph), self.scans(graph));
        let stored = self.disk_bytes + self.disk_bytes_in_turn;
        let budgets = self.budgets(graph, config, (edge_pages, edge_bytes));
        let (model, reason) = self.model(config, &budgets)?;
        let external = model == MemoryModel::FullyExternal;
        let mut memory = base(graph, config, edge_pages);
        // Programs know themselves what passes by interval read.
        let full = if external && self.edges.is_empty() { 0 } else { scans };
        memory.extend(if external { self.external.unwrap_or_default() } else { self.resident });
        let used = PlanItem::sum(&memory);
        // What is read once is not kept: that costs more than it is worth.
        let is_one = self.scans == Some(1) && !external;
        // Of what wants room, all edges take about twice as much as on storage.
        let whole = edge_bytes << u32::from(self.wants_room && model == MemoryModel::InMemory);
        let most = if is_one { 0 } else { most_kept(model, config, whole) };
        let left = config.memory - used;
        let least = if external { left.min(least_room(config)) } else { 0 };
        let room = most.min(least + left.saturating_sub(least + MARGIN));
        let kept = if external { room.checked_div(self.shares[1]).unwrap_or(0) } else { room };
        let name = ["edges", "windows, edges"][usize::from(external)];
        memory.push(PlanItem { name, bytes: room.min(whole + stored) });
        let bytes_per_scan = edge_bytes.saturating_sub(kept);
        let again = (bytes_per_scan as f64 * (read as f64 / edge_bytes.max(1) as f64)) as u64;
        let plan = Plan {
            algorithm: self.algorithm,
            memory_model: model,
            reason: reason.to_owned(),
            method: self.method,
            preset: config.preset,
            techniques: Vec::new(),
            memory_budget_bytes: config.memory,
            memory,
            smallest_budget_bytes: budgets.smallest(config.model),
            in_memory_budget_bytes: budgets.whole,
            bytes_per_scan,
            expected_bytes_read: read * full.min(1) + again * full.saturating_sub(1),
            expected_bytes_written: 0,
            estimated_scans: self.scans.xor(Some(scans)),
            disk_bytes: if external { stored } else { 0 },
            tried: false,
            makes_view: false,
            in_passes: false,
            selection: None,
        };
        Ok((plan, room))
    }

    /// How many scans there will be.
    pub(super) fn scans(&self, graph: &Graph) -> u64 {
        self.scans.or(self.guess).unwrap_or_else(|| graph.steps())
    }

    /// Pages of all edges, and the bytes of those that may be kept at a time, and that a scan
    /// reads: of a program's grid and lists the one or the other. Beside lists, a program tells
    /// itself what it reads.
    fn edges(&self, graph: &Graph) -> (u64, u64, u64) {
        let pages = |programs: &[Vec<String>]| -> u64 {
            let names: BTreeSet<_> = self.edges.iter().chain(programs.iter().flatten()).collect();
            graph.pages(names)
        };
        let all = pages(&self.in_turn);
        let most = self.in_turn.chunks(1).map(pages).max();
        let bytes = most.unwrap_or(all) * (PAGE + 1);
        let has_grid = self.in_turn.iter().flatten().any(|name| name == "grid.words");
        let read = match pages(&[]) * (PAGE + 1) {
            0 if has_grid => graph.scan_bytes().min(bytes),
            0 => bytes,
            own => own,
        };
        (all, bytes, read)
    }

    /// What a run must have beside vertex state in memory, or it is better off without that: three
    /// times what is saved by vertex state on storage, where room is all that counts.
    fn room(&self, budgets: &Budgets) -> u64 {
        let saved = budgets.resident.saturating_sub(budgets.external.unwrap_or(u64::MAX));
        if self.wants_room { 3 * saved } else { 0 }
    }

    fn budgets(
        &self,
        graph: &Graph,
        config: &RunConfig,
        (edge_pages, edge_bytes): (u64, u64),
    ) -> Budgets {
        let budget = |items: &[PlanItem], more: u64| {
            let always = always(graph, config, edge_pages);
            let items = always.iter().chain(items).map(|item| item.bytes).sum::<u64>();
            smallest_budget(config.threads, items + more)
        };
        let useful = edge_bytes + self.disk_bytes + self.disk_bytes_in_turn;
        let least = least_room(config).min(useful);
        Budgets {
            resident: budget(&self.resident, 0),
            whole: budget(&self.resident, edge_bytes + MARGIN),
            external: self.external.as_deref().map(|items| budget(items, least)),
            reads: config.page_cache.is_some() || streams(config),
        }
    }

    /// The model that was asked for, or the first that fits, and why.
    fn model(&self, config: &RunConfig, budgets: &Budgets) -> Result<(MemoryModel, &'static str)> {
        use MemoryModel::{FullyExternal, InMemory, SemiExternal};
        let memory = config.memory;
        let too_small = |needed, what| {
            let mut what = format!("{} {what}", self.algorithm);
            for (name, bytes) in caches(config) {
                let fits = bytes.saturating_sub(needed - memory);
                let option = name.replace(' ', "-");
                what += &format!(", where --{option} takes {bytes} bytes and {fits} would fit");
            }
            too_small(needed, memory, what)
        };
        let decided = match config.model {
            Some(FullyExternal) if budgets.external.is_none() => {
                return refuse(format!(
                    "{} has no fully-external run; leave --model out",
                    self.algorithm
                ));
            }
            Some(model) => (model, "as asked"),
            None if memory >= budgets.whole && !budgets.reads => {
                (InMemory, "vertices and edges fit the budget")
            }
            None if memory >= budgets.resident + self.room(budgets) => {
                (SemiExternal, "vertex state fits the budget, edges do not or are to be read")
            }
            None if budgets.external.is_some() && memory >= budgets.resident => {
                (FullyExternal, "vertex state in memory would leave little room")
            }
            None if budgets.external.is_some() => {
                (FullyExternal, "not even vertex state fits the budget")
            }
            None => (SemiExternal, ""),
        };
        match decided.0 {
            InMemory if memory < budgets.whole => too_small(budgets.whole, "in memory"),
            SemiExternal if memory < budgets.resident => {
                too_small(budgets.resident, "semi-externally")
            }
            FullyExternal if budgets.external.is_some_and(|least| memory < least) => {
                too_small(budgets.external.unwrap_or_default(), "fully externally")
            }
            _ => Ok(decided),
        }
    }
}

impl Budgets {
    /// That of the model that was asked for, or of the one that needs least.
    fn smallest(&self, asked: Option<MemoryModel>) -> u64 {
        match asked {
            Some(MemoryModel::InMemory) => self.whole,
            Some(MemoryModel::SemiExternal) => self.resident,
            Some(MemoryModel::FullyExternal) => self.external.unwrap_or(self.resident),
            None => self.external.unwrap_or(self.resident).min(self.resident),
        }
    }
}

/// Whether all edges are read, each time.
fn streams(config: &RunConfig) -> bool {
    config.preset == Preset::Streaming
}

/// The most bytes of edges that a run keeps: one that was asked to be semi-external keeps half of
/// the pages, and none if it is plain streaming.
fn most_kept(model: MemoryModel, config: &RunConfig, edge_bytes: u64) -> u64 {
    match (config.model, model) {
        (_, MemoryModel::FullyExternal) => u64::MAX,
        (_, MemoryModel::SemiExternal) if streams(config) => 0,
        (Some(MemoryModel::SemiExternal), _) => (edge_bytes / 2).next_multiple_of(PAGE + 1),
        _ => edge_bytes,
    }
}
