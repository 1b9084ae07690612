//! The local clustering coefficient as LDBC Graphalytics defines it (version 1.0.5, section 2.3.6): of the ordered pairs of a vertex's neighbors, the share that an edge joins; 0 with fewer
//! than two neighbors. A neighbor is one along an edge of either direction; in an undirected graph each edge joins two ordered pairs. Repetitions and self-loops do not count.

use std::sync::atomic::Ordering::Relaxed;

use outercore_engine::{Column, Figure, Isolated, Meaning, Outcome, Plan, Result, RunConfig, RunProgress, Values};
use outercore_graph::Graph;

use crate::{
    algorithm::Algorithm,
    finish::{Done, Summary, open, outcome},
    intersect::Counting,
    lists::{self, Kept, Lists},
    triangles::Counted,
};

/// The clustering coefficient of each vertex.
#[derive(Clone, Debug, Default)]
pub struct Clustering;

impl Clustering {
    fn counting(graph: &Graph) -> Counting {
        if graph.directed() { Counting::Arcs } else { Counting::Each }
    }
}

impl Algorithm for Clustering {
    fn name(&self) -> &'static str {
        "clustering"
    }

    fn plan(&self, graph: &Graph, config: &RunConfig) -> Result<Plan> {
        Ok(Counted::plan(self.name(), Self::counting(graph), graph, config)?.plan)
    }

    fn run(&self, graph: &Graph, config: &RunConfig, progress: &dyn RunProgress) -> Result<Outcome> {
        let counted = Counted::plan(self.name(), Self::counting(graph), graph, config)?;
        let (session, sections) = open(graph, config, progress, &lists::sections(graph, self.name())?)?;
        let model = counted.plan.memory_model;
        let mut lists = Lists::open(&session, &mut sections.into_iter(), model, Kept::Smaller, counted.entries(), 0)?;
        let load_seconds = session.seconds();
        let found = counted.run(&mut lists, &session)?;
        let ordered = if graph.directed() { 1.0 } else { 2.0 };
        let mut sum = 0.0;
        for (count, degree) in found.counts.iter().zip(found.degrees.iter()) {
            let degree = f64::from(degree.load(Relaxed));
            let joined = count.load(Relaxed) as f64 * ordered;
            let share = if degree < 2.0 { 0.0 } else { joined / (degree * (degree - 1.0)) };
            sum += share;
            // The array becomes the result: a second one would be as large.
            count.store(share.to_bits(), Relaxed);
        }
        let mut summary = Summary::new();
        let average = if graph.vertices() == 0 { 0.0 } else { sum / graph.vertices() as f64 };
        summary.insert("average", Figure::Float(average));
        let column = Column {
            name: "clustering",
            values: Values::F64(found.counts.into_plain().into_floats()),
            isolated: Isolated::Value(0.0),
            meaning: Meaning::Number,
            exceptions: Vec::new(),
        };
        let done = Done { session: &session, plan: &counted.plan, iterations: found.windows, load_seconds };
        Ok(outcome(&done, summary, vec![column], true))
    }
}
