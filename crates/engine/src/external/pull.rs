//! Iterations in which every vertex takes what its neighbors send: for edges that the grid does not
//! have, those with weights and those against their direction. The lists of an interval's vertices,
//! of the direction from which signals come, are read in order, and a vertex's messages are
//! combined in the order of its list.

use std::sync::Mutex;

use outercore_graph::{Direction, Graph, WeightKind};

use super::{desk::Desk, pass::Shared, run::External};
use crate::{
    edges::{degrees::Degrees, io_iterator::IoIterator, rows::Rows},
    error::Result,
    monoid::Monoid,
    plan::PlanItem,
    program::VertexProgram,
    session::{OpenSection, Session},
};

/// The lists from which vertices take.
pub struct Pull {
    rows: Rows,
    weights: WeightKind,
}

/// The sections of these lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The direction of the lists: against that of the signals.
    rows: Direction,
    /// The direction of the signals: a vertex's degree counts its edges along it.
    pub degrees: Direction,
    weights: bool,
}

impl Route {
    /// How a program's signals are taken; `None`: they can't, since the graph has no such lists or
    /// the program sends in two directions.
    pub fn of<P: VertexProgram>(program: &P, graph: &Graph) -> Option<Self> {
        let &[direction] = program.directions() else { return None };
        let against = if direction == Direction::Out { Direction::In } else { Direction::Out };
        let (rows, degrees) = (graph.rows(against)?, graph.rows(direction)?);
        Some(Self {
            rows,
            degrees,
            weights: program.weighted() && graph.weights() != WeightKind::None,
        })
    }

    /// The sections of the lists, which [`Pull::new`] takes.
    pub fn sections(self) -> Vec<String> {
        Rows::sections(self.rows, self.weights)
    }

    /// What the lists need resident.
    pub fn needs(self, graph: &Graph) -> Result<Vec<PlanItem>> {
        let sums =
            self.sections().iter().map(|name| OpenSection::sums_bytes_of(graph, name)).sum::<u64>();
        Ok(vec![
            PlanItem {
                name: "row index",
                bytes: Degrees::narrow_bytes(graph)? + graph.connected() / 8 + 16,
            },
            PlanItem { name: "lists' checksums", bytes: sums },
        ])
    }
}

impl Pull {
    /// Loads what is needed; `sections` are [`Route::sections`], opened.
    pub fn new(session: &Session, sections: Vec<OpenSection>) -> Result<Self> {
        Ok(Self {
            rows: Rows::load_narrow(session, sections, 0)?,
            weights: session.graph.weights(),
        })
    }

    /// One iteration.
    pub fn pass<P: VertexProgram>(
        &self,
        run: &External<P>,
        shared: &Shared<P>,
        desks: &mut [Mutex<Desk<P>>],
    ) -> Result<()> {
        run.each_interval(desks, |worker, interval, desk| {
            let range = shared.columns.vertices(interval);
            let mut touched = run.resume(shared, interval, desk)?;
            let total = desk.total_mut();
            let window = &shared.window.vertices;
            IoIterator::new(run.session, &self.rows).within(range.clone()).for_each_here(
                worker,
                |vertex, list| {
                    let sum = &mut total[(vertex - range.start) as usize];
                    for (neighbor, weight) in list.weighted().filter(|&(neighbor, _)| {
                        window.contains(&neighbor) && shared.sending.contains(neighbor)
                    }) {
                        touched = true;
                        sum.combine(
                            run.program
                                .carry(shared.signals.of(neighbor), self.weights.value(weight)),
                        );
                    }
                },
            )?;
            run.finish(shared, interval, touched, desk).map(drop)
        })
    }
}
