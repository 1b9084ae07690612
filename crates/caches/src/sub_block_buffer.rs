//! [`SubBlockBuffer`]: chunks of the grid that stay in memory from one pass to the next, those with
//! the most active edges (GraphSD, ICPP'22, section 4.3). Memory: what it is given.

use outercore_storage::{PriorityBuffer, named};

use crate::{ChunkCache, Held, Kept};

named! {
    /// Which chunks of the grid stay in memory between the passes of a run.
    #[derive(Default)]
    pub enum SubBlocks: "choice of sub-blocks" {
        /// Those with the most active edges; one that every pass reads is worth twice one that
        /// every second pass reads.
        #[default]
        On = "on",
        /// The same of those that two iterations have to read twice: GraphSD's own rule (ICPP'22,
        /// section 4.3).
        Secondary = "secondary",
        /// None.
        Off = "off",
    }
}

impl SubBlocks {
    /// Whether some stay.
    pub fn are_kept(self) -> bool {
        self != Self::Off
    }

    /// What it is worth to have a chunk in memory: one with so many active edges, which every pass
    /// reads (`near`), or which a pass that serves two iterations spares the next one (`served`).
    pub fn worth(self, active: u64, near: bool, served: bool) -> u64 {
        match self {
            Self::Secondary if served => 0,
            Self::On if near => 2 * active,
            _ => active,
        }
    }
}

/// Chunks in memory.
pub struct SubBlockBuffer(pub PriorityBuffer);

impl ChunkCache for SubBlockBuffer {
    fn kept(&self) -> Kept {
        Kept::SubBlocks
    }

    fn get(&self, chunk: usize) -> Option<Held> {
        self.0.get(chunk).map(|words| words as Held)
    }

    fn spare(&self) -> u64 {
        self.0.spare()
    }

    fn offer(&self, chunk: usize, priority: u64, words: &[u8]) {
        self.0.offer(chunk, priority, words);
    }
}

#[cfg(test)]
mod tests {
    use super::{
        SubBlocks::{Off, On, Secondary},
        *,
    };

    #[test]
    fn what_will_stay_is_read_for_nothing() {
        let buffer = SubBlockBuffer(PriorityBuffer::new(1 << 20));
        let reads = |chunk, absent: &mut u64| buffer.reads((chunk, true), 400 << 10, absent);
        let all = |absent: &mut u64| [0, 1, 2].map(|chunk| reads(chunk, absent)[1]);
        assert_eq!(all(&mut 0), [0, 0, 1]);
        // What is there takes no room of others.
        buffer.offer(2, 1, &[7; 400 << 10]);
        assert_eq!(all(&mut 0), [0, 1, 0]);
        // Parts do not stay.
        let part = |chunk| buffer.reads((chunk, false), 4 << 10, &mut 0);
        assert_eq!([part(0), part(2)], [[4 << 10, 1], [0; 2]]);
    }

    #[test]
    fn what_is_read_more_often_is_worth_more() {
        assert_eq!([On.worth(5, true, false), On.worth(5, false, true)], [10, 5]);
        let of = |near, served| Secondary.worth(5, near, served);
        assert_eq!([of(true, false), of(false, false), of(false, true)], [5, 5, 0]);
        assert_eq!(Off.worth(5, false, false), 5);
    }
}
