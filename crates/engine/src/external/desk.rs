//! [`Desk`]: a worker's arrays for the intervals at hand.

use outercore_storage::{HugePages, HugeVec};

use super::pass::{Pass, Shared};
use crate::{
    edges::grid::{EdgeBlock, combine::combine_both},
    error::Result,
    monoid::Monoid,
    program::VertexProgram,
    state::{Block, VertexArray},
};

/// A worker's arrays. Those of sums are for all intervals of a batch, side by side; the others for
/// one interval at a time.
pub struct Desk<P: VertexProgram> {
    /// The totals of this iteration.
    total: HugeVec<P::Message>,
    /// Where the interval at hand begins among the sums.
    base: usize,
    /// The sums along edges that serve two iterations: each adds to both at one place. None from
    /// one batch to the next.
    both: HugeVec<[P::Message; 2]>,
    /// Messages on their way from or to scratch.
    partial: Block<P::Message>,
    pub values: Block<P::Value>,
    pub degrees: Block<u32>,
    pub signals: Block<P::Signal>,
}

impl<P: VertexProgram> Desk<P> {
    /// Arrays for intervals of at most `widest` vertices, alone or together; with `two`, for passes
    /// that serve two iterations; with `windows`, for several windows of signals.
    pub fn new(widest: usize, two: bool, windows: bool, huge: HugePages) -> Result<Self> {
        let mut both = HugeVec::zeroed(if two { widest } else { 0 }, huge)?;
        both.fill([P::Message::IDENTITY; 2]);
        Ok(Self {
            total: HugeVec::zeroed(widest, huge)?,
            base: 0,
            both,
            partial: Block::new(if two || windows { widest } else { 0 })?,
            values: Block::new(widest)?,
            degrees: Block::new(widest)?,
            signals: Block::new(widest)?,
        })
    }

    /// Bytes of memory, whatever the windows.
    pub fn bytes(widest: usize) -> u64 {
        2 * Block::<P::Message>::bytes(widest)
            + Block::<P::Value>::bytes(widest)
            + Block::<u32>::bytes(widest)
            + Block::<P::Signal>::bytes(widest)
    }

    /// Bytes of memory that passes which serve two iterations take beside that.
    pub fn two_bytes(widest: usize) -> u64 {
        2 * Block::<P::Message>::bytes(widest)
    }

    /// The interval at hand becomes the one whose sums begin at `base`.
    pub fn turn_to(&mut self, base: usize) {
        self.base = base;
    }

    /// Stores the total of the interval at hand, to be loaded again.
    pub fn store_total(&mut self, sums: &VertexArray<P::Message>, interval: usize) -> Result<()> {
        let total = &self.total[self.base..];
        sums.write(interval, &mut self.partial, |items| {
            items.copy_from_slice(&total[..items.len()])
        })
    }

    /// Loads a total.
    pub fn load_total(&mut self, sums: &VertexArray<P::Message>, interval: usize) -> Result<()> {
        let total = &mut self.total[self.base..];
        sums.read(interval, &mut self.partial, |items| total[..items.len()].copy_from_slice(items))
    }

    /// Completes the total of the interval at hand, at the end of a pass: by what the pass before
    /// has summed for this iteration (`sums`), and by what this one has along edges that serve two.
    /// Of the latter, the sums of index `now` are this iteration's; the others take the place of
    /// what the pass before had.
    pub fn complete(
        &mut self,
        (sums, interval): (&VertexArray<P::Message>, usize),
        (pass, now): (Pass, usize),
    ) -> Result<()> {
        let len = sums.items(interval);
        let Self { total, base, both, partial, .. } = self;
        let total = &mut total[*base..][..len];
        let mut twos =
            if pass.ahead { both[*base..][..len].iter_mut() } else { Default::default() };
        let mut take = |item: &mut P::Message| {
            let both = std::mem::replace(
                twos.next().expect("one for each vertex"),
                [P::Message::IDENTITY; 2],
            );
            *item = both[1 - now];
            both[now]
        };
        match (pass.ahead, pass.whole) {
            (false, true) => Ok(()),
            (false, false) => sums.read(interval, partial, |items| {
                total.iter_mut().zip(items).for_each(|(total, item)| total.combine(*item))
            }),
            (true, true) => sums.write(interval, partial, |items| {
                total.iter_mut().zip(items).for_each(|(total, item)| total.combine(take(item)))
            }),
            (true, false) => sums.update(interval, partial, |items| {
                for (total, item) in total.iter_mut().zip(items) {
                    total.combine(*item);
                    total.combine(take(item));
                }
            }),
        }
    }

    /// The total of the interval at hand, and of those behind it.
    pub fn total(&self) -> &[P::Message] {
        &self.total[self.base..]
    }

    /// The same, to be added to.
    pub fn total_mut(&mut self) -> &mut [P::Message] {
        &mut self.total[self.base..]
    }

    /// The totals of an interval of `len` vertices, with no message yet.
    pub fn empty_total(&mut self, len: usize) -> &mut [P::Message] {
        let total = &mut self.total_mut()[..len];
        total.fill(P::Message::IDENTITY);
        total
    }

    /// The total of the interval at hand, room for its values if they are not in memory, its
    /// degrees, and room for its signals; it has `len` vertices.
    #[allow(clippy::type_complexity)]
    pub fn columns(
        &mut self,
        len: usize,
    ) -> (&[P::Message], &mut Block<P::Value>, &[u32], &mut [P::Signal]) {
        (
            &self.total[self.base..][..len],
            &mut self.values,
            self.degrees.items(len),
            self.signals.items(len),
        )
    }

    /// Combines the messages of a block for this iteration and for the next one, whose signals
    /// these are; with `all_send`, all sources are known to send in the next one. Returns how many
    /// edges are active now.
    pub fn combine_twice(
        &mut self,
        program: &P,
        shared: &Shared<P>,
        block: &EdgeBlock,
        pairs: &[[P::Signal; 2]],
        all_send: bool,
    ) -> u64 {
        let (first, last) = block.sources();
        let both = &mut self.both[self.base..];
        if shared.all_send(first, last) && (all_send || shared.next_sending.all(first, last)) {
            combine_both(program, block, pairs, both);
            return block.words();
        }
        let (now, mut active) = (shared.signals.hubs.now(), 0);
        block.for_each(|source, target| {
            let (vertex, pair) = (block.segment + source as u64, pairs[source - block.first()]);
            if shared.sending.contains(vertex) {
                active += 1;
                both[target][now].combine(program.carry(pair[now], 1.0));
            }
            if shared.next_sending.contains(vertex) {
                both[target][1 - now].combine(program.carry(pair[1 - now], 1.0));
            }
        });
        active
    }

    /// Combines the messages of those of a block's sources that send and are in the window. Returns
    /// how many edges they have.
    // Not inlined, for the reason of the loops in `combine`.
    #[inline(never)]
    pub fn combine_some(&mut self, program: &P, shared: &Shared<P>, block: &EdgeBlock) -> u64 {
        let (sums, window, mut active) = (&mut self.total[self.base..], &shared.window.vertices, 0);
        block.for_each(|source, target| {
            let vertex = block.segment + source as u64;
            if shared.sending.contains(vertex) && window.contains(&vertex) {
                active += 1;
                sums[target].combine(program.carry(shared.signals.of(vertex), 1.0));
            }
        });
        active
    }
}
