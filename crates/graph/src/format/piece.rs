//! [`Piece`]: what of a section is read at a time.

use outercore_storage::PAGE;

use super::GridChunk;

/// A piece of a section, at most [`BUFFER_BYTES`](outercore_storage::reader::BUFFER_BYTES).
pub trait Piece {
    /// Its number, by which a cache knows it, if there is one.
    fn number(&self) -> usize {
        0
    }

    /// Bytes of what has this number before it, and whether it is all of that.
    fn part(&self) -> (usize, bool) {
        (0, true)
    }

    /// The number of its section.
    fn section(&self) -> usize {
        0
    }

    /// Its first byte in the section, which begins a page, and how many there are.
    fn place(&self) -> (u64, usize);

    /// Bytes that are read for it: whole pages.
    fn padded(&self) -> usize {
        self.place().1.next_multiple_of(PAGE)
    }
}

impl Piece for GridChunk {
    fn number(&self) -> usize {
        self.number
    }

    fn part(&self) -> (usize, bool) {
        (self.before(), self.is_whole())
    }

    fn section(&self) -> usize {
        self.section
    }

    fn place(&self) -> (u64, usize) {
        (self.offset, self.len)
    }
}
