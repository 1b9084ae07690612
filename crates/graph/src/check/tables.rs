//! What other sections say already, and runs read by itself: the first neighbors of lists, and the
//! tables of ids. All is read from front to back, a batch at a time.

use super::{Fault, digest::Digest};
use crate::{
    build::BuildProgress,
    error::Result,
    format::IdTable,
    graph::{Graph, Table, numbers},
    order::Order,
};

/// Entries read at once.
const BATCH: u64 = 1 << 16;
/// Bytes of the longest name.
const LONGEST: u64 = 1 << 16;

/// A section of numbers of the same width, read in order.
struct Column {
    table: Table,
    width: usize,
    len: u64,
    first: u64,
    batch: Vec<u64>,
}

impl Column {
    fn open(graph: &Graph, name: &str, width: u32, len: u64) -> Result<Option<Self>> {
        if width == 0 || graph.manifest().section(name).is_none() {
            return Ok(None);
        }
        let table = graph.table(name)?;
        Ok(Some(Self { table, width: width as usize, len, first: 0, batch: Vec::new() }))
    }

    /// Entry `at`, which is not before the last one that was asked for.
    fn get(&mut self, at: u64) -> Result<u64> {
        if at >= self.first + self.batch.len() as u64 {
            let count = (self.len - at).min(BATCH) as usize;
            let bytes = self.table.read(at * self.width as u64, count * self.width)?;
            (self.first, self.batch) = (at, numbers(&bytes, self.width));
        }
        Ok(self.batch[(at - self.first) as usize])
    }

    fn fault(&self, what: String) -> Fault {
        Fault { path: self.table.section.path().to_owned(), what }
    }
}

/// The first neighbors, beside the lists that they are of.
pub struct Heads {
    column: Column,
    /// The first vertex that was not compared.
    next: u64,
    fault: Option<Fault>,
}

impl Heads {
    /// Those of the lists called `prefix`, if they have any.
    pub fn open(graph: &Graph, prefix: &str) -> Result<Option<Self>> {
        let (width, len) = (graph.manifest().neighbor_bytes, graph.connected());
        let column = Column::open(graph, &format!("{prefix}.heads"), width, len)?;
        Ok(column.map(|column| Self { column, next: 0, fault: None }))
    }

    /// The list of `vertex` begins with `first`; lists that were passed over are empty.
    pub fn list(&mut self, vertex: u64, first: u64) -> Result<()> {
        self.empty_until(vertex)?;
        self.compare(first)
    }

    /// What is wrong, after the last list.
    pub fn finish(mut self) -> Result<Option<Fault>> {
        self.empty_until(self.column.len)?;
        Ok(self.fault)
    }

    fn empty_until(&mut self, vertex: u64) -> Result<()> {
        while self.next < vertex {
            self.compare(u64::MAX >> (64 - 8 * self.column.width))?;
        }
        Ok(())
    }

    fn compare(&mut self, wanted: u64) -> Result<()> {
        let found = self.column.get(self.next)?;
        if found != wanted && self.fault.is_none() {
            self.fault = Some(self.column.fault(format!(
                "the first neighbor of internal vertex {} is {wanted}, and it says {found}",
                self.next
            )));
        }
        self.next += 1;
        Ok(())
    }
}

/// Original ids ascend, and the tables between ranks and internal ids are each other's inverse.
pub fn check_ids(
    graph: &Graph,
    progress: &dyn BuildProgress,
    faults: &mut Vec<Fault>,
) -> Result<()> {
    progress.stage("comparing ids", None);
    faults.extend(match graph.manifest().ids {
        IdTable::Range { .. } => None,
        IdTable::Numbers => check_numbers(graph, progress)?,
        IdTable::Names => check_names(graph, progress)?,
    });
    check_ranks(graph, progress, faults)
}

fn check_numbers(graph: &Graph, progress: &dyn BuildProgress) -> Result<Option<Fault>> {
    let Some(mut keys) = Column::open(graph, "ids.keys", 8, graph.vertices())? else {
        return Ok(None);
    };
    let mut last = None;
    for rank in 0..keys.len {
        let key = keys.get(rank)?;
        if last.is_some_and(|last| last >= key) {
            return Ok(Some(keys.fault(format!("the id of rank {rank} is not after the last"))));
        }
        last = Some(key);
        look(progress, rank)?;
    }
    Ok(None)
}

fn check_names(graph: &Graph, progress: &dyn BuildProgress) -> Result<Option<Fault>> {
    let Some(mut ends) = Column::open(graph, "ids.ends", 8, graph.vertices())? else {
        return Ok(None);
    };
    let names = graph.table("ids.keys")?;
    let all = names.section.bytes;
    let (mut start, mut last) = (0, None);
    // A window of the names: where it begins, and its bytes.
    let (mut first, mut window) = (0, Vec::new());
    for rank in 0..ends.len {
        let end = ends.get(rank)?;
        if end < start || end > all || end - start > LONGEST {
            return Ok(Some(ends.fault(format!("the name of rank {rank} cannot end at {end}"))));
        }
        if end > first + window.len() as u64 {
            window = names.read(start, (all - start).min(2 * LONGEST) as usize)?;
            first = start;
        }
        let name = &window[(start - first) as usize..(end - first) as usize];
        let path = || names.section.path().to_owned();
        if std::str::from_utf8(name).is_err() {
            let what = format!("the name of rank {rank} is not UTF-8");
            return Ok(Some(Fault { path: path(), what }));
        }
        if last.as_deref().is_some_and(|last| last >= name) {
            let what = format!("the name of rank {rank} is not after the last");
            return Ok(Some(Fault { path: path(), what }));
        }
        (start, last) = (end, Some(name.to_vec()));
        look(progress, rank)?;
    }
    let whole = start == all;
    Ok((!whole).then(|| ends.fault(format!("the names end at {start}, and there are {all} bytes"))))
}

/// `ids.vertex` and `ids.rank` as pairs of a vertex and its rank: where the sums are equal, each
/// table has every number once.
fn check_ranks(graph: &Graph, progress: &dyn BuildProgress, faults: &mut Vec<Fault>) -> Result<()> {
    let (width, count) = (graph.manifest().id_bytes, graph.vertices());
    let open = |name| Column::open(graph, name, width, count);
    let (Some(mut vertices), Some(mut ranks)) = (open("ids.vertex")?, open("ids.rank")?) else {
        return Ok(());
    };
    let before = faults.len();
    let (mut by_rank, mut by_vertex) = (Digest::default(), Digest::default());
    let ordered = if graph.manifest().order == Order::Original { 0 } else { graph.connected() };
    let mut last = None;
    for at in 0..count {
        let (vertex, rank) = (vertices.get(at)?, ranks.get(at)?);
        for (column, name, value) in [(&vertices, "vertex", vertex), (&ranks, "rank", rank)] {
            if value >= count {
                let what = format!("entry {at} is {name} {value}, and there are {count} vertices");
                faults.push(column.fault(what));
            }
        }
        // The connected vertices are in order of their ranks, or of degrees; the isolated are in
        // order of their ranks always.
        if at == graph.connected() {
            last = None;
        }
        if at >= ordered && last.replace(rank).is_some_and(|last| last >= rank) {
            faults.push(ranks.fault(format!("the rank of internal vertex {at} is out of order")));
        }
        if faults.len() > before {
            return Ok(());
        }
        by_rank.add(vertex, at, None);
        by_vertex.add(at, rank, None);
        look(progress, at)?;
    }
    if by_rank != by_vertex {
        let what = "ids.rank and ids.vertex are not each other's inverse".to_owned();
        faults.push(ranks.fault(what));
    }
    Ok(())
}

/// Whether the user wants an end, asked once for each batch.
fn look(progress: &dyn BuildProgress, at: u64) -> Result<()> {
    if at.is_multiple_of(BATCH) { progress.check() } else { Ok(()) }
}
