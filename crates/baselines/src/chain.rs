//! How many reads wait for each other in a search that reads every page once and never waits for
//! anything but reads.
//!
//! The lists lie as in Outercore's default order: descending degree, then id; a neighbor has so
//! many bytes, a page 4,096. The source's pages are read in the first turn. What is found in the
//! lists that are there is found at once; the pages that it needs are read in the next turn, all at
//! the same time. The number of turns, times what the device takes for one read, is a bound: no
//! search can be faster, whatever its order, unless it guesses what it will need.

use std::ops::Range;

use serde_json::{Value, json};

use crate::edges::Edges;

const PAGE: u64 = 4096;

/// The lists of a graph, and the pages that they lie in.
struct Layout {
    starts: Vec<usize>,
    targets: Vec<u32>,
    /// Bytes of a neighbor.
    neighbor: u64,
}

impl Layout {
    fn new(edges: &Edges, order: &[u32], neighbor: u64) -> Layout {
        let mut starts = vec![0; edges.vertices as usize + 1];
        for &[source, _] in &edges.ends {
            starts[order[source as usize] as usize + 1] += 1;
        }
        for vertex in 1..starts.len() {
            starts[vertex] += starts[vertex - 1];
        }
        let (mut next, mut targets) = (starts.clone(), vec![0; edges.ends.len()]);
        for &[source, target] in &edges.ends {
            let place = &mut next[order[source as usize] as usize];
            targets[*place] = order[target as usize];
            *place += 1;
        }
        Layout { starts, targets, neighbor }
    }

    fn list(&self, vertex: u32) -> &[u32] {
        &self.targets[self.starts[vertex as usize]..self.starts[vertex as usize + 1]]
    }

    fn pages(&self, vertex: u32) -> Range<usize> {
        let byte = |entry: usize| entry as u64 * self.neighbor;
        let (start, end) =
            (byte(self.starts[vertex as usize]), byte(self.starts[vertex as usize + 1]));
        if start == end {
            return 0..0;
        }
        (start / PAGE) as usize..end.div_ceil(PAGE) as usize
    }

    fn all_pages(&self) -> usize {
        (self.targets.len() as u64 * self.neighbor).div_ceil(PAGE) as usize
    }

    /// Turns of reads, and pages read in all.
    fn turns(&self, source: u32) -> (u64, u64) {
        let mut found = vec![false; self.starts.len() - 1];
        let mut read = vec![false; self.all_pages()];
        let (mut waiting, mut turns, mut pages) = (vec![source], 0, 0);
        found[source as usize] = true;
        while !waiting.is_empty() {
            for page in waiting.iter().flat_map(|&vertex| self.pages(vertex)) {
                pages += u64::from(!std::mem::replace(&mut read[page], true));
            }
            turns += 1;
            let (mut there, mut next) = (std::mem::take(&mut waiting), Vec::new());
            while let Some(vertex) = there.pop() {
                for &target in self.list(vertex) {
                    if std::mem::replace(&mut found[target as usize], true) {
                        continue;
                    }
                    let at_once = self.pages(target).all(|page| read[page]);
                    if at_once { there.push(target) } else { next.push(target) }
                }
            }
            waiting = next;
        }
        (turns, pages)
    }

    /// The vertices on the way from the source to one of the last level, source first.
    fn longest(&self, source: u32) -> Vec<u32> {
        let mut parents = vec![u32::MAX; self.starts.len() - 1];
        let (mut queue, mut next) = (vec![source], 0);
        parents[source as usize] = source;
        while let Some(&vertex) = queue.get(next) {
            next += 1;
            for &target in self.list(vertex) {
                if parents[target as usize] == u32::MAX {
                    parents[target as usize] = vertex;
                    queue.push(target);
                }
            }
        }
        let mut way = vec![queue[queue.len() - 1]];
        while way[way.len() - 1] != source {
            way.push(parents[way[way.len() - 1] as usize]);
        }
        way.reverse();
        way
    }
}

/// Turns and pages of the whole search, vertices and pages of its longest way.
pub fn bound(edges: &Edges, source: u32, neighbor: u64) -> Value {
    let order = edges.by_degree();
    let layout = Layout::new(edges, &order, neighbor);
    let source = order[source as usize];
    let (turns, pages) = layout.turns(source);
    let way = layout.longest(source);
    let mut touched: Vec<usize> = way.iter().flat_map(|&vertex| layout.pages(vertex)).collect();
    touched.sort_unstable();
    touched.dedup();
    json!({
        "turns": turns,
        "pages": pages,
        "longest_way_vertices": way.len(),
        "longest_way_pages": touched.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(text: &str, vertices: u32) -> Edges {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("source,target\n{text}")).unwrap();
        Edges::read(file.path(), vertices).unwrap()
    }

    #[test]
    fn pages_that_are_there_cost_no_turn() {
        let path = edges("0,1\n1,2\n2,3\n3,4\n", 5);
        // All lists in one page.
        let right =
            json!({"turns": 1, "pages": 1, "longest_way_vertices": 5, "longest_way_pages": 1});
        assert_eq!(bound(&path, 0, 4), right);
        // Every list in a page of its own.
        let right =
            json!({"turns": 4, "pages": 4, "longest_way_vertices": 5, "longest_way_pages": 4});
        assert_eq!(bound(&path, 0, PAGE), right);
    }

    #[test]
    fn pages_that_are_wanted_together_are_one_turn() {
        let star = edges("0,1\n0,2\n1,3\n2,3\n", 4);
        let right =
            json!({"turns": 2, "pages": 4, "longest_way_vertices": 3, "longest_way_pages": 3});
        assert_eq!(bound(&star, 0, PAGE), right);
    }
}
