//! Writing the id tables: rank to internal id, and back.
//!
//! A rank is a vertex's position among all vertices in ascending order of original id.

use super::sections::{Folders, Section};
use crate::{error::Result, format::SectionEntry, types::bytes_for};

/// Writes `ids.vertex` while ranks come in order, and then `ids.rank`.
pub struct IdWriter {
    vertex: Section,
    width: usize,
    bytes: Vec<u8>,
}

impl IdWriter {
    /// Begins `ids.vertex` for `vertices` vertices.
    pub fn create(folders: &Folders, vertices: u64) -> Result<Self> {
        Ok(Self {
            vertex: folders.section("ids.vertex", false)?,
            width: bytes_for(vertices),
            bytes: Vec::with_capacity(1 << 16),
        })
    }

    /// The internal id of the next rank.
    pub fn push(&mut self, internal: u64) -> Result<()> {
        self.bytes.extend_from_slice(&internal.to_le_bytes()[..self.width]);
        if self.bytes.len() >= 1 << 16 {
            self.vertex.write(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }

    /// Ends `ids.vertex`.
    pub fn finish(mut self) -> Result<SectionEntry> {
        self.vertex.write(&self.bytes)?;
        self.vertex.finish()
    }
}

/// Writes `ids.rank` from the map of ranks to internal ids, in windows of `window` entries: each
/// window is one walk over the map.
pub fn write_ranks(
    folders: &Folders,
    vertices: u64,
    window: u64,
    mut walk: impl FnMut(&mut dyn FnMut(u64)) -> Result<()>,
) -> Result<SectionEntry> {
    let width = bytes_for(vertices);
    let mut section = folders.section("ids.rank", false)?;
    let mut first = 0;
    let mut bytes = Vec::new();
    while first < vertices {
        let count = window.min(vertices - first);
        bytes.clear();
        bytes.resize(count as usize * width + 8, 0u8);
        let mut rank = 0u64;
        walk(&mut |internal| {
            if let Some(at) = internal.checked_sub(first)
                && at < count
            {
                bytes[at as usize * width..][..width].copy_from_slice(&rank.to_le_bytes()[..width]);
            }
            rank += 1;
        })?;
        section.write(&bytes[..count as usize * width])?;
        first += count;
    }
    section.finish()
}
