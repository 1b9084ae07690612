//! An edge list, read from CSV.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

use crate::Result;

/// Edges in the order of the file.
pub struct Edges {
    /// Vertices, those without edges included.
    pub vertices: u32,
    /// Source and target of each edge, counted from 0.
    pub ends: Vec<[u32; 2]>,
    /// The weight of each edge, or nothing.
    pub weights: Vec<u32>,
    /// The lowest id that there may be: 0 or 1.
    first: u32,
}

impl Edges {
    /// Reads `source,target[,weight]` lines behind a header. Ids are `0..vertices`, or
    /// `1..=vertices` if the last of these is there.
    pub fn read(path: &Path, vertices: u32) -> Result<Edges> {
        let mut lines = BufReader::with_capacity(1 << 20, File::open(path)?);
        let (mut line, mut number) = (Vec::new(), 1u64);
        lines.read_until(b'\n', &mut line)?;
        let mut edges = Edges { vertices, ends: Vec::new(), weights: Vec::new(), first: 0 };
        let weighted = line.iter().filter(|&&byte| byte == b',').count() == 2;
        loop {
            line.clear();
            number += 1;
            if lines.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            let [source, target, weight] = numbers(&line, if weighted { 3 } else { 2 })
                .ok_or_else(|| format!("{}: line {number} is no edge", path.display()))?;
            edges.ends.push([source, target]);
            if weighted {
                edges.weights.push(weight);
            }
        }
        edges.count_from_zero()?;
        Ok(edges)
    }

    fn count_from_zero(&mut self) -> Result<()> {
        let last = self.ends.iter().flatten().max().copied().unwrap_or(0);
        let lowest = self.ends.iter().flatten().min().copied().unwrap_or(0);
        self.first = u32::from(last == self.vertices);
        if last > self.vertices || lowest < self.first {
            return Err(format!("ids are not 0 to {0}-1 or 1 to {0}", self.vertices).into());
        }
        for id in self.ends.iter_mut().flatten() {
            *id -= self.first;
        }
        Ok(())
    }

    /// The place of the vertex with this id.
    pub fn place(&self, id: u32) -> Result<u32> {
        let place = id.checked_sub(self.first).filter(|&place| place < self.vertices);
        place.ok_or_else(|| format!("there is no vertex {id}").into())
    }

    /// For each vertex its place if they stood by descending degree, both directions counted, and
    /// those of one degree as they stand.
    pub fn by_degree(&self) -> Vec<u32> {
        let mut degrees = vec![0u64; self.vertices as usize];
        for &id in self.ends.iter().flatten() {
            degrees[id as usize] += 1;
        }
        let mut sorted: Vec<u32> = (0..self.vertices).collect();
        sorted.sort_by_key(|&vertex| std::cmp::Reverse(degrees[vertex as usize]));
        let mut places = vec![0; sorted.len()];
        for (place, &vertex) in (0..).zip(&sorted) {
            places[vertex as usize] = place;
        }
        places
    }

    /// Gives every vertex its place in a new order.
    pub fn rename(&mut self, places: &[u32]) {
        for id in self.ends.iter_mut().flatten() {
            *id = places[*id as usize];
        }
    }
}

/// So many numbers with commas between them, the others 0.
fn numbers(line: &[u8], wanted: usize) -> Option<[u32; 3]> {
    let (mut found, mut at, mut digits) = ([0u32; 3], 0, 0);
    for &byte in line.trim_ascii_end() {
        match byte {
            b'0'..=b'9' => {
                let more = found[at].checked_mul(10)?.checked_add(u32::from(byte - b'0'))?;
                (found[at], digits) = (more, digits + 1);
            }
            b',' if digits > 0 && at + 1 < wanted => (at, digits) = (at + 1, 0),
            _ => return None,
        }
    }
    (digits > 0 && at + 1 == wanted).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, vertices: u32) -> Result<Edges> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Edges::read(file.path(), vertices)
    }

    #[test]
    fn ids_are_counted_from_zero_or_one() {
        let edges = read("source,target\n0,2\n2,1\n", 3).unwrap();
        assert_eq!(edges.ends, [[0, 2], [2, 1]]);
        assert!(edges.weights.is_empty());
        let edges = read("source,target,weight\n1,3,7\n3,2,0\n", 3).unwrap();
        assert_eq!(
            (edges.ends.as_slice(), edges.weights.as_slice()),
            (&[[0, 2], [2, 1]][..], &[7, 0][..])
        );
        assert_eq!(edges.place(3).unwrap(), 2);
        assert!(edges.place(0).is_err());
    }

    #[test]
    fn what_is_no_edge_is_refused() {
        for text in ["1", "1,", "1,x", "1,2,3", "1,99999999999", "0,4", "0,3"] {
            assert!(read(&format!("source,target\n{text}\n"), 3).is_err(), "{text}");
        }
    }

    #[test]
    fn hubs_come_first() {
        let edges = read("source,target\n0,2\n1,2\n1,3\n2,1\n", 4).unwrap();
        assert_eq!(edges.by_degree(), [2, 0, 1, 3]);
    }
}
