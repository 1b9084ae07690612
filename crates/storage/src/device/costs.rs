//! What reading will take, of a device and of processors ([`Costs`]): a stream of pieces
//! ([`Streamed`]), or what is scattered over a file ([`Scattered`]); and where parts of the same
//! can be had either way, which of them are better read which way ([`Mix`]).

use std::ops::Range;

use serde::Serialize;

use super::Limits;
use crate::PAGE;

/// What a step is predicted to take by either way, in seconds (GraphSD, ICPP'22, section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Costs {
    /// Reading the grid's chunks that have active sources.
    pub full_seconds: f64,
    /// Reading the lists of what is active.
    pub on_demand_seconds: f64,
    /// Reading the lists of some intervals, and the chunks that others want, where that is the
    /// fastest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixed_seconds: Option<f64>,
}

/// Pieces that are read one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Streamed {
    /// Bytes that are read.
    pub bytes: u64,
    /// Pieces.
    pub requests: u64,
    /// Items that are looked at.
    pub items: u64,
}

/// 200 ns: what a run takes a processor beside its items.
const RUN: f64 = 200e-9;
/// 300 us: how long it takes until few runs are here, which nothing hides.
const FIRST: f64 = 300e-6;

/// Runs of items, anywhere in a file.
#[derive(Clone, Copy, Debug)]
pub struct Scattered {
    /// How many runs there are.
    pub runs: u64,
    /// Their items.
    pub items: u64,
    /// Bytes of an item.
    pub width: u64,
    /// Bytes of the parts of the file that have some of them.
    pub within: u64,
    /// Bytes of the file.
    pub all: u64,
    /// Bytes of these that are in memory.
    pub held: u64,
    /// Seconds of a processor for each item.
    pub item_seconds: f64,
    /// Processors that share the work.
    pub workers: usize,
}

impl Costs {
    /// Those of either way alone.
    pub fn new(full_seconds: f64, on_demand_seconds: f64) -> Self {
        Self { full_seconds, on_demand_seconds, mixed_seconds: None }
    }

    /// The paper's Cs and Cr, without the time of writing values, which is the same: of these bytes
    /// of the grid and of values; and of lists that are read at random, or on from the one before.
    pub fn by_bytes(
        limits: &Limits,
        [grid, values]: [u64; 2],
        [random, sequential]: [u64; 2],
    ) -> Self {
        let stream = |bytes: u64| bytes as f64 / limits.device_bytes_per_second;
        let random_rate = PAGE as f64 / limits.request_seconds();
        let lists = random as f64 / random_rate + stream(sequential + 2 * values);
        Self::new(stream(values + grid), lists)
    }
}

impl Streamed {
    /// Seconds of the device and of all processors, with so many of these for each item. They do
    /// not work at the same time for most of a few megabytes, for which the choice is a near one.
    pub fn seconds(&self, limits: &Limits, item_seconds: f64) -> f64 {
        limits.seconds(self.bytes, self.requests) + self.items as f64 * item_seconds
    }

    /// With this beside it, or without it.
    fn changed(self, by: Streamed, change: fn(u64, u64) -> u64) -> Self {
        Self {
            bytes: change(self.bytes, by.bytes),
            requests: change(self.requests, by.requests),
            items: change(self.items, by.items),
        }
    }
}

impl Scattered {
    /// Seconds of the device and of the processors.
    pub fn seconds(&self, limits: &Limits) -> f64 {
        // Near runs become one request: there are no more requests than gaps.
        let requests = self.runs.min(self.within / limits.break_even_bytes.max(1) + 1);
        let wanted = (self.items * self.width + requests * limits.block_bytes).min(self.within);
        let absent = 1.0 - self.held as f64 / self.all.max(1) as f64;
        let read =
            limits.seconds((wanted as f64 * absent) as u64, (requests as f64 * absent) as u64);
        let work = self.items as f64 * self.item_seconds + self.runs as f64 * RUN;
        FIRST * absent + read + work / self.workers as f64
    }
}

/// Parts of what is wanted, each of which has runs of items anywhere, and pieces that are read as a
/// whole as soon as one of some parts in a row is wanted of them.
pub struct Mix {
    /// Of each part, the runs and their items.
    runs: Vec<[u64; 2]>,
    pieces: Vec<(Range<usize>, Streamed)>,
}

impl Mix {
    /// Parts that have so many runs and items; a part without runs wants nothing.
    pub fn new(runs: Vec<[u64; 2]>) -> Self {
        Self { runs, pieces: Vec::new() }
    }

    /// A piece of which these parts may want something.
    pub fn piece(&mut self, parts: Range<usize>, takes: Streamed) {
        self.pieces.push((parts, takes));
    }

    /// All pieces.
    pub fn all(&self) -> Streamed {
        self.pieces.iter().fold(Streamed::default(), |all, (_, piece)| all.changed(*piece, add))
    }

    /// The fewest seconds, and of each part whether its runs are read for that, and no piece that
    /// only such parts want. `seconds` says what pieces take together with runs and items.
    pub fn best(&self, seconds: &mut dyn FnMut(Streamed, [u64; 2]) -> f64) -> (f64, Vec<bool>) {
        let order = self.order();
        let mut ranks = vec![0; self.runs.len()];
        (1..).zip(&order).for_each(|(rank, &part)| ranks[part] = rank);
        // Of each rank, the pieces that nothing wants once the parts up to there have left them.
        let mut left = vec![Streamed::default(); order.len() + 1];
        for (parts, piece) in &self.pieces {
            let last = parts.clone().map(|part| ranks[part]).max().unwrap_or(0);
            left[last] = left[last].changed(*piece, add);
        }
        let (mut pieces, mut runs) = (self.all(), [0; 2]);
        let (mut best, mut count) = (seconds(pieces, runs), 0);
        for (rank, &part) in (1..).zip(&order) {
            pieces = pieces.changed(left[rank], u64::saturating_sub);
            runs = [0, 1].map(|at| runs[at] + self.runs[part][at]);
            let now = seconds(pieces, runs);
            if now < best {
                (best, count) = (now, rank);
            }
        }
        (best, ranks.into_iter().map(|rank| (1..=count).contains(&rank)).collect())
    }

    /// The parts that want something, those first that want fewest items for the bytes of pieces
    /// that are read because of them.
    fn order(&self) -> Vec<usize> {
        let mut shares = vec![0.0; self.runs.len()];
        let wants = |&part: &usize| self.runs[part][0] > 0;
        for (parts, piece) in &self.pieces {
            let share = piece.bytes as f64 / parts.clone().filter(wants).count().max(1) as f64;
            parts.clone().for_each(|part| shares[part] += share);
        }
        let density = |part: usize| self.runs[part][1] as f64 / f64::max(shares[part], 1.0);
        let mut order: Vec<usize> = (0..self.runs.len()).filter(wants).collect();
        order.sort_by(|&one, &other| density(one).total_cmp(&density(other)));
        order
    }
}

fn add(one: u64, other: u64) -> u64 {
    one + other
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Asked;

    fn limits() -> Limits {
        Limits::new(Asked { block: 4096, max_gap: None, max_request: None }, None, 1 << 20)
    }

    #[test]
    fn few_runs_are_cheaper_and_all_of_them_are_not() {
        let stream = Streamed { bytes: 600 << 20, requests: 1000, items: 268 << 20 };
        let runs = |runs, items, held| Scattered {
            runs,
            items,
            width: 3,
            within: 800 << 20,
            all: 800 << 20,
            held,
            item_seconds: 8e-9,
            workers: 2,
        };
        let all = stream.seconds(&limits(), 1e-9);
        let few = runs(1000, 50_000, 0).seconds(&limits());
        assert!(few * 5.0 < all, "{few} {all}");
        assert!(runs(8 << 20, 268 << 20, 0).seconds(&limits()) > all);
        // Runs that are near each other want no more than the part that has them.
        let near = Scattered { within: 8 << 20, ..runs(100_000, 500_000, 0) };
        assert!(near.seconds(&limits()) * 5.0 < runs(100_000, 500_000, 0).seconds(&limits()));
        // What is in memory costs no reading.
        assert!(runs(1000, 50_000, 800 << 20).seconds(&limits()) < few);
        // A stream from memory costs the processors' time alone.
        let near = Streamed { bytes: 0, requests: 0, ..stream };
        assert!(near.seconds(&limits(), 1e-9) < runs(8 << 20, 268 << 20, 0).seconds(&limits()));
    }

    #[test]
    fn parts_that_want_little_of_their_pieces_are_read_by_runs() {
        let piece = |bytes| Streamed { bytes, requests: 1, items: bytes };
        // The first part wants all of its pieces; the others want little, and the last nothing.
        let mut mix = Mix::new(vec![[1000, 100_000], [2, 20], [1, 10], [0, 0]]);
        mix.piece(0..1, piece(100_000));
        mix.piece(0..2, piece(10_000));
        mix.piece(1..3, piece(50_000));
        mix.piece(2..4, piece(40_000));
        // An item of a run costs as much as ten bytes.
        let mut cost = |pieces: Streamed, [_, items]: [u64; 2]| (pieces.bytes + 10 * items) as f64;
        let (best, by_runs) = mix.best(&mut cost);
        assert_eq!(by_runs, [false, true, true, false]);
        assert_eq!(best, (100_000 + 10_000 + 10 * 30) as f64);
        let whole = cost(mix.all(), [0; 2]);
        assert_eq!(whole, 200_000.0);
        assert!(best < whole && best < cost(Streamed::default(), [0, 100_030]));
        // Where runs cost nothing, or very much, all are read one way.
        assert_eq!(mix.best(&mut |pieces, _| pieces.bytes as f64).1, [true, true, true, false]);
        assert_eq!(mix.best(&mut |_, [_, items]| items as f64).1, [false; 4]);
    }
}
