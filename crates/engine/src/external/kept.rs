//! [`Kept`]: lists that an on-demand iteration has read and that stay for the next one, as far as
//! memory goes: a vertex that is active again needs no read then (SCIU; GraphSD, ICPP'22, Algorithm
//! 2).

use std::sync::Mutex;

use outercore_storage::HugePages;

use crate::{edges::stream::List, error::Result, frontier::Frontier, session::Session};

/// Lists in memory, of this iteration and of the one before.
pub struct Kept {
    /// Bytes of the lists that one worker may keep.
    most: usize,
    shelves: Mutex<Vec<Shelf>>,
    /// Whose lists served from memory in this iteration.
    served: Frontier,
    width: usize,
}

/// The lists that one worker keeps.
#[derive(Default)]
pub struct Shelf {
    most: usize,
    /// Vertex, and where its list ends in `bytes`; it begins where the one before ends.
    lists: Vec<(u64, usize)>,
    bytes: Vec<u8>,
}

/// Bytes of memory that an entry of [`Shelf::lists`] takes, beside its list.
const ENTRY: usize = 16;

impl Shelf {
    /// Keeps a whole list if there is room.
    pub fn put(&mut self, vertex: u64, list: List) {
        let needed = self.bytes.len() + list.bytes().len() + (self.lists.len() + 1) * ENTRY;
        if needed <= self.most {
            if self.lists.capacity() == 0 {
                // At once: a vector that doubles would have its old memory beside the new.
                self.bytes.reserve_exact(self.most);
            }
            self.bytes.extend_from_slice(list.bytes());
            self.lists.push((vertex, self.bytes.len()));
        }
    }
}

impl Kept {
    /// Bytes beside the lists.
    pub fn least_bytes(vertices: u64) -> u64 {
        Frontier::bytes(vertices)
    }

    /// Nothing kept yet; at most `bytes` will be, those of two iterations together.
    pub fn new(session: &Session, bytes: u64, width: usize) -> Result<Self> {
        // The entries' vector doubles, and then its old memory is there too.
        let most = (bytes / 4 / session.workers.count() as u64)
            .min(session.graph.manifest().arcs * width as u64) as usize;
        Ok(Self {
            most,
            shelves: Mutex::default(),
            served: Frontier::new(session.graph.connected(), HugePages::Off)?,
            width,
        })
    }

    /// An empty shelf for a worker.
    pub fn shelf(&self) -> Shelf {
        Shelf { most: self.most, ..Shelf::default() }
    }

    /// The lists of the iteration before, taken out.
    pub fn take(&self) -> Vec<Shelf> {
        (0..self.served.len().div_ceil(64)).for_each(|group| self.served.set_word(group, 0));
        std::mem::take(&mut *self.shelves.lock().expect("no holder panics"))
    }

    /// Hands out those of a shelf's lists whose vertices are `sending`, and remembers that they
    /// need no read.
    pub fn serve(
        &self,
        shelf: &Shelf,
        sending: &Frontier,
        mut compute: impl FnMut(u64, List),
    ) -> u64 {
        let (mut start, mut edges) = (0, 0);
        for &(vertex, end) in &shelf.lists {
            if sending.contains(vertex) {
                self.served.insert(vertex);
                let list = List::of(&shelf.bytes[start..end], self.width);
                edges += list.len() as u64;
                compute(vertex, list);
            }
            start = end;
        }
        edges
    }

    /// Of a group of 64 vertices, those that were served.
    pub fn served(&self, group: u64) -> u64 {
        self.served.word(group)
    }

    /// Puts a worker's shelf back, for the next iteration.
    pub fn put_back(&self, shelf: Shelf) {
        self.shelves.lock().expect("no holder panics").push(shelf);
    }
}
