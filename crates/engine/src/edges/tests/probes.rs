//! What is looked at before a run reads anything in full: some degrees, and the first weights. Both
//! are verified.

use std::path::Path;

use super::{Edge, all, build_ordered, weight};
use crate::{
    EngineError, Result,
    edges::{degrees::front, rows::mean_weight},
};
use outercore_graph::{BuildOptions, Graph, GraphError, Order};
use outercore_storage::StorageError;

const VERTICES: u64 = 30_000;

/// Every vertex has the next one as a neighbor, and the first ones have more.
fn edges() -> Vec<Edge> {
    let next = |vertex| (vertex, (vertex + 1) % VERTICES);
    let more = |hub: u64| (0..=hub % 5).map(move |step| (hub, (hub * 7 + step * step) % VERTICES));
    (0..VERTICES).map(next).chain((0..VERTICES / 4).flat_map(more)).collect()
}

fn graph(folder: &Path, order: Order) -> Graph {
    let options = BuildOptions { order, ..BuildOptions::default() };
    build_ordered(folder, VERTICES, &edges(), true, options)
}

/// Flips a bit of a section.
fn flip(graph: &Graph, section: &str, byte: usize) {
    let path = graph.section(section).unwrap().path().to_owned();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[byte] ^= 4;
    std::fs::write(&path, bytes).unwrap();
}

fn is_damage<T>(result: Result<T>, page: usize) -> bool {
    matches!(
        result.err().expect("a page is damaged"),
        EngineError::Graph(GraphError::Storage(StorageError::Checksum { page: found, .. }))
            if found == page as u64
    )
}

#[test]
fn the_front_is_where_the_order_by_degree_says_and_elsewhere_unknown() {
    let mut degrees = vec![0u64; VERTICES as usize];
    for (source, target) in all(VERTICES, &edges()) {
        degrees[source as usize] += 1;
        degrees[target as usize] += 1;
    }
    for order in [Order::Degree, Order::Original] {
        let folder = tempfile::tempdir().unwrap();
        let graph = graph(folder.path(), order);
        for least in [1, 5, 7, 9, 20, 1000] {
            let count = degrees.iter().filter(|&&degree| degree >= least).count() as u64;
            let expected = order.is_by_degree().then_some(count);
            assert_eq!(front(&graph, least).unwrap(), expected, "{order:?}, {least}");
        }
    }
}

#[test]
fn a_damaged_page_of_degrees_is_found_by_the_first_look() {
    for section in ["out.degrees", "in.degrees"] {
        let folder = tempfile::tempdir().unwrap();
        let graph = graph(folder.path(), Order::Degree);
        // The middle is looked at first.
        let byte = VERTICES as usize / 2 * 4;
        flip(&graph, section, byte);
        assert!(is_damage(front(&graph, 7), byte / 4096), "{section}");
        flip(&graph, section, byte);
        assert!(front(&graph, 7).unwrap().is_some());
    }
}

#[test]
fn a_damaged_page_of_the_first_weights_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), Order::Original);
    let mut first: Vec<Edge> = all(VERTICES, &edges());
    first.truncate((1 << 16) / graph.manifest().weight_bytes as usize);
    let mean = first.iter().map(|&edge| weight(edge) as f64).sum::<f64>() / first.len() as f64;
    assert_eq!(mean_weight(&graph).unwrap(), mean);
    for byte in [0, 5000, (1 << 16) - 1] {
        flip(&graph, "out.weights", byte);
        assert!(is_damage(mean_weight(&graph), byte / 4096), "byte {byte}");
        flip(&graph, "out.weights", byte);
    }
}
