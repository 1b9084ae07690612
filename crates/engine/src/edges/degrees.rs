//! [`Degrees`]: how many edges each vertex has in one direction; four bytes for each, or about one.

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};

use outercore_graph::{Graph, Result};
use outercore_storage::{CompactNumbers, HugeVec, lock};

use super::table::{for_each_part, load_range};
use crate::session::{OpenSection, Session};

/// Stands for a degree that does not fit a byte.
const LARGE: u32 = CompactNumbers::LARGE;

/// The degrees of one direction.
pub enum Degrees {
    /// Four bytes for each vertex from this one on.
    Wide(u64, HugeVec<u32>),
    /// About one byte for each.
    Narrow(CompactNumbers),
}

impl Degrees {
    /// Loads them narrow.
    pub(crate) fn narrow(session: &Session, section: &OpenSection) -> Result<Self> {
        let vertices = session.graph.connected();
        let mut small: HugeVec<u8> = session.zeroed(vertices)?;
        // Where the order tells, every vertex that may have a large degree is in the front.
        let known = session.graph.front(LARGE.into())?;
        let large = Mutex::new(Vec::new());
        for_each_part(session, section, 0, &mut small, |first, small, degrees: &[u32]| {
            for ((small, &degree), vertex) in small.iter_mut().zip(degrees).zip(first..) {
                *small = degree.min(LARGE) as u8;
                if degree >= LARGE && known.is_none_or(|front| vertex >= front) {
                    lock(&large).push((vertex, degree));
                }
            }
        })?;
        let large = large.into_inner().unwrap_or_else(PoisonError::into_inner);
        let front = known.map(|front| load_range(session, section, 0..front)).transpose()?;
        let front = front.map(|front| front.to_vec());
        Ok(Degrees::Narrow(CompactNumbers::new(small, front, large)))
    }

    /// Most bytes that the narrow degrees of a graph take. In a graph ordered by degree a look at a
    /// few of them tells how many are large.
    pub(crate) fn narrow_bytes(graph: &Graph) -> Result<u64> {
        let (vertices, arcs) = (graph.connected(), graph.manifest().arcs);
        let large = match graph.front(LARGE.into())? {
            // Read, and copied.
            Some(front) => front * 8,
            // A large degree takes 16 bytes on its way, in a vector that doubles, and up to 8 in
            // the front.
            None => (arcs / u64::from(LARGE)).min(vertices) * 40,
        };
        Ok(vertices + large)
    }

    /// The degrees as a slice, where they are wide.
    pub(crate) fn as_slice(&self) -> Option<&[u32]> {
        match self {
            Degrees::Wide(_, degrees) => Some(degrees),
            Degrees::Narrow(_) => None,
        }
    }

    /// The degree of `vertex`.
    #[inline(always)]
    pub(crate) fn get(&self, vertex: u64) -> u32 {
        match self {
            Degrees::Wide(first, degrees) => degrees[(vertex - first) as usize],
            Degrees::Narrow(degrees) => degrees.get(vertex),
        }
    }

    /// The sum of a range's degrees.
    #[inline(always)]
    pub(crate) fn sum(&self, range: Range<u64>) -> u64 {
        match self {
            Degrees::Wide(first, degrees) => degrees
                [(range.start - first) as usize..(range.end - first) as usize]
                .iter()
                .map(|&degree| u64::from(degree))
                .sum(),
            Degrees::Narrow(degrees) => degrees.sum(range),
        }
    }
}
