//! What a run will keep in memory and read, decided before it begins.

use outercore_caches::Told;
use outercore_graph::{GraphError, Result};
use outercore_storage::human_bytes;
use serde::Serialize;

use crate::{
    config::{MemoryModel, Preset},
    techniques::{State, TechniqueReport, of_preset},
};

/// Something that memory is set aside for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanItem {
    /// What it is.
    pub name: &'static str,
    /// Bytes.
    pub bytes: u64,
}

impl PlanItem {
    /// The bytes of all of these.
    pub(crate) fn sum(items: &[Self]) -> u64 {
        items.iter().map(|item| item.bytes).sum()
    }
}

/// The plan of a run, printable like a database's EXPLAIN.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// The algorithm.
    pub algorithm: &'static str,
    /// The chosen memory model.
    pub memory_model: MemoryModel,
    /// Why it was chosen.
    pub reason: String,
    /// How the algorithm goes about it.
    pub method: String,
    /// The preset.
    pub preset: Preset,
    /// Which of the papers' techniques the run can use.
    pub techniques: Vec<TechniqueReport>,
    /// The budget.
    pub memory_budget_bytes: u64,
    /// What memory is for; adds up to at most the budget.
    pub memory: Vec<PlanItem>,
    /// The smallest budget with which this runs.
    pub smallest_budget_bytes: u64,
    /// The smallest budget with which all edges stay in memory.
    pub in_memory_budget_bytes: u64,
    /// Bytes that one full pass over the edges reads from disk, after caches.
    pub bytes_per_scan: u64,
    /// Expected bytes read in all.
    pub expected_bytes_read: u64,
    /// Expected bytes written in all.
    pub expected_bytes_written: u64,
    /// With how many scans these are reckoned, where the course of the run decides; `None`: it is
    /// known.
    pub estimated_scans: Option<u64>,
    /// The most bytes of scratch on disk at a time.
    pub disk_bytes: u64,
    /// Whether the run was tried out: the expected bytes are those of the trial.
    pub tried: bool,
    /// Whether the run makes a view of the graph, and keeps it.
    #[serde(skip)]
    pub makes_view: bool,
    /// The selection beside the graph, where the run can use it.
    pub selection: Option<Told>,
    /// Whether a semi-external run passes over the grid as fully-external ones do, so that a
    /// reading serves two iterations.
    #[serde(skip)]
    pub in_passes: bool,
}

impl Plan {
    /// The first of some ways that fits the budget, each with its plan. Its smallest budget, or
    /// what is needed where none fits, is that of the way that takes least.
    pub fn first<W>(
        ways: impl Iterator<Item = Result<W>>,
        plan: impl Fn(&mut W) -> &mut Plan,
    ) -> Result<W> {
        let (mut found, mut least) = (None, u64::MAX);
        for mut way in ways {
            match &mut way {
                Ok(way) => least = least.min(plan(way).smallest_budget_bytes),
                Err(GraphError::Memory { needed, .. }) => least = least.min(*needed),
                Err(_) => {}
            }
            if matches!(found, None | Some(Err(GraphError::Memory { .. }))) {
                found = Some(way);
            }
        }
        let mut found = found.expect("a way");
        match &mut found {
            Ok(way) => plan(way).smallest_budget_bytes = least,
            Err(GraphError::Memory { needed, .. }) => *needed = least,
            Err(_) => {}
        }
        found
    }
}

impl std::fmt::Display for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}: {} ({})", self.algorithm, self.memory_model.name(), self.reason)?;
        writeln!(f, "  method             {}", self.method)?;
        writeln!(f, "  memory budget      {}", human_bytes(self.memory_budget_bytes))?;
        // A trial may have found that something takes nothing.
        for item in self.memory.iter().filter(|item| item.bytes > 0) {
            writeln!(f, "    {:<18}{:>12}", item.name, human_bytes(item.bytes))?;
        }
        writeln!(f, "  smallest budget    {}", human_bytes(self.smallest_budget_bytes))?;
        writeln!(f, "  all in memory from {}", human_bytes(self.in_memory_budget_bytes))?;
        writeln!(f, "  read for each scan {}", human_bytes(self.bytes_per_scan))?;
        let about = match self.estimated_scans {
            _ if self.tried => ", tried out",
            Some(_) => ", about: the course of the run decides",
            None => "",
        };
        writeln!(f, "  read in all        {}{about}", human_bytes(self.expected_bytes_read))?;
        writeln!(f, "  written in all     {}", human_bytes(self.expected_bytes_written))?;
        write!(f, "  scratch on disk    {}", human_bytes(self.disk_bytes))?;
        if let Some(selection) = &self.selection {
            write!(f, "\n{selection}")?;
        }
        let ours = |report: &&TechniqueReport| of_preset(self.preset).contains(&report.name);
        for TechniqueReport { name, state, reason, .. } in self.techniques.iter().filter(ours) {
            let reason = if *state == State::Used { "it is used" } else { reason.as_str() };
            write!(f, "\n  {:<10} {name:<23} {reason}", self.preset)?;
        }
        Ok(())
    }
}
