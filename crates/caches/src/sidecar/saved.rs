//! [`Saved`]: a selection that is opened. What its head says is checked against the file.

use std::{io::ErrorKind, path::PathBuf};

use outercore_graph::{Direction, Graph, GraphError, Result, error::refuse};
use outercore_storage::DiskFile;

use super::{
    About, MAGIC, PIECE, Runs, Side,
    columns::{Columns, Found},
    path_of, sum_of,
};

/// The largest head that is read.
const MOST_HEAD: u64 = 1 << 20;

/// A selection beside a graph. Its checksum is right; its vertices are still in the file.
pub struct Saved {
    /// Where it lies.
    pub path: PathBuf,
    /// What is known of it.
    pub about: About,
    file: DiskFile,
    /// Where the first direction begins.
    start: u64,
}

/// Opens the selection of a graph; the error says how to make one.
fn open(graph: &Graph) -> Result<(PathBuf, DiskFile)> {
    let path = path_of(graph.path());
    match graph.disk().open_buffered(&path) {
        Err(error) if error.kind() == Some(ErrorKind::NotFound) => refuse(format!(
            "--static-cache: no lists are selected for {0}; `outercore cache {0} --size SIZE` \
             selects some",
            graph.path().display()
        )),
        file => Ok((path, file?)),
    }
}

impl Saved {
    /// The selection beside a graph; the error says how to make one, or what is wrong.
    pub fn of(graph: &Graph) -> Result<Self> {
        let (path, file) = open(graph)?;
        let saved = Self::checked(path, file)?;
        let manifest = graph.manifest();
        let names = manifest.ids == outercore_graph::format::IdTable::Names;
        if (saved.about.directed, saved.about.names) != (manifest.directed, names) {
            return saved.is_of_another();
        }
        Ok(saved)
    }

    fn checked(path: PathBuf, file: DiskFile) -> Result<Self> {
        let wrong =
            |what: &str| Err(GraphError::Selection { path: path.clone(), what: what.to_owned() });
        let Some(end) = file.len()?.checked_sub(4).filter(|&end| end >= 12) else {
            return wrong("it is too short");
        };
        let (mut begin, mut sum) = ([0; 12], [0; 4]);
        file.read_at(&mut begin, 0)?;
        if begin.starts_with(b"OCCACHE1") {
            return wrong("it is one of an earlier version of this program: select lists anew");
        }
        if !begin.starts_with(MAGIC) {
            return wrong("it does not begin like one");
        }
        file.read_at(&mut sum, end)?;
        if sum_of(&file, end)? != u32::from_le_bytes(sum) {
            return wrong("its checksum is another");
        }
        let [.., a, b, c, d] = begin;
        let start = 12 + u64::from(u32::from_le_bytes([a, b, c, d]));
        if start > end.min(MOST_HEAD) {
            return wrong("its head is none");
        }
        let mut head = vec![0; start as usize - 12];
        file.read_at(&mut head, 12)?;
        let Ok(about) = serde_json::from_slice::<About>(&head) else {
            return wrong("its head is none");
        };
        let mut sides = about.sides.iter();
        if sides.try_fold(start, |sum, side| side.len()?.checked_add(sum)) != Some(end) {
            return wrong("it has another length than its head says");
        }
        Ok(Self { path, about, file, start })
    }

    /// The checksum of the selection beside a graph, as its end says it.
    pub(crate) fn checksum(graph: &Graph) -> Result<u32> {
        let ((_, file), mut sum) = (open(graph)?, [0; 4]);
        file.read_at(&mut sum, file.len()?.saturating_sub(4))?;
        Ok(u32::from_le_bytes(sum))
    }

    /// Bytes of memory that the selection beside a graph takes while a run loads lists of a
    /// direction.
    pub fn loading_bytes(graph: &Graph) -> Result<u64> {
        let saved = Self::of(&graph.counted_apart())?;
        let each = size_of::<Found>() as u64;
        let of = |side: &Side| side.len().unwrap_or(0) + side.lists * each;
        Ok(PIECE + saved.about.sides.iter().map(of).max().unwrap_or(0))
    }

    /// Of a share of memory for a direction, what is better spent on lists than on pages.
    pub fn worth(&self, side: &Side, share: u64) -> u64 {
        let of = u128::from(self.about.size.max(1));
        let worth = u128::from(side.worth.unwrap_or(self.about.size).min(self.about.size));
        (u128::from(share) * worth / of) as u64
    }

    /// The error of one that says what is not so.
    pub(crate) fn is_damaged<T>(&self, what: &str) -> Result<T> {
        Err(GraphError::Selection { path: self.path.clone(), what: what.to_owned() })
    }

    /// The error of a selection for another graph.
    pub(crate) fn is_of_another<T>(&self) -> Result<T> {
        refuse(format!(
            "--static-cache: {} was selected for another graph; `outercore cache` selects anew",
            self.path.display()
        ))
    }

    /// The vertices of a side in the order of their choice, as this graph numbers them.
    pub fn vertices(&self, graph: &Graph, side: &Side) -> Result<Vec<u64>> {
        let mut found = self.find(graph, side)?;
        found.sort_unstable_by_key(|found| found.order);
        Ok(found.into_iter().map(|found| found.vertex).collect())
    }

    /// What is selected of a direction, for such runs, or else for others.
    pub(crate) fn side(&self, direction: Direction, runs: Runs) -> Option<&Side> {
        let mut sides = self.about.sides.iter().filter(|side| side.direction == direction);
        let other = sides.clone().next();
        sides.find(|side| side.runs == runs).or(other)
    }

    /// Those vertices of a side that the graph has, in the order of their ids.
    pub(crate) fn find(&self, graph: &Graph, wanted: &Side) -> Result<Vec<Found>> {
        let mut start = self.start;
        for side in &self.about.sides {
            let len = side.len().expect("checked when it was opened");
            if (side.direction, side.runs) == (wanted.direction, wanted.runs) {
                let mut bytes = vec![0; len as usize];
                self.file.read_at(&mut bytes, start)?;
                let names = self.about.names.then_some(side.name_bytes as usize);
                return Columns::new(&bytes, side.lists as usize, names).find(graph);
            }
            start += len;
        }
        Ok(Vec::new())
    }
}
