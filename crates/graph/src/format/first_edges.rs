//! [`first_edges`]: along which edges of a block a set reaches another.

use std::sync::atomic::Ordering::Relaxed;

use outercore_storage::Bitmap;

use super::{EdgeBlock, STRIPE_BITS};

/// Words of a set with a bit for each vertex of any interval, wherever in a word it begins.
const WORDS: usize = (1 << STRIPE_BITS) / 64 + 1;

/// Hands to `found` the first edge of a block that leads from a member of `from` to each member of
/// `to`: of all its sources in `from` the one with the smallest id. Sets have all of the graph's
/// vertices, or this panics.
///
/// A function of its own: amid its callers the compiler keeps a loop's variables in memory.
pub fn first_edges(block: &EdgeBlock, from: &Bitmap, to: &Bitmap, found: &mut dyn FnMut(u64, u64)) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("bmi2") {
        // SAFETY: the processor has it.
        return unsafe { by_bmi2(block, from, to, found) };
    }
    look(block, from, to, found);
}

/// With shifts by a number in any register, of which each word takes one.
///
/// # Safety
/// The processor has them.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi2")]
unsafe fn by_bmi2(block: &EdgeBlock, from: &Bitmap, to: &Bitmap, found: &mut dyn FnMut(u64, u64)) {
    look(block, from, to, found);
}

#[inline(always)]
fn look(block: &EdgeBlock, from: &Bitmap, to: &Bitmap, found: &mut dyn FnMut(u64, u64)) {
    // A copy, from which each is taken once it is found: most are found by the first sources.
    let (mut left, interval) = ([0; WORDS], block.interval);
    let end = (interval + block.targets() as u64).min(to.len()).div_ceil(64);
    (interval / 64..end).zip(&mut left).for_each(|(word, left)| *left = to.word(word));
    let left = &mut left[..];
    let (first, last) = block.sources();
    assert!(first <= last && last < from.len(), "no such source");
    let (sources, len) = (from.words(first / 64), (last - first + 1) as usize);
    let [from_lead, to_lead] = [first, interval].map(|vertex| (vertex % 64) as usize);
    assert!(from_lead + len <= 64 * sources.len() && to_lead + block.targets() <= 64 * left.len());
    block.for_each_near(
        len,
        1,
        |_| (),
        move |source, target| {
            let (from, to) = (from_lead + source, to_lead + target);
            // SAFETY: sources are below `len` and targets below `targets()`, which is in bounds.
            let (sources, left) =
                unsafe { (sources.get_unchecked(from / 64), left.get_unchecked_mut(to / 64)) };
            if *left >> (to % 64) & sources.load(Relaxed) >> (from % 64) & 1 == 1 {
                *left &= !(1 << (to % 64));
                found(first + source as u64, interval + target as u64);
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use outercore_storage::HugePages;

    use super::*;
    use crate::format::{WordCode, WordKind};

    #[test]
    fn each_member_is_found_once_from_its_smallest_source() {
        let code = WordCode { bits: 16, low_bits: 9, kind: WordKind::Gaps };
        let bytes: Vec<u8> = (0..203u16).flat_map(|at| (at * 7 % 300).to_le_bytes()).collect();
        let block = EdgeBlock::new((1000, 100), (0, 200), code, &bytes);
        let [from, to] = [0, 1].map(|_| Bitmap::new(2000, HugePages::Off).unwrap());
        (1000..1200).filter(|vertex| vertex % 3 > 0).for_each(|vertex| _ = from.insert(vertex));
        (100..700).filter(|vertex| vertex % 5 > 0).for_each(|vertex| _ = to.insert(vertex));
        let mut expected = std::collections::BTreeMap::new();
        block.edges(|source, target| {
            if from.contains(source) && to.contains(target) {
                expected.entry(target).or_insert(source);
            }
        });
        let mut seen = Vec::new();
        first_edges(&block, &from, &to, &mut |source, target| seen.push((target, source)));
        seen.sort_unstable();
        assert!(seen.len() > 50 && seen == Vec::from_iter(expected));
        // By hand, as by a processor without bmi2.
        let mut count = 0;
        look(&block, &from, &to, &mut |_, _| count += 1);
        assert_eq!(count, seen.len());
    }
}
