//! Breadth-first search with a queue, and Dijkstra's algorithm.
//!
//! Both keep a parent for each vertex, as the visitors of the paper do, beside its level or
//! distance.

use serde_json::{Value, json};

use crate::{
    csr::{Csr, Id},
    heap::Heap,
};

/// Levels from the source.
pub fn bfs<I: Id>(csr: &Csr<I>, source: u32) -> Value {
    // Level and parent.
    let mut found = vec![(I::NONE, I::NONE); csr.vertices()];
    let mut queue = Vec::with_capacity(csr.vertices());
    found[source as usize] = (I::new(0), I::NONE);
    queue.push(I::new(source as usize));
    let mut next = 0;
    while let Some(&vertex) = queue.get(next) {
        next += 1;
        let level = I::new(found[vertex.at()].0.at() + 1);
        for &target in &csr.targets[csr.list(vertex.at())] {
            if found[target.at()].0 == I::NONE {
                found[target.at()] = (level, vertex);
                queue.push(target);
            }
        }
    }
    let level_sum: usize = queue.iter().map(|vertex| found[vertex.at()].0.at()).sum();
    let levels = queue.last().map_or(0, |vertex| found[vertex.at()].0.at() + 1);
    json!({"reached": queue.len(), "levels": levels, "level_sum": level_sum})
}

/// Distances from the source by the weights, 1 where there are none.
pub fn dijkstra<I: Id>(csr: &Csr<I>, source: u32) -> Value {
    // Distance and parent.
    let mut found = vec![(u64::MAX, I::NONE); csr.vertices()];
    let mut heap = Heap::new();
    found[source as usize].0 = 0;
    heap.push((0, I::new(source as usize)));
    let (mut reached, mut sum, mut most) = (0u64, 0u64, 0);
    while let Some((distance, vertex)) = heap.pop() {
        if found[vertex.at()].0 != distance {
            continue;
        }
        reached += 1;
        sum += distance;
        most = distance;
        for edge in csr.list(vertex.at()) {
            let target = csr.targets[edge];
            let farther = distance + csr.weights.get(edge).map_or(1, |&weight| u64::from(weight));
            if farther < found[target.at()].0 {
                found[target.at()] = (farther, vertex);
                heap.push((farther, target));
            }
        }
    }
    json!({"reached": reached, "max_distance": most, "distance_sum": sum})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edges::Edges;

    fn csr<I: Id>(lines: &str) -> Csr<I> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("source,target,weight\n{lines}")).unwrap();
        Csr::new(&Edges::read(file.path(), 6).unwrap()).unwrap()
    }

    /// The short way to 3 is the heavy one, 4 is behind it, 5 is not reached; a loop and a
    /// duplicate change nothing.
    const LINES: &str = "0,1,1\n1,2,1\n2,3,1\n0,3,9\n0,3,10\n3,4,0\n4,4,2\n5,0,1\n";

    #[test]
    fn levels_and_distances_by_hand() {
        let levels = json!({"reached": 5, "levels": 3, "level_sum": 1 + 2 + 1 + 2});
        assert_eq!(bfs(&csr::<u32>(LINES), 0), levels);
        assert_eq!(bfs(&csr::<u64>(LINES), 0), levels);
        let distances = json!({"reached": 5, "max_distance": 3, "distance_sum": 1 + 2 + 3 + 3});
        assert_eq!(dijkstra(&csr::<u32>(LINES), 0), distances);
        assert_eq!(dijkstra(&csr::<u64>(LINES), 0), distances);
        let alone = json!({"reached": 1, "max_distance": 0, "distance_sum": 0});
        assert_eq!(dijkstra(&csr::<u32>("0,1,1\n5,5,1\n"), 5), alone);
    }
}
