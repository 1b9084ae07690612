//! [`EdgePath`]: how edges are reached along which a program's signals travel.

use outercore_graph::{Direction, Graph, Result, WeightKind, error::refuse};

use crate::{
    Monoid,
    config::{ReadPolicy, RunConfig},
    edges::rows::Rows,
    program::{Activity, Start, VertexProgram},
    techniques::{ALL_IN_ORDER, Technique, some_lists},
};

/// How the edges of one direction are reached: by the grid, by lists, or by either.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EdgePath {
    /// The grid has them: it leads from sources to targets.
    pub grid: bool,
    /// The direction of the lists.
    pub lists: Option<Direction>,
    /// The lists are those of targets, which take from their neighbors.
    pub takes: bool,
    /// The direction of the signals: a vertex's degree counts its edges along it.
    degrees: Direction,
    pub weights: bool,
}

impl EdgePath {
    /// Where every vertex is in memory, by direction of the signals: the grid, and lists of
    /// sources. Sums that have an order are taken by targets, if all sources send and there is no
    /// grid: every target's has the order of its list, whatever workers do.
    pub(crate) fn pushed<P: VertexProgram>(
        program: &P,
        graph: &Graph,
        config: &RunConfig,
    ) -> Result<Vec<Self>> {
        let weights = weights::<P>(graph);
        // Whether all vertices apply in every iteration, from the first one on.
        let dense = P::ACTIVITY != Activity::Frontier && matches!(program.start(), Start::All);
        let mut paths: Vec<Self> = Vec::new();
        for &direction in P::DIRECTIONS {
            let Some(rows) = graph.rows(direction) else {
                return refuse(
                    "this needs the incoming edges, and the graph was built with --transpose off",
                );
            };
            let grid = rows == Direction::Out
                && !weights
                && (dense || config.page_cache.is_none())
                && config.read != ReadPolicy::OnDemand
                && graph.has_whole_grid();
            if paths.iter().all(|path| path.degrees != rows) {
                let lists = (!grid || !dense && !config.read.scans()).then_some(rows);
                let targets = graph.rows(direction.reversed()).filter(|_| {
                    !grid
                        && P::ACTIVITY == Activity::AllSend
                        && !P::Message::EXACT
                        && config.read != ReadPolicy::OnDemand
                });
                let takes = targets.is_some();
                paths.push(Self { grid, lists: targets.or(lists), takes, degrees: rows, weights });
            }
        }
        Ok(paths)
    }

    /// The techniques of such paths; `exact`: the order of messages does not matter.
    pub(crate) fn can(paths: &[Self], exact: bool) -> Vec<Technique> {
        let grid = paths.iter().any(|path| path.grid);
        let lists = paths.iter().any(|path| path.lists.is_some());
        let mut can = Vec::new();
        if paths.iter().any(|path| path.takes) {
            can.extend(ALL_IN_ORDER);
        } else if lists {
            can.extend(some_lists(exact));
        }
        if grid {
            can.extend([Technique::FullPasses, Technique::GridCache]);
        }
        can.extend(Some(Technique::StateAware).filter(|_| grid && lists));
        can
    }

    /// Where an interval at a time is at hand: the grid, or the lists of targets, from which they
    /// take: these have a fixed order, for messages with weights that depend on it. `None`: neither
    /// has the edges.
    pub(crate) fn by_interval<P: VertexProgram>(graph: &Graph) -> Option<Self> {
        let weights = weights::<P>(graph);
        let out = |direction: &Direction| graph.rows(*direction) == Some(Direction::Out);
        let fits = !weights || P::Message::EXACT && graph.has_whole_grid();
        if fits && P::DIRECTIONS.iter().all(out) {
            let degrees = Direction::Out;
            return Some(Self { grid: true, lists: None, takes: false, degrees, weights });
        }
        let &[direction] = P::DIRECTIONS else { return None };
        let (lists, degrees) = (Some(graph.rows(direction.reversed())?), graph.rows(direction)?);
        Some(Self { grid: false, lists, takes: true, degrees, weights })
    }

    /// The section of the degrees.
    pub(crate) fn degrees(&self) -> String {
        format!("{}.degrees", self.degrees.name())
    }

    /// The sections of the lists.
    pub(crate) fn list_sections(&self) -> Vec<String> {
        self.lists.map_or(Vec::new(), |lists| Rows::sections(lists.name(), self.weights))
    }

    /// The sections of the grid.
    pub(crate) fn grid_sections(&self) -> Vec<String> {
        let count = if self.grid { 1 + usize::from(self.weights) } else { 0 };
        ["grid.words", "grid.weights"][..count].iter().map(|&name| name.to_owned()).collect()
    }

    /// The sections that have edges.
    pub(crate) fn edges(&self) -> impl Iterator<Item = String> {
        self.grid_sections().into_iter().chain(self.list_sections().into_iter().skip(2))
    }

    /// All sections.
    pub(crate) fn sections(&self) -> impl Iterator<Item = String> {
        [self.degrees()].into_iter().chain(self.list_sections()).chain(self.grid_sections())
    }
}

fn weights<P: VertexProgram>(graph: &Graph) -> bool {
    P::WEIGHTED && graph.weights() != WeightKind::None
}
