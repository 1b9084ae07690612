//! Writing lists, those of one direction or those of the edges in row format: degrees, index,
//! neighbors, weights, and the first neighbor of each vertex.

use super::{
    buckets::Bucket,
    extra::Extras,
    radix::Record,
    sections::{Folders, Section},
    weights::WeightCode,
};
use crate::{
    error::{GraphError, Result},
    format::{INDEX_GROUP, SectionEntry},
};

/// How lists are made of records.
#[derive(Clone, Copy)]
pub struct RowCode {
    /// Bits of a neighbor in a record.
    pub other_bits: u32,
    /// Bytes of a neighbor in a list.
    pub neighbor_bytes: usize,
    /// How weights are stored.
    pub weights: WeightCode,
    /// Whether first neighbors are kept.
    pub heads: bool,
}

/// A bucket's rows, encoded and ready to be written in turn.
#[derive(Default)]
pub struct EncodedRows {
    /// The out- or in-degree of each vertex of the bucket.
    pub degrees: Vec<u64>,
    /// The neighbors, `neighbor_bytes` each.
    pub adjacency: Vec<u8>,
    /// The weights.
    pub weights: Vec<u8>,
    /// The first neighbor of each vertex, `neighbor_bytes` each, all ones where there is none.
    pub heads: Vec<u8>,
}

/// Appends the low `width` bytes of `value`.
#[inline(always)]
pub fn push_bytes(bytes: &mut Vec<u8>, value: u64, width: usize) {
    let at = bytes.len();
    debug_assert!(bytes.capacity() >= at + 8);
    bytes.extend_from_slice(&value.to_le_bytes());
    bytes.truncate(at + width);
}

impl EncodedRows {
    /// Encodes a bucket's sorted records, and counts those that are extra.
    pub fn encode<R: Record>(
        &mut self,
        bucket: &Bucket,
        records: &[R],
        code: RowCode,
        extras: &mut Extras,
    ) {
        let RowCode { other_bits, neighbor_bytes, weights, heads } = code;
        let mask = (1u64 << other_bits) - 1;
        let vertices = (bucket.end - bucket.first) as usize;
        self.degrees.clear();
        self.degrees.resize(vertices, 0);
        self.adjacency.clear();
        self.adjacency.reserve_exact(records.len() * neighbor_bytes + 8);
        self.weights.clear();
        self.weights.reserve_exact(records.len() * weights.bytes + 8);
        // In the same loop as the lists: it waits for memory, and so counting costs nothing.
        let mut counted = *extras;
        for record in records {
            let (row, neighbor) = (record.key() >> other_bits, record.key() & mask);
            counted.count(record.key(), bucket.first + row == neighbor);
            self.degrees[row as usize] += 1;
            push_bytes(&mut self.adjacency, neighbor, neighbor_bytes);
        }
        *extras = counted;
        if !weights.is_none() {
            for record in records {
                push_bytes(&mut self.weights, record.payload(), weights.bytes);
            }
        }
        self.heads.clear();
        if heads {
            self.heads.reserve_exact(vertices * neighbor_bytes + 8);
            let mut at = 0;
            for &degree in &self.degrees {
                let head = if degree == 0 { u64::MAX } else { records[at].key() & mask };
                push_bytes(&mut self.heads, head, neighbor_bytes);
                at += degree as usize;
            }
        }
    }
}

/// The sections of lists.
pub struct RowsWriter {
    adjacency: Section,
    weights: Option<Section>,
    degrees: Section,
    index: Section,
    heads: Option<Section>,
    neighbor_bytes: usize,
    /// The last vertex: a following bucket may add to it.
    pending: Option<(u64, u64)>,
    edges: u64,
    largest: (u64, u64),
}

/// What lists came to.
pub struct RowsSummary {
    /// The sections.
    pub sections: Vec<SectionEntry>,
    /// Entries of the adjacency.
    pub edges: u64,
    /// The largest degree and the first vertex that has it.
    pub largest: (u64, u64),
}

impl RowsWriter {
    /// Begins the sections, whose names begin with `prefix`.
    pub fn create(
        folders: &Folders,
        prefix: &str,
        neighbor_bytes: usize,
        weights: WeightCode,
        heads: bool,
    ) -> Result<Self> {
        let name = |part: &str| format!("{prefix}.{part}");
        Ok(Self {
            adjacency: folders.section(&name("adjacency"), true)?,
            weights: if weights.is_none() {
                None
            } else {
                Some(folders.section(&name("weights"), true)?)
            },
            degrees: folders.section(&name("degrees"), false)?,
            index: folders.section(&name("index"), false)?,
            heads: if heads { Some(folders.section(&name("heads"), false)?) } else { None },
            neighbor_bytes,
            pending: None,
            edges: 0,
            largest: (0, 0),
        })
    }

    /// Appends the next bucket.
    pub fn append(&mut self, bucket: &Bucket, rows: &EncodedRows) -> Result<()> {
        self.adjacency.write(&rows.adjacency)?;
        if let Some(weights) = &mut self.weights {
            weights.write(&rows.weights)?;
        }
        for (vertex, &degree) in (bucket.first..).zip(&rows.degrees) {
            match &mut self.pending {
                Some((last, sum)) if *last == vertex => {
                    // The vertex has several buckets; its first neighbor came with the first one
                    // that was not empty.
                    if *sum == 0 {
                        self.head(rows, 0, degree)?;
                    }
                    if let Some((_, sum)) = &mut self.pending {
                        *sum += degree;
                    }
                }
                _ => {
                    self.settle()?;
                    self.pending = Some((vertex, degree));
                    self.head(rows, (vertex - bucket.first) as usize, degree)?;
                }
            }
        }
        Ok(())
    }

    /// Writes a vertex's first neighbor once it is known.
    fn head(&mut self, rows: &EncodedRows, index: usize, degree: u64) -> Result<()> {
        match &mut self.heads {
            Some(heads) if degree > 0 => {
                heads.write(&rows.heads[index * self.neighbor_bytes..][..self.neighbor_bytes])
            }
            _ => Ok(()),
        }
    }

    /// Writes the degree of the pending vertex.
    fn settle(&mut self) -> Result<()> {
        let Some((vertex, degree)) = self.pending.take() else { return Ok(()) };
        let stored = u32::try_from(degree).map_err(|_| {
            GraphError::Usage(format!(
                "a vertex has {degree} edges in one direction; this version stores up to \
                 4294967295: build with --simple if many are duplicates"
            ))
        })?;
        if vertex.is_multiple_of(INDEX_GROUP) {
            self.index.write(&self.edges.to_le_bytes())?;
        }
        self.degrees.write(&stored.to_le_bytes())?;
        if let Some(heads) = &mut self.heads
            && degree == 0
        {
            heads.write(&[0xff; 8][..self.neighbor_bytes])?;
        }
        self.edges += degree;
        if degree > self.largest.0 {
            self.largest = (degree, vertex);
        }
        Ok(())
    }

    /// Ends the sections.
    pub fn finish(mut self) -> Result<RowsSummary> {
        self.settle()?;
        self.index.write(&self.edges.to_le_bytes())?;
        let mut sections = vec![self.adjacency, self.degrees, self.index];
        sections.extend([self.weights, self.heads].into_iter().flatten());
        let sections = Section::finish_all(sections)?;
        Ok(RowsSummary { sections, edges: self.edges, largest: self.largest })
    }
}
