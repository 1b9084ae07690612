//! The vertices of a direction as a selection has them, and which of them a graph has.

use outercore_graph::{Graph, Keys, Result};

use super::BATCH;

/// A vertex of a selection that the graph has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub vertex: u64,
    /// When it was chosen.
    pub order: u32,
    /// Its neighbors; then, those that it has.
    pub degree: u32,
    /// Bytes of its list as it was packed; then, as it is.
    pub packed: u32,
    /// Where its list begins, in neighbors.
    pub first: u64,
}

/// The vertices of a direction.
pub(super) struct Columns<'b> {
    ids: &'b [[u8; 8]],
    names: Option<&'b [u8]>,
    orders: &'b [[u8; 4]],
    degrees: &'b [[u8; 4]],
    packed: &'b [[u8; 4]],
}

impl<'b> Columns<'b> {
    pub(super) fn new(bytes: &'b [u8], lists: usize, names: Option<usize>) -> Self {
        let (ids, rest) = bytes.split_at(lists * 8);
        let (text, rest) = rest.split_at(names.unwrap_or(0));
        let (orders, rest) = rest.split_at(lists * 4);
        let (degrees, packed) = rest.split_at(lists * 4);
        Self {
            ids: ids.as_chunks().0,
            names: names.map(|_| text),
            orders: orders.as_chunks().0,
            degrees: degrees.as_chunks().0,
            packed: packed.as_chunks().0,
        }
    }

    fn id(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.ids[at])
    }

    /// How vertex `at` stands to an id of the graph.
    fn cmp(&self, at: usize, keys: &Keys, key: usize) -> std::cmp::Ordering {
        match (keys, self.names) {
            (Keys::Numbers(numbers), _) => self.id(at).cmp(&numbers[key]),
            (Keys::Names { .. }, names) => {
                let start = if at == 0 { 0 } else { self.id(at - 1) as usize };
                let name = names.and_then(|names| names.get(start..self.id(at) as usize));
                name.unwrap_or_default().cmp(keys.name(key).as_bytes())
            }
        }
    }

    /// Both are in the order of ids: they are gone through together.
    pub(super) fn find(&self, graph: &Graph) -> Result<Vec<Found>> {
        let (mut found, mut at) = (Vec::with_capacity(self.ids.len()), 0);
        let number = |bytes: [u8; 4]| u32::from_le_bytes(bytes);
        graph.for_each_key(BATCH, &mut |keys, vertices| {
            for (key, &vertex) in vertices.iter().enumerate() {
                while at < self.ids.len() && self.cmp(at, keys, key).is_lt() {
                    at += 1;
                }
                if at == self.ids.len() {
                    break;
                }
                if self.cmp(at, keys, key).is_eq() && vertex < graph.connected() {
                    let columns = [self.orders, self.degrees, self.packed];
                    let [order, degree, packed] = columns.map(|column| number(column[at]));
                    found.push(Found { vertex, order, degree, packed, first: 0 });
                }
            }
            Ok(())
        })?;
        Ok(found)
    }
}
