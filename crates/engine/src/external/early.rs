//! Selective pre-computation (Seraph, FAST'24, section 3.4): lists are read interval by interval; a
//! interval that comes in first takes what was passed to it so far, so that some of its vertices
//! are known to be active in the next iteration; those near a vertex that is active now are
//! computed with it. Their bits move from the next bitmap to the current one.
//!
//! Only for [`Monotone`] programs: [`Early`] cannot be made for others.

use std::{marker::PhantomData, ops::Range, sync::Mutex};

use super::{
    demand::{Demand, Gather},
    desk::Desk,
    run::{External, Step},
    signals::Signals,
};
use crate::{
    config::Precompute,
    error::Result,
    frontier::Frontier,
    monoid::Monoid,
    program::{Monotone, VertexProgram},
};

/// Vertices this near an active one are computed with it.
const GAP: u32 = 32;

/// Which vertices of a program are computed early.
#[derive(Debug)]
pub struct Early<P> {
    all: bool,
    program: PhantomData<fn() -> P>,
}

impl<P> Clone for Early<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Early<P> {}

impl<P: Monotone> Early<P> {
    /// As `precompute` says; `None`: not at all.
    pub fn new(precompute: Option<Precompute>) -> Option<Self> {
        let all = match precompute? {
            Precompute::Off => return None,
            Precompute::Gap => false,
            Precompute::On => true,
        };
        Some(Self { all, program: PhantomData })
    }
}

impl<P: VertexProgram> External<'_, P> {
    /// Reads the lists of who sends, and of who will send and is near, and passes what they send
    /// on; interval by interval.
    pub(super) fn gather_early(
        &self,
        early: &Early<P>,
        demand: &Demand<P::Message>,
        step: &Step<P>,
        signals: &mut [P::Signal],
        desks: &mut [Mutex<Desk<P>>],
    ) -> Result<()> {
        let shared = self.in_place(step, &self.nobody);
        for interval in 0..self.columns.intervals() {
            let range = self.columns.vertices(interval);
            if range.is_empty()
                || !(early.all && demand.waits(interval)
                    || step.sending.any(range.start, range.end - 1))
            {
                continue;
            }
            if demand.waits(interval) {
                let part = Mutex::new(&mut signals[range.start as usize..range.end as usize]);
                let desk = desks[0].get_mut().expect("no holder panics");
                let total = desk.empty_total((range.end - range.start) as usize);
                demand.receive(interval, |target, message| {
                    total[(target - range.start) as usize].combine(message)
                })?;
                self.apply(&shared, interval, true, desk, Some(&part))?;
            }
            hurry(step.sending, step.next_sending, range.clone(), early.all);
            let share = Gather {
                window: range.clone(),
                signals: Signals::new(
                    &self.nobody,
                    &signals[range.start as usize..range.end as usize],
                    range.start,
                ),
                sending: step.sending,
                edges: u64::MAX,
            };
            demand.gather(self.program, self.session, &share)?;
        }
        Ok(())
    }
}

/// Moves the members of `next` in a range to `current`: all, or those near a member of `current`.
fn hurry(current: &Frontier, next: &Frontier, range: Range<u64>, all: bool) {
    let (first, last) = (range.start / 64, (range.end - 1) / 64);
    let words = current.len().div_ceil(64);
    // What is near is judged by who was active before: those who are moved do not bring others with
    // them.
    let (mut before, mut at) =
        (if first > 0 { current.word(first - 1) } else { 0 }, current.word(first));
    for group in first..=last {
        let after = if group + 1 < words { current.word(group + 1) } else { 0 };
        let inside = (u64::MAX << range.start.saturating_sub(group * 64))
            & (u64::MAX >> ((group + 1) * 64).saturating_sub(range.end));
        let moved =
            next.word(group) & inside & if all { u64::MAX } else { near(before, at, after) };
        if moved != 0 {
            current.add(group, moved);
            next.take(group, moved);
        }
        (before, at) = (at, after);
    }
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
    fn only_members_of_the_range_move_and_bring_nobody_along() {
        let set = |members: &[u64]| {
            let set = Frontier::new(300, HugePages::Off).unwrap();
            members.iter().for_each(|&member| {
                set.insert(member);
            });
            set
        };
        let all = |set: &Frontier| set.iter(0..300).collect::<Vec<_>>();
        let (current, next) = (set(&[100]), set(&[60, 69, 75, 132, 133, 160, 250]));
        hurry(&current, &next, 70..200, false);
        assert_eq!(all(&current), [75, 100, 132]);
        assert_eq!(all(&next), [60, 69, 133, 160, 250]);
        hurry(&current, &next, 70..200, true);
        assert_eq!(all(&current), [75, 100, 132, 133, 160]);
        assert_eq!(all(&next), [60, 69, 250]);
    }
}
