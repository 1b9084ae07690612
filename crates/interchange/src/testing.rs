//! Small graphs for the tests.

use std::path::Path;

use outercore_graph::{BuildOptions, Graph, Silent, build, input::EdgeSource};
use outercore_storage::Disk;

/// A graph in a folder that goes with it.
pub(crate) struct Fixture {
    pub dir: tempfile::TempDir,
    pub graph: Graph,
}

/// The graph of an edge list in text, and perhaps of a list of vertices.
pub(crate) fn built(text: &str, vertices: Option<&str>) -> Fixture {
    built_with(text, vertices, &BuildOptions { memory: 256 << 20, ..BuildOptions::default() })
}

/// The same with options.
pub(crate) fn built_with(text: &str, vertices: Option<&str>, options: &BuildOptions) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let edges = dir.path().join("edges.txt");
    std::fs::write(&edges, text).unwrap();
    let mut input = outercore_graph::input::InputOptions::default();
    if let Some(vertices) = vertices {
        input.vertices.push(dir.path().join("vertices.txt"));
        std::fs::write(&input.vertices[0], vertices).unwrap();
    }
    let source =
        crate::open(&Disk::new(), &[edges.into()], crate::EdgeFormat::default(), &input).unwrap();
    let graph = graph_of(&*source, dir.path(), options);
    Fixture { dir, graph }
}

/// Builds a graph in a folder.
pub(crate) fn graph_of(source: &dyn EdgeSource, folder: &Path, options: &BuildOptions) -> Graph {
    let disk = Disk::new();
    let path = folder.join("graph.oc");
    build(&disk, source, &path, options, &Silent).unwrap();
    Graph::open(&disk, &path).unwrap()
}
