//! Checking a graph: every byte of every file against its checksum, and then the invariants that checksums cannot see. All faults are reported, not the first.

use std::path::{Path, PathBuf};

use outercore_storage::{Disk, PAGE, PageSums, StorageError, page_sum};

use crate::{
    build::BuildProgress,
    error::{GraphError, Result},
    format::{INDEX_GROUP, MANIFEST, Manifest, Tile},
    graph::{Graph, SectionFile, numbers},
    scan::RowReader,
    types::{Direction, Layout},
};

/// Something wrong with a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub what: String,
}

/// Bytes read at once.
const BATCH: usize = 1 << 20;
/// After so many damaged pages of one section the rest are only counted.
const MOST: usize = 16;

/// Reads everything and returns every fault. An error means that the graph could not be read at all.
pub fn check(disk: &Disk, path: &Path, progress: &dyn BuildProgress) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    let manifest = match Manifest::read(disk, path) {
        Ok(manifest) => manifest,
        Err(GraphError::Corrupt { path, what }) => return Ok(vec![Fault { path, what }]),
        Err(error) => return Err(error),
    };
    let graph = match Graph::open(disk, path) {
        Ok(graph) => graph,
        Err(GraphError::Corrupt { path, what }) => return Ok(vec![Fault { path, what }]),
        Err(GraphError::NotAGraph { path, why }) => return Ok(vec![Fault { path, what: why }]),
        Err(GraphError::Storage(StorageError::Io { path, source, .. })) if source.kind() == std::io::ErrorKind::NotFound => {
            return Ok(vec![Fault { path, what: "it is missing".to_owned() }]);
        }
        Err(error) => return Err(error),
    };
    progress.stage("checking", Some(manifest.sections.iter().map(|section| section.bytes).sum()));
    unknown_files(disk, path, &manifest, &mut faults)?;
    for entry in &manifest.sections {
        check_section(disk, &graph.section(&entry.name)?, progress, &mut faults)?;
    }
    if faults.is_empty() {
        check_rows(&graph, &mut faults)?;
        check_grid(&graph, &mut faults)?;
    }
    Ok(faults)
}

/// Files that no section names: not part of the graph, and perhaps the trace of an accident.
fn unknown_files(disk: &Disk, path: &Path, manifest: &Manifest, faults: &mut Vec<Fault>) -> Result<()> {
    for file in disk.list(path)? {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let known = name == MANIFEST || manifest.section(name.strip_suffix(".crc").unwrap_or(&name)).is_some();
        if !known {
            faults.push(Fault { path: file, what: "it does not belong to the graph".to_owned() });
        }
    }
    Ok(())
}

fn check_section(disk: &Disk, section: &SectionFile, progress: &dyn BuildProgress, faults: &mut Vec<Fault>) -> Result<()> {
    let sums = match section.sums(disk) {
        Ok(sums) => sums,
        Err(GraphError::Corrupt { path, what }) => {
            faults.push(Fault { path, what });
            return Ok(());
        }
        Err(GraphError::Storage(StorageError::Truncated { path, offset, wanted })) => {
            // As `PageSums::load` has it: what there is, and what there should be.
            faults.push(Fault { path, what: format!("it has {offset} bytes instead of {wanted}") });
            return Ok(());
        }
        Err(GraphError::Storage(StorageError::Io { path, source, .. })) if source.kind() == std::io::ErrorKind::NotFound => {
            faults.push(Fault { path, what: "it is missing".to_owned() });
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let expected: u64 = section.pages() * PAGE as u64;
    let actual: u64 = section.file.files().iter().map(|file| file.len()).sum::<std::result::Result<u64, _>>()?;
    if actual != expected {
        faults.push(Fault { path: section.path().to_owned(), what: format!("it has {actual} bytes instead of {expected}") });
    }
    damaged_pages(section, &sums, progress, faults)
}

fn damaged_pages(section: &SectionFile, sums: &PageSums, progress: &dyn BuildProgress, faults: &mut Vec<Fault>) -> Result<()> {
    let mut damaged = 0;
    let total = section.pages() * PAGE as u64;
    let mut bytes = vec![0u8; BATCH];
    let mut offset = 0u64;
    while offset < total {
        progress.check()?;
        let len = (total - offset).min(BATCH as u64) as usize;
        section.file.read_at(&mut bytes[..len], offset)?;
        for (index, page) in bytes[..len].chunks(PAGE).enumerate() {
            let number = offset / PAGE as u64 + index as u64;
            if sums.sums()[number as usize] != page_sum(page) {
                damaged += 1;
                if damaged <= MOST {
                    faults.push(Fault {
                        path: section.path().to_owned(),
                        what: format!("page {number} of section {} does not match its checksum", section.name),
                    });
                }
            }
        }
        progress.advance(len as u64);
        offset += len as u64;
    }
    if damaged > MOST {
        faults.push(Fault {
            path: section.path().to_owned(),
            what: format!("{} more pages of section {} do not match", damaged - MOST, section.name),
        });
    }
    Ok(())
}

/// Degrees add up to the adjacency; neighbors are vertices, in order. The lists of the edges in row format are those edges of the complete lists.
fn check_rows(graph: &Graph, faults: &mut Vec<Fault>) -> Result<()> {
    let hybrid = if graph.layout() == Layout::Hybrid { graph.manifest().cells() } else { None };
    let chosen = |source, target| hybrid.as_ref().is_some_and(|cells| cells.in_rows(source, target));
    let expected = check_lists(graph, graph.row_reader(Direction::Out)?, "out", chosen, faults)?;
    if graph.rows(Direction::In) == Some(Direction::In) {
        check_lists(graph, graph.row_reader(Direction::In)?, "in", |_, _| false, faults)?;
    }
    if hybrid.is_some() {
        let found = check_lists(graph, graph.row_format_reader()?, "row", |_, _| true, faults)?;
        if found != expected {
            let what = "its lists are not the edges of out.adjacency that are in row format".to_owned();
            faults.push(Fault { path: graph.section("row.adjacency")?.path().to_owned(), what });
        }
    }
    Ok(())
}

/// Edges, however they are ordered: how many, and the sum of their hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Digest {
    edges: u64,
    hashes: u64,
}

impl Digest {
    fn add(&mut self, source: u64, target: u64) {
        self.edges += 1;
        // Two rounds of a multiplication, one for each end, after which no sum of a few edges is likely to be that of others.
        let mix = |value: u64| (value ^ value >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.hashes = self.hashes.wrapping_add(mix(mix(source + 1).wrapping_add(target)));
    }
}

/// One set of lists; returns the digest of its edges of which `chosen` says so.
fn check_lists(
    graph: &Graph,
    mut lists: RowReader,
    prefix: &str,
    chosen: impl Fn(u64, u64) -> bool,
    faults: &mut Vec<Fault>,
) -> Result<Digest> {
    let adjacency = graph.section(&format!("{prefix}.adjacency"))?;
    let connected = graph.connected();
    let (mut digest, mut problem, mut last) = (Digest::default(), None, (u64::MAX, 0));
    lists.for_each(&mut |vertex, neighbors, _| {
        let mut previous = if last.0 == vertex { last.1 } else { 0 };
        for &neighbor in neighbors {
            if neighbor >= connected || neighbor < previous {
                problem.get_or_insert(format!("the list of internal vertex {vertex} holds {neighbor}, out of range or order"));
            } else if chosen(vertex, neighbor) {
                digest.add(vertex, neighbor);
            }
            previous = neighbor;
        }
        last = (vertex, previous);
        Ok(())
    })?;
    if lists.edges() != adjacency.bytes / u64::from(graph.manifest().neighbor_bytes) {
        problem.get_or_insert("degrees do not add up to the adjacency".to_owned());
    }
    faults.extend(problem.map(|what| Fault { path: adjacency.path().to_owned(), what }));
    check_index(graph, prefix, faults)?;
    Ok(digest)
}

/// Each entry of the index is the sum of the degrees before its group.
fn check_index(graph: &Graph, prefix: &str, faults: &mut Vec<Fault>) -> Result<()> {
    let (degrees, index) = (graph.table(&format!("{prefix}.degrees"))?, graph.table(&format!("{prefix}.index"))?);
    let (mut sum, mut sound) = (0u64, true);
    let most = BATCH as u64 / 4;
    let connected = graph.connected();
    for first in (0..connected.max(1)).step_by(most as usize) {
        let count = most.min(connected - first);
        let degrees = numbers(&degrees.read(first * 4, count as usize * 4)?, 4);
        let groups = numbers(&index.read(first / INDEX_GROUP * 8, count.div_ceil(INDEX_GROUP) as usize * 8)?, 8);
        for (group, before) in degrees.chunks(INDEX_GROUP as usize).zip(groups) {
            sound &= sum == before;
            sum = sum.wrapping_add(group.iter().sum());
        }
    }
    let all = numbers(&index.read(connected.div_ceil(INDEX_GROUP) * 8, 8)?, 8);
    if !sound || all != [sum] {
        let what = "its entries are not the sums of the degrees".to_owned();
        faults.push(Fault { path: index.section.path().to_owned(), what });
    }
    Ok(())
}

/// Stripes cover the vertices, and tiles lie inside the words.
fn check_grid(graph: &Graph, faults: &mut Vec<Fault>) -> Result<()> {
    let (grid, words) = (graph.grid()?, graph.section("grid.words")?);
    let mut fault = |what: &str| faults.push(Fault { path: words.path().to_owned(), what: what.to_owned() });
    if grid.stripes.first() != Some(&0) || grid.stripes.last() != Some(&graph.connected()) || !grid.stripes.is_sorted() {
        fault("the stripes do not cover the vertices");
    }
    let stripes = grid.stripes.len() as u64 - 1;
    let end = |tile: &Tile| tile.offset.saturating_add(tile.code().bytes(tile.words()));
    let last = grid.tiles.iter().map(end).max().unwrap_or(0);
    // Some graphs have zeros up to the next page after the last tile: no reader minds.
    if words.bytes != last && words.bytes != last.next_multiple_of(PAGE as u64) {
        fault("the tiles do not end where the words do");
    }
    let inside =
        grid.tiles.iter().all(|tile| u64::from(tile.stripe) < stripes && tile.first_chunk + tile.chunks() <= grid.chunks.len() as u64);
    if !inside {
        fault("a tile lies outside of the grid");
    }
    Ok(())
}
