//! [`Iterations`]: a program and how it is to run, as a resource of a plan.

use outercore_storage::memory;

use super::{
    by_segment::{INTERVAL, Resident},
    edge_path::EdgePath,
    interval_memory::IntervalMemory,
    iterate,
    run::{Division, Edges, Run},
    workspace::Workspace,
};
use crate::{
    config::Precompute,
    edges::rows::Rows,
    error::Result,
    frontier::Frontier,
    job::Job,
    plan::Planner,
    program::{Ended, Monotone, VertexProgram, Wake},
    session::Session,
    state::VertexArray,
};

/// A program and how it is to run, as a resource of a plan.
pub struct Iterations<P> {
    /// The most iterations, where there is a limit: the last one prepares nothing for another.
    most: Option<u64>,
    /// Values are not looked at after fewer iterations.
    discards_before: u64,
    /// How an interval at a time is at hand, if that is possible.
    by_interval: Option<IntervalMemory>,
    program: std::marker::PhantomData<fn() -> P>,
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
        let early = planner.job().config.early();
        Self::of(planner, program, None, early)
    }

    fn of(
        planner: &mut Planner,
        program: &P,
        scans: Option<u64>,
        early: Option<Precompute>,
    ) -> Result<Self> {
        let Job { graph, config, .. } = planner.job();
        let (vertices, paths) = (graph.connected(), EdgePath::pushed(program, graph, config)?);
        planner.in_turn("values", vertices * size_of::<P::Value>() as u64);
        planner.in_turn("signals", vertices * size_of::<P::Signal>() as u64);
        planner.in_turn("messages", vertices * size_of::<P::Message>() as u64);
        planner.in_turn("frontiers", 2 * Frontier::bytes(vertices));
        let workspace = Workspace::<P>::bytes(INTERVAL as usize);
        planner.in_turn("intervals at hand", config.threads as u64 * workspace);
        let indexes = paths.iter().filter(|path| path.lists.is_some()).count();
        planner.in_turn("row index", indexes as u64 * Rows::index_bytes(graph.connected()));
        planner.in_turn("degrees", (paths.len() - indexes) as u64 * vertices * 4);
        planner.edges_in_turn(paths.iter().flat_map(EdgePath::edges).collect());
        planner.scans(scans);
        planner.method(if paths.iter().all(|path| path.lists.is_none()) {
            "full scans of the grid"
        } else {
            "iterations over a frontier; the cheaper of grid and rows for each"
        });
        if early.is_some() {
            planner.computes_early();
        }
        let by_interval = IntervalMemory::of::<P>(planner.job(), early)?;
        match &by_interval {
            Some(memory) => memory.declare::<P>(planner)?,
            None => planner.in_turn_external(None),
        }
        let resident: Vec<String> = paths.iter().flat_map(EdgePath::sections).collect();
        let external = by_interval.clone();
        planner.sections(move |decision| match &external {
            Some(memory) if decision.is_by_interval() => memory.sections(config, decision.room),
            _ => Ok(resident.clone()),
        });
        let program = std::marker::PhantomData;
        Ok(Self { most: scans, discards_before: 0, by_interval, program })
    }

    /// There are at most so many iterations.
    pub fn at_most(self, iterations: u64) -> Self {
        Self { most: Some(iterations), ..self }
    }

    /// Neither the next iteration nor the result depends on the values after fewer iterations than
    /// these: what vertices apply comes from messages alone. A run by passes does not keep them
    /// then.
    pub fn discards_values_before(self, iterations: u64) -> Self {
        Self { discards_before: iterations, ..self }
    }

    /// Runs the program to its end in a session whose plan it is part of.
    pub fn run(&self, session: &Session, program: &mut P) -> Result<Ended<P::Value>> {
        self.run_from(session, program, None)
    }

    /// The same from the values that another program has left.
    pub fn go_on(
        &self,
        session: &Session,
        program: &mut P,
        values: VertexArray<P::Value>,
        wake: Wake<P>,
    ) -> Result<Ended<P::Value>> {
        self.run_from(session, program, Some((values, wake)))
    }

    fn run_from(
        &self,
        session: &Session,
        program: &mut P,
        left: Option<(VertexArray<P::Value>, Wake<P>)>,
    ) -> Result<Ended<P::Value>> {
        // What the program before has freed.
        memory::give_back_freed_memory();
        let (values, wake) = left.unzip();
        let (mut run, degrees) = match &self.by_interval {
            Some(memory) if session.decision().is_by_interval() => {
                (memory.open(program, session, values)?, memory.degrees())
            }
            _ => {
                let paths = EdgePath::pushed(program, session.graph, session.config)?;
                let edges = Edges::Resident(Resident::open(session, &paths)?);
                let mut division = Division::whole(session);
                let run = Run::open(program, session, (edges, None), values, &mut division)?;
                (run, paths[0].degrees())
            }
        };
        (run.most, run.discards_before) = (self.most, self.discards_before);
        run.begin(wake, &degrees)?;
        session.loaded();
        let (iterations, residual) = iterate(&mut run)?;
        Ok(Ended { values: run.values, iterations, residual })
    }
}
