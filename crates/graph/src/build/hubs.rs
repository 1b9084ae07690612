//! About how many edges each vertex has: what chooses the first neighbors of lists where the order
//! of the vertices does not.
//!
//! A search looks at first neighbors to spare itself lists: a neighbor with many edges is most
//! likely to have been reached. In the order of degrees it is at the front of the list anyway.

/// A byte for each connected vertex, by internal id.
#[derive(Debug)]
pub struct Hubs {
    levels: Vec<u8>,
}

/// Steps of a doubling.
const STEPS: u32 = 8;

/// A number that grows with the degree: by one for each eighth of its logarithm.
fn level(degree: u64) -> u8 {
    let value = degree + u64::from(STEPS);
    let doublings = value.ilog2() - STEPS.ilog2();
    let step = (value >> doublings) as u32 - STEPS;
    (doublings * STEPS + step).min(u8::MAX.into()) as u8
}

impl Hubs {
    /// For so many vertices.
    pub fn with_capacity(vertices: u64) -> Self {
        Self { levels: Vec::with_capacity(vertices as usize) }
    }

    /// The next vertex has this many edges.
    pub fn push(&mut self, degree: u64) {
        self.levels.push(level(degree));
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> u64 {
        self.levels.capacity() as u64
    }

    /// Which of two vertices comes first: that with clearly more edges, else that with the smaller
    /// id.
    #[inline(always)]
    pub fn first(&self, one: u64, other: u64) -> u64 {
        let rank = |vertex: u64| (self.levels[vertex as usize], !vertex);
        if rank(one) >= rank(other) { one } else { other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_rise_with_degrees() {
        let degrees = [0, 1, 2, 7, 8, 15, 16, 17, 18, 1000, 1 << 20, 1 << 33];
        assert!(degrees.map(level).is_sorted_by(|a, b| a <= b));
        assert!((0..9).map(level).is_sorted_by(|a, b| a < b));
        assert!(level(1000) < level(1200) && level(1 << 30) < level(1 << 31));
    }

    #[test]
    fn more_edges_come_first_and_smaller_ids_among_equals() {
        let mut hubs = Hubs::with_capacity(4);
        [3, 900, 3, 40].into_iter().for_each(|degree| hubs.push(degree));
        let first = |list: &[u64]| list.iter().copied().reduce(|a, b| hubs.first(a, b));
        assert_eq!(first(&[0, 1, 2, 3]), Some(1));
        assert_eq!(first(&[0, 2, 3]), Some(3));
        assert_eq!(first(&[2, 0]), Some(0));
    }
}
