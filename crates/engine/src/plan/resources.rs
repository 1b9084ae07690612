//! What a run needs, declared once: the planner prices it, the session opens it, the run gets it.
//!
//! A [`Resource`] names its memory and its sections in `declare`, and is opened in `open`. The
//! price stands beside the allocation. A [`Planner`] collects resources and decides the memory
//! model. What the budget leaves is shared out by weight among the resources that cache edges.

use std::time::Instant;

use outercore_caches::{Saved, SelectedLists, Told};

use super::{
    Plan, PlanItem,
    budget::{Needs, Passes, USUAL},
};
use crate::{
    config::MemoryModel,
    job::Job,
    outcome::Outcome,
    session::Session,
    techniques::{Technique, planned},
    totals,
};
use outercore_graph::{GraphError, Result};
use outercore_storage::reader::used_bytes;

/// Something that a run needs.
pub trait Resource {
    /// What the run gets.
    type Opened;
    /// States its memory in each model, the sections that it reads, and whether it caches edges.
    fn declare<'a>(&self, planner: &mut Planner<'a>) -> Result<()>;
    /// Opens it in a session whose plan it is part of.
    fn open(&self, session: &Session) -> Result<Self::Opened>;
}

/// What was decided of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The memory model.
    pub model: MemoryModel,
    /// Bytes that are left beside what was declared: for caches of edges, or, fully externally, for
    /// windows of vertices too.
    pub room: u64,
    /// Whether a semi-external run passes over the grid interval by interval, so that one reading
    /// serves two iterations.
    pub in_passes: bool,
    /// The sum of the weights by which `room` is shared out.
    pub shares: u64,
    /// Whether the budget is many times what the run takes: it need not be minded.
    pub ample: bool,
    /// At how many vertices a run begins.
    pub(crate) begins: usize,
}

impl Decision {
    /// Gives back what was freed, and code that has run: it comes to be as large as a small
    /// budget's room. To take it again takes longer than a small graph does, where there is plenty.
    pub(crate) fn give_back(&self) {
        if !self.ample {
            outercore_storage::memory::give_back_freed_memory();
        }
    }

    /// Whether an interval of vertices at a time is at hand.
    pub(crate) fn is_by_interval(&self) -> bool {
        self.is_external() || self.in_passes
    }

    /// Whether the values of the vertices are on storage.
    pub fn is_external(&self) -> bool {
        self.model == MemoryModel::FullyExternal
    }

    /// The bytes of `room` that a resource of this weight has.
    pub fn share(&self, weight: u64) -> u64 {
        self.room / self.shares.max(1) * weight
    }
}

/// Names of sections, which may depend on what was decided.
type SectionsOf<'a> = Box<dyn Fn(&Decision) -> Result<Vec<String>> + 'a>;

/// Techniques that a run can use, which may depend on what was decided.
type TechniquesOf<'a> = Box<dyn Fn(&Decision) -> Result<Vec<Technique>> + 'a>;

/// Bytes that so many scans read and write.
type TrafficOf<'a> = Box<dyn Fn(&Decision, u64) -> Result<[u64; 2]> + 'a>;

/// Collects what a run needs.
pub struct Planner<'a> {
    /// What the run is given.
    pub job: Job<'a>,
    needs: Needs,
    sections: Vec<SectionsOf<'a>>,
    traffic: Vec<TrafficOf<'a>>,
    logs: Vec<TrafficOf<'a>>,
    techniques: Vec<TechniquesOf<'a>>,
    /// At how many vertices it begins.
    pub(crate) begins: usize,
}

impl<'a> Planner<'a> {
    /// A plan of this algorithm.
    pub fn new(algorithm: &'static str, job: Job<'a>) -> Self {
        let needs = Needs { algorithm, external: Some(Vec::new()), ..Needs::default() };
        let (sections, traffic, logs) = (Vec::new(), Vec::new(), Vec::new());
        Self { job, needs, sections, traffic, logs, techniques: Vec::new(), begins: 1 }
    }

    /// What is planned.
    pub(crate) fn algorithm(&self) -> &'static str {
        self.needs.algorithm
    }

    /// Adds a resource.
    pub fn declare<R: Resource>(&mut self, resource: R) -> Result<R> {
        resource.declare(self)?;
        Ok(resource)
    }

    /// Sets memory aside: `resident` bytes while the values of the vertices are in memory,
    /// `external` bytes while they are on storage.
    pub fn memory(&mut self, name: &'static str, [resident, external]: [u64; 2]) {
        let items = [Some(&mut self.needs.resident), self.needs.external.as_mut()];
        for (items, bytes) in items.into_iter().zip([resident, external]) {
            items.into_iter().filter(|_| bytes > 0).for_each(|items| {
                items.push(PlanItem { name, bytes });
            });
        }
    }

    /// Sets memory aside for one of several programs that run one after the other: of each name
    /// the most that one of them takes.
    pub(crate) fn in_turn(&mut self, name: &'static str, bytes: u64) {
        most(&mut self.needs.resident, PlanItem { name, bytes });
    }

    /// The same for a fully-external run; `None`: the program has none.
    pub(crate) fn in_turn_external(&mut self, items: Option<Vec<PlanItem>>) {
        match (&mut self.needs.external, items) {
            (Some(all), Some(items)) => items.into_iter().for_each(|item| most(all, item)),
            _ => self.needs.external = None,
        }
    }

    /// Every full scan of one of several programs reads these sections, and what is left of the
    /// budget may keep them while that program runs.
    pub(crate) fn edges_in_turn(&mut self, sections: Vec<String>) {
        self.needs.in_turn.push(sections);
    }

    /// One of several programs takes these bytes of scratch in a fully-external run.
    pub(crate) fn scratch_in_turn(&mut self, bytes: u64) {
        self.needs.disk_bytes_in_turn = self.needs.disk_bytes_in_turn.max(bytes);
    }

    /// Opens these sections.
    pub(crate) fn sections(&mut self, names: impl Fn(&Decision) -> Result<Vec<String>> + 'a) {
        self.sections.push(Box::new(names));
    }

    /// The run can use these techniques.
    pub fn can(&mut self, of: impl Fn(&Decision) -> Result<Vec<Technique>> + 'a) {
        self.techniques.push(Box::new(of));
    }

    /// So many scans read and write these bytes, beside what is read of edges and tables.
    pub fn traffic(&mut self, bytes: impl Fn(&Decision, u64) -> Result<[u64; 2]> + 'a) {
        self.traffic.push(Box::new(bytes));
    }

    /// So many scans write these bytes to logs, which are read again, and have so many at a time.
    pub(crate) fn logs(&mut self, bytes: impl Fn(&Decision, u64) -> Result<[u64; 2]> + 'a) {
        self.logs.push(Box::new(bytes));
    }

    /// These bytes are read, whatever the model and however many scans there are.
    pub fn reads(&mut self, bytes: u64) {
        self.traffic(move |_, _| Ok([bytes, 0]));
    }

    /// The same while values are on storage, however many scans there are.
    pub fn traffic_external(&mut self, bytes: [u64; 2]) {
        self.traffic(move |decision, _| Ok(bytes.map(|all| all * decision.is_external() as u64)));
    }

    /// Every full scan reads this section, and what is left of the budget may keep it.
    pub(crate) fn edges(&mut self, section: String) {
        if !self.needs.edges.contains(&section) {
            self.needs.edges.push(section);
        }
    }

    /// Takes part in sharing out what is left, with this weight while the values of the vertices
    /// are in memory, and while they are on storage.
    pub(crate) fn caches(&mut self, [resident, external]: [u64; 2]) {
        self.needs.shares = totals([self.needs.shares, [resident, external]]);
    }

    /// The run is as fast as it has memory beside its vertex state.
    pub fn wants_room(&mut self) {
        self.needs.wants_room = true;
    }

    /// The number of full scans, where it is known.
    pub fn scans(&mut self, scans: Option<u64>) {
        self.needs.scans = scans;
    }

    /// About so many full scans' worth of edges are read: the course of the run decides.
    pub fn guess(&mut self, scans: u64) {
        self.needs.guess = Some(scans);
    }

    /// A fully-external run takes these bytes of scratch.
    pub fn scratch(&mut self, bytes: u64) {
        self.needs.disk_bytes += bytes;
    }

    /// How a run goes about it.
    pub fn method(&mut self, method: impl Into<String>) {
        self.needs.method = method.into();
    }

    /// The method that runs, and why.
    pub fn runs(&mut self, method: &'static str, why: &'static str) {
        self.needs.runs = Some((method, why));
    }

    /// How a fully-external run goes about it; `None`: there is none.
    pub fn external_method(&mut self, method: Option<&str>) {
        match method {
            Some(method) => self.needs.external_method = Some(method.to_owned()),
            None => self.needs.external = None,
        }
    }

    /// A semi-external run of a program may pass over the grid instead, if it is the only program.
    pub(crate) fn may_pass(&mut self, passes: Option<Passes>) {
        self.needs.passes = passes.filter(|_| self.needs.in_turn.len() == 1);
    }

    /// Decides the memory model, or says how much memory would be enough.
    pub fn decide(mut self) -> Result<Decided<'a>> {
        let Job { graph, config, .. } = self.job;
        if config.static_cache.is_some() {
            // Everything else is opened when it has been loaded.
            let bytes = Saved::loading_bytes(graph)?;
            let beyond = |items: &Vec<_>| bytes.saturating_sub(PlanItem::sum(items));
            let external = self.needs.external.as_ref().map_or(0, beyond);
            let loading = [beyond(&self.needs.resident), external];
            self.memory("selection, while it is loaded", loading);
        }
        let (scans, shares) = (self.needs.scans(graph), self.needs.shares);
        let (mut plan, room, in_passes) = self.needs.decided(graph, config)?;
        let (model, begins) = (plan.memory_model, self.begins);
        let external = model == MemoryModel::FullyExternal;
        let shares = shares[usize::from(external)];
        let in_memory = model == MemoryModel::InMemory;
        let mut decision = Decision { model, room, in_passes, shares, ample: false, begins };
        let can = self.techniques.iter().map(|of| of(&decision)).collect::<Result<Vec<_>>>()?;
        let mut can = can.concat();
        can.retain(|&can| can != Technique::PageCache || !in_memory);
        if can.contains(&Technique::StaticCache) && !in_memory {
            plan.selection = Told::of(graph, config.static_cache.is_some());
        }
        plan.techniques = planned((plan.algorithm, config), can)?;
        let sections = opened(&self.sections, &decision)?;
        if config.static_cache.is_some_and(|bytes| bytes > 0) {
            SelectedLists::check(graph, &sections, begins, config.threads)?;
        }
        let total = |all: &[TrafficOf]| -> Result<[u64; 2]> {
            let bytes = all.iter().map(|of| of(&decision, scans));
            Ok(totals(bytes.collect::<Result<Vec<_>>>()?))
        };
        let ([read, written], [logged, waiting]) = (total(&self.traffic)?, total(&self.logs)?);
        let (opening, largest) = graph.opening(&sections);
        plan.expected_bytes_read += read + logged + opening;
        plan.expected_bytes_written = written + logged;
        plan.disk_bytes += waiting;
        // Nothing is kept that was not read; fully externally, values are, too.
        let stored = if external { plan.disk_bytes } else { 0 };
        if let Some(last) = plan.memory.last_mut().filter(|item| item.name.ends_with("edges")) {
            last.bytes = last.bytes.min(plan.expected_bytes_read + stored);
        }
        // What is always there is set aside first, for the worst case.
        plan.memory[0].bytes = USUAL;
        let used = used_bytes((config.threads, config.memory), config.max_request, largest);
        plan.memory[1].bytes = plan.memory[1].bytes.min(used);
        decision.ample = PlanItem::sum(&plan.memory) < config.memory / 4;
        Ok(Decided { job: self.job, plan, decision, sections, begun: None })
    }
}

/// The sections that are opened, each once.
fn opened(all: &[SectionsOf], decision: &Decision) -> Result<Vec<String>> {
    let mut sections: Vec<String> = Vec::new();
    for names in all {
        for name in names(decision)? {
            if !sections.contains(&name) {
                sections.push(name);
            }
        }
    }
    Ok(sections)
}

/// Of items of one name there is one, with the most bytes.
fn most(items: &mut Vec<PlanItem>, item: PlanItem) {
    match items.iter_mut().find(|other| other.name == item.name) {
        Some(other) => other.bytes = other.bytes.max(item.bytes),
        None if item.bytes > 0 => items.push(item),
        None => {}
    }
}

/// A plan, and what opens it.
pub struct Decided<'a> {
    /// What the run is given.
    pub job: Job<'a>,
    /// The decision in words and figures.
    pub plan: Plan,
    /// The decision.
    pub decision: Decision,
    /// The sections that the session opens.
    pub(crate) sections: Vec<String>,
    /// When the run began, where that was before its session.
    pub begun: Option<Instant>,
}

impl<'a> Decided<'a> {
    /// Opens the session.
    pub fn start(self) -> Result<Session<'a>> {
        Session::start(self)
    }

    /// A plan that runs by this.
    pub fn prepared(self, run: impl FnOnce(&Session<'a>) -> Result<Outcome> + 'a) -> Prepared<'a> {
        let plan = self.plan.clone();
        Prepared::new(plan, move || run(&self.start()?))
    }
}

/// A plan that runs, once.
pub struct Prepared<'a> {
    /// What the run will do.
    pub plan: Plan,
    run: Box<dyn FnOnce() -> Result<Outcome> + 'a>,
}

impl<'a> Prepared<'a> {
    /// A run with this plan.
    pub fn new(plan: Plan, run: impl FnOnce() -> Result<Outcome> + 'a) -> Self {
        Self { plan, run: Box::new(run) }
    }

    /// This run, or if it ends with [`GraphError::Beyond`], another one in larger numbers.
    pub fn or_beyond(self, other: Self) -> Self {
        let mut plan = self.plan.clone();
        for (most, other) in [
            (&mut plan.smallest_budget_bytes, other.plan.smallest_budget_bytes),
            (&mut plan.in_memory_budget_bytes, other.plan.in_memory_budget_bytes),
            (&mut plan.disk_bytes, other.plan.disk_bytes),
        ] {
            *most = other.max(*most);
        }
        Self::new(plan, move || match self.run() {
            Err(GraphError::Beyond) => other.run(),
            ran => ran,
        })
    }

    /// Runs it.
    pub fn run(self) -> Result<Outcome> {
        (self.run)()
    }
}
