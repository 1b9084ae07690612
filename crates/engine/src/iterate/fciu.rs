//! Full cross-iteration update (FCIU; GraphSD, ICPP'22, Algorithm 3): a pass over the grid takes
//! the intervals in order. When an interval is at hand, vertices that were updated well before it
//! have their next signals already. A chunk all of whose sources are such serves this iteration and
//! the next one in one reading.
//!
//! In GraphSD's way one of two passes reads everything, and the other one the chunks that have
//! served one iteration; both go upwards. Here the first one goes downwards where that saves more,
//! and the second one goes the other way. By default passes alternate, so that each of them reads
//! one half ([`GridPass`](outercore_graph::format::GridPass) is one line of this):
//!
//! ```text
//!              sources of a chunk, seen from the interval at hand
//!              Before          Near       After
//! 0, up        serves 0 and 1  serves 0   serves 0           the first pass reads everything
//! 1, down      not read        serves 1   serves 1 and 2
//! 2, up        serves 2 and 3  serves 2   not read
//! 3, down      not read        serves 3   serves 3 and 4
//! ```
//!
//! The encoding: the hubs' signals of both iterations lie side by side, in pairs, and so do a
//! target's two sums. The number `now` says which one of a pair is this iteration's; the next
//! iteration turns it, and nothing is copied. Between two passes, what the first one has summed for
//! the second is in an array of partial sums.
//!
//! ```text
//! total of an interval = sums along chunks that serve this iteration alone
//!                      + partial sums, left by the pass before
//!                      + both[now]                              both[1 - now] -> partial sums
//! ```

use crate::{
    Frontier, Monoid,
    edges::grid::combine::combine_both,
    iterate::{Run, Workspace},
    program::VertexProgram,
};
use outercore_graph::{Result, format::EdgeBlock};

/// Combines the messages of a block for this iteration and for the next one: of sources in
/// `sending`, and in `next_sending`. `all` says whether all of the block's sources are in each.
/// Returns how many edges are active now.
pub(crate) fn combine_twice<P: VertexProgram>(
    program: &P,
    (block, weight): (&EdgeBlock, impl Fn(usize) -> f64),
    (pairs, now): (&[[P::Signal; 2]], usize),
    both: &mut [[P::Message; 2]],
    (sending, next_sending, all): (&Frontier, &Frontier, bool),
) -> u64 {
    if all {
        combine_both(program, block, pairs, both);
        return block.words();
    }
    let (mut active, mut at) = (0, 0);
    block.for_each(|source, target| {
        let (vertex, pair) = (block.segment + source as u64, pairs[source - block.first()]);
        if sending.contains(vertex) {
            active += 1;
            both[target][now].combine(program.carry(pair[now], weight(at)));
        }
        if next_sending.contains(vertex) {
            both[target][1 - now].combine(program.carry(pair[1 - now], weight(at)));
        }
        at += 1;
    });
    active
}

impl<P: VertexProgram> Run<'_, P> {
    /// Completes the total of the interval at hand at the end of a pass: by the partial sums, and
    /// by those along edges that serve two iterations. Of the latter the next iteration's become
    /// the partial sums.
    pub(crate) fn complete(&self, workspace: &mut Workspace<P>) -> Result<()> {
        let Some(partial) = &self.partial else { return Ok(()) };
        let (interval, now) = (workspace.interval, self.hubs.now());
        let sums = workspace.base..workspace.base + workspace.len;
        let Workspace { total, both, partial: block, .. } = workspace;
        let total = &mut total[sums.clone()];
        let mut twos = both.get_mut(sums).unwrap_or_default().iter_mut();
        let mut take = |item: &mut P::Message| {
            let both = twos.next().expect("one for each vertex");
            let both = std::mem::replace(both, [P::Message::IDENTITY; 2]);
            *item = both[1 - now];
            both[now]
        };
        match (self.pass.ahead, self.pass.whole) {
            (false, true) => Ok(()),
            (false, false) => partial.read(interval, block, |items| {
                total.iter_mut().zip(items).for_each(|(total, item)| total.combine(*item))
            }),
            (true, true) => partial.write(interval, block, |items| {
                total.iter_mut().zip(items).for_each(|(total, item)| total.combine(take(item)))
            }),
            (true, false) => partial.update(interval, block, |items| {
                for (total, item) in total.iter_mut().zip(items) {
                    total.combine(*item);
                    total.combine(take(item));
                }
            }),
        }
    }
}
