//! [`IntervalMemory`]: what a run by interval needs at least, and what it does with more. Prices
//! stand beside what they are for: the plan asks for the former, the run opens the latter.

use std::sync::Arc;

use outercore_caches::chunks_that_stay;
use outercore_graph::{
    Graph, Result,
    format::{GridDirectory, GridIndex, GridWeights, PassEdges, SubBlockIndex},
};
use outercore_storage::{PAGE, windows};

use super::{
    Division, EdgeSource, GridByInterval, Run, Workspace,
    by_lists::{OnDemand, Role},
    edge_path::EdgePath,
};
use crate::{
    Frontier, Monoid,
    config::{CrossIteration, Precompute, Preset, ReadPolicy, RunConfig},
    edges::rows::Rows,
    job::Job,
    plan::{Passes, PlanItem, Planner},
    program::{Activity, VertexProgram},
    session::Session,
    state::{DegreesByInterval, VertexArray},
    techniques::{ALL_IN_ORDER, Technique, some_lists},
};

/// Bytes of blocks of messages beside the least, at most.
const PASSING: u64 = 14 << 20;

/// A grid of so many times as much as lists take may stay in memory before they come. With four
/// times, k-core on RMAT 18 in 40 to 56 MiB took four times as long.
const FEW: u64 = 2;

/// What was decided of a run by interval before its memory is known.
#[derive(Clone, Debug)]
pub(crate) struct IntervalMemory {
    pub path: EdgePath,
    /// The lists of active vertices, what they are for, and their bytes.
    lists: Option<(Role, u64)>,
    /// Whether they are part of the least: they are read in any case, or demanded.
    owns: bool,
    precompute: Option<Precompute>,
    /// Whether passes could serve two iterations.
    pub may_cross: bool,
    /// Whether passes may serve two iterations.
    crosses: bool,
    directory: Arc<GridDirectory>,
    /// The weights that passes over the grid read.
    weights: GridWeights,
    /// Bytes of the signals of all vertices.
    signals: u64,
    /// Bytes of the fewest signals that are in memory at a time: a sixteenth, 2 MiB, or those of an
    /// interval.
    window: u64,
    /// Bytes that passes which serve two iterations take beside the intervals at hand.
    two: u64,
    /// Bytes of what would be read in each pass: signals, values and degrees; and the grid.
    stays: [u64; 2],
}

impl IntervalMemory {
    /// That of a run of `program`; `None`: it has none, because the graph does not have the edges.
    pub(crate) fn of<P: VertexProgram>(
        Job { graph, config, .. }: Job,
        precompute: Option<Precompute>,
    ) -> Result<Option<Self>> {
        let Some(path) = EdgePath::by_interval::<P>(graph) else { return Ok(None) };
        let role = match graph.pass_rows() {
            _ if !path.grid => None,
            Some("row") => Some(Role::Beside),
            Some(_) => Some(Role::Instead),
            None if precompute.is_some() => Some(Role::Instead),
            None if P::ACTIVITY == Activity::AllSend || config.read.scans() => None,
            None => Some(Role::Choice),
        };
        // Caches are for lists: whoever asks for one demands them.
        let has_cache = config.page_cache.or(config.static_cache).is_some();
        let owns = role != Some(Role::Choice) || config.read == ReadPolicy::OnDemand || has_cache;
        let lists = (config.threads, path.weights);
        let price = |role: Role| role.bytes::<P::Message>(graph, lists).map(|bytes| (role, bytes));
        let lists = role.map(price).transpose()?;
        let may_cross = precompute.is_none()
            && (P::ACTIVITY != Activity::Frontier || config.cross_iteration != CrossIteration::On)
            && path.grid
            && graph.has_whole_grid();
        let crosses = may_cross && config.cross_iteration.in_passes();
        let (directory, signal) = (graph.grid()?, size_of::<P::Signal>() as u64);
        let (signals, widest) = (graph.connected() * signal, directory.widest());
        // With few signals a smaller window saves little, and edges are read up to 16 times.
        let window = (signals / 16).max(signals.min(2 << 20)).max(widest as u64 * signal);
        let two = config.threads as u64 * Workspace::<P>::two_bytes(widest);
        let weights = path.grid && path.weights;
        let weights = if weights { graph.grid_weights() } else { GridWeights::default() };
        let arrays = arrays::<P>(graph, &directory.intervals)?;
        // Copies of chunks are blocks of the heap.
        let grid = graph.pages(path.edges()) * PAGE as u64 / 3 * 4;
        let stays = [signals.saturating_sub(window) + arrays, grid];
        Ok(Some(Self {
            path,
            weights,
            lists,
            owns,
            precompute,
            may_cross,
            crosses,
            directory,
            signals,
            window,
            two,
            stays,
        }))
    }

    /// The techniques of a run that has `room` bytes beside its least.
    pub(crate) fn can<P: VertexProgram>(&self, room: u64) -> Vec<Technique> {
        use Technique::*;
        let (role, exact) = (self.lists(room), P::Message::EXACT);
        let mut can = Vec::from_iter(self.precompute.map(|_| Precompute));
        match role {
            _ if !self.path.grid => can.extend(ALL_IN_ORDER),
            None => {}
            Some(role) => {
                can.extend(some_lists(exact));
                can.retain(|&can| can != OnDemand || role != Role::Beside);
                can.push(VertexPassing);
                can.extend(Some(StateAware).filter(|_| role == Role::Choice));
                can.extend(Some(Sciu).filter(|_| exact));
            }
        }
        if role != Some(Role::Instead) {
            can.push(FullPasses);
            can.extend(Some(SubBlocks).filter(|_| self.path.grid));
            let may_rest = self.path.grid && P::ACTIVITY != Activity::AllSend;
            can.extend(Some(SubBlockIndex).filter(|_| may_rest));
            can.extend(Some(Fciu).filter(|_| self.may_cross));
        }
        can
    }

    /// Declares what the run needs.
    pub(crate) fn declare<P: VertexProgram>(
        &self,
        planner: &mut Planner,
        scans: Option<u64>,
    ) -> Result<()> {
        let Job { graph, config, .. } = planner.job;
        let least = self.least::<P>(graph, config.threads)?;
        // Programs whose vertices come to send no more are better off with scans, and with lists
        // whose messages are combined in memory: two thirds of the time of passes, as measured.
        let may_pass = self.crosses && P::ACTIVITY == Activity::AllSend;
        let may_pass = may_pass && config.preset != Preset::Streaming;
        let more = may_pass.then(|| self.more::<P>(graph)).transpose()?;
        planner.may_pass(more.map(|more| Passes {
            method: "passes over the grid, up and down in turn, in which half of the edges serve \
                     two iterations",
            kept: PlanItem::sum(&more),
            arrays: [least.clone(), more].concat(),
            edges: |graph| {
                let all = graph.connected();
                let grid = GridIndex::new(graph.grid()?, all, all);
                Ok(grid.pass_edges(&windows(&[0, all], all)))
            },
        }));
        planner.in_turn_external(Some(least));
        planner.external_method(Some(match &self.lists {
            _ if !self.path.grid => {
                "passes over the lists along which signals come, an interval of vertices at a time"
            }
            Some((Role::Beside | Role::Instead, _)) if !graph.has_whole_grid() => {
                "the lists of active vertices, whose messages wait for their interval, then passes \
                 over the rest of the grid"
            }
            _ => "passes over the grid, an interval of vertices at a time",
        }));
        let bytes: usize = sizes::<P>().iter().sum();
        planner.scratch_in_turn(graph.connected() * bytes as u64);
        let memory = self.clone();
        planner.logs(move |decision, all| match decision.is_external() {
            true => memory.logs::<P>((graph, config), decision.room, scans.unwrap_or(all)),
            false => Ok([0; 2]),
        });
        let memory = self.clone();
        planner.traffic(move |decision, all| match decision.is_external() {
            true => memory.traffic::<P>((graph, config), decision.room, (scans, all)),
            false => Ok([0; 2]),
        });
        Ok(())
    }

    /// Bytes that so many iterations write to logs, and that one does, where each reads lists.
    fn logs<P: VertexProgram>(
        &self,
        (graph, config): (&Graph, &RunConfig),
        room: u64,
        scans: u64,
    ) -> Result<[u64; 2]> {
        let Some(role @ (Role::Instead | Role::Beside)) = self.lists(room) else {
            return Ok([0; 2]);
        };
        let more = self.divide::<P>(Some(role), room).0;
        let how = (config.threads, more, self.precompute.is_some());
        let most = role.logged::<P::Message>(graph, how)?;
        // Vertices of a frontier send about once, most of them in one iteration.
        Ok([most * if P::ACTIVITY == Activity::Frontier { 1 } else { scans }, most])
    }

    /// Bytes that so many iterations over all vertices read and write, with so much room.
    fn traffic<P: VertexProgram>(
        &self,
        (graph, config): (&Graph, &RunConfig),
        room: u64,
        (known, all): (Option<u64>, u64),
    ) -> Result<[u64; 2]> {
        let scans = known.unwrap_or(all);
        let division = self.divide::<P>(self.lists(room), room).1;
        let index = self.index::<P>((graph, config), &division);
        let Division { windows, hubs, mut near, .. } = division;
        let (vertices, more) = (graph.connected(), windows.len() as u64 - 1);
        let mut stored = |bytes: u64| {
            let kept = bytes.min(near);
            near -= kept;
            bytes - kept
        };
        let [value, _, signal, message] = sizes::<P>().map(|size| size as u64);
        // Sums wait for other windows, or for the next iteration.
        let waiting = if more > 0 { vertices } else { self.directory.intervals[index.crossing] };
        let mut sums = stored(waiting * message) * more.max(1);
        // Values that come from messages alone are looked at in the last iteration.
        let late = P::ACTIVITY == Activity::AllSend;
        let discards = late && known.is_some_and(|known| known > 1);
        let values = if discards { vertices * value } else { stored(vertices * value) };
        let degrees = stored(vertices);
        let tail = signal * (vertices - hubs);
        let tail = if hubs > 0 { tail } else { stored(tail) };
        let edges = if self.path.grid {
            index.pass_edges(&windows)
        } else {
            let near = graph.pages(self.path.edges()) * PAGE as u64 * (more + 1);
            PassEdges { near, far: 0 }
        };
        let changes = if late { 1 } else { scans };
        let (all, again) = (edges.near + edges.far, edges.read(near / 4 * 3));
        // Every second pass may serve two iterations, not every one.
        sums >>= u32::from(hubs > 0 && index.served.is_some());
        // The last iteration makes no signals.
        let passing = scans * sums + (scans.max(1) - 1) * tail;
        let again = again * scans.saturating_sub(1);
        Ok([
            all + again + scans * degrees + passing + (changes + 1) * values,
            values + degrees + more.min(1) * vertices * signal + passing + changes * values,
        ])
    }

    /// The least that must be resident.
    fn least<P: VertexProgram>(&self, graph: &Graph, threads: usize) -> Result<Vec<PlanItem>> {
        let (vertices, directory) = (graph.connected(), &self.directory);
        let intervals = directory.intervals.len() as u64 - 1;
        let sums =
            sizes::<P>().map(|size| vertices * size as u64 / PAGE as u64 * 4 + intervals * 12);
        let workspace = Workspace::<P>::bytes(directory.widest()) + self.weights.most() as u64;
        let workspaces = threads as u64 * workspace;
        let mut needs = vec![
            item("window of signals", self.window),
            item("frontiers", 2 * Frontier::bytes(vertices)),
            item("intervals at hand", workspaces),
            item("directory, checksums", directory.bytes() + sums.iter().sum::<u64>()),
        ];
        if P::ACTIVITY != Activity::AllSend {
            needs.push(item("sub-block index", SubBlockIndex::bytes(directory)));
        }
        if !self.path.grid {
            let sums = graph.sums_bytes(self.path.list_sections());
            needs.push(item("row index", Rows::small_bytes(graph)?));
            needs.push(item("lists' checksums", sums));
        }
        if let Some((_, bytes)) = self.lists.filter(|_| self.owns) {
            needs.push(item("lists, passing buffers", bytes));
        }
        Ok(needs)
    }

    /// What a run takes beside its least whose passes serve two iterations and which has nothing on
    /// scratch.
    fn more<P: VertexProgram>(&self, graph: &Graph) -> Result<Vec<PlanItem>> {
        let bounds = &self.directory.intervals;
        Ok(vec![
            item("all signals, twice", 2 * self.signals - self.window),
            item("next intervals at hand", self.two),
            item("next messages", sum_of(bounds, VertexArray::<P::Message>::kept_bytes)),
            item("values", sum_of(bounds, VertexArray::<P::Value>::kept_bytes)),
            item("degrees", DegreesByInterval::memory(graph, bounds.len())?),
        ])
    }

    /// The lists of active vertices, where `room` bytes beside the least are enough for them and a
    /// third more, and for the arrays beside them: else more memory would mean that more is read.
    /// A grid that takes no more than a few times as much as they do stays in memory, too.
    fn lists(&self, room: u64) -> Option<Role> {
        let fits = |&(_, bytes): &_| {
            // Of what lists leave, a quarter is for those that serve the next iteration too.
            let (left, [arrays, grid]) = (room.saturating_sub(bytes) / 4 * 3, self.stays);
            let stays = arrays + if grid > FEW * bytes { 0 } else { grid + self.signals };
            self.owns || bytes <= room / 4 * 3 && stays <= left
        };
        self.lists.filter(fits).map(|(role, _)| role)
    }

    /// The sections of a run that has `room` bytes beside its least.
    pub(crate) fn sections(&self, room: u64) -> Vec<String> {
        let lists = self.lists(room);
        let lists = lists.map_or(Vec::new(), |role| role.sections(self.path.weights));
        self.path.sections().chain(lists).collect()
    }

    /// Divides the bytes that are beside the least. Returns the bytes of lists that serve the next
    /// iteration too, or of more blocks of messages, and what there is memory for.
    fn divide<P: VertexProgram>(&self, role: Option<Role>, mut room: u64) -> (u64, Division) {
        let (bounds, signal) = (&*self.directory.intervals, size_of::<P::Signal>() as u64);
        let selects = role == Some(Role::Choice);
        room -= self.lists.filter(|_| selects && !self.owns).map_or(0, |(_, bytes)| bytes);
        let windows = windows(bounds, (self.window + room) / signal.max(1));
        let one = windows.len() == 1;
        room -= if one { self.signals - self.window } else { room };
        // Lists, hubs' signals and chunks share what is left.
        let lists = match role {
            Some(Role::Choice) => room / 4,
            Some(_) => (room / 8).min(PASSING),
            None => 0,
        };
        room -= lists;
        let cross = one && self.crosses && self.two <= room;
        room -= if cross { self.two } else { 0 };
        // Hubs end where an interval does.
        let most = if cross { room / signal } else { 0 };
        let hubs = bounds.iter().rfind(|&&bound| bound <= most).map_or(0, |&bound| bound);
        let near = room - hubs * signal;
        // Where hubs have memory for both of their signals, the next ones of others have none.
        let most = [u64::MAX, u64::MAX, if hubs > 0 { 0 } else { u64::MAX }];
        (lists, Division { bounds: bounds.into(), windows, hubs, near, most })
    }

    /// The grid, and what each chunk may serve.
    fn index<P: VertexProgram>(
        &self,
        (graph, config): (&Graph, &RunConfig),
        division: &Division,
    ) -> GridIndex {
        let (all, sum) = (graph.connected(), size_of::<P::Message>() as u64);
        let index = GridIndex::new(Arc::clone(&self.directory), all, division.hubs);
        // Sums on scratch are written and read again.
        let cost = if all * sum > division.near { 2 * sum } else { 0 };
        index.weighing(self.weights).crossing(cost, config.cross_iteration == CrossIteration::On)
    }

    /// Opens the run of `program`, in a session whose plan has declared it, with the values that
    /// another program has left if there are some; `discards`: those of single iterations are not
    /// looked at.
    pub(crate) fn open<'r, P: VertexProgram>(
        &self,
        program: &'r mut P,
        session: &'r Session<'r>,
        (left, discards): (Option<VertexArray<P::Value>>, bool),
    ) -> Result<Run<'r, P>> {
        let config = session.config;
        let kept = left.as_ref().map_or(0, VertexArray::resident_bytes::<P::Value>);
        let room = session.decision.room.saturating_sub(kept);
        let role = self.lists(room);
        let passes = session.decision.in_passes;
        let (lists, mut division) = self.divide::<P>(role, room);
        let lists = if role == Some(Role::Choice) { (lists, 0) } else { (0, lists) };
        let open = |role| OnDemand::open(session, role, &division.bounds, lists);
        let lists = role.map(|role| open((role, self.path.weights))).transpose()?;
        let edges = if self.path.grid {
            let index = self.index::<P>((session.graph, config), &division);
            if division.windows.len() == 1 && !passes {
                let waiting = ..=index.crossing.min(index.intervals());
                let bytes = VertexArray::<P::Message>::kept_bytes;
                division.most[0] = sum_of(&division.bounds[waiting], bytes);
            }
            let sections = session.sections(&self.path.grid_sections());
            let all_send = P::ACTIVITY == Activity::AllSend;
            let parts = (!all_send).then(|| SubBlockIndex::new(&self.directory));
            let parts = parts.unwrap_or_default();
            EdgeSource::Grid(GridByInterval { index, parts, sections, cache: None })
        } else {
            let sections = session.sections(&self.path.list_sections());
            EdgeSource::Lists(Box::new(Rows::load(session, sections, 0, true)?))
        };
        division.most[1] = match discards && !passes {
            true => 0,
            false => most_values::<P>(session.graph, &division)?,
        };
        // Plain streaming has nothing but chunks in memory that it could have on scratch.
        let streams = config.preset == Preset::Streaming;
        let mut chunks = if streams { std::mem::take(&mut division.near) } else { 0 };
        let mut run = Run::open(program, session, (edges, lists), left, &mut division)?;
        chunks += division.near;
        if let EdgeSource::Grid(grid) = &mut run.edges
            && config.sub_blocks.are_kept()
        {
            let each_reads = passes || discards;
            let how = (config.sub_blocks, config.huge_pages.for_streams());
            grid.cache = chunks_that_stay(&grid.index, how, (chunks, each_reads))?;
        }
        run.precompute = self.precompute;
        Ok(run)
    }
}

/// Bytes of intervals with these bounds, by the number of vertices of each.
fn sum_of(bounds: &[u64], bytes: fn(usize) -> u64) -> u64 {
    bounds.windows(2).map(|pair| bytes((pair[1] - pair[0]) as usize)).sum()
}

/// The most bytes of values that stay. Where few vertices apply, each interval that is reached
/// wants its degrees all the same: these come first.
fn most_values<P: VertexProgram>(graph: &Graph, division: &Division) -> Result<u64> {
    let degrees = DegreesByInterval::memory(graph, division.bounds.len() - 1)?;
    let first = P::ACTIVITY != Activity::AllSend && degrees <= division.near;
    Ok(if first { division.near - degrees } else { u64::MAX })
}

/// Bytes of values and degrees where all of them stay.
fn arrays<P: VertexProgram>(graph: &Graph, bounds: &[u64]) -> Result<u64> {
    let values = sum_of(bounds, VertexArray::<P::Value>::kept_bytes);
    Ok(values + DegreesByInterval::memory(graph, bounds.len())?)
}

fn item(name: &'static str, bytes: u64) -> PlanItem {
    PlanItem { name, bytes }
}

/// Bytes of what a vertex has on scratch: value, degree, signal and message.
fn sizes<P: VertexProgram>() -> [usize; 4] {
    [size_of::<P::Value>(), 4, size_of::<P::Signal>(), size_of::<P::Message>()]
}
