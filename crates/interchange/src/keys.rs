//! From internal ids back to original ones, many at a time.
//!
//! The tables (`ids.rank`: internal id to rank, `ids.keys`: rank to original id) may be larger than
//! memory. Ids are looked up in sorted order through a window that moves forward over a table, so a
//! batch reads no part of it twice.
//!
//! Internal ids are sorted by degree, so most lookups fall into the front of a table. The front
//! that fits into the memory given is loaded once the windows have read as many bytes as it has,
//! and stays. So lookups cost at most twice what the better of the two ways costs.

use outercore_graph::{Graph, GraphError, Keys, Result, format::IdTable, graph};
use outercore_storage::PAGE;

/// Bytes of a window.
const WINDOW: usize = 64 << 10;
/// Bytes of a read when a front is loaded.
const STEP: usize = 1 << 20;

/// Original ids in the order of a question.
#[derive(Debug)]
pub(crate) enum Resolved {
    /// Numbers.
    Numbers(Vec<u64>),
    /// Each distinct name once, and which of them each is.
    Names {
        /// The names.
        names: Keys,
        /// Positions in `names`.
        index: Vec<u32>,
    },
}

impl Resolved {
    /// How many ids were asked for.
    pub(crate) fn len(&self) -> usize {
        match self {
            Resolved::Numbers(numbers) => numbers.len(),
            Resolved::Names { index, .. } => index.len(),
        }
    }
}

/// From internal ids to ranks: positions among all original ids in ascending order.
pub(crate) struct RankLookup {
    /// `None`: they are the same.
    table: Option<AscendingTable>,
    width: usize,
}

impl RankLookup {
    /// Opens the table of `graph`; `memory` bounds what of it stays.
    pub(crate) fn new(graph: &Graph, memory: u64) -> Result<Self> {
        let width = graph.manifest().id_bytes as usize;
        let table =
            if width == 0 { None } else { Some(AscendingTable::open(graph, "ids.rank", memory)?) };
        Ok(Self { table, width })
    }

    /// The ranks of internal ids, which come in any order.
    pub(crate) fn ranks(&mut self, vertices: &[u64]) -> Result<Vec<u64>> {
        if self.is_flat() {
            return vertices.iter().map(|&vertex| self.rank(vertex)).collect();
        }
        let mut order: Vec<(u64, u32)> = vertices
            .iter()
            .enumerate()
            .map(|(position, &vertex)| (vertex, position as u32))
            .collect();
        order.sort_unstable();
        let mut ranks = vec![0; vertices.len()];
        for (vertex, position) in order {
            ranks[position as usize] = self.rank(vertex)?;
        }
        Ok(ranks)
    }

    /// The rank of an internal id of the graph, which is not below the one before.
    pub(crate) fn next_rank(&mut self, graph: &Graph, vertex: u64) -> Result<u64> {
        let rank = self.rank(vertex)?;
        if rank < graph.vertices() {
            return Ok(rank);
        }
        Err(GraphError::Corrupt {
            path: graph.path().join("ids.rank"),
            what: format!("it has rank {rank}, and there are {} vertices", graph.vertices()),
        })
    }

    fn is_flat(&self) -> bool {
        self.table.as_ref().is_none_or(AscendingTable::is_loaded)
    }

    #[inline]
    fn rank(&mut self, vertex: u64) -> Result<u64> {
        match &mut self.table {
            None => Ok(vertex),
            Some(table) => table.number(vertex, self.width),
        }
    }
}

/// The tables of a graph.
pub(crate) struct KeyLookup {
    ranks: RankLookup,
    keys: KeyTable,
}

enum KeyTable {
    /// Rank `r` is `first + r`.
    Range(u64),
    Numbers(AscendingTable),
    Names {
        ends: AscendingTable,
        bytes: AscendingTable,
    },
}

impl KeyLookup {
    /// Opens the tables of `graph`; `memory` bounds what of them stays.
    pub(crate) fn new(graph: &Graph, memory: u64) -> Result<Self> {
        let manifest = graph.manifest();
        let keys_share = match manifest.ids {
            IdTable::Range { .. } => 0,
            IdTable::Numbers | IdTable::Names => memory / 2,
        };
        let keys = match manifest.ids {
            IdTable::Range { first } => KeyTable::Range(first),
            IdTable::Numbers => {
                KeyTable::Numbers(AscendingTable::open(graph, "ids.keys", keys_share)?)
            }
            IdTable::Names => KeyTable::Names {
                ends: AscendingTable::open(graph, "ids.ends", keys_share / 3)?,
                bytes: AscendingTable::open(graph, "ids.keys", keys_share * 2 / 3)?,
            },
        };
        Ok(Self { ranks: RankLookup::new(graph, memory - keys_share)?, keys })
    }

    /// The original ids of internal ids, which come in any order.
    pub(crate) fn resolve(&mut self, vertices: &[u64]) -> Result<Resolved> {
        if self.is_flat() {
            let number = |vertex: &u64| -> Result<u64> {
                let rank = self.ranks.rank(*vertex)?;
                self.number(rank)
            };
            return Ok(Resolved::Numbers(vertices.iter().map(number).collect::<Result<_>>()?));
        }
        let mut distinct = vertices.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let mut ranks = Vec::with_capacity(distinct.len());
        for (position, &vertex) in distinct.iter().enumerate() {
            ranks.push((self.ranks.rank(vertex)?, position as u32));
        }
        ranks.sort_unstable();
        let position = |vertex: &u64| {
            distinct.binary_search(vertex).expect("every one is among the distinct ones")
        };
        if let KeyTable::Names { .. } = self.keys {
            let mut place = vec![0; distinct.len()];
            ranks
                .iter()
                .enumerate()
                .for_each(|(index, &(_, position))| place[position as usize] = index as u32);
            let names = self.names(ranks.iter().map(|&(rank, _)| rank))?;
            return Ok(Resolved::Names {
                names,
                index: vertices.iter().map(|vertex| place[position(vertex)]).collect(),
            });
        }
        let mut numbers = vec![0; distinct.len()];
        for (rank, position) in ranks {
            numbers[position as usize] = self.number(rank)?;
        }
        Ok(Resolved::Numbers(vertices.iter().map(|vertex| numbers[position(vertex)]).collect()))
    }

    /// Whether everything is in memory, so that order does not matter.
    fn is_flat(&self) -> bool {
        let keys = match &self.keys {
            KeyTable::Range(_) => true,
            KeyTable::Numbers(keys) => keys.is_loaded(),
            KeyTable::Names { .. } => false,
        };
        keys && self.ranks.is_flat()
    }

    /// The number of a rank.
    fn number(&mut self, rank: u64) -> Result<u64> {
        match &mut self.keys {
            KeyTable::Range(first) => Ok(*first + rank),
            KeyTable::Numbers(keys) => keys.number(rank, 8),
            KeyTable::Names { .. } => Ok(rank),
        }
    }

    /// The names of ascending ranks.
    fn names(&mut self, ranks: impl Iterator<Item = u64>) -> Result<Keys> {
        let (mut text, mut ends_of) = (Vec::new(), Vec::new());
        if let KeyTable::Names { ends, bytes } = &mut self.keys {
            for rank in ranks {
                let start = if rank == 0 { 0 } else { ends.number(rank - 1, 8)? };
                let end = ends.number(rank, 8)?;
                text.extend_from_slice(bytes.bytes(start, end.saturating_sub(start) as usize)?);
                ends_of.push(text.len() as u64);
            }
        }
        Ok(Keys::Names { bytes: text, ends: ends_of })
    }
}

/// A section read at ascending places. Every page is verified when it is read.
struct AscendingTable {
    table: graph::Table,
    /// Its length, padding included.
    end: u64,
    /// Bytes of the front that may stay in memory: whole pages.
    limit: usize,
    front: Vec<u8>,
    window: Vec<u8>,
    /// Where the window begins.
    at: u64,
    /// Bytes that windows have read.
    moved: u64,
}

impl AscendingTable {
    fn open(graph: &Graph, name: &str, memory: u64) -> Result<Self> {
        let table = graph.table(name)?;
        let end = table.section.file.len();
        Ok(Self {
            end,
            limit: end.min(memory / PAGE as u64 * PAGE as u64) as usize,
            table,
            front: Vec::new(),
            window: Vec::new(),
            at: 0,
            moved: 0,
        })
    }

    fn is_loaded(&self) -> bool {
        self.front.len() as u64 >= self.table.section.bytes
    }

    /// Entry `index` of `width` bytes, little-endian.
    #[inline]
    fn number(&mut self, index: u64, width: usize) -> Result<u64> {
        let bytes = self.bytes(index * width as u64, width)?;
        let mut number = [0; 8];
        number[..width].copy_from_slice(bytes);
        Ok(u64::from_le_bytes(number))
    }

    #[inline]
    fn bytes(&mut self, start: u64, len: usize) -> Result<&[u8]> {
        let end = start.saturating_add(len as u64);
        if end <= self.front.len() as u64 {
            return Ok(&self.front[start as usize..end as usize]);
        }
        if start < self.at || end > self.at + self.window.len() as u64 {
            self.move_to(start, len)?;
            if end <= self.front.len() as u64 {
                return Ok(&self.front[start as usize..end as usize]);
            }
        }
        let from = (start - self.at) as usize;
        Ok(&self.window[from..from + len])
    }

    #[cold]
    fn move_to(&mut self, start: u64, len: usize) -> Result<()> {
        if self.front.is_empty() && self.limit > 0 && self.moved >= self.limit as u64 {
            self.load()?;
        }
        if start.saturating_add(len as u64) > self.end {
            let path = self.table.section.path().to_owned();
            return Err(GraphError::Corrupt {
                path,
                what: format!("an id points to byte {start}, beyond its end"),
            });
        }
        let at = start / PAGE as u64 * PAGE as u64;
        let wanted = ((start - at) as usize + len).next_multiple_of(PAGE).max(WINDOW);
        self.window.resize(wanted.min((self.end - at) as usize), 0);
        self.moved += self.window.len() as u64;
        self.at = at;
        if let Err(error) = self.table.read_pages(at / PAGE as u64, &mut self.window) {
            // What was not verified is not answered from.
            self.window.clear();
            return Err(error);
        }
        Ok(())
    }

    fn load(&mut self) -> Result<()> {
        let mut front = vec![0; self.limit];
        for (number, piece) in front.chunks_mut(STEP).enumerate() {
            self.table.read_pages((number * STEP / PAGE) as u64, piece)?;
        }
        self.front = front;
        Ok(())
    }
}
