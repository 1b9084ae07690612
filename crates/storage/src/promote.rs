//! [`promote`]: members of one bitmap move to another, if they are near members of that.

use std::ops::Range;

use crate::Bitmap;

/// Numbers this near a member are near it.
const GAP: u32 = 32;

/// Moves the members of `next` in a range to `current`: all, or those near a member of `current`.
/// Returns how many.
pub fn promote(current: &Bitmap, next: &Bitmap, range: Range<u64>, all: bool) -> u64 {
    let word =
        |group: u64| if group < current.len().div_ceil(64) { current.word(group) } else { 0 };
    // What is near is judged by the members from before: those that are moved bring no others with
    // them.
    let first = range.start / 64;
    let (mut before, mut at) = (first.checked_sub(1).map_or(0, word), word(first));
    let mut count = 0;
    for (group, inside) in current.masks(range.start, range.end - 1) {
        let after = word(group + 1);
        let moved =
            next.word(group) & inside & if all { u64::MAX } else { near(before, at, after) };
        if moved != 0 {
            current.add(group, moved);
            next.take(group, moved);
            count += u64::from(moved.count_ones());
        }
        (before, at) = (at, after);
    }
    count
}

/// Which of 64 numbers are within [`GAP`] of a member; the members among those before, these and
/// those after are given.
fn near(before: u64, at: u64, after: u64) -> u64 {
    let mut bits =
        u128::from(before >> 32) | u128::from(at) << 32 | u128::from(after & 0xffff_ffff) << 96;
    let mut reach = 0;
    for step in [1, 2, 4, 8, 16, 1] {
        bits |= bits << step | bits >> step;
        reach += step;
    }
    debug_assert_eq!(reach, GAP);
    (bits >> 32) as u64
}

#[cfg(test)]
mod tests {
    use crate::HugePages;

    use super::*;

    #[test]
    fn near_is_within_the_gap_on_both_sides() {
        let members = [3u64, 70, 127, 190];
        let words: Vec<u64> = (0..4)
            .map(|group| {
                members
                    .iter()
                    .filter(|&&member| member / 64 == group)
                    .map(|member| 1 << (member % 64))
                    .sum()
            })
            .collect();
        for group in 0..4 {
            let found = near(
                if group > 0 { words[group - 1] } else { 0 },
                words[group],
                if group < 3 { words[group + 1] } else { 0 },
            );
            for number in group as u64 * 64..(group as u64 + 1) * 64 {
                let expected =
                    members.iter().any(|&member| member.abs_diff(number) <= u64::from(GAP));
                assert_eq!(found >> (number % 64) & 1 == 1, expected, "{number}");
            }
        }
    }

    #[test]
    fn only_members_of_the_range_move_and_bring_no_others_along() {
        let set = |members: &[u64]| {
            let set = Bitmap::new(300, HugePages::Off).unwrap();
            members.iter().for_each(|&member| {
                set.insert(member);
            });
            set
        };
        let all = |set: &Bitmap| set.iter(0..300).collect::<Vec<_>>();
        let (current, next) = (set(&[100]), set(&[60, 69, 75, 132, 133, 160, 250]));
        assert_eq!(promote(&current, &next, 70..200, false), 2);
        assert_eq!(all(&current), [75, 100, 132]);
        assert_eq!(all(&next), [60, 69, 133, 160, 250]);
        assert_eq!(promote(&current, &next, 70..200, true), 2);
        assert_eq!(all(&current), [75, 100, 132, 133, 160]);
        assert_eq!(all(&next), [60, 69, 250]);
    }
}
