//! What is looked at before a run reads anything in full: some degrees, and the first weights. Both
//! are verified.

use std::sync::atomic::Ordering::Relaxed;

use outercore_graph::{Graph, GraphError, Order, Result};
use outercore_storage::StorageError;
use outercore_testing::{Built, Edges, Recipe, build};

const VERTICES: u32 = 30_000;

/// Every vertex has the next one as a neighbor and itself, and the first ones have more.
fn edges() -> Edges {
    let next =
        (0..VERTICES).flat_map(|vertex| [(vertex, (vertex + 1) % VERTICES), (vertex, vertex)]);
    let more = |hub: u32| (0..=hub % 5).map(move |step| (hub, (hub * 7 + step * step) % VERTICES));
    let pairs: Vec<_> = next.chain((0..VERTICES / 4).flat_map(more)).collect();
    let mut edges = Edges::of(&pairs, true);
    edges.edges.iter_mut().for_each(|(from, to, weight)| *weight = f64::from((*from ^ *to) % 1000));
    edges
}

fn built(order: Order) -> Built {
    build(&edges(), &Recipe { order, ..Recipe::default() })
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
        GraphError::Storage(StorageError::Checksum { page: found, .. }) if found == page as u64
    )
}

#[test]
fn the_front_is_where_the_order_by_degree_says_and_elsewhere_unknown() {
    let mut degrees = vec![0u64; VERTICES as usize];
    for (source, target, _) in edges().arcs() {
        degrees[source] += 1;
        degrees[target] += 1;
    }
    for order in [Order::Degree, Order::Original] {
        let built = built(order);
        for least in [1, 5, 7, 9, 20, 1000] {
            let count = degrees.iter().filter(|&&degree| degree >= least).count() as u64;
            let expected = order.is_by_degree().then_some(count);
            assert_eq!(built.graph.front(least).unwrap(), expected, "{order:?}, {least}");
        }
    }
}

#[test]
fn the_front_is_asked_once() {
    let built = built(Order::Degree);
    let read = || built.graph.disk().counters().bytes_read.load(Relaxed);
    let front = built.graph.front(7).unwrap();
    let before = read();
    assert_eq!(built.graph.front(7).unwrap(), front);
    assert_eq!(read(), before);
    built.graph.front(9).unwrap();
    assert!(read() > before);
}

#[test]
fn a_damaged_page_of_degrees_is_found_by_the_first_look() {
    for section in ["out.degrees", "in.degrees"] {
        let built = built(Order::Degree);
        let graph = &built.graph;
        // The middle is looked at first.
        let byte = VERTICES as usize / 2 * 4;
        flip(graph, section, byte);
        assert!(is_damage(graph.front(7), byte / 4096), "{section}");
        flip(graph, section, byte);
        assert!(graph.front(7).unwrap().is_some());
    }
}

#[test]
fn a_damaged_page_of_the_first_weights_is_found() {
    let built = built(Order::Original);
    let graph = &built.graph;
    let mut weights: Vec<_> = edges().arcs().collect();
    weights.sort_by_key(|&(source, target, _)| (source, target));
    weights.truncate((1 << 16) / graph.manifest().weight_bytes as usize);
    let sum: f64 = weights.iter().map(|&(_, _, weight)| weight).sum();
    assert_eq!(graph.mean_weight().unwrap(), sum / weights.len() as f64);
    for byte in [0, 5000, (1 << 16) - 1] {
        flip(graph, "out.weights", byte);
        assert!(is_damage(graph.mean_weight(), byte / 4096), "byte {byte}");
        flip(graph, "out.weights", byte);
    }
}
