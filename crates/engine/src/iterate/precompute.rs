//! Selective pre-computation (Seraph, FAST'24, section 3.4): lists are read interval by interval.
//! An interval that comes in first takes what was passed to it so far, so that some of its vertices
//! are known to be active in the next iteration. Those near a vertex that is active now are
//! computed with it: their bits move from the next bitmap to the current one.
//!
//! ```text
//! active now          . . x . . . . . . . . .
//! active next         . . . . x . . . . . . x
//! promoted (gap 32)           ^ near an active one: its list is read with that one's
//! ```
//!
//! Only programs that are [`Monotone`](crate::program::Monotone) can ask for it
//! ([`Iterations::declare_monotone`](super::Iterations::declare_monotone)).

use std::ops::Range;

use outercore_storage::lock;

use super::{Run, by_lists::OnDemand};
use crate::{Frontier, config::Precompute, program::VertexProgram, techniques::Technique};
use outercore_graph::Result;

/// Vertices this near an active one are computed with it.
const GAP: u32 = 32;

impl<P: VertexProgram> Run<'_, P> {
    /// Reads the lists of vertices that send, and of those that will send and are promoted, and
    /// passes their messages on; interval by interval.
    pub(crate) fn gather_early(
        &self,
        lists: &OnDemand<P::Message>,
        signals: &mut [P::Signal],
    ) -> Result<()> {
        let all = self.precompute == Some(Precompute::On);
        for interval in 0..self.states.len() {
            let range = self.vertices(interval);
            let passed = lists.exchange.pending(interval);
            if range.is_empty() || !(self.sends(&range) || all && passed) {
                continue;
            }
            let part = &mut signals[range.start as usize..range.end as usize];
            if passed {
                let step = self.step_in_place(self.parts(part, &range));
                let mut workspace = lock(&self.workspaces[0]);
                workspace.turn_to(interval, &range, 0);
                self.collect(lists, &step, &mut workspace)?;
            }
            let moved = promote(&self.sending, &self.next_sending, range.clone(), all);
            self.session.counters.note(Technique::Precompute, [moved, 0]);
            self.gather(lists, range, part, u64::MAX)?;
        }
        Ok(())
    }
}

/// Moves the members of `next` in a range to `current`: all, or those near a member of `current`.
/// Returns how many.
fn promote(current: &Frontier, next: &Frontier, range: Range<u64>, all: bool) -> u64 {
    let word =
        |group: u64| if group < current.len().div_ceil(64) { current.word(group) } else { 0 };
    // What is near is judged by the vertices that were active before: those that are moved bring no
    // others with them.
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

/// Which of 64 vertices are within [`GAP`] of a member; the members among those before, these and
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
    use outercore_storage::HugePages;

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
            for vertex in group as u64 * 64..(group as u64 + 1) * 64 {
                let expected =
                    members.iter().any(|&member| member.abs_diff(vertex) <= u64::from(GAP));
                assert_eq!(found >> (vertex % 64) & 1 == 1, expected, "{vertex}");
            }
        }
    }

    #[test]
    fn only_members_of_the_range_move_and_bring_no_others_along() {
        let set = |members: &[u64]| {
            let set = Frontier::new(300, HugePages::Off).unwrap();
            members.iter().for_each(|&member| {
                set.insert(member);
            });
            set
        };
        let all = |set: &Frontier| set.iter(0..300).collect::<Vec<_>>();
        let (current, next) = (set(&[100]), set(&[60, 69, 75, 132, 133, 160, 250]));
        assert_eq!(promote(&current, &next, 70..200, false), 2);
        assert_eq!(all(&current), [75, 100, 132]);
        assert_eq!(all(&next), [60, 69, 133, 160, 250]);
        assert_eq!(promote(&current, &next, 70..200, true), 2);
        assert_eq!(all(&current), [75, 100, 132, 133, 160]);
        assert_eq!(all(&next), [60, 69, 250]);
    }
}
