//! What the golden graphs say, by `docs/format.md`.

use outercore_graph::Layout;
use serde_json::{Value, json};

/// Skips among the words: the sources from the leaves to the last vertex are far apart. Gaps take a
/// skip from one source to a distant one, and shorter words in return.
pub fn skips(name: &str, version: u32) -> u64 {
    match (name, version) {
        ("directed", 4..) => 6,
        ("directed", _) => 1,
        _ => 0,
    }
}

/// What the manifest of a golden graph says, beside its uuid and its sections.
pub fn manifest(name: &str, version: u32, layout: Layout) -> Value {
    let common = json!({
        "outercore": "graph", "version": version, "simple": false, "neighbor_bytes": 1,
        "stripe_unit": 1 << 20, "stripes": [],
    });
    let mut all = common;
    for part in [own(name, version), formats(name, layout), extra(name, version)] {
        all.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
    }
    all
}

/// What it says of the graph itself.
fn own(name: &str, version: u32) -> Value {
    match name {
        "undirected" => json!({
            "vertices": 8, "connected": 6, "edges": 8, "arcs": 15,
            "directed": false, "transpose": false,
            "weights": "none", "weight_bytes": 0, "negative_weights": false,
            "id_bytes": 1, "ids": {"kind": "numbers"}, "order": "degree",
            "max_out_degree": [4, 0], "max_in_degree": 4, "grid_words": 15,
        }),
        "directed" => json!({
            "vertices": 142, "connected": 142, "edges": 144, "arcs": 144,
            "directed": true, "transpose": true,
            "weights": "f32", "weight_bytes": 4, "negative_weights": true,
            "id_bytes": 1, "ids": {"kind": "names"}, "order": "degree",
            "max_out_degree": [141, 0], "max_in_degree": 3,
            "grid_words": 144 + skips(name, version),
        }),
        "hybrid" => json!({
            "vertices": 8192, "connected": 8192, "edges": 4111, "arcs": 4111,
            "directed": true, "transpose": false,
            "weights": "u32", "weight_bytes": 1, "negative_weights": false,
            "neighbor_bytes": 2,
            "id_bytes": 0, "ids": {"kind": "range", "first": 0}, "order": "original",
            "max_out_degree": [3, 6], "max_in_degree": 0, "grid_words": 4096,
        }),
        _ => json!({
            "vertices": 4, "connected": 4, "edges": 4, "arcs": 4,
            "directed": true, "transpose": false,
            "weights": "u32", "weight_bytes": 2, "negative_weights": false,
            "id_bytes": 0, "ids": {"kind": "range", "first": 1}, "order": "original",
            "max_out_degree": [2, 0], "max_in_degree": 0, "grid_words": 4,
        }),
    }
}

/// What it says of duplicates and loops, which were counted from some time in version 4 on.
fn extra(name: &str, version: u32) -> Value {
    let count = u64::from(name != "plain");
    match version {
        ..5 => json!({}),
        _ => json!({"extra": {"duplicates": count, "self_loops": count}}),
    }
}

/// What it says of the formats of its edges.
fn formats(name: &str, layout: Layout) -> Value {
    match layout {
        Layout::Grid => json!({}),
        Layout::Row => json!({"layout": "row", "grid_words": 0}),
        // Cells 0 1 / 2 3, of which all but the second are in row format.
        Layout::Hybrid if name == "hybrid" => json!({
            "layout": "hybrid",
            "hybrid": {
                "ranges": 2, "row_cells": 3, "grid_cells": 1,
                "row_arcs": 15, "grid_arcs": 4096, "rows": "0d",
            },
        }),
        Layout::Hybrid => json!({
            "layout": "hybrid", "grid_words": 0,
            "hybrid": {
                "ranges": 1, "row_cells": 1, "grid_cells": 0,
                "row_arcs": 15, "grid_arcs": 0, "rows": "01",
            },
        }),
    }
}

/// The sections of a golden graph: those that `docs/format.md` says there are, sorted by name.
pub fn sections(name: &str, layout: Layout) -> Vec<&'static str> {
    let mut names = vec![
        "out.degrees",
        "out.index",
        "out.adjacency",
        "grid.stripes",
        "grid.tiles",
        "grid.chunks",
        "grid.words",
    ];
    names.extend(match name {
        "undirected" => &["out.heads", "ids.keys", "ids.vertex", "ids.rank"][..],
        "directed" => &[
            "out.weights",
            "grid.weights",
            "in.degrees",
            "in.index",
            "in.adjacency",
            "in.weights",
            "in.heads",
            "ids.keys",
            "ids.ends",
            "ids.vertex",
            "ids.rank",
        ],
        _ => &["out.weights", "grid.weights"],
    });
    if layout == Layout::Hybrid {
        names.extend(["row.degrees", "row.index", "row.adjacency"]);
    }
    names.sort_unstable();
    names
}
