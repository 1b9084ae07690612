//! Where edges lie: in the folders of a striped graph, and in the intervals of its grid. The lists
//! are the same.

use std::path::PathBuf;

use super::{
    Edge, build_with, config,
    streams::{LARGE, PLAIN, expected, large, stream},
};
use outercore_graph::{BuildOptions, Graph, GraphError, GridPartition, format::Tile};
use outercore_storage::{Disk, StorageError};

/// A large graph on three folders, and all of its lists.
struct Striped {
    folder: tempfile::TempDir,
    stripes: Vec<PathBuf>,
    lists: Vec<(Edge, u64)>,
}

impl Striped {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (graph, edges) = large(folder.path(), 2_000_000, 3);
        let stripes = graph.manifest().stripes.iter().map(PathBuf::from).collect();
        Self { folder, stripes, lists: expected(LARGE, &edges, false, |_| true) }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("g.oc")
    }

    fn open(&self) -> Result<Graph, GraphError> {
        Graph::open(&Disk::new(), &self.path())
    }

    /// The lists are read, all of them.
    fn assert_whole(&self) {
        let streamed = stream(&self.open().unwrap(), &config(2), |_| true, PLAIN);
        assert!(streamed.unwrap().edges == self.lists, "other lists");
    }

    /// What reading ends in.
    fn error(&self) -> GraphError {
        let streamed = stream(&self.open().unwrap(), &config(2), |_| true, PLAIN);
        streamed.err().expect("something is wrong with the graph")
    }
}

#[test]
fn stripe_folders_share_the_bytes() {
    let striped = Striped::new();
    striped.assert_whole();
    for section in ["out.adjacency", "in.adjacency", "grid.words"] {
        let size = |stripe: &PathBuf| std::fs::metadata(stripe.join(section)).unwrap().len();
        let sizes: Vec<u64> = striped.stripes.iter().map(size).collect();
        let (least, most) = (*sizes.iter().min().unwrap(), *sizes.iter().max().unwrap());
        assert!(least > 1 << 20 && most - least <= 1 << 20, "{section}: {sizes:?}");
    }
}

#[test]
fn stripe_folders_are_not_confused() {
    let striped = Striped::new();
    let [a, b, aside] = [&striped.stripes[0], &striped.stripes[1], &striped.path().join("aside")];
    for (from, to) in [(a, aside), (b, a), (aside, b)] {
        std::fs::rename(from, to).unwrap();
    }
    match striped.open() {
        Ok(_) => {
            let error = striped.error();
            assert!(
                matches!(error, GraphError::Storage(StorageError::Checksum { .. })),
                "the other folder's pages: {error}"
            );
        }
        Err(error) => assert!(error.to_string().contains("stripe-"), "{error}"),
    }
}

/// A damaged page is named by the file that has it, and by its number there.
#[test]
fn damage_is_found_in_its_stripe() {
    let striped = Striped::new();
    let damaged = striped.stripes[1].join("out.adjacency");
    let mut bytes = std::fs::read(&damaged).unwrap();
    bytes[4096] ^= 1;
    std::fs::write(&damaged, bytes).unwrap();
    match striped.error() {
        GraphError::Storage(StorageError::Checksum { path, page }) => {
            assert_eq!((path, page), (damaged.clone(), 1));
        }
        error => panic!("{error}"),
    }
    let check = outercore_graph::check(&Disk::new(), &striped.path(), &outercore_graph::Silent);
    let faults = check.unwrap();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].path == damaged && faults[0].what.contains("page 1 of"), "{faults:?}");
}

#[test]
fn a_missing_stripe_folder_is_named() {
    let striped = Striped::new();
    let (stripe, away) = (&striped.stripes[2], striped.folder.path().join("away"));
    std::fs::rename(stripe, &away).unwrap();
    let error = striped.open().err().expect("a folder is missing");
    assert!(error.to_string().contains(stripe.to_str().unwrap()), "{error}");
    std::fs::rename(&away, stripe).unwrap();
    striped.assert_whole();
}

/// The widths of the grid's intervals, and the words of the largest tile.
fn cut(graph: &Graph) -> (Vec<u64>, u64) {
    let grid = graph.grid().unwrap();
    let widths = grid.intervals.windows(2).map(|pair| pair[1] - pair[0]).collect();
    (widths, grid.tiles.iter().map(Tile::words).max().unwrap())
}

/// The grid's intervals are cut where `partition` says, and the edges are the same.
#[test]
fn the_partition_changes_the_intervals_and_not_the_edges() {
    let vertices = 40_000u64;
    // The first vertices are the targets of most edges.
    let edge = |index: u64| {
        let target = (index * index * 7 % 1_000_003) % vertices % (1 + index % vertices);
        (index * 31 % vertices, target)
    };
    let edges: Vec<Edge> = (0..1_500_000u64).map(edge).collect();
    let cuts = [GridPartition::Balanced, GridPartition::Uniform].map(|partition| {
        let folder = tempfile::tempdir().unwrap();
        let options = BuildOptions { partition, ..BuildOptions::default() };
        let graph = build_with(folder.path(), vertices, &edges, false, options);
        let lists = stream(&graph, &config(2), |_| true, PLAIN).unwrap().edges;
        assert!(lists == expected(vertices, &edges, false, |_| true), "{partition:?}: other lists");
        cut(&graph)
    });
    let [(balanced, most_balanced), (uniform, most_uniform)] = cuts;
    assert!(balanced.len() > 8 && uniform.len() > 8, "{balanced:?} {uniform:?}");
    // What is sorted together ends intervals, too; between these ends widths are equal.
    let width = *uniform.iter().max().unwrap();
    let mut end = 0;
    let ends: Vec<u64> = uniform
        .iter()
        .map(|width| {
            end += width;
            end
        })
        .collect();
    assert!((1..=vertices / width).all(|place| ends.contains(&(place * width))), "{uniform:?}");
    assert!(balanced.iter().max() > balanced.iter().min(), "{balanced:?}");
    assert!(
        most_balanced * 2 < most_uniform,
        "the largest tile has {most_balanced} words, or {most_uniform} where widths are equal"
    );
}
