//! Products of two graphs whose triangles are known: vertex (a, b) has 2 * t(a) * t(b) of them, all
//! together 6 * t(A) * t(B), for any size of product. `make soak` takes the factors of scale 12,
//! whose product has 268 million edges and three billion triangles.

use std::io::{BufWriter, Write};
use std::path::Path;

use outercore_algorithms::Request;
use outercore_engine::{Figure, MemoryModel, RunConfig};
use outercore_graph::{
    BuildOptions, Graph, Key,
    input::{self, Format, Input, InputOptions},
};
use outercore_storage::Disk;
use outercore_testing::{config, data, values};

/// A factor: its edges, each once, and the triangles that each edge is in.
struct Factor {
    vertices: u64,
    edges: Vec<[u64; 3]>,
}

impl Factor {
    fn parse(text: &[u8]) -> Self {
        let lines = std::str::from_utf8(text).unwrap().lines();
        let mut lines = lines.map(|line| {
            line.split_ascii_whitespace()
                .map(|number| number.parse().unwrap())
                .collect::<Vec<u64>>()
        });
        let vertices = lines.next().expect("the first line has the number of vertices")[0];
        Self { vertices, edges: lines.map(|line| [line[0], line[1], line[2]]).collect() }
    }

    /// For each vertex its degree, and twice its triangles.
    fn counts(&self) -> Vec<(u64, u64)> {
        let mut counts = vec![(0, 0); self.vertices as usize];
        for &[a, b, triangles] in &self.edges {
            for end in [a, b] {
                counts[end as usize].0 += 1;
                counts[end as usize].1 += triangles;
            }
        }
        counts
    }

    fn triangles(&self) -> u64 {
        self.edges.iter().map(|edge| edge[2]).sum::<u64>() / 3
    }
}

/// The product as pairs in a file: each edge of A once, of B from both ends, so that each edge of
/// the product is there once.
fn write(path: &Path, a: &Factor, b: &Factor) {
    let mut file = BufWriter::new(std::fs::File::create(path).unwrap());
    for &[from, to, _] in &a.edges {
        for [source, target] in b.edges.iter().flat_map(|&[c, d, _]| [[c, d], [d, c]]) {
            for id in [from * b.vertices + source, to * b.vertices + target] {
                file.write_all(&(id as u32).to_le_bytes()).unwrap();
            }
        }
    }
    file.into_inner().unwrap();
}

/// The product, built.
fn product(folder: &Path, a: &Factor, b: &Factor) -> Graph {
    let (pairs, output) = (folder.join("pairs.u32"), folder.join("product.oc"));
    write(&pairs, a, b);
    let disk = Disk::new();
    let options =
        InputOptions { directed: Some(false), format: Format::PairsU32, ..InputOptions::default() };
    let input = input::open(&disk, &[Input::from(&pairs)], &options).unwrap();
    let build =
        BuildOptions { memory: 512 << 20, threads: 2, simple: true, ..BuildOptions::default() };
    outercore_graph::build(&disk, input.as_ref(), &output, &build, &outercore_graph::Silent)
        .unwrap();
    std::fs::remove_file(&pairs).unwrap();
    let graph = Graph::open(&disk, &output).unwrap();
    let edges = 2 * a.edges.len() as u64 * b.edges.len() as u64;
    assert_eq!(graph.edges(), edges, "no edge is there twice, and none is a loop");
    graph
}

#[test]
fn products_have_the_triangles_of_their_factors() {
    let scale = std::env::var("OUTERCORE_KRONECKER")
        .map_or(10, |scale| scale.parse().expect("OUTERCORE_KRONECKER is a scale, 10 to 13"));
    let Some(files) = data::archive("havoqgt/havoqgt-rmat17-kronS10-13.tar.zst") else { return };
    let [a, b] =
        ["A", "B"].map(|side| Factor::parse(&files[&format!("{side}_G500_S{scale}_tc.edges")]));
    let folder = tempfile::tempdir().unwrap();
    let graph = product(folder.path(), &a, &b);
    let semi = Some(MemoryModel::SemiExternal);
    let config = RunConfig { memory: 512 << 20, model: semi, ..config() };
    let run = |name| outercore_testing::run(&graph, name, &Request::default(), &config);
    let expected = 6 * a.triangles() * b.triangles();
    assert_eq!(run("triangles").report.summary["triangles"], Figure::Integer(expected));
    // The coefficient of a vertex is its triangles among the pairs of its neighbors.
    let (of_a, of_b) = (a.counts(), b.counts());
    let clustering = values(&run("clustering")).swap_remove(0);
    // At larger scales a sample: ids are looked up one by one.
    let step = if scale > 10 { 1000 } else { 10 };
    for vertex in (0..graph.connected()).step_by(step) {
        let Key::Number(id) = graph.key_of(vertex).unwrap() else { panic!("ids are numbers") };
        let ((degree_a, twice_a), (degree_b, twice_b)) =
            (of_a[(id / b.vertices) as usize], of_b[(id % b.vertices) as usize]);
        let degree = (degree_a * degree_b) as f64;
        let expected =
            if degree < 2.0 { 0.0 } else { (twice_a * twice_b) as f64 / (degree * (degree - 1.0)) };
        let found = clustering[vertex as usize].number().unwrap();
        assert!((found - expected).abs() <= 1e-12, "vertex {id}: {found} instead of {expected}");
    }
}
