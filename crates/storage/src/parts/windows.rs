//! Windows: neighboring parts that are in memory together.

use std::ops::Range;

/// Cuts parts with these bounds into windows of at most `most` items, or of one part; returns the
/// windows' bounds.
pub fn cut_windows(bounds: &[u64], most: u64) -> Vec<u64> {
    let mut windows = vec![0];
    for pair in bounds.windows(2) {
        let begun = windows[windows.len() - 1];
        if pair[1] - begun > most && pair[0] > begun {
            windows.push(pair[0]);
        }
    }
    windows.extend(bounds.last().filter(|&&last| last > 0));
    windows
}

/// The same as ranges; there is one at the least.
pub fn windows(bounds: &[u64], most: u64) -> Vec<Range<u64>> {
    let mut cuts = cut_windows(bounds, most);
    cuts.dedup();
    if cuts.len() == 1 {
        cuts.push(0);
    }
    cuts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// How many items the widest part has.
pub fn widest(bounds: &[u64]) -> u64 {
    bounds.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_cut_where_parts_begin() {
        const BOUNDS: [u64; 5] = [0, 3_000, 3_001, 9_000, 12_345];
        assert_eq!(cut_windows(&BOUNDS, 3_001), [0, 3_001, 9_000, 12_345]);
        assert_eq!(cut_windows(&BOUNDS, 9_000), [0, 9_000, 12_345]);
        assert_eq!(cut_windows(&BOUNDS, 1), [0, 3_000, 3_001, 9_000, 12_345]);
        assert_eq!(cut_windows(&BOUNDS, u64::MAX), [0, 12_345]);
        assert_eq!(cut_windows(&[0, 0], 5), [0]);
        assert_eq!(windows(&BOUNDS, 9_000), [0..9_000, 9_000..12_345]);
        assert_eq!(windows(&[0, 0], 5).len(), 1);
    }
}
