//! Where vertices and their numbers are kept while they are numbered.

use std::sync::atomic::AtomicU32;

use outercore_storage::HugeVec;

use crate::{
    build::{Builder, spool::Spool},
    error::Result,
    format::{IdTable, SectionEntry},
    order::TotalDegrees,
};

/// Entry of a map for an id that is no vertex.
pub const ABSENT: u32 = u32::MAX;

/// The internal id of each raw id, which is an index into the array.
pub type IdMap = HugeVec<AtomicU32>;

/// Vertices that have no numbers yet.
pub trait Vertices: TotalDegrees {
    /// They, numbered.
    type Ids: InternalIds;

    /// Gives every vertex, in ascending order of original id, the number that `next` has for its
    /// degree.
    fn number(self, next: impl FnMut(u64) -> u64) -> Result<Self::Ids>;
}

/// Vertices that have numbers.
pub trait InternalIds {
    /// Bytes of memory that they hold.
    fn held(&self) -> u64;

    /// Hands out every internal id, in ascending order of original id.
    fn for_each(&self, visit: impl FnMut(u64)) -> Result<()>;

    /// Writes the original ids of all vertices, where they have not been written before. Returns
    /// how they are kept, and the sections.
    fn write_keys(
        &mut self,
        builder: &Builder,
        vertices: u64,
    ) -> Result<(IdTable, Vec<SectionEntry>)>;

    /// The edges (`None`: the source is read again) and the map of their ends (`None`: they are
    /// internal ids already).
    fn into_edges(self, builder: &Builder) -> Result<(Option<Spool>, Option<IdMap>)>;
}
