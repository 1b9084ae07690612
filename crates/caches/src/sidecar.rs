//! [`Saved`]: a selection of vertices in a file beside the graph, `web.oc.cache` of `web.oc`.
//!
//! Vertices are named by their original ids, so that a selection outlives a rebuild: internal ids
//! change with every one. Beside each id stands how many neighbors the vertex had, when it was
//! chosen, and the bytes of its list as it is packed: those hold for this very graph alone, as gaps
//! are between internal ids. A run with less memory than the selection takes what was chosen first.
//!
//! ```text
//! "OCCACHE2"  length of the head (u32)  the head (JSON)
//! for each direction, vertices in ascending order of their ids:
//!     ids (u64 each; names: their ends, u64 each, and their bytes)
//!     numbers of the choice (u32 each)   degrees (u32 each)   packed bytes (u32 each)
//! CRC-32C of all that (u32)
//! ```

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use outercore_graph::{Direction, Graph, GraphError, Keys, Result, error::refuse};
use outercore_storage::{Disk, DiskFile, checksum::Running, hidden::write_beside};
use serde::{Deserialize, Serialize};

/// What the file begins with.
const MAGIC: &[u8; 8] = b"OCCACHE2";
/// Vertices looked up at once.
const BATCH: usize = 1 << 16;
/// Bytes of a vertex without its name.
pub(crate) const EACH: usize = 8 + 3 * 4;
/// The largest head that is read.
const MOST_HEAD: u64 = 1 << 20;
/// Bytes that are read of the file at once to check it.
const PIECE: u64 = 256 << 10;
/// The most digits of a number of the head.
const DIGITS: usize = 20;

/// What is known of a selection.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct About {
    /// The graph that it was made for.
    pub graph: String,
    /// Whether that has directed edges.
    pub directed: bool,
    /// Whether its original ids are names.
    pub names: bool,
    /// How vertices were selected.
    pub select: String,
    /// Bytes that were asked for.
    pub size: u64,
    /// The settings of the selection.
    pub settings: Vec<(String, String)>,
    /// Seconds that it took.
    pub seconds: f64,
    /// The directions.
    pub sides: Vec<Side>,
}

/// What a selection is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Runs {
    /// One search.
    #[default]
    Search,
    /// Many searches at once.
    Many,
    /// Runs that begin at all vertices, as labels that spread.
    Spreading,
}

impl Runs {
    /// Those that begin at so many vertices.
    pub(crate) fn that_begin_at(vertices: usize) -> Self {
        match vertices {
            0 | 1 => Self::Search,
            usize::MAX => Self::Spreading,
            _ => Self::Many,
        }
    }
}

/// What is known of one direction of a selection.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Side {
    /// Whose lists they are.
    pub direction: Direction,
    /// What they are for.
    pub runs: Runs,
    /// Vertices.
    pub lists: u64,
    /// Bytes of their lists without weights, and of all lists of the direction.
    pub bytes: [u64; 2],
    /// Bytes of their lists as they are packed.
    pub packed: u64,
    /// Bytes of names.
    pub name_bytes: u64,
    /// Of the bytes that were asked for, those that are better spent on lists than on pages; none:
    /// all.
    #[serde(default)]
    pub worth: Option<u64>,
    /// Bytes that a sample search reads with pages alone, and with what is worth it.
    #[serde(default)]
    pub searches: Option<[u64; 2]>,
}

impl About {
    /// What the first bytes of a selection say; nothing, if they are of something else.
    pub(crate) fn begins(bytes: &[u8]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk::<8>()?;
        let (len, rest) = rest.split_first_chunk::<4>()?;
        let head = rest.get(..u32::from_le_bytes(*len) as usize)?;
        serde_json::from_slice(head).ok().filter(|_| magic == MAGIC)
    }
}

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

/// A vertex of a selection that the graph has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub vertex: u64,
    /// When it was chosen.
    pub order: u32,
    /// Its neighbors; then, those that it has.
    pub degree: u32,
    /// Bytes of its list as it was packed; then, as it is.
    pub packed: u32,
    /// Where its list begins, in neighbors.
    pub first: u64,
}

/// The vertices of a direction in the order of their choice, and the bytes of each packed list.
pub(crate) struct Choice {
    pub vertices: Vec<u32>,
    pub packed: Vec<u32>,
}

/// Where the selection of a graph lies.
pub fn path_of(graph: &Path) -> PathBuf {
    let real = std::fs::canonicalize(graph).unwrap_or(graph.to_owned());
    let mut name = real.file_name().unwrap_or_default().to_owned();
    name.push(".cache");
    real.with_file_name(name)
}

/// Saves a selection. What was there before is replaced in one step.
pub(crate) fn save(graph: &Graph, about: About, sides: &[Choice]) -> Result<About> {
    let (disk, path) = (graph.disk(), path_of(graph.path()));
    write_beside(disk, &path, |file| write(graph, about, sides, file))
}

/// Writes a selection, one direction after the other: no more than one is in memory.
fn write(graph: &Graph, mut about: About, sides: &[Choice], file: &DiskFile) -> Result<About> {
    let json = |about: &About| serde_json::to_vec(about).expect("text and numbers");
    // How long names are is known after they were written: there is room for it.
    let head_len = json(&about).len() + DIGITS * sides.len();
    let mut end = (12 + head_len) as u64;
    for (side, choice) in about.sides.iter_mut().zip(sides) {
        let columns = columns_of(graph, side.direction, choice)?;
        side.name_bytes = columns[1].len() as u64;
        for column in columns {
            file.write_at(&column, end)?;
            end += column.len() as u64;
        }
    }
    let mut head = json(&about);
    head.resize(head_len, b' ');
    let begin = [&MAGIC[..], &(head_len as u32).to_le_bytes(), &head].concat();
    file.write_at(&begin, 0)?;
    file.write_at(&sum_of(file, end)?.to_le_bytes(), end)?;
    file.sync()?;
    Ok(about)
}

/// The checksum of so many first bytes of a file.
fn sum_of(file: &DiskFile, end: u64) -> Result<u32> {
    let (mut sum, mut piece, mut at) = (Running::new(), vec![0; PIECE.min(end) as usize], 0);
    while at < end {
        let part = &mut piece[..(end - at).min(PIECE) as usize];
        file.read_at(part, at)?;
        sum.add(part);
        at += part.len() as u64;
    }
    Ok(sum.sum())
}

/// The ids of vertices, their names, and the columns beside them, in the order of the ids.
fn columns_of(graph: &Graph, direction: Direction, choice: &Choice) -> Result<[Vec<u8>; 5]> {
    let mut orders = vec![u32::MAX; graph.connected() as usize];
    (0..).zip(&choice.vertices).for_each(|(order, &vertex)| orders[vertex as usize] = order);
    let degrees = crate::degrees::table(graph, direction)?;
    let room = |each: usize| Vec::<u8>::with_capacity(choice.vertices.len() * each);
    let (mut ids, mut names) = (room(8), Vec::new());
    let [mut choices, mut counts, mut sizes] = [room(4), room(4), room(4)];
    graph.for_each_key(BATCH, &mut |keys, all| {
        for (at, &vertex) in all.iter().enumerate() {
            let Some(&order) = orders.get(vertex as usize).filter(|&&order| order != u32::MAX)
            else {
                continue;
            };
            let id = match keys {
                Keys::Numbers(numbers) => numbers[at],
                Keys::Names { .. } => {
                    names.extend(keys.name(at).as_bytes());
                    names.len() as u64
                }
            };
            ids.extend(id.to_le_bytes());
            choices.extend(order.to_le_bytes());
            counts.extend(degrees[vertex as usize].to_le_bytes());
            sizes.extend(choice.packed[order as usize].to_le_bytes());
        }
        Ok(())
    })?;
    Ok([ids, names, choices, counts, sizes])
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

impl Side {
    /// Bytes of it in the file.
    fn len(&self) -> Option<u64> {
        self.lists.checked_mul(EACH as u64)?.checked_add(self.name_bytes)
    }
}

/// The vertices of a direction.
struct Columns<'b> {
    ids: &'b [[u8; 8]],
    names: Option<&'b [u8]>,
    orders: &'b [[u8; 4]],
    degrees: &'b [[u8; 4]],
    packed: &'b [[u8; 4]],
}

impl<'b> Columns<'b> {
    fn new(bytes: &'b [u8], lists: usize, names: Option<usize>) -> Self {
        let (ids, rest) = bytes.split_at(lists * 8);
        let (text, rest) = rest.split_at(names.unwrap_or(0));
        let (orders, rest) = rest.split_at(lists * 4);
        let (degrees, packed) = rest.split_at(lists * 4);
        Self {
            ids: ids.as_chunks().0,
            names: names.map(|_| text),
            orders: orders.as_chunks().0,
            degrees: degrees.as_chunks().0,
            packed: packed.as_chunks().0,
        }
    }

    fn id(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.ids[at])
    }

    /// How vertex `at` stands to an id of the graph.
    fn cmp(&self, at: usize, keys: &Keys, key: usize) -> std::cmp::Ordering {
        match (keys, self.names) {
            (Keys::Numbers(numbers), _) => self.id(at).cmp(&numbers[key]),
            (Keys::Names { .. }, names) => {
                let start = if at == 0 { 0 } else { self.id(at - 1) as usize };
                let name = names.and_then(|names| names.get(start..self.id(at) as usize));
                name.unwrap_or_default().cmp(keys.name(key).as_bytes())
            }
        }
    }

    /// Both are in the order of ids: they are gone through together.
    fn find(&self, graph: &Graph) -> Result<Vec<Found>> {
        let (mut found, mut at) = (Vec::with_capacity(self.ids.len()), 0);
        let number = |bytes: [u8; 4]| u32::from_le_bytes(bytes);
        graph.for_each_key(BATCH, &mut |keys, vertices| {
            for (key, &vertex) in vertices.iter().enumerate() {
                while at < self.ids.len() && self.cmp(at, keys, key).is_lt() {
                    at += 1;
                }
                if at == self.ids.len() {
                    break;
                }
                if self.cmp(at, keys, key).is_eq() && vertex < graph.connected() {
                    let columns = [self.orders, self.degrees, self.packed];
                    let [order, degree, packed] = columns.map(|column| number(column[at]));
                    found.push(Found { vertex, order, degree, packed, first: 0 });
                }
            }
            Ok(())
        })?;
        Ok(found)
    }
}

/// Whether there is a selection beside a graph.
pub fn is_saved(disk: &Disk, graph: &Path) -> Result<bool> {
    Ok(disk.exists(&path_of(graph))?)
}
