//! [`Iterations`]: a program and how it is to run, as a resource of a plan; and the loop that runs
//! it.

use std::marker::PhantomData;

use super::{
    Division, EdgeSource, INTERVAL, Resident, Run, Workspace, edge_path::EdgePath,
    interval_memory::IntervalMemory,
};
use crate::{
    Frontier, Monoid,
    config::{Precompute, RunConfig},
    edges::rows::Rows,
    job::Job,
    plan::{Decision, Planner},
    program::{Activity, Ended, IterationEnd, Monotone, Next, VertexProgram, Wake},
    session::Session,
    state::VertexArray,
    techniques::Technique,
};
use outercore_graph::{Result, format::GridPass};
use outercore_storage::Inbox;

/// A program and how it is to run, as a resource of a plan.
pub struct Iterations<P> {
    /// The most iterations, where there is a limit: the last one prepares nothing for another.
    pub most: Option<u64>,
    /// Neither the next iteration nor the result depends on the values after fewer iterations than
    /// these: what vertices apply comes from messages alone. A run by passes does not keep them
    /// then.
    pub discards_values_before: u64,
    /// Which vertices are computed early with everything in memory, and by intervals of how many.
    early: Option<(Precompute, u64)>,
    /// How an interval at a time is at hand, if that is possible.
    by_interval: Option<IntervalMemory>,
    /// How edges are reached with everything in memory, by direction.
    paths: Vec<EdgePath>,
    program: PhantomData<fn() -> P>,
}

impl<P: VertexProgram> Iterations<P> {
    /// Declares what `program` needs; `scans` is the number of iterations, where it is known.
    pub fn declare(planner: &mut Planner, program: &P, scans: Option<u64>) -> Result<Self> {
        Self::of(planner, program, scans, None)
    }

    /// The same for a program whose vertices may be computed early, if that was asked for.
    pub fn declare_monotone(planner: &mut Planner, program: &P) -> Result<Self>
    where
        P: Monotone,
    {
        // What is promoted must send along all edges: there is one way for all of them.
        let early = planner.job.config.early().filter(|_| P::DIRECTIONS.len() == 1);
        Self::of(planner, program, None, early)
    }

    fn of(
        planner: &mut Planner,
        program: &P,
        scans: Option<u64>,
        early: Option<Precompute>,
    ) -> Result<Self> {
        let Job { graph, config, .. } = planner.job;
        planner.begins = program.start().size();
        let vertices = graph.connected();
        let paths = EdgePath::pushed(program, graph, config)?;
        // What is sent early is handed out by range.
        let interval = early.map_or(INTERVAL, |_| Inbox::<P::Message>::range(vertices));
        let workspace =
            Workspace::<P>::bytes(interval as usize) + Inbox::<P::Message>::bytes(vertices);
        let indexes = paths.iter().filter(|path| path.lists.is_some()).count();
        let degrees = paths.iter().filter(|path| path.lists.is_none() || path.takes).count();
        for (name, bytes) in [
            ("values", vertices * size_of::<P::Value>() as u64),
            ("signals", vertices * size_of::<P::Signal>() as u64),
            ("messages", vertices * size_of::<P::Message>() as u64),
            ("frontiers", 2 * Frontier::bytes(vertices)),
            ("intervals at hand, batches", config.threads as u64 * workspace),
            ("row index", indexes as u64 * Rows::index_bytes(vertices)),
            ("degrees", degrees as u64 * vertices * 4),
        ] {
            planner.in_turn(name, bytes);
        }
        planner.edges_in_turn(paths.iter().flat_map(EdgePath::edges).collect());
        planner.scans(scans);
        planner.method(if indexes == 0 {
            "full scans of the grid"
        } else {
            "iterations over a frontier; the cheaper of grid and rows for each"
        });
        let by_interval = IntervalMemory::of::<P>(planner.job, early)?;
        match &by_interval {
            Some(memory) => memory.declare::<P>(planner, scans)?,
            None => planner.in_turn_external(None),
        }
        let (resident, external) = (paths.clone(), by_interval.clone());
        let how = (config, scans, early);
        planner.can(move |decision| can::<P>(how, decision, (&resident, &external)));
        let (resident, external) = (paths.clone(), by_interval.clone());
        planner.sections(move |decision| match &external {
            Some(memory) if decision.is_by_interval() => Ok(memory.sections(decision.room)),
            _ => Ok(resident.iter().flat_map(EdgePath::sections).collect()),
        });
        let (program, early) = (PhantomData, early.map(|early| (early, interval)));
        Ok(Self { most: scans, discards_values_before: 0, early, by_interval, paths, program })
    }

    /// Runs the program to its end in a session whose plan it is part of, from the values that
    /// another program has left, where there are some.
    pub fn run(
        &self,
        session: &Session,
        program: &mut P,
        left: Option<(VertexArray<P::Value>, Wake<P>)>,
    ) -> Result<Ended<P::Value>> {
        // What the program before has freed.
        session.decision.give_back();
        let (values, wake) = left.unzip();
        let (mut run, degrees) = match &self.by_interval {
            Some(memory) if session.decision.is_by_interval() => {
                let values = (values, self.discards_values_before > 0);
                (memory.open(program, session, values)?, memory.path.degrees())
            }
            _ => {
                let edges = (EdgeSource::Resident(Resident::open(session, &self.paths)?), None);
                let (early, interval) = self.early.unzip();
                let interval = interval.unwrap_or(INTERVAL);
                let mut division = Division::whole(session.graph.connected(), interval);
                let run = Run::open(program, session, edges, values, &mut division)?;
                (Run { precompute: early, ..run }, self.paths[0].degrees())
            }
        };
        (run.most, run.discards_before) = (self.most, self.discards_values_before);
        run.begin(wake, &degrees)?;
        session.loaded();
        let residual = iterate(&mut run)?;
        Ok(Ended { values: run.values, iterations: run.context.iteration, residual })
    }
}

/// The techniques of so many scans, by what was decided.
fn can<P: VertexProgram>(
    (config, scans, early): (&RunConfig, Option<u64>, Option<Precompute>),
    decision: &Decision,
    (paths, memory): (&[EdgePath], &Option<IntervalMemory>),
) -> Result<Vec<Technique>> {
    use Technique::{Fciu, OnDemand, Push, SubBlocks};
    let mut can = match memory {
        Some(memory) if decision.is_by_interval() => memory.can::<P>(decision.room),
        memory => {
            // What is off would act in passes instead.
            let passes = P::ACTIVITY == Activity::AllSend
                && memory.as_ref().is_some_and(|memory| memory.may_cross);
            let off = [Fciu, SubBlocks].into_iter().filter(|can| passes && !can.is_on(config));
            let mut can = EdgePath::can(paths, P::Message::EXACT);
            can.extend(off);
            can.extend(early.filter(|_| can.contains(&OnDemand)).map(|_| Technique::Precompute));
            can
        }
    };
    can.extend(can.contains(&OnDemand).then_some(Push));
    // Nothing serves another iteration where there is one.
    can.retain(|can| scans != Some(1) || ![Fciu, SubBlocks].contains(can));
    Ok(can)
}

/// Runs to the end. Returns the last residual.
fn iterate<P: VertexProgram>(run: &mut Run<P>) -> Result<f64> {
    let (session, mut residual) = (run.session, 0.0);
    let mut active = run.total(|state| state.active);
    let mut next = match active {
        0 if P::ACTIVITY == Activity::Frontier => Next::Phase,
        _ => Next::Iteration,
    };
    while next != Next::End && run.most != Some(run.context.iteration) {
        let mark = session.mark();
        if next == Next::Phase {
            let keys = (0..run.states.len()).map(|interval| run.state(interval).key);
            run.context.phase = keys.min().unwrap_or(u64::MAX);
            if run.context.phase == u64::MAX {
                break;
            }
            // Nothing sent, so nothing was done ahead.
            run.pass = GridPass::PLAIN;
            run.begin_phase()?;
            active = run.total(|state| state.active);
            if active == 0 {
                break;
            }
        }
        run.context.aggregate = run.total(|state| state.aggregate);
        run.program.begin_iteration(&run.context);
        let (mode, predicted) = match run.edges.resident() {
            Some(edges) => run.by_segment(edges)?,
            None => run.by_interval()?,
        };
        session.counters.note(Technique::Push, [1, 0]);
        run.turn();
        residual = run.total(|state| state.residual);
        session.end_predicted(&mark, active, mode, predicted);
        session.check()?;
        run.context.iteration += 1;
        active = run.total(|state| state.active);
        let end = IterationEnd { iterations: run.context.iteration, residual, active };
        next = run.program.end_iteration(&end);
    }
    Ok(residual)
}
