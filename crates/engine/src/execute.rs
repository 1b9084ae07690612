//! How programs are run: declared in a plan, opened in its session, iterated with the values in
//! memory (`iterate`) or on storage (`external`).

use outercore_graph::{Direction, Graph, WeightKind};

use crate::{
    config::{ReadPolicy, RunConfig},
    edges::{grid::Grid, rows::Rows, table::load_table},
    error::{EngineError, Result},
    external::{self, early::Early},
    frontier::Frontier,
    iterate::{Channel, Run},
    job::Job,
    plan::{Plan, Planner},
    program::{Ended, Monotone, Start, VertexProgram},
    progress::{RunProgress, Silent},
    session::Session,
    state::VertexArray,
};

/// A finished run of a program, with its session.
pub struct Finished<'a, V: outercore_storage::Pod> {
    /// The final values.
    pub values: VertexArray<V>,
    /// The session, for the report.
    pub session: Session<'a>,
    /// The plan that ran.
    pub plan: Plan,
    /// Iterations.
    pub iterations: u64,
    /// The last iteration's residual.
    pub residual: f64,
    /// Seconds of loading.
    pub load_seconds: f64,
}

/// A program and how it is to run, as a resource of a plan.
pub struct Iterations<P> {
    /// The number of iterations, where it is known.
    scans: Option<u64>,
    /// The most iterations, where there is a limit: the last one prepares nothing for another.
    most: Option<u64>,
    early: Option<Early<P>>,
}

impl<P: VertexProgram> Iterations<P> {
    /// Declares what `program` needs; `scans` is the number of iterations, where it is known.
    pub fn declare(planner: &mut Planner, program: &P, scans: Option<u64>) -> Result<Self> {
        let this = Self { scans, most: scans, early: None };
        this.price(planner, program)?;
        Ok(this)
    }

    /// The same for a program whose vertices may be computed early, if that was asked for.
    pub fn declare_monotone(planner: &mut Planner, program: &P) -> Result<Self>
    where
        P: Monotone,
    {
        let early = Early::new(planner.job().config.early());
        let this = Self { scans: None, most: None, early };
        this.price(planner, program)?;
        Ok(this)
    }

    /// There are at most so many iterations.
    pub fn at_most(self, iterations: u64) -> Self {
        Self { most: Some(iterations), ..self }
    }

    fn price(&self, planner: &mut Planner, program: &P) -> Result<()> {
        let Job { graph, config, .. } = planner.job();
        let (vertices, routes) = (graph.connected(), routes(program, graph, config)?);
        let values = [
            ("values", size_of::<P::Value>()),
            ("signals", size_of::<P::Signal>()),
            ("messages", size_of::<P::Message>()),
        ];
        for (name, size) in values {
            planner.in_turn(name, vertices * size as u64);
        }
        planner.in_turn("frontiers", 3 * Frontier::bytes(vertices));
        for route in &routes {
            match route.rows {
                Some(_) => planner.in_turn("row index", Rows::index_bytes(graph)),
                None => planner.in_turn("degrees", vertices * 4),
            }
            route.edges().into_iter().for_each(|section| planner.edges(section));
        }
        planner.scans(self.scans);
        planner.method(if routes.iter().all(|route| route.rows.is_none()) {
            "full scans of the grid"
        } else {
            "iterations over a frontier; the cheaper of grid and rows for each"
        });
        if self.early.is_some() {
            planner.computes_early();
        }
        let resident: Vec<String> = routes.iter().flat_map(Route::sections).collect();
        let external = external::needs::declare(planner, program, self.early.as_ref())?;
        planner.sections(move |decision| match &external {
            Some(external) if decision.is_external() || decision.in_passes => {
                external.names(decision.room)
            }
            _ => Ok(resident.clone()),
        });
        Ok(())
    }

    /// Runs the program to its end in a session whose plan it is part of.
    pub fn run(&self, session: &Session, program: &P) -> Result<Ended<P::Value>> {
        let decision = session.decision();
        if decision.is_external() || decision.in_passes {
            return external::run::execute(program, session, (self.most, self.early));
        }
        let routes = routes(program, session.graph, session.config)?;
        let total = routes.iter().map(Route::ways).sum::<u64>();
        let (mut channels, mut degrees) = (Vec::new(), None);
        for route in &routes {
            let open =
                |names: Vec<String>| names.iter().map(|name| session.section(name)).collect();
            let rows = match route.rows {
                Some(rows) => {
                    let sections = open(Rows::sections(rows, route.weights));
                    Some(Rows::load(session, sections, decision.room / total)?)
                }
                None => {
                    let section = session.section(&route.degrees());
                    let len = session.graph.connected() as usize;
                    degrees.get_or_insert(load_table(session, &section, len)?);
                    None
                }
            };
            let grid = if route.grid {
                let words = session.section("grid.words");
                Some(Grid::open(session, words, decision.room / total)?)
            } else {
                None
            };
            channels.push(Channel { rows, grid });
        }
        session.loaded();
        let run = Run::new(program, session, &channels, degrees.as_deref())?;
        let (values, iterations, residual) = run.iterate()?;
        Ok(Ended { values: values.into(), iterations, residual })
    }
}

/// What a program needs: the plan, and the bytes that may cache edges.
pub fn plan<P: VertexProgram>(
    program: &P,
    name: &'static str,
    graph: &Graph,
    config: &RunConfig,
    scans: Option<u64>,
) -> Result<(Plan, u64)> {
    let mut planner = Planner::new(name, Job { graph, config, progress: &Silent });
    Iterations::declare(&mut planner, program, scans)?;
    let decided = planner.decide()?;
    Ok((decided.plan, decided.decision.room))
}

/// The same for a program whose vertices may be computed early, if `config` says so.
pub fn plan_monotone<P: Monotone>(
    program: &P,
    name: &'static str,
    graph: &Graph,
    config: &RunConfig,
) -> Result<(Plan, u64)> {
    let mut planner = Planner::new(name, Job { graph, config, progress: &Silent });
    Iterations::declare_monotone(&mut planner, program)?;
    let decided = planner.decide()?;
    Ok((decided.plan, decided.decision.room))
}

/// The sections by which one direction's edges are reached.
struct Route {
    grid: bool,
    rows: Option<Direction>,
    degrees: Direction,
    weights: bool,
}

impl Route {
    fn degrees(&self) -> String {
        format!("{}.degrees", self.degrees.name())
    }

    /// The sections that a run opens.
    fn sections(&self) -> Vec<String> {
        let mut names = match self.rows {
            Some(rows) => Rows::sections(rows, self.weights),
            None => vec![self.degrees()],
        };
        names.extend(self.grid.then(|| "grid.words".to_owned()));
        names
    }

    /// Those of them that have edges.
    fn edges(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.grid.then(|| "grid.words".to_owned()).into_iter().collect();
        let rows = self.rows.map(|rows| Rows::sections(rows, self.weights));
        names.extend(rows.into_iter().flatten().skip(2));
        names
    }

    /// The ways that share what is left of the budget.
    fn ways(&self) -> u64 {
        u64::from(self.grid) + u64::from(self.rows.is_some())
    }
}

fn routes<P: VertexProgram>(program: &P, graph: &Graph, config: &RunConfig) -> Result<Vec<Route>> {
    let weights = program.weighted() && graph.weights() != WeightKind::None;
    let dense = matches!(program.start(), Start::All) && program.applies_always();
    let mut done = Vec::new();
    let mut routes = Vec::new();
    for &direction in program.directions() {
        let rows = graph.rows(direction).ok_or_else(|| {
            EngineError::Usage(
                "this needs the incoming edges, and the graph was built with --transpose off"
                    .to_owned(),
            )
        })?;
        if done.contains(&rows) {
            continue;
        }
        done.push(rows);
        // The grid leads from sources to targets, without weights, and does not have all edges in
        // every layout.
        let grid = rows == Direction::Out
            && !weights
            && config.read != ReadPolicy::OnDemand
            && graph.has_whole_grid();
        let wants_rows = !grid || !(dense || config.read == ReadPolicy::Full);
        routes.push(Route { grid, rows: wants_rows.then_some(rows), degrees: rows, weights });
    }
    Ok(routes)
}

/// Runs `program` to its end. `scans` is the number of iterations, where it is known before.
pub fn execute<'a, P: VertexProgram>(
    program: &P,
    name: &'static str,
    graph: &'a Graph,
    config: &'a RunConfig,
    progress: &'a dyn RunProgress,
    scans: Option<u64>,
) -> Result<Finished<'a, P::Value>> {
    let mut planner = Planner::new(name, Job { graph, config, progress });
    let iterations = Iterations::declare(&mut planner, program, scans)?;
    finish(planner, &iterations, program)
}

/// The same for a program whose vertices may be computed early, if `config` says so.
pub fn execute_monotone<'a, P: Monotone>(
    program: &P,
    name: &'static str,
    graph: &'a Graph,
    config: &'a RunConfig,
    progress: &'a dyn RunProgress,
) -> Result<Finished<'a, P::Value>> {
    let mut planner = Planner::new(name, Job { graph, config, progress });
    let iterations = Iterations::declare_monotone(&mut planner, program)?;
    finish(planner, &iterations, program)
}

fn finish<'a, P: VertexProgram>(
    planner: Planner<'a>,
    iterations: &Iterations<P>,
    program: &P,
) -> Result<Finished<'a, P::Value>> {
    let decided = planner.decide()?;
    let plan = decided.plan.clone();
    let session = decided.start()?;
    let Ended { values, iterations, residual } = iterations.run(&session, program)?;
    let load_seconds = session.load_seconds();
    Ok(Finished { values, session, plan, iterations, residual, load_seconds })
}
