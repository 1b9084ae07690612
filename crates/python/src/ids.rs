//! The way between internal and original ids, as whole tables, for columns that leave as whole
//! arrays.
//!
//! The files are opened when a run ends and stay open: its results can be read after the graph has
//! been replaced or removed. What is read is verified, page by page.

use outercore_graph::{Graph, Keys, Result, format::IdTable, graph::SectionFile};
use outercore_storage::{PAGE, PageSums};

/// The tables of a graph's ids. A rank is a vertex's place among all original ids in ascending
/// order.
pub struct Ids {
    vertices: u64,
    kind: IdTable,
    width: usize,
    /// Rank to internal id, and back; `None` where they are the same.
    order: Option<(Table, Table)>,
    keys: Option<Table>,
    ends: Option<Table>,
}

impl Ids {
    /// Opens the tables of `graph`.
    pub fn open(graph: &Graph) -> Result<Self> {
        let manifest = graph.manifest();
        let table = |name: &str| Table::open(graph, name);
        let (keys, ends) = match manifest.ids {
            IdTable::Range { .. } => (None, None),
            IdTable::Numbers => (Some(table("ids.keys")?), None),
            IdTable::Names => (Some(table("ids.keys")?), Some(table("ids.ends")?)),
        };
        let width = manifest.id_bytes as usize;
        let order =
            if width == 0 { None } else { Some((table("ids.vertex")?, table("ids.rank")?)) };
        Ok(Self {
            vertices: manifest.vertices,
            kind: manifest.ids.clone(),
            width,
            order,
            keys,
            ends,
        })
    }

    /// All vertices.
    pub fn vertices(&self) -> u64 {
        self.vertices
    }

    /// Whether ids are strings.
    pub fn are_names(&self) -> bool {
        self.kind == IdTable::Names
    }

    /// The internal ids of `count` ranks from `first` on.
    pub fn internal(&self, first: u64, count: usize) -> Result<Vec<u64>> {
        let width = self.width as u64;
        Ok(match &self.order {
            None => (first..first + count as u64).collect(),
            Some((vertex, _)) => {
                numbers(&vertex.read(first * width, count * self.width)?, self.width)
            }
        })
    }

    /// The rank of every internal id.
    pub fn ranks(&self) -> Result<Ranks> {
        let bytes = match &self.order {
            None => Vec::new(),
            Some((_, rank)) => rank.read(0, self.vertices as usize * self.width)?,
        };
        Ok(Ranks { width: self.width, bytes })
    }

    /// The original ids of `count` ranks from `first` on.
    pub fn keys(&self, first: u64, count: usize) -> Result<Keys> {
        match (&self.kind, &self.keys, &self.ends) {
            (IdTable::Range { first: base }, ..) => {
                Ok(Keys::Numbers((base + first..base + first + count as u64).collect()))
            }
            (IdTable::Names, Some(keys), Some(ends)) => {
                let lead = usize::from(first > 0);
                let mut ends =
                    numbers(&ends.read((first - lead as u64) * 8, (count + lead) * 8)?, 8);
                let start = if lead == 1 { ends.remove(0) } else { 0 };
                let len = ends.last().map_or(0, |end| end - start);
                ends.iter_mut().for_each(|end| *end -= start);
                Ok(Keys::Names { bytes: keys.read(start, len as usize)?, ends })
            }
            (_, Some(keys), _) => Ok(Keys::Numbers(numbers(&keys.read(first * 8, count * 8)?, 8))),
            (_, None, _) => unreachable!("only a range of ids has no table"),
        }
    }
}

/// The rank of every internal id, in as many bytes as on disk.
pub struct Ranks {
    /// 0: ranks and internal ids are the same.
    width: usize,
    bytes: Vec<u8>,
}

impl Ranks {
    /// The rank of an internal id.
    pub fn get(&self, vertex: u64) -> u64 {
        if self.width == 0 {
            return vertex;
        }
        let at = vertex as usize * self.width;
        number(&self.bytes[at..at + self.width])
    }
}

fn number(bytes: &[u8]) -> u64 {
    let mut number = [0; 8];
    number[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(number)
}

fn numbers(bytes: &[u8], width: usize) -> Vec<u64> {
    bytes.chunks_exact(width).map(number).collect()
}

/// A section with its checksums.
struct Table {
    section: SectionFile,
    sums: PageSums,
}

impl Table {
    fn open(graph: &Graph, name: &str) -> Result<Self> {
        let section = graph.section(name)?;
        let sums = section.sums(graph.disk())?;
        Ok(Self { section, sums })
    }

    /// Bytes from `start` on, verified.
    fn read(&self, start: u64, len: usize) -> Result<Vec<u8>> {
        let page = PAGE as u64;
        let first = start / page;
        let end = (start + len as u64).next_multiple_of(page);
        let mut bytes = vec![0; (end - first * page) as usize];
        self.section.file.read_at(&mut bytes, first * page)?;
        self.section.verify(&self.sums, first, &bytes)?;
        let lead = (start - first * page) as usize;
        if lead > 0 {
            bytes.drain(..lead);
        }
        bytes.truncate(len);
        Ok(bytes)
    }
}
