//! What fully-external runs of programs need: memory, scratch, sections.

use outercore_graph::Graph;
use outercore_storage::PAGE;

use super::{
    demand::{self, Demand},
    desk::Desk,
    early::Early,
    fits_grid, method,
    pull::Route,
    suits,
};
use crate::{
    config::{Preset, ReadPolicy, RunConfig},
    edges::grid::index::{GridIndex, Side},
    error::{EngineError, Result},
    frontier::Frontier,
    job::Job,
    plan::{Passes, PlanItem, Planner},
    program::{Start, VertexProgram},
    state::{DegreesByInterval, VertexArray},
};

/// The least that must be resident.
pub fn least<P: VertexProgram>(
    program: &P,
    graph: &Graph,
    config: &RunConfig,
    early: Option<&Early<P>>,
) -> Result<Vec<PlanItem>> {
    let directory = graph.grid()?;
    let (vertices, intervals) = (graph.connected(), directory.intervals.len() as u64 - 1);
    let sums = [size_of::<P::Value>(), 4, size_of::<P::Signal>(), size_of::<P::Message>()]
        .map(|size| vertices * size as u64 / PAGE as u64 * 4 + intervals * 12);
    let mut needs = vec![
        PlanItem {
            name: if early.is_some() { "signals" } else { "window of signals" },
            bytes: smallest_window(graph, early)?,
        },
        PlanItem { name: "frontiers", bytes: 2 * Frontier::bytes(vertices) },
        PlanItem {
            name: "intervals at hand",
            bytes: config.threads as u64 * Desk::<P>::bytes(directory.widest()),
        },
        PlanItem {
            name: "directory, checksums",
            bytes: directory.bytes() + sums.iter().sum::<u64>(),
        },
    ];
    if let Some(route) = lists(program, graph) {
        needs.extend(route.needs(graph)?);
    } else if let Some(prefix) = lists_of_passes(graph, early) {
        needs.push(PlanItem {
            name: "lists, passing buffers",
            bytes: demand::bytes::<P>(graph, prefix, config.threads)?,
        });
    }
    Ok(needs)
}

/// Bytes of the signals of all vertices.
pub fn signal_bytes<P: VertexProgram>(graph: &Graph) -> u64 {
    graph.connected() * size_of::<P::Signal>() as u64
}

/// Bytes of the fewest signals that are in memory at a time: a sixteenth, or those of an interval;
/// all, where some are made early.
pub fn smallest_window<P: VertexProgram>(graph: &Graph, early: Option<&Early<P>>) -> Result<u64> {
    if early.is_some() {
        return Ok(signal_bytes::<P>(graph));
    }
    let widest = (graph.grid()?.widest() * size_of::<P::Signal>()) as u64;
    Ok((signal_bytes::<P>(graph) / 16).max(widest))
}

/// The lists along which a program's signals come, where the grid does not have its edges.
pub fn lists<P: VertexProgram>(program: &P, graph: &Graph) -> Option<Route> {
    if fits_grid(program, graph) { None } else { Route::of(program, graph) }
}

/// The lists that every iteration reads: those that complete the grid, or those whose vertices are
/// computed early.
pub fn lists_of_passes<P: VertexProgram>(
    graph: &Graph,
    early: Option<&Early<P>>,
) -> Option<&'static str> {
    graph.pass_rows().or(early.is_some().then_some("out"))
}

/// Whether passes may serve two iterations.
pub fn crosses<P: VertexProgram>(program: &P, graph: &Graph, config: &RunConfig) -> bool {
    let everyone = program.applies_always() && matches!(program.start(), Start::All);
    everyone
        && config.cross_iteration.in_passes()
        && fits_grid(program, graph)
        && graph.has_whole_grid()
}

/// The sections of a run.
pub struct Sections {
    /// The degrees of the sources.
    pub degrees: String,
    /// The lists along which signals come; `None`: the words of the grid.
    pub pull: Option<Vec<String>>,
    /// The lists of active vertices, and the bytes that reading them takes; 0 where they are
    /// counted already.
    lists: Option<(Vec<String>, u64)>,
    /// Whether those lists were asked for, and the budget.
    asked: Option<u64>,
}

impl Sections {
    /// Those of a run of `program`.
    pub fn of<P: VertexProgram>(
        program: &P,
        graph: &Graph,
        config: &RunConfig,
        early: Option<&Early<P>>,
    ) -> Result<Self> {
        if let Some(route) = lists(program, graph) {
            let degrees = format!("{}.degrees", route.degrees.name());
            return Ok(Self { degrees, pull: Some(route.sections()), lists: None, asked: None });
        }
        let lists = if let Some(prefix) = lists_of_passes(graph, early) {
            Some((Demand::<P::Message>::sections(prefix), 0))
        } else if !program.is_selective() || config.read == ReadPolicy::Full {
            None
        } else {
            let needed = demand::bytes::<P>(graph, "out", config.threads)?;
            Some((Demand::<P::Message>::sections("out"), needed))
        };
        let asked = (config.read == ReadPolicy::OnDemand).then_some(config.memory);
        Ok(Self { degrees: "out.degrees".to_owned(), pull: None, lists, asked })
    }

    /// The lists of active vertices, where `room` bytes beside the least are enough for them.
    pub fn lists(&self, room: u64) -> Result<Option<&[String]>> {
        match (&self.lists, self.asked) {
            (Some((names, needed)), _) if *needed <= room => Ok(Some(names)),
            (Some((_, needed)), Some(budget)) => Err(EngineError::Memory {
                needed: budget - room + needed,
                budget,
                what: "reading on demand, fully externally".to_owned(),
            }),
            _ => Ok(None),
        }
    }

    /// All that a run opens which has `room` bytes beside its least.
    pub fn names(&self, room: u64) -> Result<Vec<String>> {
        let mut names = vec![self.degrees.clone()];
        match &self.pull {
            Some(lists) => names.extend_from_slice(lists),
            None => names.push("grid.words".to_owned()),
        }
        names.extend(self.lists(room)?.into_iter().flatten().cloned());
        Ok(names)
    }
}

/// Declares what a run of `program` needs whose values are on storage; `None`: there is no such
/// run.
pub fn declare<P: VertexProgram>(
    planner: &mut Planner,
    program: &P,
    early: Option<&Early<P>>,
) -> Result<Option<Sections>> {
    let Job { graph, config, .. } = planner.job();
    if !suits(program, graph) {
        planner.in_turn_external(None);
        return Ok(None);
    }
    let least_items = least(program, graph, config, early)?;
    if let Some(near) = near(program, graph, config)? {
        planner.may_pass(Passes {
            method: "passes over the grid, up and down in turn, in which half of the edges serve \
                     two iterations",
            kept: near.iter().map(|item| item.bytes).sum(),
            arrays: [least(program, graph, config, None)?, near].concat(),
            share,
        });
    }
    planner.in_turn_external(Some(least_items));
    planner.external_method(method(program, graph));
    planner.scratch(disk_bytes::<P>(graph));
    Ok(Some(Sections::of(program, graph, config, early)?))
}

/// Bytes of scratch that a run takes.
pub fn disk_bytes<P: VertexProgram>(graph: &Graph) -> u64 {
    graph.connected()
        * (size_of::<P::Value>() + 4 + size_of::<P::Signal>() + size_of::<P::Message>()) as u64
}

/// What a run takes beside its least whose passes serve two iterations and which has nothing on
/// scratch; `None`: its passes do not.
pub fn near<P: VertexProgram>(
    program: &P,
    graph: &Graph,
    config: &RunConfig,
) -> Result<Option<Vec<PlanItem>>> {
    // Programs whose vertices come to send no more are better off with scans, and with lists whose
    // messages are combined in memory: two thirds of the time of passes, as measured.
    if !crosses(program, graph, config)
        || program.is_selective()
        || config.preset == Preset::Streaming
    {
        return Ok(None);
    }
    let intervals = graph.grid()?.intervals.clone();
    let kept = |bytes: fn(usize) -> u64| {
        intervals.windows(2).map(|pair| bytes((pair[1] - pair[0]) as usize)).sum()
    };
    Ok(Some(vec![
        PlanItem {
            name: "all signals, twice",
            bytes: 2 * signal_bytes::<P>(graph) - smallest_window::<P>(graph, None)?,
        },
        PlanItem {
            name: "next intervals at hand",
            bytes: config.threads as u64 * Desk::<P>::two_bytes(graph.grid()?.widest()),
        },
        PlanItem { name: "next messages", bytes: kept(VertexArray::<P::Message>::kept_bytes) },
        PlanItem { name: "values", bytes: kept(VertexArray::<P::Value>::kept_bytes) },
        PlanItem { name: "degrees", bytes: DegreesByInterval::memory(graph, intervals.len())? },
    ]))
}

/// The share of the grid's bytes that a pass reads where every pass serves two iterations and all
/// signals are in memory.
pub fn share(graph: &Graph) -> Result<f64> {
    let columns = GridIndex::new(graph.grid()?, graph.connected(), graph.connected());
    let (mut near, mut all) = (0, 0);
    for chunk in (0..columns.intervals()).flat_map(|interval| columns.chunks(interval, |_| true)) {
        near += if chunk.side == Side::Near { chunk.padded() } else { 0 };
        all += chunk.padded();
    }
    Ok((near + all) as f64 / (2 * all).max(1) as f64)
}
