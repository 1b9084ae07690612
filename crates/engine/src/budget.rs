//! From the budget to the plan: what must be in memory, what may be, and which model that makes.

use outercore_graph::Graph;

use crate::{
    config::{MemoryModel, Precompute, RunConfig},
    error::{EngineError, Result},
    plan::{Plan, PlanItem},
    session::{OpenSection, buffers_bytes, smallest_budget},
};

/// The program's own code, heap and stacks, and what rounding to huge pages adds.
const PROCESS: u64 = 26 << 20;

/// The same in a fully-external run, whose arrays are many and small.
const EXTERNAL_PROCESS: u64 = 10 << 20;

/// What an algorithm needs; the planner makes a [`Plan`] of it.
pub struct Needs {
    /// The algorithm.
    pub algorithm: &'static str,
    /// How it goes about it.
    pub method: String,
    /// Vertex state and indexes, which must be resident.
    pub resident: Vec<PlanItem>,
    /// The least that must be resident when everything else is on storage; `None`: the algorithm
    /// has no fully-external run.
    pub external: Option<Vec<PlanItem>>,
    /// Sections that are read, and may be kept.
    pub edges: Vec<String>,
    /// Whether every scan reads all of `edges`, and how many scans there will be; `None`: it
    /// depends.
    pub scans: Option<u64>,
}

/// What every run has in memory beside its buffers.
fn always(graph: &Graph, config: &RunConfig, edge_pages: u64, process: u64) -> [PlanItem; 2] {
    [
        PlanItem { name: "program", bytes: process + config.threads as u64 * (1 << 20) },
        PlanItem {
            name: "checksums",
            bytes: OpenSection::sums_bytes(edge_pages) + graph.connected() / 400,
        },
    ]
}

/// What every run has in memory.
fn base(graph: &Graph, config: &RunConfig, edge_pages: u64, process: u64) -> Vec<PlanItem> {
    let [program, checksums] = always(graph, config, edge_pages, process);
    vec![
        program,
        PlanItem { name: "I/O buffers", bytes: buffers_bytes(config.threads, config.memory) },
        checksums,
    ]
}

/// Changes a semi-external plan to one that passes over the grid as fully-external runs do, with
/// these arrays in memory, if that leaves less to be read: `share` of the edges are read by a pass.
/// `room` is what the plan has left, and is what the new one has left.
pub fn pass_over(
    plan: &mut Plan,
    room: &mut u64,
    graph: &Graph,
    config: &RunConfig,
    arrays: Vec<PlanItem>,
    share: f64,
) -> bool {
    let edge_bytes = plan.bytes_per_scan + *room;
    let mut memory =
        base(graph, config, edge_bytes / (outercore_storage::PAGE as u64 + 1), EXTERNAL_PROCESS);
    memory.extend(arrays);
    let used = memory.iter().map(|item| item.bytes).sum::<u64>() + (4 << 20);
    let left = config.memory.saturating_sub(used).min(edge_bytes / 2);
    // Chunks take three quarters of what is left (the heap has its part), and half of those are
    // read by one pass, half by the next.
    let bytes_per_pass = ((edge_bytes as f64 * share) as u64).saturating_sub(left / 8 * 3);
    if used > config.memory || bytes_per_pass >= plan.bytes_per_scan {
        return false;
    }
    *room = left;
    memory.push(PlanItem { name: "edges", bytes: left });
    plan.memory = memory;
    plan.bytes_per_scan = bytes_per_pass;
    true
}

impl Needs {
    /// Decides the model. Returns the plan and the bytes that are left: for caching edges, or in a
    /// fully-external run for windows too. Refuses pre-computation.
    pub fn plan(self, graph: &Graph, config: &RunConfig) -> Result<(Plan, u64)> {
        if let Some(precompute) =
            config.precompute.filter(|&precompute| precompute != Precompute::Off)
        {
            return Err(EngineError::Usage(format!(
                "--precompute {}: {} does not allow it: a message that comes early, or twice, would change its answer; leave --precompute out",
                precompute.name(),
                self.algorithm
            )));
        }
        self.decide(graph, config, config.model)
    }

    /// The same for a fully-external run in which vertices are computed early.
    pub fn plan_early(self, graph: &Graph, config: &RunConfig) -> Result<(Plan, u64)> {
        let early = config.early().unwrap_or(Precompute::Off).name();
        if self.external.is_none()
            || config.model.is_some_and(|model| model != MemoryModel::FullyExternal)
        {
            return Err(EngineError::Usage(format!(
                "--precompute {early} is for fully-external runs; leave it out, or give --model fully-external{}",
                if self.external.is_none() {
                    " and a graph whose edges are kept in both directions"
                } else {
                    ""
                }
            )));
        }
        self.decide(graph, config, Some(MemoryModel::FullyExternal))
    }

    fn decide(
        self,
        graph: &Graph,
        config: &RunConfig,
        asked: Option<MemoryModel>,
    ) -> Result<(Plan, u64)> {
        let pages = |name: &String| {
            graph
                .manifest()
                .section(name)
                .map_or(0, |section| section.bytes.div_ceil(outercore_storage::PAGE as u64))
        };
        let edge_pages: u64 = self.edges.iter().map(pages).sum();
        let edge_bytes = edge_pages * (outercore_storage::PAGE as u64 + 1);
        let budget = |process, items: &[PlanItem], more: u64| {
            let items = always(graph, config, edge_pages, process)
                .iter()
                .chain(items)
                .map(|item| item.bytes)
                .sum::<u64>();
            smallest_budget(config.threads, items + more)
        };
        let fixed = budget(PROCESS, &self.resident, 0);
        let whole = budget(PROCESS, &self.resident, edge_bytes + (4 << 20));
        let least = self.external.as_deref().map(|external| budget(EXTERNAL_PROCESS, external, 0));
        let too_small = |needed: u64, what: &str| EngineError::Memory {
            needed,
            budget: config.memory,
            what: format!("{} {what}", self.algorithm),
        };
        let (model, reason) = match asked {
            Some(MemoryModel::InMemory) if config.memory < whole => {
                return Err(too_small(whole, "in memory"));
            }
            Some(MemoryModel::SemiExternal) if config.memory < fixed => {
                return Err(too_small(fixed, "semi-externally"));
            }
            Some(MemoryModel::FullyExternal) if least.is_none() => {
                return Err(EngineError::Usage(format!(
                    "{} has no fully-external run in this version; leave --model out",
                    self.algorithm
                )));
            }
            Some(model) => (model, "as asked"),
            None if config.memory >= whole => {
                (MemoryModel::InMemory, "vertices and edges fit the budget")
            }
            None if config.memory >= fixed => {
                (MemoryModel::SemiExternal, "vertex state fits the budget, edges do not")
            }
            None if least.is_some() => {
                (MemoryModel::FullyExternal, "not even vertex state fits the budget")
            }
            None => return Err(too_small(fixed, "semi-externally")),
        };
        let external = model == MemoryModel::FullyExternal;
        // Of the model that was asked for, or of the one that needs least.
        let smallest = match asked {
            Some(MemoryModel::InMemory) => whole,
            Some(MemoryModel::SemiExternal) => fixed,
            Some(MemoryModel::FullyExternal) => least.unwrap_or(fixed),
            None => least.unwrap_or(fixed).min(fixed),
        };
        if external && config.memory < least.unwrap_or(fixed) {
            return Err(too_small(least.unwrap_or(fixed), "fully externally"));
        }
        let mut memory =
            base(graph, config, edge_pages, if external { EXTERNAL_PROCESS } else { PROCESS });
        memory.extend(if external { self.external.unwrap_or_default() } else { self.resident });
        let used: u64 = memory.iter().map(|item| item.bytes).sum();
        // A semi-external run that was asked for keeps no more than half of the edges, so that it
        // is one.
        let most = match (asked, model) {
            (_, MemoryModel::FullyExternal) => u64::MAX,
            (Some(MemoryModel::SemiExternal), _) => edge_bytes / 2,
            _ => edge_bytes,
        };
        let room = most.min((config.memory - used).saturating_sub(4 << 20));
        memory.push(PlanItem {
            name: if external { "windows, edges" } else { "edges" },
            bytes: room,
        });
        let bytes_per_scan = if external { edge_bytes } else { edge_bytes - room };
        let plan = Plan {
            algorithm: self.algorithm,
            memory_model: model,
            reason: reason.to_owned(),
            method: self.method,
            memory_budget_bytes: config.memory,
            memory,
            smallest_budget_bytes: smallest,
            in_memory_budget_bytes: whole,
            bytes_per_scan,
            expected_bytes_read: self
                .scans
                .map(|scans| edge_bytes + bytes_per_scan * scans.saturating_sub(1)),
            disk_bytes: 0,
            in_passes: false,
        };
        Ok((plan, room))
    }
}
