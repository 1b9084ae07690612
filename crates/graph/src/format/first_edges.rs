//! [`first_edges`]: along which edges of a block a set reaches another.

use std::sync::atomic::Ordering::Relaxed;

use outercore_storage::Bitmap;

use super::{EdgeBlock, STRIPE_BITS};

/// Words of a set with a bit for each vertex of any interval, wherever in a word it begins.
const WORDS: usize = (1 << STRIPE_BITS) / 64 + 1;

/// Hands to `found` the first edge of a block that leads from a member of `from` to each member of
/// the first of `to`: of all its sources in `from` the one with the smallest id. What was found
/// becomes a member of the second. Sets have all of the graph's vertices, or this panics.
///
/// A function of its own: amid its callers the compiler keeps a loop's variables in memory.
pub fn first_edges(
    block: &EdgeBlock,
    from: &Bitmap,
    to: [&Bitmap; 2],
    found: &mut dyn FnMut(u64, u64),
) {
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
unsafe fn by_bmi2(
    block: &EdgeBlock,
    from: &Bitmap,
    to: [&Bitmap; 2],
    found: &mut dyn FnMut(u64, u64),
) {
    look(block, from, to, found);
}

#[inline(always)]
fn look(
    block: &EdgeBlock,
    from: &Bitmap,
    [to, moved]: [&Bitmap; 2],
    found: &mut dyn FnMut(u64, u64),
) {
    // A copy, from which each is taken once it is found: most are found by the first sources.
    let (mut copy, interval) = ([0; WORDS], block.interval);
    let end = (interval + block.targets() as u64).min(to.len()).div_ceil(64);
    let words = interval / 64..end;
    words.clone().zip(&mut copy).for_each(|(word, left)| *left = to.word(word));
    if copy.iter().all(|left| *left == 0) {
        return;
    }
    let (first, last) = block.sources();
    assert!(first <= last && last < from.len(), "no such source");
    let (sources, len) = (from.words(first / 64), (last - first + 1) as usize);
    let [from_lead, to_lead] = [first, interval].map(|vertex| (vertex % 64) as usize);
    assert!(from_lead + len <= 64 * sources.len() && to_lead + block.targets() <= 64 * copy.len());
    let left = &mut copy[..];
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
    // Of the vertices of other intervals in its first and last word, none was found.
    for (word, left) in words.zip(&copy) {
        let bits = to.word(word) & !left;
        if bits != 0 {
            to.take(word, bits);
            moved.add(word, bits);
        }
    }
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
        let [from, to, again, moved] = [0; 4].map(|_| Bitmap::new(2000, HugePages::Off).unwrap());
        (1000..1200).filter(|vertex| vertex % 3 > 0).for_each(|vertex| _ = from.insert(vertex));
        for vertex in (100..700).filter(|vertex| vertex % 5 > 0) {
            to.insert(vertex);
            again.insert(vertex);
        }
        let mut expected = std::collections::BTreeMap::new();
        block.edges(|source, target| {
            if from.contains(source) && to.contains(target) {
                expected.entry(target).or_insert(source);
            }
        });
        let mut seen = Vec::new();
        first_edges(&block, &from, [&to, &moved], &mut |source, target| {
            seen.push((target, source));
        });
        seen.sort_unstable();
        assert!(seen.len() > 50 && seen.iter().eq(&Vec::from_iter(expected.clone())));
        // By hand, as by a processor without bmi2.
        let mut count = 0;
        look(&block, &from, [&again, &moved], &mut |_, _| count += 1);
        assert_eq!(count, seen.len());
        for vertex in 0..2000 {
            let found = expected.contains_key(&vertex);
            assert_eq!(moved.contains(vertex), found);
            let left = (100..700).contains(&vertex) && vertex % 5 > 0 && !found;
            assert_eq!((to.contains(vertex), again.contains(vertex)), (left, left));
        }
        let mut none = |_: u64, _: u64| panic!("all of them were found");
        first_edges(&block, &from, [&to, &moved], &mut none);
    }
}
