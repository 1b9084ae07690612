//! What an order of the vertices costs searches (Lee et al., ATC'19, section 4.1, equation 1): for
//! each vertex, how many edges lead to it times the variance of its neighbors' ids. The neighbors
//! of a vertex are wanted together, and the nearer their lists are, the fewer pages these take.

use outercore_graph::{BuildProgress, Direction, Graph, Result};

use crate::degrees::arriving;

/// The sums of one vertex.
#[derive(Default)]
struct Spread {
    count: u64,
    sum: u128,
    squares: u128,
}

impl Spread {
    /// The variance of the ids.
    fn variance(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        // Whole numbers as far as they go: ids are large, and their differences may be small.
        let count = u128::from(self.count);
        let scaled = self.squares * count - self.sum * self.sum;
        scaled as f64 / (self.count as f64 * self.count as f64)
    }
}

/// The sum over all vertices.
pub fn io_cost(graph: &Graph, progress: &dyn BuildProgress) -> Result<f64> {
    let arriving = arriving(graph, Direction::Out, progress)?;
    let (mut of, mut spread, mut cost) = (0, Spread::default(), 0.0);
    let end = |vertex: u64, spread: &Spread| {
        f64::from(arriving.get(vertex as usize).copied().unwrap_or(0)) * spread.variance()
    };
    graph.row_reader(Direction::Out)?.for_each(&mut |vertex, neighbors, _| {
        if vertex != of {
            cost += end(of, &spread);
            (of, spread) = (vertex, Spread::default());
        }
        spread.count += neighbors.len() as u64;
        spread.sum += neighbors.iter().map(|&id| u128::from(id)).sum::<u128>();
        spread.squares += neighbors.iter().map(|&id| u128::from(id) * u128::from(id)).sum::<u128>();
        progress.check()
    })?;
    Ok(cost + end(of, &spread))
}
