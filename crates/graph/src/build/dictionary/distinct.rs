//! The distinct keys of a range, as many of the smallest as fit: the rest of the range is for the
//! next piece. So no range is too large, however the sample has cut them.

use std::{collections::HashMap, hash::BuildHasherDefault};

use xxhash_rust::xxh3::Xxh3Default;

use crate::build::sample::KEY_COST;

type DistinctTable = HashMap<Box<[u8]>, (u64, u64), BuildHasherDefault<Xxh3Default>>;

/// A key with its rank and its degree.
pub type Entry<'t> = (&'t [u8], &'t mut (u64, u64));

/// A piece of a range: the keys from `begin` on, below `end`.
pub struct Distinct {
    table: DistinctTable,
    /// What they take.
    bytes: u64,
    /// What they may take.
    most: u64,
    begin: Box<[u8]>,
    /// The first key that is left for the next piece.
    end: Option<Box<[u8]>>,
}

impl Distinct {
    /// The piece that begins at a key, in so many bytes.
    pub fn new(begin: Box<[u8]>, most: u64) -> Self {
        Self { table: DistinctTable::default(), bytes: 0, most, begin, end: None }
    }

    /// What a piece takes at the least, if it is not the last one and no key is longer than
    /// `longest`: half of its bytes, but for one key.
    pub fn least(most: u64, longest: usize) -> u64 {
        (most / 2).saturating_sub(cost(longest))
    }

    fn has(&self, key: &[u8]) -> bool {
        *self.begin <= *key && self.end.as_deref().is_none_or(|end| key < end)
    }

    /// Sees a key so many times more.
    pub fn see(&mut self, key: &[u8], times: u64) {
        if !self.has(key) {
            return;
        }
        if let Some(entry) = self.table.get_mut(key) {
            entry.1 += times;
            return;
        }
        self.table.insert(key.into(), (0, times));
        self.bytes += cost(key.len());
        if self.bytes > self.most && self.table.len() > 1 {
            self.halve();
        }
    }

    /// Leaves the larger keys for the next piece.
    fn halve(&mut self) {
        let mut keys: Vec<&[u8]> = self.table.keys().map(|key| &**key).collect();
        keys.sort_unstable();
        let mut bytes = cost(keys[0].len());
        let mut end = 1;
        while end + 1 < keys.len() && bytes + cost(keys[end].len()) <= self.most / 2 {
            bytes += cost(keys[end].len());
            end += 1;
        }
        let end: Box<[u8]> = keys[end].into();
        drop(keys);
        self.table.retain(|key, _| *key < end);
        self.bytes = bytes;
        self.end = Some(end);
    }

    /// Gives the keys their ranks, from `first` on, in their order.
    pub fn rank(&mut self, first: u64) -> Vec<Entry<'_>> {
        let mut sorted: Vec<Entry> =
            self.table.iter_mut().map(|(key, entry)| (&**key, entry)).collect();
        sorted.sort_unstable_by_key(|entry| entry.0);
        sorted.iter_mut().zip(first..).for_each(|(entry, rank)| entry.1.0 = rank);
        sorted
    }

    /// The rank of a key, if it is in this piece.
    pub fn rank_of(&self, key: &[u8]) -> Option<u64> {
        self.has(key).then(|| self.table[key].0)
    }

    /// Whether nothing is left for another piece.
    pub fn is_last(&self) -> bool {
        self.end.is_none()
    }

    /// Where the next piece begins.
    pub fn into_end(self) -> Option<Box<[u8]>> {
        self.end
    }
}

/// What a key takes.
fn cost(len: usize) -> u64 {
    KEY_COST + len as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys with their degrees, piece by piece.
    fn pieces(keys: &[Vec<u8>], most: u64) -> Vec<Vec<(Vec<u8>, u64)>> {
        let (mut found, mut next, mut rank) = (Vec::new(), Some(Box::from([])), 0);
        while let Some(begin) = next {
            let mut piece = Distinct::new(begin, most);
            keys.iter().for_each(|key| piece.see(key, 1));
            let ranked = piece.rank(rank);
            let owned: Vec<_> = ranked.iter().map(|(key, entry)| (key.to_vec(), entry.1)).collect();
            for (at, (key, _)) in owned.iter().enumerate() {
                assert_eq!(piece.rank_of(key), Some(rank + at as u64));
            }
            rank += owned.len() as u64;
            assert_eq!(piece.is_last(), piece.end.is_none());
            next = piece.into_end();
            found.push(owned);
        }
        found
    }

    #[test]
    fn pieces_are_the_whole_in_order_and_none_takes_more_than_it_may() {
        let key = |at: u64| (at.wrapping_mul(0x9e37_79b9) % 1009).to_be_bytes().to_vec();
        let long = |at: u64| [key(at), vec![7; (at % 13 * 50) as usize]].concat();
        for (keys, longest) in
            [((0..5000).map(key).collect::<Vec<_>>(), 8), ((0..5000).map(long).collect(), 8 + 600)]
        {
            let mut whole = std::collections::BTreeMap::new();
            keys.iter().for_each(|key| *whole.entry(key.clone()).or_insert(0) += 1);
            for most in [1, 300, 5000, 20_000, 1 << 30] {
                let found = pieces(&keys, most);
                assert_eq!(found.concat(), whole.clone().into_iter().collect::<Vec<_>>());
                let bytes = |piece: &[(Vec<u8>, u64)]| -> u64 {
                    piece.iter().map(|(key, _)| cost(key.len())).sum()
                };
                for (at, piece) in found.iter().enumerate() {
                    assert!(bytes(piece) <= most || piece.len() == 1, "{most}");
                    let least = Distinct::least(most, longest);
                    assert!(at + 1 == found.len() || bytes(piece) >= least, "{most}");
                }
            }
        }
    }
}
