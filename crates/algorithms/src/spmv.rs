//! Sparse matrix times vector, once: y[target] is the sum over edges of weight times x[source]; x
//! is the user's or all ones, and the weight 1 where there are none.

use outercore_engine::{Norm, Wake};
use outercore_graph::Vector;

use crate::common::*;

/// The product of the transposed adjacency matrix and a vector.
#[derive(Clone, Debug, Default)]
pub struct Spmv {
    /// The vector; `None`: of ones.
    pub vector: Option<Vector>,
}

struct SpmvProgram;

impl VertexProgram for SpmvProgram {
    type Value = f64;
    type Signal = f64;
    type Message = Sum<f64>;

    const ACTIVITY: Activity = Activity::AllSend;
    const WEIGHTED: bool = true;

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
        true
    }
}

impl Algorithm for Spmv {
    fn name(&self) -> &'static str {
        "spmv"
    }

    fn declare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        let mut planner = Planner::new(self.name(), job);
        let iterations = Iterations::declare(&mut planner, &SpmvProgram, Some(1))?;
        let vector = self.vector.as_ref();
        if let Some(vector) = vector {
            vector.declare(&mut planner)?;
        }
        Ok(planner.decide()?.prepared(move |session| {
            let given = vector.map(|vector| vector.open(session)).transpose()?;
            let given = given.map(|values| (values, (|_, _, _| true) as Wake<SpmvProgram>));
            let ended = iterations.run(session, &mut SpmvProgram, given)?;
            let mut norm = Norm::default();
            ended.values.for_each(|_, value| norm.add(*value))?;
            let Some(norm) = norm.root() else {
                return refuse("a sum is beyond 64-bit floats; build with smaller weights");
            };
            Ok(session
                .results(ended.iterations)
                .figure("norm", norm)
                .column(or_zero("value", ended.values))
                .outcome())
        }))
    }
}
