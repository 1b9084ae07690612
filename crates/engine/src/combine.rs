//! The inner loops of programs: the messages of a piece's edges are combined at their targets.
//!
//! Functions of their own, not inlined: amid their callers the compiler keeps a loop's variables in memory, and each edge waits for the one before.

use outercore_storage::memory::prefetch;

use crate::{edges::piece::Piece, monoid::Monoid, program::VertexProgram};

/// Signals that are looked up by their place.
pub trait Lookup<T>: Copy {
    /// Bytes from one signal to the next.
    const STRIDE: usize;
    /// The signal at `index`.
    fn at(self, index: usize) -> T;
    /// Brings it near, if there is one.
    fn prefetch(self, index: usize);
}

impl<T: Copy> Lookup<T> for &[T] {
    const STRIDE: usize = size_of::<T>();

    #[inline(always)]
    fn at(self, index: usize) -> T {
        self[index]
    }

    #[inline(always)]
    fn prefetch(self, index: usize) {
        prefetch(self.as_ptr().wrapping_add(index));
    }
}

/// Combines the messages of a piece all of whose sources send. The first signal is that of the first vertex of [`Piece::sources`]; `sums` has one for each vertex of the stripe.
#[inline(never)]
pub fn combine_all<P: VertexProgram, S: Lookup<P::Signal>>(program: &P, piece: &Piece, signals: S, sums: &mut [P::Message]) {
    let first = piece.first();
    piece.for_each_near(
        S::STRIDE,
        |source| signals.prefetch(source - first),
        |source, target| sums[target].combine(program.carry(signals.at(source - first), 1.0)),
    );
}

/// The same, of two iterations at once: both signals of a source lie side by side, and so do the sums of a target.
#[inline(never)]
pub fn combine_both<P: VertexProgram>(program: &P, piece: &Piece, signals: &[[P::Signal; 2]], sums: &mut [[P::Message; 2]]) {
    let first = piece.first();
    piece.for_each_near(
        size_of::<[P::Signal; 2]>(),
        |source| signals.prefetch(source - first),
        |source, target| {
            let ([one, other], sums) = (signals[source - first], &mut sums[target]);
            sums[0].combine(program.carry(one, 1.0));
            sums[1].combine(program.carry(other, 1.0));
        },
    );
}
