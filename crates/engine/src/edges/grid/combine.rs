//! The inner loops of programs: the messages of a block's edges are combined at their targets.

use outercore_graph::format::{EdgeBlock, add_all};
use outercore_storage::Lookup;

use crate::{Monoid, program::VertexProgram};

/// Combines the messages of a block all of whose sources send. The first signal is that of the
/// first vertex of [`EdgeBlock::sources`]; `sums` has one for each vertex of the interval.
pub(crate) fn combine_all<P: VertexProgram>(
    program: &P,
    block: &EdgeBlock,
    signals: impl Lookup<P::Signal>,
    sums: &mut [P::Message],
) {
    let add = move |sum: &mut P::Message, signal| sum.combine(program.carry(signal, 1.0));
    add_all(block, signals, sums, add);
}

/// The same, of two iterations at once: both signals of a source lie side by side, and so do the
/// sums of a target.
pub(crate) fn combine_both<P: VertexProgram>(
    program: &P,
    block: &EdgeBlock,
    signals: &[[P::Signal; 2]],
    sums: &mut [[P::Message; 2]],
) {
    let add = move |sums: &mut [P::Message; 2], [one, other]: [P::Signal; 2]| {
        // Read and written as one, so that one instruction adds both.
        let [mut first, mut second] = *sums;
        first.combine(program.carry(one, 1.0));
        second.combine(program.carry(other, 1.0));
        *sums = [first, second];
    };
    add_all(block, signals, sums, add);
}

#[cfg(test)]
mod tests {
    use outercore_graph::format::{WordCode, WordKind};

    use super::*;
    use crate::{
        Sum,
        program::{Context, Start},
    };

    struct Adds;

    impl VertexProgram for Adds {
        type Value = f64;
        type Signal = f32;
        type Message = Sum<f64>;

        fn start(&self) -> Start {
            Start::All
        }
        fn init(&self, _: u64, _: u32) -> f64 {
            0.0
        }
        fn scatter(&self, _: u64, _: &f64, _: u32) -> Option<f32> {
            None
        }
        fn carry(&self, signal: f32, _: f64) -> Sum<f64> {
            Sum(f64::from(signal))
        }
        fn apply(&self, _: &Context, _: u64, _: &mut f64, _: Sum<f64>) -> bool {
            false
        }
    }

    #[test]
    fn sums_are_the_same_whether_or_not_all_targets_fit() {
        for kind in [WordKind::Deltas, WordKind::Gaps] {
            sums_of(WordCode { bits: 16, low_bits: 9, kind });
        }
    }

    fn sums_of(code: WordCode) {
        let mut edges: Vec<(u16, u16)> = (0..203u16).map(|at| (at / 2, at * 7 % 300)).collect();
        edges.sort_unstable();
        let (mut last, mut expected) = (0, vec![0.0; 512]);
        let signals: Vec<f32> = (0..108).map(|vertex| 1.0 / (1.0 + vertex as f32)).collect();
        let pairs: Vec<[f32; 2]> = signals.iter().map(|&signal| [signal, 2.0 * signal]).collect();
        let mut bytes = Vec::new();
        for (source, target) in edges {
            expected[usize::from(target)] += f64::from(signals[usize::from(source)]);
            let place = source << 9 | target;
            let word =
                if code.kind == WordKind::Gaps { place - last } else { place - (last >> 9 << 9) };
            bytes.extend(word.to_le_bytes());
            last = place;
        }
        let block = EdgeBlock::new((0, 0), (3, 110), code, &bytes);
        for len in [300, 512, 600] {
            let (mut once, mut twice) = (vec![Sum(0.0); len], vec![[Sum(0.0); 2]; len]);
            combine_all(&Adds, &block, &signals[..], &mut once);
            combine_both(&Adds, &block, &pairs, &mut twice);
            for (target, (once, twice)) in once.iter().zip(&twice).enumerate() {
                let expected = expected.get(target).copied().unwrap_or(0.0);
                assert_eq!(
                    (once.0, twice[0].0, twice[1].0),
                    (expected, expected, 2.0 * expected),
                    "target {target}, room for {len}"
                );
            }
        }
        for len in [297, 0] {
            std::panic::catch_unwind(|| {
                combine_all(&Adds, &block, &signals[..], &mut vec![Sum(0.0); len])
            })
            .expect_err("a target is out of bounds");
        }
    }
}
