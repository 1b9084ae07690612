//! A heap of four children: half as deep as one of two, and the children lie in one or two lines
//! of the cache.

/// The smallest entry leaves first.
pub struct Heap<T> {
    entries: Vec<T>,
}

impl<T: Copy + Ord> Heap<T> {
    pub fn new() -> Self {
        Heap { entries: Vec::new() }
    }

    pub fn push(&mut self, entry: T) {
        let mut at = self.entries.len();
        self.entries.push(entry);
        while at > 0 {
            let above = (at - 1) / 4;
            if self.entries[above] <= entry {
                break;
            }
            self.entries[at] = self.entries[above];
            at = above;
        }
        self.entries[at] = entry;
    }

    pub fn pop(&mut self) -> Option<T> {
        let last = self.entries.pop()?;
        let Some(&first) = self.entries.first() else { return Some(last) };
        let mut at = 0;
        loop {
            let below = 4 * at + 1;
            let end = (below + 4).min(self.entries.len());
            let Some(least) = (below..end).min_by_key(|&child| self.entries[child]) else { break };
            if self.entries[least] >= last {
                break;
            }
            self.entries[at] = self.entries[least];
            at = least;
        }
        self.entries[at] = last;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_leave_in_order() {
        let mut heap = Heap::new();
        let entries = (0..1000u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 300);
        entries.clone().for_each(|entry| heap.push(entry));
        let mut sorted: Vec<u64> = entries.collect();
        sorted.sort_unstable();
        let came: Vec<u64> = std::iter::from_fn(|| heap.pop()).collect();
        assert_eq!(came, sorted);
    }
}
