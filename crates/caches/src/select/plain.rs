//! Selections that ask for degrees alone, or for nothing: what greedy selection is held against.

use super::{Select, Selector};

impl Selector<'_> {
    /// The vertices in the order of their choice.
    pub fn plain(&self) -> Vec<u32> {
        let connected = self.graph.connected() as u32;
        let mut vertices: Vec<u32> =
            (0..connected).filter(|&vertex| self.lists.degree(vertex) > 0).collect();
        let degree = |vertex: u32| self.lists.degree(vertex);
        match self.options.select {
            Select::HighDegree => {
                vertices.sort_unstable_by_key(|&vertex| (u32::MAX - degree(vertex), vertex));
            }
            Select::LowDegree => vertices.sort_unstable_by_key(|&vertex| (degree(vertex), vertex)),
            _ => vertices.sort_unstable_by_key(|&vertex| {
                (mixed(self.options.seed ^ mixed(u64::from(vertex))), vertex)
            }),
        }
        let mut room = self.room;
        vertices.retain(|&vertex| {
            let bytes = self.bytes(vertex);
            let fits = bytes <= room;
            room -= if fits { bytes } else { 0 };
            fits
        });
        vertices
    }
}

/// A number without order (Steele, Lea and Flood, OOPSLA 2014).
pub(super) fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
