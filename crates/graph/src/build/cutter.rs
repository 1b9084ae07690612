//! [`Cutter`]: the pieces in which a bucket is written that memory does not hold. Pieces end where
//! a vertex does, so that each of them is a bucket of its own. A vertex that alone has more edges
//! than a piece is by itself, in several pieces.

use super::{buckets::Bucket, radix::Record};

/// The way through the sorted records of a bucket.
pub struct Cutter {
    bucket: Bucket,
    /// Bits of a neighbor in a key.
    other_bits: u32,
    /// The first vertex that no piece had.
    next: u64,
    /// The vertex whose edges were cut, or are all of the last piece.
    open: Option<u64>,
    /// Whether the last piece goes on with the vertex of the one before.
    goes_on: bool,
}

impl Cutter {
    /// At the beginning of a bucket.
    pub fn new(bucket: &Bucket, other_bits: u32) -> Self {
        Self { bucket: *bucket, other_bits, next: bucket.first, open: None, goes_on: false }
    }

    /// Cuts the next piece off the records that are at hand; `all`: there are no others. Returns
    /// the piece and the number of its records, whose keys become those of the piece.
    pub fn cut<R: Record>(&mut self, records: &mut [R], all: bool) -> (Bucket, usize) {
        let vertex = |record: &R| self.bucket.first + (record.key() >> self.other_bits);
        let ends = records.first().map(vertex).zip(records.last().map(vertex));
        let (vertices, count) = match ends {
            Some((first, _)) if self.open == Some(first) => {
                (first..first + 1, records.partition_point(|record| vertex(record) == first))
            }
            Some((first, last)) if first == last && !all => {
                // Those before it are a piece without edges.
                let alone = self.next == first;
                if alone { (first..first + 1, records.len()) } else { (self.next..first, 0) }
            }
            Some((_, last)) if !all => {
                (self.next..last, records.partition_point(|record| vertex(record) < last))
            }
            _ => (self.next..self.bucket.end, records.len()),
        };
        self.goes_on = self.open.is_some() && self.open == Some(vertices.start);
        self.open =
            Some(vertices.start).filter(|_| count > 0 && vertices.end - vertices.start == 1);
        self.next = vertices.end;
        let before = (vertices.start - self.bucket.first) << self.other_bits;
        for record in &mut records[..count] {
            *record = R::new(record.key() - before, record.payload());
        }
        (Bucket { first: vertices.start, end: vertices.end, ..self.bucket }, count)
    }

    /// Whether there was a piece with the last vertex.
    pub fn is_done(&self) -> bool {
        self.next == self.bucket.end
    }

    /// Whether the last piece goes on with the vertex of the one before.
    pub fn is_within_a_vertex(&self) -> bool {
        self.goes_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vertices of a piece, and its edges.
    type Edges = (u64, u64, Vec<(u64, u64)>);

    /// The pieces of a bucket of the vertices 10 to 19, `most` records at a time.
    fn pieces(edges: &[(u64, u64)], most: usize) -> Vec<Edges> {
        let bucket = Bucket { first: 10, end: 20, other_first: 0, other_end: 256 };
        let mut keys = edges.iter().map(|&(vertex, other)| (vertex - 10) << 8 | other).peekable();
        let (mut cutter, mut at_hand, mut found) = (Cutter::new(&bucket, 8), Vec::new(), vec![]);
        loop {
            while at_hand.len() < most && keys.peek().is_some() {
                at_hand.extend(keys.next());
            }
            let (piece, count) = cutter.cut::<u64>(&mut at_hand, keys.peek().is_none());
            let edge = |key: u64| (piece.first + (key >> 8), key & 255);
            found.push((piece.first, piece.end, at_hand.drain(..count).map(edge).collect()));
            if cutter.is_done() && at_hand.is_empty() && keys.peek().is_none() {
                return found;
            }
        }
    }

    #[test]
    fn pieces_have_every_vertex_once_and_every_edge() {
        let edges: Vec<(u64, u64)> = [(10, 3), (12, 9), (13, 1), (15, 2), (18, 1)]
            .into_iter()
            .flat_map(|(vertex, many)| (0..many).map(move |other| (vertex, other)))
            .collect();
        for most in 2..20 {
            let pieces = pieces(&edges, most);
            let all: Vec<_> = pieces.iter().flat_map(|(.., edges)| edges.clone()).collect();
            assert_eq!(all, edges, "{most} at a time");
            let mut next = 10;
            for (first, end, edges) in &pieces {
                assert!(edges.iter().all(|(vertex, _)| (first..end).contains(&vertex)));
                // A piece that goes on has that vertex alone, and so had the one before.
                assert!(*first == next || (*first + 1, *end) == (next, next), "{pieces:?}");
                next = *end;
            }
            assert_eq!(next, 20);
        }
    }

    #[test]
    fn a_piece_that_goes_on_follows_one_of_the_same_vertex_alone() {
        let edges: Vec<(u64, u64)> = (0..7).map(|other| (14, other)).chain([(16, 1)]).collect();
        let found: Vec<_> = pieces(&edges, 3)
            .into_iter()
            .map(|(first, end, edges)| (first, end, edges.len()))
            .collect();
        assert_eq!(found, [(10, 14, 0), (14, 15, 3), (14, 15, 3), (14, 15, 1), (15, 20, 1)]);
    }
}
