//! Vertices that the dictionary has ranked. Their degrees and their internal ids are files.

use std::sync::atomic::Ordering::Relaxed;

use outercore_storage::{HugePages, HugeVec};

use super::store::{ABSENT, IdMap, InternalIds, Vertices};
use crate::{
    build::{
        Builder,
        dictionary::Ranked,
        rankfile::{RankFile, RankFileWriter},
        relabel::Relabel,
        smallest::of_ranking,
        spool::Spool,
    },
    error::Result,
    format::{IdTable, SectionEntry},
    order::TotalDegrees,
};

/// Ranks.
pub struct RankedVertices {
    pub(super) ranked: Ranked,
    /// Where internal ids go.
    pub(super) map: RankFileWriter,
}

impl TotalDegrees for RankedVertices {
    fn for_each(&self, mut visit: impl FnMut(u64)) -> Result<()> {
        self.ranked.degrees.for_each(|degree| {
            visit(degree);
            Ok(())
        })
    }
}

impl Vertices for RankedVertices {
    type Ids = RankedIds;

    fn number(self, mut next: impl FnMut(u64) -> u64) -> Result<RankedIds> {
        let Self { ranked, mut map } = self;
        ranked.degrees.for_each(|degree| map.push(next(degree)))?;
        Ok(RankedIds { map: map.finish()?, ranked })
    }
}

/// The internal ids of ranks.
pub struct RankedIds {
    map: RankFile,
    ranked: Ranked,
}

impl InternalIds for RankedIds {
    fn held(&self) -> u64 {
        0
    }

    fn for_each(&self, mut visit: impl FnMut(u64)) -> Result<()> {
        self.map.for_each(|internal| {
            visit(internal);
            Ok(())
        })
    }

    fn write_keys(&mut self, _: &Builder, _: u64) -> Result<(IdTable, Vec<SectionEntry>)> {
        Ok((self.ranked.ids.clone(), std::mem::take(&mut self.ranked.sections)))
    }

    fn into_edges(self, builder: &Builder) -> Result<(Option<Spool>, Option<IdMap>)> {
        let vertices = self.map.len();
        let fits = vertices * 4 <= builder.memory * 6 / 10 && vertices < u64::from(ABSENT);
        if !fits {
            let relabel = Relabel {
                disk: builder.disk,
                scratch: builder.scratch,
                map: &self.map,
                threads: builder.options.threads,
                memory: of_ranking(builder.memory),
                budget: builder.options.memory,
                weighted: self.ranked.weighted,
                progress: builder.progress,
            };
            return Ok((Some(relabel.run(self.ranked.spool)?), None));
        }
        let array: IdMap = HugeVec::zeroed(vertices as usize, HugePages::Auto)?;
        let mut rank = 0;
        self.for_each(|internal| {
            array[rank].store(internal as u32, Relaxed);
            rank += 1;
        })?;
        Ok((Some(self.ranked.spool), Some(array)))
    }
}
