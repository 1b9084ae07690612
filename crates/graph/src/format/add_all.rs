//! [`add_all`]: what the sources of a block's edges have is added up at their targets.
//!
//! Functions of their own, not inlined: amid their callers the compiler keeps a loop's variables in
//! memory, and each edge waits for the one before.

use outercore_storage::Lookup;

use super::EdgeBlock;

/// Adds what every edge's source has to the sum of its target, by `add`. The first of `signals` is
/// that of the first vertex of [`EdgeBlock::sources`].
pub fn add_all<T, M, S: Lookup<T>, A: Fn(&mut M, T)>(
    block: &EdgeBlock,
    signals: S,
    sums: &mut [M],
    add: A,
) {
    #[cfg(not(target_arch = "x86_64"))]
    return add_edges::<T, M, S, A, false>(block, signals, sums, add);
    #[cfg(target_arch = "x86_64")]
    {
        if !is_x86_feature_detected!("bmi2") {
            return one_by_one(block, signals.len(), &mut |source, target| {
                // SAFETY: the block shows no source that is not below `signals.len()`.
                add(&mut sums[target], unsafe { signals.at(source) });
            });
        }
        // Columns of a balanced partition have any number of targets, others as many as words have
        // bits for: without a comparison for each edge PageRank takes a twentieth less. With
        // assertions both ways compare, and one of them is compiled.
        // SAFETY: the processor has it.
        unsafe {
            if !cfg!(debug_assertions) && block.targets() <= sums.len() {
                add_by_bmi2::<T, M, S, A, true>(block, signals, sums, add);
            } else {
                add_by_bmi2::<T, M, S, A, false>(block, signals, sums, add);
            }
        }
    }
}

/// With shifts by a number in any register, of which each word takes one.
///
/// # Safety
/// The processor has them.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "bmi2")]
unsafe fn add_by_bmi2<T, M, S: Lookup<T>, A: Fn(&mut M, T), const FITS: bool>(
    block: &EdgeBlock,
    signals: S,
    sums: &mut [M],
    add: A,
) {
    add_edges::<T, M, S, A, FITS>(block, signals, sums, add);
}

/// `FITS`: all targets are in bounds.
#[cfg_attr(target_arch = "x86_64", inline(always))]
#[cfg_attr(not(target_arch = "x86_64"), inline(never))]
fn add_edges<T, M, S: Lookup<T>, A: Fn(&mut M, T), const FITS: bool>(
    block: &EdgeBlock,
    signals: S,
    sums: &mut [M],
    add: A,
) {
    assert!(!FITS || block.targets() <= sums.len());
    block.for_each_near(
        signals.len(),
        S::STRIDE,
        |source| signals.prefetch(source),
        |source, target| {
            // SAFETY: the block shows no source that is not below `signals.len()`, and targets
            // below `targets()`, which are compared where not all of them are in bounds.
            let (signal, sum) = unsafe { (signals.at(source), item::<_, FITS>(sums, target)) };
            add(sum, signal);
        },
    );
}

/// The item at `index`.
///
/// # Safety
/// With `FITS`, it is in bounds.
#[inline(always)]
unsafe fn item<T, const FITS: bool>(items: &mut [T], index: usize) -> &mut T {
    if FITS {
        // SAFETY: in bounds (this function's contract).
        unsafe { items.get_unchecked_mut(index) }
    } else {
        &mut items[index]
    }
}

/// Hands over sources and targets by a call for each, compiled once for all that is done with them:
/// for x86 processors without bmi2 (before 2013).
#[cfg(target_arch = "x86_64")]
fn one_by_one(block: &EdgeBlock, sources: usize, visit: &mut dyn FnMut(usize, usize)) {
    block.for_each_near(sources, 1, |_| (), visit);
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::format::{WordCode, WordKind};

    #[test]
    fn edges_one_by_one_are_those_that_are_added() {
        let code = WordCode { bits: 16, low_bits: 9, kind: WordKind::Gaps };
        let bytes: Vec<u8> = (0..203u16).flat_map(|at| (at * 7 % 300).to_le_bytes()).collect();
        let block = EdgeBlock::new((0, 0), (0, 200), code, &bytes);
        let (mut sums, mut seen) = (vec![0; 1 << 9], vec![0; 1 << 9]);
        let signals: Vec<u64> = (1..=201).collect();
        add_all(&block, &signals[..], &mut sums, |sum, signal| *sum += signal);
        one_by_one(&block, 201, &mut |source, target| seen[target] += signals[source]);
        assert!(sums == seen && sums.iter().sum::<u64>() > 203);
    }
}
