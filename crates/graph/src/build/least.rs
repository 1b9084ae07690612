//! What refusals name before an input was read: a budget in which its build is certain to fit, by
//! the most that its size lets it have.

use super::{
    BuildOptions, Division, SMALLEST_BUDGET,
    cutting::Cutting,
    dictionary::PositionWindows,
    smallest::{of_ranking, smallest_above},
};
use crate::{
    error::{GraphError, Result, too_small},
    input::{DeclaredVertices, EdgeSource},
    types::WeightKind,
};

/// The most that an input can have.
#[derive(Clone, Copy, Debug, Default)]
pub struct AtMost {
    /// Edges.
    pub edges: u64,
    /// Vertices.
    pub vertices: u64,
}

impl AtMost {
    /// What a source can have; nothing, if that is not known.
    fn of(source: &dyn EdgeSource) -> Self {
        let (edges, vertices) = source.at_most().unwrap_or_default();
        let declared = match source.info().declared_vertices {
            Some(DeclaredVertices::Range { count, .. }) => count,
            _ => 0,
        };
        Self { edges, vertices: vertices.max(declared) }
    }
}

/// The smallest budget that is certainly enough for a source, pieces of which take `piece` bytes.
pub fn of_source(source: &dyn EdgeSource, options: &BuildOptions, piece: u64) -> u64 {
    let AtMost { edges, vertices } = AtMost::of(source);
    let directed = options.directed.or(source.info().directed).unwrap_or(true);
    let weighted = source.info().weights.is_some_and(|kind| kind != WeightKind::None)
        && options.weights != Some(WeightKind::None);
    let cutting = Cutting {
        ranked: vertices,
        connected: vertices,
        degrees: 2 * edges,
        ..Cutting::new(directed, weighted)
    };
    let fits = |division: Division| {
        let work = division.work();
        division.reading(source.is_paged()) as u64 >= piece
            && PositionWindows::cut(of_ranking(work), 1, (edges, weighted)).is_some()
            && cutting.fits(work)
    };
    if fits(Division(SMALLEST_BUDGET)) {
        return SMALLEST_BUDGET;
    }
    smallest_above(SMALLEST_BUDGET, fits)
}

/// Refuses a budget that is too small for any build. `later` is what else it takes, of so much.
pub fn check(
    source: &dyn EdgeSource,
    options: &BuildOptions,
    later: impl Fn(AtMost) -> u64,
) -> Result<()> {
    if options.memory >= SMALLEST_BUDGET {
        return Ok(());
    }
    let needed = of_source(source, options, source.largest_piece()?).max(later(AtMost::of(source)));
    too_small(needed, options.memory, "building a graph of this input, whatever is in it")
}

/// An error of a build, whose budget is enough for what comes `later`, too.
pub fn with_later(
    error: GraphError,
    source: &dyn EdgeSource,
    later: impl Fn(AtMost) -> u64,
) -> GraphError {
    match error {
        GraphError::Memory { needed, budget, what } => {
            let needed = needed.max(later(AtMost::of(source)));
            GraphError::Memory { needed, budget, what }
        }
        other => other,
    }
}
