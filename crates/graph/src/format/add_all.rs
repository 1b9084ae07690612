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
    if block.targets() > sums.len() {
        return add_anywhere::<T, M, S, A, false>(block, signals, sums, add);
    }
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("bmi2") {
        // SAFETY: the processor has it.
        return unsafe { add_by_bmi2(block, signals, sums, add) };
    }
    add_anywhere::<T, M, S, A, true>(block, signals, sums, add);
}

/// With shifts by a number in any register, of which each word takes one.
///
/// # Safety
/// The processor has them.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "bmi2")]
unsafe fn add_by_bmi2<T, M, S: Lookup<T>, A: Fn(&mut M, T)>(
    block: &EdgeBlock,
    signals: S,
    sums: &mut [M],
    add: A,
) {
    add_edges::<T, M, S, A, true>(block, signals, sums, add);
}

/// On any processor.
#[inline(never)]
fn add_anywhere<T, M, S: Lookup<T>, A: Fn(&mut M, T), const FITS: bool>(
    block: &EdgeBlock,
    signals: S,
    sums: &mut [M],
    add: A,
) {
    add_edges::<T, M, S, A, FITS>(block, signals, sums, add);
}

#[inline(always)]
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
