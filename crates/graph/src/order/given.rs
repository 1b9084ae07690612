//! Places from a file, one for each rank: an order that was found in a graph.

use super::TotalDegrees;
use crate::{
    build::{RankFile, RankReader},
    error::{Result, refuse},
};

/// The internal id of each rank. Those of connected vertices come before those of the others.
pub struct Given {
    places: RankFile,
    connected: u64,
}

impl Given {
    /// The places in a file, `connected` of them of connected vertices.
    pub(crate) fn new(places: RankFile, connected: u64) -> Self {
        Self { places, connected }
    }

    pub(super) fn connected(&self) -> u64 {
        self.connected
    }

    /// The ids, from the first rank on.
    pub(super) fn ids(&self) -> GivenIds<'_> {
        GivenIds { reader: self.places.reader(), end: self.places.len(), failed: None }
    }

    /// The degrees of the connected vertices by place: of as many places at a time as `room` bytes
    /// hold, each time from all ranks.
    pub(super) fn each_degree(
        &self,
        degrees: &impl TotalDegrees,
        room: u64,
        mut visit: impl FnMut(u64),
    ) -> Result<()> {
        let window = (room / 8).max(1 << 10);
        for first in (0..self.connected).step_by(window as usize) {
            let mut part = vec![0; window.min(self.connected - first) as usize];
            let mut ids = self.ids();
            degrees.for_each(|degree| {
                let at = ids.next().checked_sub(first).unwrap_or(u64::MAX);
                if let Some(entry) = part.get_mut(at as usize) {
                    *entry = degree;
                }
            })?;
            ids.finish()?;
            part.into_iter().for_each(&mut visit);
        }
        Ok(())
    }
}

/// The ids of a file, one after the other.
pub(super) struct GivenIds<'g> {
    reader: RankReader<'g>,
    /// Every id is below it.
    end: u64,
    failed: Option<crate::GraphError>,
}

impl GivenIds<'_> {
    /// The internal id of the next rank. After an error, which [`GivenIds::finish`] returns, any.
    #[inline(always)]
    pub(super) fn next(&mut self) -> u64 {
        match self.reader.read_next() {
            Ok(Some(id)) if id < self.end => id,
            Ok(_) => {
                self.failed = refuse::<()>("the order has no place for a vertex").err();
                0
            }
            Err(error) => {
                self.failed = Some(error);
                0
            }
        }
    }

    /// What went wrong.
    pub(super) fn finish(self) -> Result<()> {
        self.failed.map_or(Ok(()), Err)
    }
}
