//! [`Bounds`]: what searches say of the eccentricities of the vertices of one component. In memory,
//! or on scratch by interval.

use std::{
    ops::Range,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use outercore_engine::{
    HugeVec, Result, Values,
    frontier::Frontier,
    session::Session,
    state::{Block, Scratch, VertexArray},
};

use super::search::{Levels, Reach};

/// Bounds of the eccentricities of the vertices of one component, and of its diameter.
pub struct Bounds {
    /// The component; the others have no bounds.
    members: Frontier,
    arrays: Arrays,
    /// The largest distance found.
    pub diameter: u32,
}

/// The bounds of each vertex: at least, at most.
#[allow(clippy::large_enum_variant)]
enum Arrays {
    Memory([HugeVec<AtomicU32>; 2]),
    Stored([VertexArray<u32>; 2]),
}

/// Where to search next.
#[derive(Clone, Copy, Debug)]
pub struct Candidates {
    /// The largest upper bound, and its vertex.
    pub widest: (u32, u64),
    /// The smallest lower bound of a vertex whose bounds differ, and its vertex.
    pub central: Option<(u32, u64)>,
}

impl Candidates {
    /// Nobody.
    pub const NONE: Self = Self { widest: (0, u64::MAX), central: None };

    fn add(&mut self, vertex: u64, (lower, upper): (u32, u32)) {
        let widest = |other: &(u32, u64)| {
            (upper, std::cmp::Reverse(vertex)) > (other.0, std::cmp::Reverse(other.1))
        };
        if widest(&self.widest) {
            self.widest = (upper, vertex);
        }
        if lower < upper && self.central.is_none_or(|central| (lower, vertex) < central) {
            self.central = Some((lower, vertex));
        }
    }

    fn merge(mut self, other: Self) -> Self {
        if (other.widest.0, std::cmp::Reverse(other.widest.1))
            > (self.widest.0, std::cmp::Reverse(self.widest.1))
        {
            self.widest = other.widest;
        }
        self.central = self.central.into_iter().chain(other.central).min();
        self
    }
}

/// The bounds of a vertex that a search from a vertex with this eccentricity found at this
/// distance, after these.
fn narrowed((lower, upper): (u32, u32), distance: u32, eccentricity: u32) -> (u32, u32) {
    let most = if distance == 0 { eccentricity } else { eccentricity.saturating_add(distance) };
    (lower.max(distance).max(eccentricity - distance), upper.min(most))
}

impl Bounds {
    /// Bytes of memory for each vertex, in eighths: bounds and a bitmap.
    pub const EIGHTHS: u64 = 65;
    /// The same where the bounds are on scratch.
    pub const EIGHTHS_STORED: u64 = 1;

    /// Nothing is known of the members of a component yet. What searches find is where `levels`
    /// are: in memory or on scratch.
    pub fn new(session: &Session, members: Frontier, levels: &Levels) -> Result<Self> {
        let (len, huge) = (session.graph.connected(), session.config.huge_pages);
        // Who is not a member has no lower bound, either.
        let first = |vertex| if members.contains(vertex) { 0 } else { u32::MAX };
        let arrays = match levels {
            Levels::Memory(_) => {
                let arrays: [HugeVec<AtomicU32>; 2] =
                    [HugeVec::zeroed(len as usize, huge)?, HugeVec::zeroed(len as usize, huge)?];
                (0..len).for_each(|vertex| {
                    arrays[0][vertex as usize].store(first(vertex), Relaxed);
                    arrays[1][vertex as usize].store(u32::MAX, Relaxed);
                });
                Arrays::Memory(arrays)
            }
            Levels::Logs { logs, .. } => {
                let scratch = Scratch::of(session);
                let array = || VertexArray::on_scratch(&scratch, logs.intervals());
                let arrays = [array()?, array()?];
                arrays[0].fill(first)?;
                arrays[1].fill(|_| u32::MAX)?;
                Arrays::Stored(arrays)
            }
        };
        Ok(Self { members, arrays, diameter: 0 })
    }

    /// Takes in what a search found.
    pub fn narrow(
        &mut self,
        session: &Session,
        levels: &Levels,
        reach: &Reach,
    ) -> Result<Candidates> {
        self.diameter = self.diameter.max(reach.depth);
        match (&self.arrays, levels) {
            (Arrays::Memory(arrays), Levels::Memory(levels)) => {
                Ok(self.narrow_in_memory(session, arrays, levels, reach.depth))
            }
            (Arrays::Stored(arrays), Levels::Logs { logs, .. }) => {
                let intervals = logs.intervals();
                let mut candidates = Candidates::NONE;
                let (mut lower, mut upper) =
                    (Block::new(logs.widest())?, Block::new(logs.widest())?);
                logs.for_each_interval(session, |interval, levels, _| {
                    let (range, len) = (intervals[interval]..intervals[interval + 1], levels.len());
                    if range.is_empty() || !self.members.any(range.start, range.end - 1) {
                        return Ok(());
                    }
                    arrays[0].load(interval, &mut lower)?;
                    arrays[1].load(interval, &mut upper)?;
                    self.narrow_interval(
                        range,
                        levels,
                        (lower.items(len), upper.items(len)),
                        reach.depth,
                        &mut candidates,
                    );
                    arrays[0].store(interval, &mut lower)?;
                    arrays[1].store(interval, &mut upper)
                })?;
                Ok(candidates)
            }
            _ => unreachable!("bounds are where levels are"),
        }
    }

    fn narrow_in_memory(
        &self,
        session: &Session,
        [lower, upper]: &[HugeVec<AtomicU32>; 2],
        levels: &[AtomicU32],
        eccentricity: u32,
    ) -> Candidates {
        let parts = session.workers.over(
            session.graph.connected(),
            1 << 14,
            |_| Candidates::NONE,
            |candidates, range| {
                for vertex in self.members.iter(range) {
                    let (low, high) = (&lower[vertex as usize], &upper[vertex as usize]);
                    let bounds = narrowed(
                        (low.load(Relaxed), high.load(Relaxed)),
                        levels[vertex as usize].load(Relaxed),
                        eccentricity,
                    );
                    low.store(bounds.0, Relaxed);
                    high.store(bounds.1, Relaxed);
                    candidates.add(vertex, bounds);
                }
            },
        );
        parts.into_iter().fold(Candidates::NONE, Candidates::merge)
    }

    fn narrow_interval(
        &self,
        range: Range<u64>,
        levels: &[u32],
        (lower, upper): (&mut [u32], &mut [u32]),
        eccentricity: u32,
        candidates: &mut Candidates,
    ) {
        let first = range.start;
        for vertex in self.members.iter(range) {
            let at = (vertex - first) as usize;
            (lower[at], upper[at]) = narrowed((lower[at], upper[at]), levels[at], eccentricity);
            candidates.add(vertex, (lower[at], upper[at]));
        }
    }

    /// The bounds as columns: at least, at most.
    pub fn columns(self) -> [Values; 2] {
        match self.arrays {
            Arrays::Memory(arrays) => arrays.map(|array| array.into_plain().into()),
            Arrays::Stored(arrays) => arrays.map(Values::from),
        }
    }
}
