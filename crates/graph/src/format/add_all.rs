//! [`add_all`]: what the sources of a block's edges have is added up at their targets.
//!
//! Functions of their own, not inlined: amid their callers the compiler keeps a loop's variables in
//! memory, and each edge waits for the one before.

use outercore_storage::Lookup;

use super::EdgeBlock;

/// Edges that are decoded at once where that is apart from adding.
const TOGETHER: usize = 256;

/// Adds what every edge's source has to the sum of its target, by `add`. The first of `signals` is
/// that of the first vertex of [`EdgeBlock::sources`].
pub fn add_all<T, M, S: Lookup<T>, A: Fn(&mut M, T)>(
    block: &EdgeBlock,
    signals: S,
    sums: &mut [M],
    add: A,
) {
    if block.targets() <= sums.len() {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("bmi2") {
            // SAFETY: the processor has it.
            return unsafe { add_by_bmi2(block, signals, sums, add) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        return add_edges(block, signals, sums, add);
    }
    decode_apart(block, signals.len(), &mut |edges| {
        edges.iter().for_each(|&[source, _]| signals.prefetch(source));
        for &[source, target] in edges {
            // SAFETY: the block shows no source that is not below `signals.len()`.
            add(&mut sums[target], unsafe { signals.at(source) });
        }
    });
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
    add_edges(block, signals, sums, add);
}

/// Where all targets are in bounds.
#[cfg_attr(target_arch = "x86_64", inline(always))]
#[cfg_attr(not(target_arch = "x86_64"), inline(never))]
fn add_edges<T, M, S: Lookup<T>, A: Fn(&mut M, T)>(
    block: &EdgeBlock,
    signals: S,
    sums: &mut [M],
    add: A,
) {
    assert!(block.targets() <= sums.len());
    block.for_each_near(
        signals.len(),
        S::STRIDE,
        |source| signals.prefetch(source),
        |source, target| {
            // SAFETY: the block shows no source that is not below `signals.len()`, and targets
            // below `targets()`, which are in bounds.
            let (signal, sum) = unsafe { (signals.at(source), sums.get_unchecked_mut(target)) };
            add(sum, signal);
        },
    );
}

/// Hands over sources and targets: compiled once for all that is done with them. Of blocks of the
/// last interval, which may have no sums for the last targets that words have bits for, and of all
/// on an x86 processor without bmi2 (before 2013).
fn decode_apart(block: &EdgeBlock, sources: usize, visit: &mut dyn FnMut(&[[usize; 2]])) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("bmi2") {
        // SAFETY: the processor has it.
        return unsafe { decode_by_bmi2(block, sources, visit) };
    }
    decode(block, sources, visit);
}

/// As [`add_by_bmi2`].
///
/// # Safety
/// The processor has such shifts.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi2")]
unsafe fn decode_by_bmi2(block: &EdgeBlock, sources: usize, visit: &mut dyn FnMut(&[[usize; 2]])) {
    decode(block, sources, visit);
}

#[inline(always)]
fn decode(block: &EdgeBlock, sources: usize, visit: &mut dyn FnMut(&[[usize; 2]])) {
    let (mut edges, mut len) = ([[0; 2]; TOGETHER], 0);
    block.for_each_near(
        sources,
        1,
        |_| (),
        |source, target| {
            edges[len] = [source, target];
            len += 1;
            if len == TOGETHER {
                visit(&edges);
                len = 0;
            }
        },
    );
    visit(&edges[..len]);
}
