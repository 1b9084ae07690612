//! Lists in fewer bytes: what a static cache holds.
//!
//! A list is stored as gaps, the first one from its own vertex. A gap is cut into groups of bits,
//! the low ones first, each followed by a bit that says whether another one comes. How many bits a
//! group has is one number for a list, the one that makes it shortest: near neighbors take 4 bits,
//! those anywhere in the graph one more than their distance has. So lists of crawls and road
//! networks take a third of the bytes that they have on disk, those of RMAT graphs half.
//!
//! ```text
//! lists of at least 16: the length of what follows, 7 bits a byte
//! which length groups have (4)   gaps                           to the next whole byte
//! 0: as on disk (8)     neighbors, as wide as on disk           where that is no longer
//! ```
//!
//! Memory: what it is given. A list that is shown takes [`PIECE`] neighbors.

use outercore_graph::format::List;

/// From so many neighbors on a list says how long it is: it is passed over at once.
const LONG: usize = 16;
/// Neighbors that are shown at once.
const PIECE: usize = 1 << 10;
/// Bits of the number at the front.
const FRONT: usize = 4;
/// The bits that a group may have: what a list says is a place here. None: it is as on disk.
const BITS: [usize; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20];
/// Bytes behind all lists that may be looked at.
pub(crate) const SLACK: usize = 8;

/// Groups of each length in a gap of so many bits.
const GROUPS: [[u8; 65]; 16] = {
    let mut table = [[1; 65]; 16];
    let mut kind = 1;
    while kind < 16 {
        let mut of = 1;
        while of < 65 {
            table[kind][of] = of.div_ceil(BITS[kind]) as u8;
            of += 1;
        }
        kind += 1;
    }
    table
};

/// A list that is to be packed.
#[derive(Clone, Copy)]
pub(crate) struct Unpacked<'l> {
    pub vertex: u64,
    /// The neighbors as on disk; they are not empty.
    pub neighbors: &'l [u8],
    pub width: usize,
}

/// How a list is packed: which length its groups have, and the bytes behind its own.
type Shape = (usize, usize);

impl Unpacked<'_> {
    fn count(&self) -> usize {
        self.neighbors.len() / self.width
    }

    /// Hands the gaps to `visit`. Any numbers are taken, even those that do not ascend.
    #[inline(always)]
    fn gaps(&self, mut visit: impl FnMut(u64)) {
        let (list, mut before, mut room) = (List::of(self.neighbors, self.width), None, [0; 64]);
        let mut first = 0;
        while first < self.count() {
            let count = list.copy(first, &mut room);
            for &neighbor in &room[..count] {
                visit(match before {
                    Some(before) => neighbor.wrapping_sub(before),
                    None => signed(neighbor.wrapping_sub(self.vertex)),
                });
                before = Some(neighbor);
            }
            first += count;
        }
    }

    fn shape(&self) -> Shape {
        let (mut counts, mut some) = ([0u32; 65], 0u128);
        self.gaps(|gap| {
            let bits = 64 - gap.leading_zeros();
            counts[bits as usize] += 1;
            some |= 1 << bits;
        });
        let mut all = [FRONT; 16];
        while some != 0 {
            let of = some.trailing_zeros() as usize;
            some &= some - 1;
            for (kind, all) in all.iter_mut().enumerate().skip(1) {
                *all += counts[of] as usize * usize::from(GROUPS[kind][of]) * (BITS[kind] + 1);
            }
        }
        let sizes = (1..16).map(|kind| (all[kind].div_ceil(8), kind));
        let (size, kind) = sizes.min().expect("there are fifteen");
        let stored = 1 + self.neighbors.len();
        if size < stored { (kind, size) } else { (0, stored) }
    }

    /// Bytes that it takes.
    pub fn packed_bytes(&self) -> usize {
        let (_, size) = self.shape();
        size + self.length(size).len()
    }

    fn length(&self, size: usize) -> Vec<u8> {
        let (mut bytes, mut rest) = (Vec::new(), size);
        while self.count() >= LONG && (rest > 0 || bytes.is_empty()) {
            bytes.push((rest & 0x7f) as u8 | u8::from(rest > 0x7f) << 7);
            rest >>= 7;
        }
        bytes
    }

    /// Packs it behind what is there.
    pub fn pack(&self, to: &mut Vec<u8>) {
        let (kind, size) = self.shape();
        let bits = BITS[kind];
        to.extend(self.length(size));
        if kind == 0 {
            to.push(0);
            to.extend(self.neighbors);
            return;
        }
        let (mut word, mut filled) = (kind as u64, FRONT);
        self.gaps(|mut gap| {
            loop {
                let rest = gap >> bits;
                let group = gap & ((1 << bits) - 1) | u64::from(rest > 0) << bits;
                (word, filled) = (word | group << filled, filled + bits + 1);
                while filled >= 8 {
                    to.push(word as u8);
                    (word, filled) = (word >> 8, filled - 8);
                }
                gap = rest;
                if gap == 0 {
                    break;
                }
            }
        });
        if filled > 0 {
            to.push(word as u8);
        }
    }
}

/// A number that may be below zero as one that is small if that is near zero.
fn signed(number: u64) -> u64 {
    number << 1 ^ ((number as i64 >> 63) as u64)
}

/// A packed list, at the front of some bytes, which go on for [`SLACK`] bytes at the least.
pub(crate) struct Packed<'b> {
    pub vertex: u64,
    pub bytes: &'b [u8],
    /// Its neighbors, and the bytes of each on disk.
    pub count: usize,
    pub width: usize,
}

impl Packed<'_> {
    /// Bytes of the length at the front, and those behind it where it is known.
    fn length(&self) -> (usize, Option<usize>) {
        if self.count < LONG {
            return (0, None);
        }
        let (mut len, mut at) = (0, 0);
        loop {
            let byte = usize::from(self.bytes[at]);
            len |= (byte & 0x7f) << (7 * at);
            at += 1;
            if byte < 0x80 {
                return (at, Some(len));
            }
        }
    }

    /// Bytes that it takes.
    pub fn len(&self) -> usize {
        let (start, len) = self.length();
        len.map_or_else(|| self.unpack(start, |_| ()), |len| start + len)
    }

    /// Shows the neighbors as on disk, piece by piece, with the number of the first in each.
    /// Returns the bytes that it takes.
    pub fn show(&self, room: &mut Vec<u8>, mut visit: impl FnMut(usize, &[u8])) -> usize {
        let (start, _) = self.length();
        room.clear();
        let mut first = 0;
        if self.bytes[start] & 0xf == 0 {
            let stored = &self.bytes[start + 1..][..self.count * self.width];
            visit(0, stored);
            return start + 1 + stored.len();
        }
        let end = self.unpack(start, |neighbor: u64| {
            room.extend_from_slice(&neighbor.to_le_bytes()[..self.width]);
            if room.len() == PIECE * self.width {
                visit(first, room);
                first += PIECE;
                room.clear();
            }
        });
        if !room.is_empty() {
            visit(first, room);
        }
        end
    }

    /// Hands the neighbors that begin at byte `start` to `visit`; returns where they end.
    #[inline(always)]
    fn unpack(&self, start: usize, mut visit: impl FnMut(u64)) -> usize {
        let bits = BITS[usize::from(self.bytes[start] & 0xf)];
        if bits == 0 {
            return start + 1 + self.count * self.width;
        }
        let (mut at, mut before) = (8 * start + FRONT, 0u64);
        for number in 0..self.count {
            let (mut gap, mut filled) = (0u64, 0);
            loop {
                let word = self.bytes[at / 8..].first_chunk().copied().unwrap_or_default();
                let word = u64::from_le_bytes(word) >> (at % 8);
                gap |= (word & ((1 << bits) - 1)) << filled;
                (at, filled) = (at + bits + 1, filled + bits);
                // No gap has more bits than 64.
                if word >> bits & 1 == 0 || filled >= 64 {
                    break;
                }
            }
            before = match number {
                0 => self.vertex.wrapping_add(gap >> 1 ^ (gap & 1).wrapping_neg()),
                _ => before.wrapping_add(gap),
            };
            visit(before);
        }
        at.div_ceil(8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(neighbors: &[u64], width: usize) -> Vec<u8> {
        neighbors.iter().flat_map(|neighbor| neighbor.to_le_bytes()[..width].to_vec()).collect()
    }

    /// Packs a list behind another, and unpacks it; returns its bytes.
    fn there_and_back(vertex: u64, neighbors: &[u64], width: usize) -> usize {
        let disk = stored(neighbors, width);
        let list = Unpacked { vertex, neighbors: &disk, width };
        let mut bytes = vec![7; 3];
        list.pack(&mut bytes);
        let len = bytes.len() - 3;
        assert_eq!(len, list.packed_bytes(), "{neighbors:?}");
        bytes.extend([0xff; SLACK]);
        let packed = Packed { vertex, bytes: &bytes[3..], count: neighbors.len(), width };
        assert_eq!(packed.len(), len);
        let (mut found, mut room) = (Vec::new(), Vec::new());
        let end = packed.show(&mut room, |first, piece| {
            assert_eq!(first * width, found.len());
            found.extend_from_slice(piece);
        });
        assert_eq!((end, found), (len, disk), "{neighbors:?}");
        len
    }

    #[test]
    fn lists_of_any_kind_come_back() {
        for width in [1, 2, 3, 4, 8] {
            let most = u64::MAX >> (64 - 8 * width);
            for vertex in [0, most / 3, most] {
                for count in [1, 2, 15, 16, 17, 1000, 1024, 5000] {
                    let step = (most / count).min(70_000);
                    let list: Vec<u64> = (0..count).map(|at| at * step).collect();
                    there_and_back(vertex, &list, width);
                    there_and_back(vertex, &vec![most; count as usize], width);
                    // Such a list is a fault of the graph, and not of whatever keeps it.
                    let any = |at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) & most;
                    there_and_back(vertex, &(0..count).map(any).collect::<Vec<_>>(), width);
                }
            }
        }
    }

    #[test]
    fn near_neighbors_take_few_bytes_and_far_ones_hardly_more_than_on_disk() {
        let near: Vec<u64> = (0..100).map(|at| 1_000_000 + at).collect();
        assert!(there_and_back(999_999, &near, 3) <= 27, "2 bits each");
        assert_eq!(there_and_back(1_000_001, &[1_000_000, 1_000_002], 3), 2);
        let far: Vec<u64> = (0..100).map(|at| at * 100_000).collect();
        assert!(there_and_back(0, &far, 3) <= 240);
        assert_eq!(there_and_back(0, &[u64::MAX / 3], 8), 9, "as on disk");
    }
}
