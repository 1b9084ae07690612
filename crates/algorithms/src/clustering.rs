//! The local clustering coefficient as LDBC Graphalytics defines it (version 1.0.5, section 2.3.6):
//! of the ordered pairs of a vertex's neighbors, the share that an edge joins; 0 with fewer than
//! two neighbors. A neighbor is one along an edge of either direction; in an undirected graph each
//! edge joins two ordered pairs. Repetitions and self-loops do not count.

use outercore_engine::{
    Column, Figure, HugeVec, Isolated, Meaning, MemoryModel, Outcome, Plan, Result, RunConfig,
    RunProgress, Values,
    session::Session,
    state::{Appender, Scratch},
};
use outercore_graph::Graph;

use crate::{
    algorithm::Algorithm,
    finish::{Done, Summary, open, outcome},
    intersect::Counting,
    lists::{self, Kept, Lists},
    triangles::{Counted, Found},
};

/// The clustering coefficient of each vertex.
#[derive(Clone, Debug, Default)]
pub struct Clustering;

/// Vertices whose coefficients are made together.
const PART: u64 = 1 << 12;

impl Clustering {
    fn counting(graph: &Graph) -> Counting {
        if graph.directed() { Counting::Arcs } else { Counting::Each }
    }

    /// From what was found to coefficients, and their sum.
    fn shares<'s>(
        session: &'s Session<'s>,
        found: &Found,
        lists: &mut Lists,
        model: MemoryModel,
    ) -> Result<(f64, Values)> {
        let (vertices, ordered) =
            (session.graph.connected(), if session.graph.directed() { 1.0 } else { 2.0 });
        let external = model == MemoryModel::FullyExternal;
        let mut memory: HugeVec<f64> = HugeVec::zeroed(
            if external { 0 } else { vertices as usize },
            session.config.huge_pages,
        )?;
        let mut scratch =
            if external { Some(Appender::new(&Scratch::of(session), vertices)?) } else { None };
        let (mut sum, mut first, mut shares) = (0.0, 0, Vec::with_capacity(PART as usize));
        while first < vertices {
            let range = lists.degrees_from(first)?;
            let range = range.start..range.end.min(first + PART);
            shares.clear();
            match &found.degrees {
                Some(degrees) => {
                    degrees.for_each(range.clone(), |_, degree| shares.push(degree as f64))
                }
                None => shares.extend(range.clone().map(|vertex| lists.degree(vertex) as f64)),
            }
            found.counts.for_each(range.clone(), |vertex, count| {
                let share = &mut shares[(vertex - first) as usize];
                *share = if *share < 2.0 {
                    0.0
                } else {
                    count as f64 * ordered / (*share * (*share - 1.0))
                };
                sum += *share;
            });
            match &mut scratch {
                Some(scratch) => shares.iter().try_for_each(|&share| scratch.push(share))?,
                None => memory[first as usize..range.end as usize].copy_from_slice(&shares),
            }
            first = range.end;
        }
        Ok((
            sum,
            match scratch {
                Some(scratch) => scratch.finish().into(),
                None => memory.into(),
            },
        ))
    }
}

impl Algorithm for Clustering {
    fn name(&self) -> &'static str {
        "clustering"
    }

    fn plan(&self, graph: &Graph, config: &RunConfig) -> Result<Plan> {
        Ok(Counted::plan(self.name(), Self::counting(graph), graph, config)?.plan)
    }

    fn run(
        &self,
        graph: &Graph,
        config: &RunConfig,
        progress: &dyn RunProgress,
    ) -> Result<Outcome> {
        let counted = Counted::plan(self.name(), Self::counting(graph), graph, config)?;
        let (session, sections) =
            open(graph, config, progress, &lists::sections(graph, self.name())?)?;
        let model = counted.plan.memory_model;
        let mut lists = Lists::open(
            &session,
            &mut sections.into_iter(),
            model,
            Kept::Smaller,
            counted.entries(),
            0,
        )?;
        let load_seconds = session.seconds();
        let found = counted.run(&mut lists, &session)?;
        let (sum, values) = Self::shares(&session, &found, &mut lists, model)?;
        let mut summary = Summary::new();
        let average = if graph.vertices() == 0 { 0.0 } else { sum / graph.vertices() as f64 };
        summary.insert("average", Figure::Float(average));
        let column = Column {
            name: "clustering",
            values,
            isolated: Isolated::Value(0.0),
            meaning: Meaning::Number,
            exceptions: Vec::new(),
        };
        let done = Done {
            session: &session,
            plan: &counted.plan,
            iterations: found.windows,
            load_seconds,
        };
        Ok(outcome(&done, summary, vec![column], true))
    }
}
