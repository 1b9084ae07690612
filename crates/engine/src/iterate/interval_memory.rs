//! [`IntervalMemory`]: what a run by interval needs at least, and what it does with more. Prices
//! stand beside what they are for: the plan asks for the former, the run opens the latter.

use outercore_graph::{Graph, format::CHUNK_BYTES};
use outercore_storage::PAGE;

use super::{
    edge_path::EdgePath,
    on_demand::{OnDemand, Role},
    run::{Division, Edges, GridByInterval, Run},
    signals::Window,
    workspace::Workspace,
};
use crate::{
    config::{Precompute, Preset, ReadPolicy, RunConfig},
    edges::{
        cache::sub_block_buffer::SubBlockBuffer,
        degrees::Degrees,
        grid::index::{GridIndex, Side},
        rows::Rows,
    },
    error::{EngineError, Result},
    frontier::Frontier,
    job::Job,
    plan::{Passes, PlanItem, Planner},
    program::{Activity, VertexProgram},
    session::{OpenSection, Session},
    state::{DegreesByInterval, VertexArray},
};

/// What was decided of a run by interval before its memory is known.
#[derive(Clone, Debug)]
pub(crate) struct IntervalMemory {
    path: EdgePath,
    /// The lists of active vertices, what they are for, and their bytes.
    lists: Option<(Role, u64)>,
    precompute: Option<Precompute>,
    /// Whether passes may serve two iterations.
    crosses: bool,
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
            None if P::ACTIVITY == Activity::AllSend || config.read == ReadPolicy::Full => None,
            None => Some(Role::Choice),
        };
        let price = |role: Role| role.bytes::<P>(graph, config.threads).map(|bytes| (role, bytes));
        let crosses = precompute.is_none()
            && P::ACTIVITY != Activity::Frontier
            && config.cross_iteration.in_passes()
            && path.grid
            && graph.has_whole_grid();
        Ok(Some(Self { path, lists: role.map(price).transpose()?, precompute, crosses }))
    }

    /// Declares what the run needs.
    pub(crate) fn declare<P: VertexProgram>(&self, planner: &mut Planner) -> Result<()> {
        let Job { graph, config, .. } = planner.job();
        let least = self.least::<P>(graph, config)?;
        // Programs whose vertices come to send no more are better off with scans, and with lists
        // whose messages are combined in memory: two thirds of the time of passes, as measured.
        let may_pass = self.crosses && P::ACTIVITY == Activity::AllSend;
        let may_pass = may_pass && config.preset != Preset::Streaming;
        let more = may_pass.then(|| self.more::<P>(graph, config)).transpose()?;
        planner.may_pass(more.map(|more| Passes {
            method: "passes over the grid, up and down in turn, in which half of the edges serve \
                     two iterations",
            kept: more.iter().map(|item| item.bytes).sum(),
            arrays: [least.clone(), more].concat(),
            share,
        }));
        planner.in_turn_external(Some(least));
        planner.external_method(match &self.lists {
            _ if !self.path.grid => {
                "passes over the lists along which signals come, an interval of vertices at a time"
            }
            Some((Role::Beside | Role::Instead, _)) if !graph.has_whole_grid() => {
                "the lists of active vertices, whose messages wait for their interval, then passes \
                 over the rest of the grid"
            }
            _ => "passes over the grid, an interval of vertices at a time",
        });
        let sizes = [size_of::<P::Value>(), 4, size_of::<P::Signal>(), size_of::<P::Message>()];
        planner.scratch_in_turn(graph.connected() * sizes.iter().sum::<usize>() as u64);
        Ok(())
    }

    /// The least that must be resident.
    fn least<P: VertexProgram>(&self, graph: &Graph, config: &RunConfig) -> Result<Vec<PlanItem>> {
        let item = |name, bytes| PlanItem { name, bytes };
        let directory = graph.grid()?;
        let (vertices, intervals) = (graph.connected(), directory.intervals.len() as u64 - 1);
        let sums = [size_of::<P::Value>(), 4, size_of::<P::Signal>(), size_of::<P::Message>()]
            .map(|size| vertices * size as u64 / PAGE as u64 * 4 + intervals * 12);
        let early = self.precompute.is_some();
        let workspace = Workspace::<P>::bytes(directory.widest());
        let mut needs = vec![
            item(
                if early { "signals" } else { "window of signals" },
                self.smallest_window::<P>(graph)?,
            ),
            item("frontiers", 2 * Frontier::bytes(vertices)),
            item("intervals at hand", config.threads as u64 * workspace),
            item("directory, checksums", directory.bytes() + sums.iter().sum::<u64>()),
        ];
        if !self.path.grid {
            let names = self.path.list_sections();
            let sums = names.iter().map(|name| OpenSection::sums_bytes_of(graph, name)).sum();
            needs.push(item("row index", Degrees::narrow_bytes(graph)? + vertices / 8 + 16));
            needs.push(item("lists' checksums", sums));
        }
        if let Some((Role::Instead | Role::Beside, bytes)) = self.lists {
            needs.push(item("lists, passing buffers", bytes));
        }
        Ok(needs)
    }

    /// What a run takes beside its least whose passes serve two iterations and which has nothing on
    /// scratch.
    fn more<P: VertexProgram>(&self, graph: &Graph, config: &RunConfig) -> Result<Vec<PlanItem>> {
        let item = |name, bytes| PlanItem { name, bytes };
        let directory = graph.grid()?;
        let kept = |bytes: fn(usize) -> u64| {
            let pairs = directory.intervals.windows(2);
            pairs.map(|pair| bytes((pair[1] - pair[0]) as usize)).sum()
        };
        let signals = 2 * signal_bytes::<P>(graph) - self.smallest_window::<P>(graph)?;
        let two = Workspace::<P>::two_bytes(directory.widest());
        let degrees = DegreesByInterval::memory(graph, directory.intervals.len())?;
        Ok(vec![
            item("all signals, twice", signals),
            item("next intervals at hand", config.threads as u64 * two),
            item("next messages", kept(VertexArray::<P::Message>::kept_bytes)),
            item("values", kept(VertexArray::<P::Value>::kept_bytes)),
            item("degrees", degrees),
        ])
    }

    /// Bytes of the fewest signals that are in memory at a time: a sixteenth, or those of an
    /// interval; all, where some are made early.
    fn smallest_window<P: VertexProgram>(&self, graph: &Graph) -> Result<u64> {
        let (all, widest) = (signal_bytes::<P>(graph), graph.grid()?.widest());
        let some = (all / 16).max((widest * size_of::<P::Signal>()) as u64);
        Ok(if self.precompute.is_some() { all } else { some })
    }

    /// The lists of active vertices, where `room` bytes beside the least are enough for them.
    fn lists(&self, config: &RunConfig, room: u64) -> Result<Option<Role>> {
        match self.lists {
            Some((Role::Choice, needed)) if needed > room => match config.read {
                ReadPolicy::OnDemand => Err(EngineError::Memory {
                    needed: config.memory - room + needed,
                    budget: config.memory,
                    what: "reading on demand, fully externally".to_owned(),
                }),
                _ => Ok(None),
            },
            lists => Ok(lists.map(|(role, _)| role)),
        }
    }

    /// The sections of a run that has `room` bytes beside its least.
    pub(crate) fn sections(&self, config: &RunConfig, room: u64) -> Result<Vec<String>> {
        let lists = self.lists(config, room)?.map_or(Vec::new(), Role::sections);
        Ok(self.path.sections().chain(lists).collect())
    }

    /// Divides the bytes that are beside the least. Returns the bytes of lists that serve the next
    /// iteration too, and what there is memory for.
    fn divide<P: VertexProgram>(
        &self,
        session: &Session,
        mut room: u64,
    ) -> Result<(u64, Division)> {
        let (graph, config) = (session.graph, session.config);
        let (directory, signal) = (graph.grid()?, size_of::<P::Signal>() as u64);
        let selects = self.lists(config, room)? == Some(Role::Choice);
        room -= self.lists.filter(|_| selects).map_or(0, |(_, bytes)| bytes);
        let least = self.smallest_window::<P>(graph)?;
        let windows = Window::cut(&directory.intervals, (least + room) / signal.max(1));
        let one = windows.len() == 1;
        room -= if one { signal_bytes::<P>(graph) - least } else { room };
        // Lists, hubs' signals and chunks share what is left.
        let lists = if selects { room / 4 } else { 0 };
        room -= lists;
        let two = config.threads as u64 * Workspace::<P>::two_bytes(directory.widest());
        let cross = one && self.crosses && two <= room;
        room -= if cross { two } else { 0 };
        // Hubs end where an interval does.
        let most = if cross { room / signal } else { 0 };
        let ends = directory.intervals.iter().copied();
        let hubs = ends.take_while(|&bound| bound <= most).last().unwrap_or(0);
        let bounds = directory.intervals.as_slice().into();
        Ok((lists, Division { bounds, windows, hubs, near: room - hubs * signal }))
    }

    /// Opens the run of `program`, in a session whose plan has declared it, with the values that
    /// another program has left if there are some.
    pub(crate) fn open<'r, P: VertexProgram>(
        &self,
        program: &'r mut P,
        session: &'r Session<'r>,
        left: Option<VertexArray<P::Value>>,
    ) -> Result<Run<'r, P>> {
        let (graph, config) = (session.graph, session.config);
        let kept = left.as_ref().map_or(0, VertexArray::resident_bytes::<P::Value>);
        let room = session.decision().room.saturating_sub(kept);
        let (lists, mut division) = self.divide::<P>(session, room)?;
        let role = self.lists(config, room)?;
        let open = |role| OnDemand::open(session, role, &division.bounds, lists);
        let lists = role.map(open).transpose()?;
        let edges = if self.path.grid {
            let index = GridIndex::new(graph.grid()?, graph.connected(), division.hubs);
            let words = session.section("grid.words");
            Edges::Grid(GridByInterval { index, words, sub_blocks: None })
        } else {
            let sections = session.sections(&self.path.list_sections());
            Edges::Lists(Box::new(Rows::load_narrow(session, sections, 0)?))
        };
        // Plain streaming has nothing but chunks in memory that it could have on scratch.
        let streams = config.preset == Preset::Streaming;
        let mut chunks = if streams { std::mem::take(&mut division.near) } else { 0 };
        let mut run = Run::open(program, session, (edges, lists), left, &mut division)?;
        // Copies of chunks are blocks of the heap, with what goes with that.
        chunks = (chunks + division.near) / 4 * 3;
        if let Edges::Grid(grid) = &mut run.edges
            && config.sub_blocks
            && chunks >= 2 * CHUNK_BYTES
        {
            grid.sub_blocks = Some(SubBlockBuffer::new(chunks));
        }
        run.precompute = self.precompute;
        Ok(run)
    }

    /// The section of the degrees.
    pub(crate) fn degrees(&self) -> String {
        self.path.degrees()
    }
}

/// Bytes of the signals of all vertices.
fn signal_bytes<P: VertexProgram>(graph: &Graph) -> u64 {
    graph.connected() * size_of::<P::Signal>() as u64
}

/// The share of the grid's bytes that a pass reads where every pass serves two iterations and all
/// signals are in memory.
fn share(graph: &Graph) -> Result<f64> {
    let grid = GridIndex::new(graph.grid()?, graph.connected(), graph.connected());
    let (mut near, mut all) = (0, 0);
    for chunk in (0..grid.intervals()).flat_map(|interval| grid.chunks(interval, |_| true)) {
        near += if chunk.side == Side::Near { chunk.padded() } else { 0 };
        all += chunk.padded();
    }
    Ok((near + all) as f64 / (2 * all).max(1) as f64)
}
