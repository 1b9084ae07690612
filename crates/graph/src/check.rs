//! Checking a graph: every byte of every file against its checksum, and then the invariants that checksums cannot see. All faults are reported, not the first.

use std::path::{Path, PathBuf};

use outercore_storage::{Disk, PAGE, PageSums, StorageError, page_sum};

use crate::{
    build::BuildProgress,
    error::{GraphError, Result},
    format::{MANIFEST, Manifest, Tile},
    graph::{Graph, SectionFile},
    types::Direction,
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

/// Degrees add up to the index and to the adjacency; neighbors are vertices, in order.
fn check_rows(graph: &Graph, faults: &mut Vec<Fault>) -> Result<()> {
    for direction in [Direction::Out, Direction::In] {
        if graph.rows(direction) != Some(direction) {
            continue;
        }
        let mut rows = graph.row_reader(direction)?;
        let section = graph.section(&format!("{}.adjacency", direction.name()))?;
        let mut previous = 0;
        let connected = graph.connected();
        let mut problem = None;
        rows.for_each(&mut |vertex, neighbors, _| {
            previous = 0;
            for &neighbor in neighbors {
                if neighbor >= connected || neighbor < previous {
                    problem.get_or_insert(format!("the list of internal vertex {vertex} holds {neighbor}, out of range or order"));
                }
                previous = neighbor;
            }
            Ok(())
        })?;
        if rows.edges() != section.bytes / u64::from(graph.manifest().neighbor_bytes) {
            problem.get_or_insert("degrees do not add up to the adjacency".to_owned());
        }
        faults.extend(problem.map(|what| Fault { path: section.path().to_owned(), what }));
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
    if grid.tiles.iter().map(end).max().unwrap_or(0) != words.bytes {
        fault("the tiles do not end where the words do");
    }
    let inside =
        grid.tiles.iter().all(|tile| u64::from(tile.stripe) < stripes && tile.first_chunk + tile.chunks() <= grid.chunks.len() as u64);
    if !inside {
        fault("a tile lies outside of the grid");
    }
    Ok(())
}
