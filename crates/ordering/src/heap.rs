//! [`UnitHeap`]: vertices by score, where scores change by one at a time (Wei, Yu, Lu and Lin,
//! SIGMOD'16, section 4).
//!
//! The vertices of one score are a list. What a vertex has lost is written down beside it, and
//! takes effect when it comes to the front: most of it is won back before that.

/// Stands for no vertex.
const NONE: u32 = u32::MAX;
/// The score of a vertex that was taken.
const TAKEN: u32 = u32::MAX;

/// A vertex in the list of its score.
#[derive(Clone, Copy)]
struct Node {
    before: u32,
    behind: u32,
    score: u32,
    /// What it has lost since.
    lost: u32,
}

/// Vertices by score.
pub struct UnitHeap {
    nodes: Vec<Node>,
    /// The first vertex of each score.
    fronts: Vec<u32>,
    /// No score is larger.
    top: usize,
}

impl UnitHeap {
    /// Bytes for each vertex.
    pub const BYTES: u64 = size_of::<Node>() as u64;

    /// All vertices, in this order, with a score of 0.
    pub fn new(vertices: &[u32]) -> Self {
        let node = Node { before: NONE, behind: NONE, score: 0, lost: 0 };
        let nodes = vec![node; vertices.len()];
        let mut heap = Self { nodes, fronts: vec![NONE], top: 0 };
        vertices.iter().rev().for_each(|&vertex| heap.link(vertex, 0));
        heap
    }

    /// Puts a vertex to the front of a score's list.
    fn link(&mut self, vertex: u32, score: u32) {
        if self.fronts.len() <= score as usize {
            self.fronts.resize(score as usize + 1, NONE);
        }
        let behind = std::mem::replace(&mut self.fronts[score as usize], vertex);
        if behind != NONE {
            self.nodes[behind as usize].before = vertex;
        }
        self.nodes[vertex as usize] = Node { before: NONE, behind, score, lost: 0 };
        self.top = self.top.max(score as usize);
    }

    fn unlink(&mut self, vertex: u32) {
        let Node { before, behind, score, .. } = self.nodes[vertex as usize];
        if before == NONE {
            self.fronts[score as usize] = behind;
        } else {
            self.nodes[before as usize].behind = behind;
        }
        if behind != NONE {
            self.nodes[behind as usize].before = before;
        }
    }

    /// The score of a vertex grows by one.
    #[inline(always)]
    pub fn gain(&mut self, vertex: u32) {
        let node = &mut self.nodes[vertex as usize];
        if node.score == TAKEN {
            return;
        }
        if node.lost > 0 {
            node.lost -= 1;
        } else {
            let score = node.score + 1;
            self.unlink(vertex);
            self.link(vertex, score);
        }
    }

    /// The score of a vertex falls by one.
    #[inline(always)]
    pub fn lose(&mut self, vertex: u32) {
        let node = &mut self.nodes[vertex as usize];
        node.lost += u32::from(node.score != TAKEN);
    }

    /// Takes a vertex of the largest score.
    pub fn take(&mut self) -> Option<u32> {
        loop {
            while self.fronts[self.top] == NONE {
                self.top = self.top.checked_sub(1)?;
            }
            let vertex = self.fronts[self.top];
            self.unlink(vertex);
            let node = &mut self.nodes[vertex as usize];
            if node.lost == 0 {
                node.score = TAKEN;
                return Some(vertex);
            }
            let score = node.score - node.lost;
            self.link(vertex, score);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_score_is_taken_first() {
        let mut heap = UnitHeap::new(&[4, 0, 1, 2, 3]);
        for vertex in [2, 2, 2, 1, 1, 3] {
            heap.gain(vertex);
        }
        heap.lose(2);
        heap.lose(2);
        // What was lost is won back, and not twice.
        heap.lose(3);
        heap.gain(3);
        assert_eq!(heap.take(), Some(1));
        heap.gain(1);
        heap.gain(2);
        assert_eq!(heap.take(), Some(2));
        assert_eq!(heap.take(), Some(3));
        // Equals in the order in which they were given.
        assert_eq!([heap.take(), heap.take(), heap.take()], [Some(4), Some(0), None]);
    }
}
