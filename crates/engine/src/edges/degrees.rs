//! The degrees of all vertices in one direction, read into about one byte for each.

use std::sync::Mutex;

use outercore_graph::{Result, format::Degrees};
use outercore_storage::{CompactNumbers, HugeVec, lock, unlocked};

use super::table::for_each_part;
use crate::session::{OpenSection, Session};

/// Stands for a degree that does not fit a byte.
const LARGE: u32 = CompactNumbers::LARGE;

/// Loads narrow degrees.
pub(crate) fn narrow(session: &Session, section: &OpenSection) -> Result<Degrees> {
    let vertices = session.graph.connected();
    let mut small: HugeVec<u8> = session.zeroed(vertices)?;
    // Where the order tells, every vertex that may have a large degree is in the front.
    let known = session.graph.front(LARGE.into())?;
    let front = Mutex::new(vec![0; known.unwrap_or(0) as usize]);
    let large = Mutex::new(Vec::new());
    for_each_part(session, section, 0, &mut small, |first, small, degrees: &[u32]| {
        if let Some(front) = lock(&front).get_mut(first as usize..) {
            front.iter_mut().zip(degrees).for_each(|(place, &degree)| *place = degree);
        }
        for ((small, &degree), vertex) in small.iter_mut().zip(degrees).zip(first..) {
            *small = degree.min(LARGE) as u8;
            if degree >= LARGE && known.is_none_or(|front| vertex >= front) {
                lock(&large).push((vertex, degree));
            }
        }
    })?;
    let front = known.map(|_| unlocked(front));
    Ok(Degrees::Narrow(CompactNumbers::new(small, front, unlocked(large))))
}
