//! Lists of edges, written as text and built by the real reader and builder.
//!
//! A vertex of a list has a number; in the built graph it is known by an original id ([`Ids`]) and
//! by an internal one. Every comparison goes by original id, so that the tables of ids are tested
//! with everything else.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use outercore_graph::generate::Rmat;
use outercore_graph::input::{self, Input, InputOptions};
use outercore_graph::{
    BuildOptions, Direction, Graph, GraphError, Key, Keys, Order, Silent, WeightKind,
    format::Manifest,
};
use outercore_storage::Disk;

use crate::{Edges, Ids, edges::random_text, folder, text};

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
    /// Every vertex is listed in a vertex file.
    pub lists: bool,
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
            lists: false,
        }
    }
}

/// A graph in a folder of its own, and the way from its original ids to the vertices of its list.
pub struct Built {
    /// The opened graph.
    pub graph: Graph,
    /// From a vertex of the list to its internal id.
    pub internal: Vec<u64>,
    /// From an internal id to the vertex of the list.
    pub vertex: Vec<u32>,
    /// How vertices are called.
    pub ids: Ids,
    _folder: tempfile::TempDir,
}

/// Builds `edges`; `check` finds no fault in the graph.
pub fn build(edges: &Edges, recipe: &Recipe) -> Built {
    let folder = folder();
    let disk = Disk::new();
    let inside = |name: &str| folder.path().join(name);
    let weighted = recipe.weights != WeightKind::None;
    std::fs::write(inside("edges.txt"), text(edges, recipe.ids, weighted)).expect("a folder");
    let mut input = InputOptions {
        weights: Some(recipe.weights),
        directed: Some(edges.directed),
        ..InputOptions::default()
    };
    if recipe.lists {
        let line = |vertex| format!("{}\n", recipe.ids.key(vertex));
        let lines: String = (0..edges.n as u32).map(line).collect();
        std::fs::write(inside("vertices.txt"), lines).expect("a folder");
        input.vertices.push(inside("vertices.txt"));
    }
    let options = BuildOptions {
        memory: recipe.mib << 20,
        threads: recipe.threads,
        weights: Some(recipe.weights),
        order: recipe.order,
        simple: recipe.simple,
        transpose: recipe.transpose,
        stripes: (0..recipe.stripes).map(|stripe| inside(&format!("stripe {stripe}"))).collect(),
        ..BuildOptions::default()
    };
    let output = inside("graph.oc");
    build_input(&disk, &inside("edges.txt"), &output, &input, &options).expect("a graph");
    let faults = outercore_graph::check(&disk, &output, &Silent).expect("a graph");
    assert!(faults.is_empty(), "{faults:?}");
    let graph = Graph::open(&disk, &output).expect("a graph");
    let (internal, vertex) = table(&graph, recipe.ids, edges.n);
    Built { graph, internal, vertex, ids: recipe.ids, _folder: folder }
}

/// Both ways between the vertices of the list and internal ids. Looks at the table of ids on the
/// way.
fn table(graph: &Graph, ids: Ids, n: usize) -> (Vec<u64>, Vec<u32>) {
    assert_eq!(graph.vertices(), n as u64, "vertices");
    let by_key: HashMap<Key, u32> = (0..n as u32).map(|vertex| (ids.key(vertex), vertex)).collect();
    let (mut internal, mut vertex) = (vec![u64::MAX; n], vec![u32::MAX; n]);
    let mut last: Option<Key> = None;
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
    // A batch of 7: batches end everywhere.
    graph.for_each_key(if n < 10_000 { 7 } else { 1 << 16 }, visit).expect("a table of ids");
    let whole = !internal.contains(&u64::MAX) && !vertex.contains(&u32::MAX);
    assert!(whole, "every vertex has one id");
    for number in (0..n).step_by((n / 50).max(1)) {
        let key = ids.key(number as u32);
        assert_eq!(graph.find(&key).expect("a table of ids"), Some(internal[number]), "{key}");
        assert_eq!(graph.key_of(internal[number]).expect("a table of ids"), key);
    }
    (internal, vertex)
}

/// The smallest budget, one thread: the same operations in the same order each time.
pub fn options() -> BuildOptions {
    BuildOptions { memory: 64 << 20, threads: 1, ..BuildOptions::default() }
}

/// Reads the file `input` and builds `output` through `disk`.
pub fn build_file(
    disk: &Disk,
    input: &Path,
    output: &Path,
    options: &BuildOptions,
) -> Result<Manifest, GraphError> {
    build_input(disk, input, output, &InputOptions::default(), options)
}

/// A small graph, for tests that change it, and `edges.txt` beside it, which it was made of.
pub fn small_graph() -> (tempfile::TempDir, PathBuf) {
    random_graph(Ids::Sparse, (300, 2000, 3), &options())
}

/// The same from so many vertices and lines, with this seed: [`random_text`].
pub fn random_graph(
    ids: Ids,
    (vertices, lines, seed): (u32, usize, u64),
    options: &BuildOptions,
) -> (tempfile::TempDir, PathBuf) {
    let folder = folder();
    let (input, graph) = (folder.path().join("edges.txt"), folder.path().join("graph.oc"));
    std::fs::write(&input, random_text(ids, vertices, lines, seed)).expect("a file is written");
    build_file(&Disk::new(), &input, &graph, options).expect("a graph is built");
    (folder, graph)
}

fn build_input(
    disk: &Disk,
    input: &Path,
    output: &Path,
    how: &InputOptions,
    options: &BuildOptions,
) -> Result<Manifest, GraphError> {
    let source = input::open(disk, &[Input::from(input)], how)?;
    outercore_ordering::build(disk, source.as_ref(), output, options, &Silent)
}

/// How graphs without directions are built.
pub fn undirected() -> BuildOptions {
    BuildOptions { memory: 256 << 20, threads: 2, directed: Some(false), ..BuildOptions::default() }
}

/// Builds a generated graph as `path` and opens it.
pub fn generate(path: PathBuf, rmat: Rmat, options: BuildOptions) -> Graph {
    let source = rmat.source().expect("a source");
    outercore_graph::build(&Disk::new(), &source, &path, &options, &Silent).expect("a graph");
    Graph::open(&Disk::new(), &path).expect("a graph")
}

/// The edges of a graph with edges alone, by internal ids.
pub fn internal_edges(graph: &Graph) -> Edges {
    let (mut rows, mut edges) = (graph.row_reader(Direction::Out).unwrap(), Vec::new());
    let visit = &mut |vertex: u64, neighbors: &[u64], weights: &[f64]| {
        let ends = neighbors.iter().zip(weights);
        edges.extend(ends.map(|(&neighbor, &weight)| (vertex as u32, neighbor as u32, weight)));
        Ok(())
    };
    rows.for_each(visit).unwrap();
    // An undirected edge is in the lists of both ends.
    Edges { n: graph.connected() as usize, directed: true, edges }
}

/// The lists of a direction, by internal ids.
pub fn lists(graph: &Graph, direction: Direction) -> Vec<Vec<usize>> {
    let mut lists = vec![Vec::new(); graph.connected() as usize];
    let mut rows = graph.row_reader(direction).unwrap();
    let visit = &mut |vertex: u64, neighbors: &[u64], _: &[f64]| {
        lists[vertex as usize].extend(neighbors.iter().map(|&neighbor| neighbor as usize));
        Ok(())
    };
    rows.for_each(visit).unwrap();
    lists
}
