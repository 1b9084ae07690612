//! State-aware I/O scheduling (GraphSD, ICPP'22, section 4.1): what an iteration is predicted to
//! take by the grid and by the lists of active vertices. Bytes and requests by the device's
//! profile, and the processor's share, whichever is longer. The cheaper one is read. With `--cost
//! paper` the paper's formula decides, by bytes alone.

use outercore_storage::{Limits, PAGE};

use super::Run;
use crate::{
    Monoid, config::CostFormula, edges::rows::Rows, program::VertexProgram, report::Costs,
};

/// Seconds of a processor for each word of the grid that is combined: measured, on a processor of
/// 2023.
const WORD: f64 = 2e-9;
/// The same where each word's source must be asked whether it sends: a bit, which the processor
/// mostly foretells.
const ASKED: f64 = 3e-9;

/// A scan of the grid, or of the chunks that matter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scan {
    /// Bytes that are read.
    pub bytes: u64,
    /// Chunks that are read.
    pub requests: u64,
    /// Words that are looked at.
    pub words: u64,
}

/// The lists of active vertices.
#[derive(Clone, Copy, Debug)]
struct ActiveLists {
    /// How many there are.
    count: u64,
    /// Their edges.
    edges: u64,
    /// Bytes of a neighbor.
    width: u64,
    /// Bytes of all lists.
    adjacency: u64,
    /// Bytes of these that are in memory.
    held: u64,
    /// Seconds of a processor for each edge.
    edge_seconds: f64,
    /// Processors that share the work.
    workers: usize,
}

impl Scan {
    /// `word`: seconds for each word, of all processors.
    fn seconds(&self, limits: &Limits, word: f64) -> f64 {
        limits.seconds(self.bytes, self.requests).max(self.words as f64 * word)
    }
}

impl ActiveLists {
    fn seconds(&self, limits: &Limits) -> f64 {
        // Near lists become one request: there are no more requests than gaps.
        let requests = self.count.min(self.adjacency / limits.break_even_bytes.max(1) + 1);
        let wanted = (self.edges * self.width + requests * limits.block_bytes).min(self.adjacency);
        let absent = 1.0 - self.held as f64 / self.adjacency.max(1) as f64;
        let read =
            limits.seconds((wanted as f64 * absent) as u64, (requests as f64 * absent) as u64);
        read.max(self.edges as f64 * self.edge_seconds / self.workers as f64)
    }
}

impl<P: VertexProgram> Run<'_, P> {
    /// What a scan will take, and the lists of vertices that send, with so many edges, each of
    /// which takes a processor so many seconds.
    pub(crate) fn costs(&self, scan: Scan, rows: &Rows, edges: u64, edge_seconds: f64) -> Costs {
        let (limits, threads) = (&self.session.limits, self.session.workers.count());
        if self.is_by_paper() {
            return self.paper_costs(scan.bytes, rows);
        }
        let (count, width) = (self.sending.count(), (rows.width + rows.weight_width) as u64);
        let (adjacency, held) = (rows.edges() * width, rows.held_bytes());
        let workers = if P::Message::EXACT { threads } else { 1 };
        // Measured with signals of 8 bytes. Those of 16 take half as long again.
        let wide = size_of::<P::Signal>().max(8) as f64 / 16.0 + 0.5;
        let edge_seconds = edge_seconds * wide;
        let lists = ActiveLists { count, edges, width, adjacency, held, edge_seconds, workers };
        let word = if self.asks_none(count, self.sending.len()) { WORD } else { ASKED };
        let full_seconds = scan.seconds(limits, word * wide / threads as f64);
        Costs { full_seconds, on_demand_seconds: lists.seconds(limits) }
    }

    /// Whether the paper's formula decides.
    pub(crate) fn is_by_paper(&self) -> bool {
        self.session.config.cost == CostFormula::Paper
    }

    /// The paper's Cs and Cr, without the time of writing values, which is the same. A list begins
    /// a random read unless the vertex before is active, too.
    fn paper_costs(&self, grid_bytes: u64, rows: &Rows) -> Costs {
        let (limits, vertices) = (&self.session.limits, self.sending.len());
        let ([mut random, mut sequential], mut next) = ([0; 2], 0);
        let width = (rows.width + rows.weight_width) as u64;
        for vertex in self.sending.iter(0..vertices) {
            let part = if vertex == next { &mut sequential } else { &mut random };
            *part += u64::from(rows.degree(vertex)) * width;
            next = vertex + 1;
        }
        let values = vertices * size_of::<P::Value>() as u64;
        let stream = |bytes: u64| bytes as f64 / limits.device_bytes_per_second;
        let random_rate = PAGE as f64 / limits.request_seconds();
        Costs {
            full_seconds: stream(values + grid_bytes),
            on_demand_seconds: random as f64 / random_rate + stream(sequential + 2 * values),
        }
    }
}

#[cfg(test)]
mod tests {
    use outercore_storage::device::Asked;

    use super::*;

    #[test]
    fn few_lists_are_cheaper_and_all_of_them_are_not() {
        let asked = Asked { block: 4096, max_gap: None, max_request: None };
        let limits = Limits::new(asked, None, 1 << 20);
        let scan = Scan { bytes: 600 << 20, requests: 1000, words: 268 << 20 };
        let lists = |count, edges, held| ActiveLists {
            count,
            edges,
            width: 3,
            adjacency: 800 << 20,
            held,
            edge_seconds: 8e-9,
            workers: 2,
        };
        let costs = |scan: Scan, lists: ActiveLists| Costs {
            full_seconds: scan.seconds(&limits, WORD / 2.0),
            on_demand_seconds: lists.seconds(&limits),
        };
        let of = |lists| costs(scan, lists);
        let few = of(lists(1000, 50_000, 0));
        assert!(few.on_demand_seconds * 5.0 < few.full_seconds, "{few:?}");
        let all = of(lists(8 << 20, 268 << 20, 0));
        assert!(all.on_demand_seconds > all.full_seconds, "{all:?}");
        // What is in memory costs no reading.
        let held = of(lists(1000, 50_000, 800 << 20));
        assert!(
            held.on_demand_seconds < few.on_demand_seconds && held.full_seconds == few.full_seconds
        );
        // A grid in memory costs the processor's time alone.
        let near = costs(Scan { bytes: 0, requests: 0, ..scan }, lists(8 << 20, 268 << 20, 0));
        assert!(near.full_seconds < all.full_seconds);
    }
}
