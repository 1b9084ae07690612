//! Sparse matrix times vector, once: y[target] is the sum over edges of weight times x[source], for
//! x all ones; weight 1 where there are none.

use outercore_engine::{
    Column, Figure, Isolated, Meaning, Outcome, Plan, Result, RunConfig, RunProgress,
    execute::{execute, plan},
    monoid::Sum,
    program::{Context, Start, VertexProgram},
};
use outercore_graph::Graph;

use crate::{
    algorithm::Algorithm,
    finish::{Done, Summary, outcome},
};

/// The product of the transposed adjacency matrix and a vector of ones.
#[derive(Clone, Debug, Default)]
pub struct Spmv;

struct Program;

impl VertexProgram for Program {
    type Value = f64;
    type Signal = f64;
    type Message = Sum<f64>;

    fn start(&self) -> Start {
        Start::All
    }

    fn weighted(&self) -> bool {
        true
    }

    fn applies_always(&self) -> bool {
        true
    }

    fn init(&self, _: u64, _: u32) -> f64 {
        1.0
    }

    #[inline(always)]
    fn scatter(&self, _: u64, value: &f64, _: u32) -> Option<f64> {
        Some(*value)
    }

    #[inline(always)]
    fn carry(&self, signal: f64, weight: f64) -> Sum<f64> {
        Sum(signal * weight)
    }

    #[inline(always)]
    fn apply(&self, _: &Context, _: u64, value: &mut f64, message: Sum<f64>) -> bool {
        *value = message.0;
        false
    }

    fn finished(&self, context: &Context, _: f64, _: u64) -> bool {
        context.iteration >= 1
    }
}

impl Algorithm for Spmv {
    fn name(&self) -> &'static str {
        "spmv"
    }

    fn plan(&self, graph: &Graph, config: &RunConfig) -> Result<Plan> {
        Ok(plan(&Program, self.name(), graph, config, Some(1))?.0)
    }

    fn run(
        &self,
        graph: &Graph,
        config: &RunConfig,
        progress: &dyn RunProgress,
    ) -> Result<Outcome> {
        let finished = execute(&Program, self.name(), graph, config, progress, Some(1))?;
        let mut squares = 0.0;
        finished.values.for_each(|_, value| squares += value * value)?;
        let mut summary = Summary::new();
        summary.insert("norm", Figure::Float(squares.sqrt()));
        let column = Column {
            name: "value",
            values: finished.values.into_values(),
            isolated: Isolated::Value(0.0),
            meaning: Meaning::Number,
            exceptions: Vec::new(),
        };
        let done = Done {
            session: &finished.session,
            plan: &finished.plan,
            iterations: finished.iterations,
            load_seconds: finished.load_seconds,
        };
        Ok(outcome(&done, summary, vec![column], false))
    }
}
