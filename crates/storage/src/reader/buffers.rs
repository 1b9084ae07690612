//! Buffers of the workers: how many, how large, and what budget has room for them.

use crate::PAGE;

/// Bytes of a buffer: the largest request.
pub const BUFFER_BYTES: usize = 768 << 10;
/// The smallest buffer.
const SMALLEST_BUFFER: usize = 32 << 10;
/// Most buffers of a worker: requests that it keeps in flight in a scan.
pub(super) const DEPTH: usize = 6;
/// The same in a small budget, where memory is worth more than what the last requests add to a
/// device's speed.
const SHALLOW: usize = 3;
/// Fewer pages than these are read as fast as buffers are made.
const LITTLE: u64 = (16 << 20) / PAGE as u64;
/// A small budget, in bytes.
const SMALL: u64 = 96 << 20;

/// Bytes of all workers' buffers. Above a small budget each byte goes to buffers until there are
/// enough, so that what is left for everything else never falls as the budget grows.
pub fn buffers_bytes(threads: usize, memory: u64) -> u64 {
    let of = |depth| ((threads * depth * BUFFER_BYTES) as u64).next_multiple_of(2 << 20);
    (of(SHALLOW) + memory.saturating_sub(SMALL)).min(of(DEPTH))
}

/// The smallest budget that has so many bytes beside the buffers.
pub fn smallest_budget(threads: usize, bytes: u64) -> u64 {
    let shallow = bytes + buffers_bytes(threads, 0);
    if shallow <= SMALL { shallow } else { bytes + buffers_bytes(threads, u64::MAX / 2) }
}

/// Buffers of a worker, and the bytes of each. They are few where they hold the largest thing that
/// is read at a time, of so many pages, and no longer than that: a small graph has small buffers.
pub fn buffers(
    (threads, memory): (usize, u64),
    max_request: Option<u64>,
    largest: u64,
) -> (usize, usize) {
    let (each, largest) = (threads.max(1) * BUFFER_BYTES, largest as usize * PAGE);
    let depth = buffers_bytes(threads.max(1), memory) as usize / each;
    let depth = if largest <= SHALLOW * each { SHALLOW } else { depth.min(DEPTH) };
    let asked = (max_request.unwrap_or(0) as usize).next_multiple_of(PAGE);
    (depth, largest.max(asked).clamp(SMALLEST_BUFFER, BUFFER_BYTES))
}

/// Bytes of the buffers of all workers together.
pub fn used_bytes((threads, memory): (usize, u64), max_request: Option<u64>, largest: u64) -> u64 {
    let (depth, bytes) = buffers((threads, memory), max_request, largest);
    (threads * depth * bytes) as u64
}

/// Whether so many pages are little to read: then buffers come to be page by page, as they are
/// used, for not all of them is. What is read through them again and again is read faster into
/// memory that was made before, and that the system knows.
pub fn is_little(pages: u64) -> bool {
    pages < LITTLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_budget_never_has_less_beside_the_buffers() {
        for threads in [1, 2, 3, 16] {
            let beside = |memory: u64| memory.saturating_sub(buffers_bytes(threads, memory));
            for budget in ((30 << 20)..(200 << 20)).step_by(100_003) {
                assert!(beside(budget + 100_003) >= beside(budget), "{budget}");
                let depth = super::buffers((threads, budget), None, u64::MAX >> 13).0;
                assert!(
                    (SHALLOW..=DEPTH).contains(&depth)
                        && (depth * threads * BUFFER_BYTES) as u64
                            <= buffers_bytes(threads, budget)
                );
                let smallest = smallest_budget(threads, budget);
                assert!(beside(smallest) >= budget && beside(smallest - 1) < budget, "{budget}");
            }
        }
    }

    #[test]
    fn a_small_budget_is_no_small_graph() {
        assert!(!is_little(LITTLE), "its buffers are used again and again");
        assert!(is_little(LITTLE - 1));
        let small = super::buffers((2, 40 << 20), None, 192);
        assert_eq!(used_bytes((2, 40 << 20), None, 192), (2 * small.0 * small.1) as u64);
        assert_eq!(small, super::buffers((2, 40 << 20), Some(1), 192), "whatever is little");
    }
}
