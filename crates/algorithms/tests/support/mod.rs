//! What the tests of whole runs share: edges as text, built by the real reader and builder, and
//! answers by the vertices of a reference graph.
//!
//! A vertex of a reference graph has a number; in the built graph it is known by an original id
//! ([`Ids`]) and by an internal one. Every comparison goes by original id, so that the tables of
//! ids are tested with everything else.

// Each test file is a program of its own and few need everything.
#![allow(dead_code)]

pub mod data;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use outercore_engine::{Cell, Column, Meaning, Outcome, RunConfig, Silent};
use outercore_graph::input::{self, Input, InputOptions};
use outercore_graph::{BuildOptions, Graph, Key, Keys, Order, WeightKind};
use outercore_storage::{Disk, HugePages};

use crate::reference::Edges;

/// How the vertices `0..n` of a reference graph are called in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    /// 0, 1, 2 ...
    Zero,
    /// 1, 2, 3 ...
    One,
    /// Numbers all over the range of 64 bits.
    Sparse,
    /// Words.
    Names,
}

impl Ids {
    /// All of them.
    pub const ALL: [Ids; 4] = [Ids::Zero, Ids::One, Ids::Sparse, Ids::Names];

    /// The original id of a vertex.
    pub fn key(self, vertex: u32) -> Key {
        match self {
            Ids::Zero => Key::Number(vertex.into()),
            Ids::One => Key::Number(u64::from(vertex) + 1),
            // An odd factor: a bijection.
            Ids::Sparse => Key::Number(
                u64::from(vertex).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x0123_4567_89ab_cdef,
            ),
            Ids::Names => Key::Name(format!("v{:x}-\u{fc}", vertex.wrapping_mul(0x9e37_79b1))),
        }
    }
}

/// How a graph is built.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Original ids.
    pub ids: Ids,
    /// The weights that are kept.
    pub weights: WeightKind,
    /// The order of the vertices.
    pub order: Order,
    /// Duplicates and loops dropped.
    pub simple: bool,
    /// Incoming rows kept.
    pub transpose: bool,
    /// Directories to stripe over.
    pub stripes: usize,
    /// Threads.
    pub threads: usize,
    /// The builder's budget in MiB.
    pub mib: u64,
}

impl Default for Recipe {
    fn default() -> Self {
        Self {
            ids: Ids::Zero,
            weights: WeightKind::U32,
            order: Order::Degree,
            simple: false,
            transpose: true,
            stripes: 0,
            threads: 2,
            mib: 128,
        }
    }
}

/// A graph in a folder of its own, and the way from its original ids to the vertices of its
/// reference.
pub struct Built {
    /// The opened graph.
    pub graph: Graph,
    /// From a vertex of the reference to its internal id.
    pub internal: Vec<u64>,
    /// From an internal id to the vertex of the reference.
    pub vertex: Vec<u32>,
    /// How vertices are called.
    pub ids: Ids,
    folder: tempfile::TempDir,
}

/// A folder that is quick to sync, where the system has one: thousands of small graphs are built,
/// and what is tested is their content.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// The edges as lines of text.
pub fn text(edges: &Edges, ids: Ids, weighted: bool) -> String {
    let mut text = String::new();
    for &(source, target, weight) in &edges.edges {
        write!(text, "{}\t{}", ids.key(source), ids.key(target)).unwrap();
        if weighted {
            write!(text, "\t{weight}").unwrap();
        }
        text.push('\n');
    }
    text
}

/// Builds `edges`, every vertex of which is listed in a vertex file if `lists`.
pub fn build(edges: &Edges, recipe: &Recipe, lists: bool) -> Built {
    let folder = folder();
    let disk = Disk::new();
    let input = folder.path().join("edges.txt");
    std::fs::write(&input, text(edges, recipe.ids, recipe.weights != WeightKind::None)).unwrap();
    let mut options = InputOptions {
        weights: Some(recipe.weights),
        directed: Some(edges.directed),
        ..InputOptions::default()
    };
    if lists {
        let path = folder.path().join("vertices.txt");
        let lines: String =
            (0..edges.n as u32).map(|vertex| format!("{}\n", recipe.ids.key(vertex))).collect();
        std::fs::write(&path, lines).unwrap();
        options.vertices.push(path);
    }
    let source = input::open(&disk, &[Input::from(&input)], &options).unwrap();
    let build = BuildOptions {
        memory: recipe.mib << 20,
        threads: recipe.threads,
        weights: Some(recipe.weights),
        order: recipe.order,
        simple: recipe.simple,
        transpose: recipe.transpose,
        stripes: (0..recipe.stripes)
            .map(|stripe| folder.path().join(format!("stripe {stripe}")))
            .collect(),
        ..BuildOptions::default()
    };
    let output = folder.path().join("graph.oc");
    outercore_graph::build(&disk, source.as_ref(), &output, &build, &outercore_graph::Silent)
        .unwrap();
    let graph = Graph::open(&disk, &output).unwrap();
    let faults = outercore_graph::check(&disk, &output, &outercore_graph::Silent).unwrap();
    assert!(faults.is_empty(), "{faults:?}");
    let (internal, vertex) = table(&graph, recipe.ids, edges.n);
    Built { graph, internal, vertex, ids: recipe.ids, folder }
}

impl Built {
    /// The graph's folder.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("graph.oc")
    }
}

/// Both ways between the vertices of the reference and internal ids.
pub fn table(graph: &Graph, ids: Ids, n: usize) -> (Vec<u64>, Vec<u32>) {
    assert_eq!(graph.vertices(), n as u64, "vertices");
    let by_key: HashMap<Key, u32> = (0..n as u32).map(|vertex| (ids.key(vertex), vertex)).collect();
    let (mut internal, mut vertex) = (vec![u64::MAX; n], vec![u32::MAX; n]);
    let mut last: Option<Key> = None;
    // A batch of 7: batches end everywhere.
    let visit = &mut |keys: &Keys, ids: &[u64]| {
        assert_eq!(keys.len(), ids.len());
        for (index, &id) in ids.iter().enumerate() {
            let key = keys.get(index);
            assert!(last.as_ref().is_none_or(|last| *last < key), "{key} is out of order");
            let number = by_key[&key];
            (internal[number as usize], vertex[id as usize]) = (id, number);
            last = Some(key);
        }
        Ok(())
    };
    graph.for_each_key(if n < 10_000 { 7 } else { 1 << 16 }, visit).unwrap();
    assert!(
        !internal.contains(&u64::MAX) && !vertex.contains(&u32::MAX),
        "every vertex has one id"
    );
    let step = (n / 50).max(1);
    for number in (0..n).step_by(step) {
        let key = ids.key(number as u32);
        assert_eq!(graph.find(&key).unwrap(), Some(internal[number]), "{key}");
        assert_eq!(graph.key_of(internal[number]).unwrap(), key);
    }
    (internal, vertex)
}

/// The values of a column by the vertices of the reference; a value that is a vertex is one of the
/// reference too.
pub fn cells(built: &Built, column: &Column) -> Vec<Cell> {
    let translated = |cell| match cell {
        Cell::Integer(id) if column.meaning == Meaning::Vertex => {
            Cell::Integer(built.vertex[id as usize].into())
        }
        cell => cell,
    };
    column.gather(&built.internal).unwrap().into_iter().map(translated).collect()
}

/// A value that is whole, or absent.
pub fn whole(cell: Cell) -> Option<u64> {
    match cell {
        Cell::Null => None,
        Cell::Integer(value) => Some(value),
        Cell::Float(value) => panic!("{value} where a whole number is expected"),
    }
}

/// A value that is a number, or absent.
pub fn number(cell: Cell) -> Option<f64> {
    match cell {
        Cell::Null => None,
        Cell::Integer(value) => Some(value as f64),
        Cell::Float(value) => Some(value),
    }
}

/// Everything that must not differ between two runs of the same question: all columns, bit by bit.
pub fn bits(built: &Built, outcome: &Outcome) -> Vec<Vec<u64>> {
    let bit = |cell| match cell {
        Cell::Null => u64::MAX,
        Cell::Integer(value) => value,
        Cell::Float(value) => value.to_bits(),
    };
    outcome
        .columns
        .iter()
        .map(|column| cells(built, column).into_iter().map(bit).collect())
        .collect()
}

/// A configuration for small graphs: a modest budget, no huge pages (which would cost more than the
/// runs).
pub fn config() -> RunConfig {
    RunConfig { memory: 256 << 20, threads: 2, huge_pages: HugePages::Off, ..RunConfig::default() }
}

/// Runs an algorithm by its name.
pub fn run(
    graph: &Graph,
    name: &str,
    request: &outercore_algorithms::Request,
    config: &RunConfig,
) -> Outcome {
    let algorithm = outercore_algorithms::by_name(name, request).unwrap();
    algorithm.run(graph, config, &Silent).unwrap_or_else(|error| panic!("{name}: {error}"))
}
