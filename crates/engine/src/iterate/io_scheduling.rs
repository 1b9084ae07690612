//! State-aware I/O scheduling (GraphSD, ICPP'22, section 4.1): what an iteration is predicted to
//! take by the grid and by the lists of active vertices: bytes and requests by the device's
//! profile, and the processor's share. The cheaper one is read, or the one for some intervals of
//! sources and the other for the rest. With `--cost paper` the paper's formula
//! decides, by bytes alone.

use outercore_storage::device::{Costs, Scattered, Streamed};

use super::Run;
use crate::{Monoid, config::CostFormula, edges::rows::Rows, program::VertexProgram};

/// Seconds of a processor for each word of the grid that is combined: measured, on a processor of
/// 2023.
const WORD: f64 = 2e-9;
/// The same where each word's source must be asked whether it sends: a bit, which the processor
/// mostly foretells.
const ASKED: f64 = 3e-9;
/// What a word's weight takes beside that.
const WEIGHT: f64 = 5e-9;

impl<P: VertexProgram> Run<'_, P> {
    /// What a scan will take, and lists of so many vertices with so many edges, each of which takes
    /// a processor so many seconds.
    pub(crate) fn costs(
        &self,
        scan: Streamed,
        rows: &Rows,
        [runs, items]: [u64; 2],
        item_seconds: f64,
    ) -> Costs {
        let (limits, threads) = (&self.session.limits, self.session.workers.count());
        let width = (rows.width + rows.weight_width) as u64;
        if self.is_by_paper() {
            return self.paper_costs(scan.bytes, rows, width);
        }
        let (all, held) = (rows.edges() * width, rows.held_bytes());
        let workers = if P::Message::EXACT { threads } else { 1 };
        // Intervals have about equally many edges.
        let within =
            all * self.total(|state| u64::from(state.edges > 0)) / self.states.len() as u64;
        // Measured with signals of 8 bytes. Those of 16 take half as long again.
        let wide = size_of::<P::Signal>().max(8) as f64 / 16.0 + 0.5;
        let word = if self.asks_none(runs, self.sending.len()) { WORD } else { ASKED };
        let word = if P::WEIGHTED { word + WEIGHT } else { word };
        let item_seconds = item_seconds * wide;
        let lists = Scattered { runs, items, width, within, all, held, item_seconds, workers };
        let word = word * wide / threads as f64;
        Costs::new(scan.seconds(limits, word), lists.seconds(limits))
    }

    /// The vertices that send, and their edges.
    pub(crate) fn sends_in_all(&self) -> [u64; 2] {
        [self.sending.count(), self.total(|state| state.edges)]
    }

    /// Whether the paper's formula decides.
    pub(crate) fn is_by_paper(&self) -> bool {
        self.session.config.cost == CostFormula::Paper
    }

    /// A list begins a random read unless the vertex before is active, too.
    fn paper_costs(&self, grid_bytes: u64, rows: &Rows, width: u64) -> Costs {
        let vertices = self.sending.len();
        let ([mut random, mut sequential], mut next) = ([0; 2], 0);
        for vertex in self.sending.iter(0..vertices) {
            let part = if vertex == next { &mut sequential } else { &mut random };
            *part += u64::from(rows.degree(vertex)) * width;
            next = vertex + 1;
        }
        let values = vertices * size_of::<P::Value>() as u64;
        Costs::by_bytes(&self.session.limits, [grid_bytes, values], [random, sequential])
    }
}
