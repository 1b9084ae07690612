//! Sparse matrix times vector, once: y[target] is the sum over edges of weight times x[source], for
//! x all ones; weight 1 where there are none.

use crate::common::*;

/// The product of the transposed adjacency matrix and a vector of ones.
#[derive(Clone, Debug, Default)]
pub struct Spmv;

/// What makes the square of a large float a float: 2^-600.
const SMALL: f64 = f64::from_bits((1023 - 600) << 52);

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
        Ok(planner.decide()?.prepared(move |session| {
            let ended = iterations.run(session, &mut SpmvProgram, None)?;
            // Squares of large sums are beyond a float, though their root is not.
            let [mut squares, mut small] = [0.0_f64; 2];
            ended.values.for_each(|_, value| {
                squares += value * value;
                small += (value * SMALL).powi(2);
            })?;
            if !small.is_finite() {
                return refuse("a sum is beyond 64-bit floats; build with smaller weights");
            }
            let norm = if squares.is_finite() { squares.sqrt() } else { small.sqrt() / SMALL };
            Ok(session
                .results(ended.iterations)
                .figure("norm", norm)
                .column(or_zero("value", ended.values))
                .outcome())
        }))
    }
}
