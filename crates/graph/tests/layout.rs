//! The layouts: what is in row format and what is in grid format are together the complete lists,
//! each edge on its side of the decision, whatever the graph and the build.

#[allow(dead_code)]
#[path = "golden/decode.rs"]
mod decode;
#[path = "golden/forge.rs"]
mod forge;

use std::path::{Path, PathBuf};

use decode::{Decoded, Edge, numbers};
use forge::{forge, seal};
use outercore_graph::{
    BuildOptions, Graph, GraphError, Layout, Order, Silent, check,
    format::{MANIFEST, Manifest},
    generate::{GeneratedWeights, Rmat},
    input::{self, EdgeSource, Input, InputOptions},
};
use outercore_storage::Disk;
use serde_json::{Value, json};

const LAYOUTS: [Layout; 3] = [Layout::Grid, Layout::Row, Layout::Hybrid];

fn options() -> BuildOptions {
    BuildOptions { memory: 96 << 20, threads: 2, ..BuildOptions::default() }
}

/// Some 14,000 vertices with edges: three ranges, and cells on both sides of the decision.
fn rmat() -> Rmat {
    Rmat { edge_factor: 3, ..Rmat::new(15, 7) }
}

fn build(source: &dyn EdgeSource, path: &Path, options: &BuildOptions) -> Decoded {
    outercore_graph::build(&Disk::new(), source, path, options, &Silent).unwrap();
    assert_eq!(check(&Disk::new(), path, &Silent).unwrap(), [], "{}", path.display());
    Decoded::open(path)
}

fn text(folder: &Path, lines: &str) -> Box<dyn EdgeSource> {
    let path = folder.join("edges.txt");
    std::fs::write(&path, lines).unwrap();
    input::open(&Disk::new(), &[Input::from(path)], &InputOptions::default()).unwrap()
}

/// Edges without their weights, sorted.
fn plain(edges: Vec<Edge>) -> Vec<(u64, u64)> {
    let mut edges: Vec<(u64, u64)> =
        edges.into_iter().map(|(source, target, _)| (source, target)).collect();
    edges.sort_unstable();
    edges
}

/// Whether an edge is in row format, as `docs/format.md` says.
fn in_rows(graph: &Decoded, (source, target): (u64, u64)) -> bool {
    let hybrid = &graph.manifest["hybrid"];
    let ranges = hybrid["ranges"].as_u64().unwrap();
    let width = graph.number("connected").div_ceil(ranges);
    let cell = (source / width * ranges + target / width) as usize;
    let byte =
        u8::from_str_radix(&hybrid["rows"].as_str().unwrap()[cell / 8 * 2..][..2], 16).unwrap();
    byte >> (cell % 8) & 1 == 1
}

/// Compares a hybrid graph with the one in the layout `grid`; how many edges are in row format and
/// in grid format.
fn compare(hybrid: &Decoded, grid: &Decoded, what: &str) -> [usize; 2] {
    for name in
        grid.names().iter().filter(|name| !name.starts_with("grid.") || *name == "grid.stripes")
    {
        assert!(hybrid.section(name) == grid.section(name), "{what}: {name}");
    }
    let (listed, tiled) = (plain(hybrid.rows("row")), plain(hybrid.grid().0));
    assert!(
        listed.iter().all(|&edge| in_rows(hybrid, edge)),
        "{what}: an edge in a list is in grid format"
    );
    assert!(
        !tiled.iter().any(|&edge| in_rows(hybrid, edge)),
        "{what}: an edge in a tile is in row format"
    );
    let said = &hybrid.manifest["hybrid"];
    assert_eq!(
        (said["row_arcs"].as_u64(), said["grid_arcs"].as_u64()),
        (Some(listed.len() as u64), Some(tiled.len() as u64)),
        "{what}"
    );
    let lens = [listed.len(), tiled.len()];
    let mut all = [listed, tiled].concat();
    all.sort_unstable();
    assert_eq!(all, plain(grid.rows("out")), "{what}");
    lens
}

#[test]
fn lists_and_tiles_are_together_the_complete_lists() {
    let place = tempfile::tempdir().unwrap();
    for (number, (directed, simple, weighted)) in
        [(true, false, false), (true, true, true), (false, false, true), (false, true, false)]
            .into_iter()
            .enumerate()
    {
        let weights = if weighted {
            GeneratedWeights::Uniform { low: 0, high: 300 }
        } else {
            GeneratedWeights::None
        };
        let source = Rmat { weights, ..rmat() }.source().unwrap();
        let what = format!("directed: {directed}, simple: {simple}, weighted: {weighted}");
        let [grid, row, hybrid] = LAYOUTS.map(|layout| {
            let options = BuildOptions { directed: Some(directed), simple, layout, ..options() };
            build(&source, &place.path().join(format!("{number}-{}.oc", layout.name())), &options)
        });
        let [listed, tiled] = compare(&hybrid, &grid, &what);
        assert!(
            listed > 10_000 && tiled > 10_000,
            "{what}: {listed} edges in row format, {tiled} in grid format"
        );
        assert_eq!(hybrid.number("grid_words") - hybrid.grid().1, tiled as u64, "{what}");
        assert!(
            row.grid().0.is_empty()
                && row.section("grid.words").is_empty()
                && row.manifest["hybrid"].is_null(),
            "{what}"
        );
        for name in
            row.names().iter().filter(|name| !name.starts_with("grid.") || *name == "grid.stripes")
        {
            assert!(row.section(name) == grid.section(name), "{what}: {name}");
        }
        assert_eq!([&grid, &row, &hybrid].map(|graph| graph.number("version")), [5; 3]);
        assert!(
            grid.manifest.get("layout").is_none()
                && row.manifest["layout"] == "row"
                && hybrid.manifest["layout"] == "hybrid"
        );
    }
}

#[test]
fn tiles_are_cut_where_sources_are_well_before_or_after_their_stripe() {
    let place = tempfile::tempdir().unwrap();
    let weights = GeneratedWeights::Uniform { low: 0, high: 300 };
    let graph = build(
        &Rmat { weights, ..Rmat::new(16, 5) }.source().unwrap(),
        &place.path().join("cut.oc"),
        &options(),
    );
    let (stripes, tiles, chunks) = (
        numbers(&graph.section("grid.stripes"), 8),
        graph.section("grid.tiles"),
        numbers(&graph.section("grid.chunks"), 8),
    );
    let tiles: Vec<(u64, u64)> = tiles
        .chunks(40)
        .map(|tile| (numbers(&tile[4..8], 4)[0], chunks[2 * numbers(&tile[32..], 8)[0] as usize]))
        .collect();
    let cut: Vec<&(u64, u64)> = tiles.iter().filter(|(_, source)| *source > 0).collect();
    assert!(
        cut.len() > stripes.len() / 2,
        "{} of {} tiles are cut off from others",
        cut.len(),
        tiles.len()
    );
    for (stripe, source) in cut {
        let (first, end) = (stripes[*stripe as usize], stripes[*stripe as usize + 1]);
        assert!(
            !(first..end).contains(source),
            "stripe {stripe}: the cut at {source} is before it or after it"
        );
    }
    let (mut tiled, mut listed) = (graph.grid().0, graph.rows("out"));
    tiled.sort_unstable();
    listed.sort_unstable();
    assert!(tiled == listed, "every edge once, with its weight");
}

#[test]
fn one_cell_and_perhaps_no_edges() {
    let place = tempfile::tempdir().unwrap();
    for (name, lines, directed) in [
        ("loops", "1 1\n1 1\n2 2\n", true),
        ("small", "1 2\n2 1\n1 2\n2 3\n3 3\n", true),
        ("both", "1 2\n2 1\n1 2\n2 3\n3 3\n", false),
    ] {
        for simple in [false, true] {
            let source = text(place.path(), lines);
            let [grid, row, hybrid] = LAYOUTS.map(|layout| {
                let options = BuildOptions {
                    directed: Some(directed),
                    simple,
                    layout,
                    force: true,
                    ..options()
                };
                build(
                    source.as_ref(),
                    &place.path().join(format!("{}.oc", layout.name())),
                    &options,
                )
            });
            // The only cell is on the diagonal.
            assert_eq!(compare(&hybrid, &grid, name)[1], 0, "{name}");
            assert_eq!(hybrid.manifest["hybrid"]["ranges"], 1);
            assert!(row.grid().0.is_empty());
        }
    }
}

#[test]
fn isolated_vertices_belong_to_no_range() {
    let place = tempfile::tempdir().unwrap();
    let lines: String =
        (0..9000u64).map(|vertex| format!("{vertex} {}\n", (vertex * 7919) % 9000)).collect();
    let input = place.path().join("edges.txt");
    std::fs::write(&input, lines).unwrap();
    let vertices = place.path().join("vertices.txt");
    std::fs::write(
        &vertices,
        (0..20_000u64).map(|vertex| format!("{vertex}\n")).collect::<String>(),
    )
    .unwrap();
    let inputs = InputOptions { vertices: vec![vertices], ..InputOptions::default() };
    let source = input::open(&Disk::new(), &[Input::from(input)], &inputs).unwrap();
    let [grid, hybrid] = [Layout::Grid, Layout::Hybrid].map(|layout| {
        build(
            source.as_ref(),
            &place.path().join(layout.name()),
            &BuildOptions { layout, ..options() },
        )
    });
    assert_eq!((hybrid.number("vertices"), hybrid.number("connected")), (20_000, 9000));
    compare(&hybrid, &grid, "isolated vertices");
    // So few edges everywhere that no cell is worth a tile.
    assert_eq!(
        (&hybrid.manifest["hybrid"]["ranges"], &hybrid.manifest["hybrid"]["grid_cells"]),
        (&json!(2), &json!(0))
    );
}

#[test]
fn the_decision_depends_on_the_graph_alone() {
    let place = tempfile::tempdir().unwrap();
    let source = rmat().source().unwrap();
    let mut first: Option<Decoded> = None;
    for (threads, mib, stripes) in [(1, 512, 0), (3, 512, 0), (1, 64, 0), (2, 64, 2)] {
        let path = place.path().join(format!("{threads}-{mib}-{stripes}.oc"));
        let stripes: Vec<PathBuf> =
            (0..stripes).map(|index| place.path().join(format!("device {index}"))).collect();
        let options = BuildOptions {
            memory: mib << 20,
            threads,
            layout: Layout::Hybrid,
            stripes,
            ..options()
        };
        let graph = build(&source, &path, &options);
        let Some(first) = &first else {
            first = Some(graph);
            continue;
        };
        assert_eq!(graph.manifest["hybrid"], first.manifest["hybrid"], "{}", path.display());
        for name in ["row.degrees", "row.index", "row.adjacency"] {
            assert!(graph.section(name) == first.section(name), "{}: {name}", path.display());
        }
        assert_eq!(plain(graph.grid().0), plain(first.grid().0), "{}", path.display());
        let again = build(
            &source,
            &place.path().join("again.oc"),
            &BuildOptions { force: true, ..options },
        );
        assert!(
            graph.names().iter().all(|name| again.section(name) == graph.section(name)),
            "{}",
            path.display()
        );
    }
}

#[test]
fn words_end_with_the_last_tile_though_buckets_without_tiles_follow() {
    let place = tempfile::tempdir().unwrap();
    // From the second range into the first, ten times and once more. So many threads in so little
    // memory make several buckets, and the second range is the target of nothing.
    let lines: String = (0..10 * 4096 + 1)
        .map(|edge| format!("{} {}\n", 4096 + edge % 4096, edge % 4096))
        .collect();
    let options = BuildOptions {
        memory: 64 << 20,
        threads: 16,
        layout: Layout::Hybrid,
        order: Order::Original,
        ..options()
    };
    let graph =
        build(text(place.path(), &lines).as_ref(), &place.path().join("graph.oc"), &options);
    assert_eq!((graph.grid().0.len(), graph.rows("row").len()), (10 * 4096 + 1, 0));
}

#[test]
fn what_passes_read() {
    let place = tempfile::tempdir().unwrap();
    let source = rmat().source().unwrap();
    for (layout, rows, whole) in [
        (Layout::Grid, None, true),
        (Layout::Row, Some("out"), false),
        (Layout::Hybrid, Some("row"), false),
    ] {
        let path = place.path().join(layout.name());
        build(&source, &path, &BuildOptions { layout, order: Order::Original, ..options() });
        let graph = Graph::open(&Disk::new(), &path).unwrap();
        assert_eq!(
            (graph.layout(), graph.pass_rows(), graph.has_whole_grid()),
            (layout, rows, whole)
        );
        let grid = graph.grid().unwrap();
        assert!(
            grid.intervals.last() == Some(&graph.connected())
                && grid.tiles.is_empty() == (layout == Layout::Row)
        );
        let shares = graph.manifest().shares();
        assert_eq!(shares.row_arcs + shares.grid_arcs, graph.manifest().arcs);
        assert_eq!(graph.manifest().cells().is_none(), whole);
    }
}

#[test]
fn forged_row_sections_are_found() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("graph.oc");
    let graph = build(
        &rmat().source().unwrap(),
        &path,
        &BuildOptions { layout: Layout::Hybrid, ..options() },
    );
    let [degrees, index, adjacency] =
        ["row.degrees", "row.index", "row.adjacency"].map(|name| graph.section(name));
    let found = |name: &str, bytes: Vec<u8>, by: &str| {
        let sound = graph.section(name);
        forge(&graph, &path, name, bytes);
        let faults = check(&Disk::new(), &path, &Silent).unwrap();
        assert!(faults.iter().any(|fault| fault.path.ends_with(by)), "{name}: {faults:?}");
        forge(&graph, &path, name, sound);
        assert_eq!(check(&Disk::new(), &path, &Silent).unwrap(), []);
    };
    // One neighbor more, of a list's last: still ascending, but no such edge in row format.
    let first = numbers(&degrees[..4], 4)[0] as usize;
    let mut other = adjacency.clone();
    other[first * 2 - 2..first * 2]
        .copy_from_slice(&(graph.number("connected") as u16 - 1).to_le_bytes());
    found("row.adjacency", other, "row.adjacency");
    // Out of range.
    found("row.adjacency", vec![0xff; adjacency.len()], "row.adjacency");
    // An entry moves from one list to the next.
    let mut other = degrees.clone();
    other[..4].copy_from_slice(&(first as u32 - 1).to_le_bytes());
    other[4..8].copy_from_slice(&(numbers(&degrees[4..8], 4)[0] as u32 + 1).to_le_bytes());
    found("row.degrees", other, "row.adjacency");
    let mut other = index.clone();
    other[8] ^= 1;
    found("row.index", other, "row.index");
}

#[test]
fn forged_tiles_and_incoming_lists_are_found() {
    let place = tempfile::tempdir().unwrap();
    for layout in [Layout::Grid, Layout::Hybrid] {
        let path = place.path().join(layout.name());
        let source = Rmat { weights: GeneratedWeights::Uniform { low: 1, high: 200 }, ..rmat() }
            .source()
            .unwrap();
        let graph = build(&source, &path, &BuildOptions { layout, ..options() });
        let found = |name: &str, by: &str, change: &dyn Fn(&mut Vec<u8>)| {
            let sound = graph.section(name);
            let mut other = sound.clone();
            change(&mut other);
            assert_ne!(sound, other, "{name}");
            forge(&graph, &path, name, other);
            let faults = check(&Disk::new(), &path, &Silent).unwrap();
            assert!(faults.iter().any(|fault| fault.path.ends_with(by)), "{name}: {faults:?}");
            forge(&graph, &path, name, sound);
            assert_eq!(check(&Disk::new(), &path, &Silent).unwrap(), []);
        };
        // An edge goes elsewhere, and with it those that are counted from it.
        found("grid.words", "grid.words", &|words| {
            let middle = words.len() / 2;
            words[middle] ^= 1;
        });
        // Every edge is there, and two, far from each other, have each other's weight.
        found("grid.weights", "grid.words", &|weights| {
            let other = (0..weights.len()).rev().find(|&at| weights[at] != weights[0]).unwrap();
            weights.swap(0, other);
        });
        found("grid.chunks", "grid.words", &|chunks| chunks[8] ^= 1);
        found("grid.tiles", "grid.words", &|tiles| tiles[24] ^= 1);
        // The first list's last neighbor is another one, still in order.
        let (first, width) = (
            numbers(&graph.section("in.degrees")[..4], 4)[0] as usize,
            graph.number("neighbor_bytes") as usize,
        );
        found("in.adjacency", "in.adjacency", &|neighbors| {
            let last = &mut neighbors[(first - 1) * width..first * width];
            last.copy_from_slice(
                &(graph.number("connected") - 1 - u64::from(last[0] & 1)).to_le_bytes()[..width],
            );
        });
    }
}

/// As many cells, but others: it opens, and the edges are on the wrong sides.
fn other_cells(path: &Path) {
    let mut manifest = Manifest::read(&Disk::new(), path).unwrap();
    let text = String::from(manifest.hybrid.as_ref().unwrap().rows.clone());
    let low = u8::from_str_radix(&text[..2], 16).unwrap();
    let (set, free) = (low & low.wrapping_neg(), !low & (!low).wrapping_neg());
    manifest.hybrid.as_mut().unwrap().rows =
        format!("{:02x}{}", low ^ set ^ free, &text[2..]).try_into().unwrap();
    std::fs::write(path.join(MANIFEST), manifest.to_bytes()).unwrap();
    assert!(
        check(&Disk::new(), path, &Silent)
            .unwrap()
            .iter()
            .any(|fault| fault.path.ends_with("row.adjacency"))
    );
}

#[test]
fn manifests_that_lie_about_the_layout() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("graph.oc");
    let graph = build(
        &rmat().source().unwrap(),
        &path,
        &BuildOptions { layout: Layout::Hybrid, ..options() },
    );
    let rows = graph.manifest["hybrid"]["rows"].as_str().unwrap();
    let flipped = |digit: &str| {
        if digit.starts_with('0') { format!("1{}", &rows[1..]) } else { format!("0{}", &rows[1..]) }
    };
    let arcs = graph.manifest["hybrid"]["row_arcs"].as_u64().unwrap();
    for (pointer, lie) in [
        ("/layout", json!("grid")),
        ("/layout", json!("row")),
        ("/layout", json!("column")),
        ("/version", json!(2)),
        ("/hybrid", Value::Null),
        ("/hybrid/ranges", json!(4)),
        ("/hybrid/rows", json!("")),
        ("/hybrid/rows", json!("zz")),
        ("/hybrid/rows", json!(format!("{rows}00"))),
        ("/hybrid/rows", json!(flipped(rows))),
        ("/hybrid/row_cells", json!(100)),
        ("/hybrid/grid_cells", json!(u64::MAX)),
        ("/hybrid/row_arcs", json!(arcs - 1)),
        ("/hybrid/row_arcs", json!(u64::MAX)),
    ] {
        let mut manifest = graph.manifest.clone();
        *manifest.pointer_mut(pointer).unwrap() = lie.clone();
        seal(&path, &manifest);
        let opened = Graph::open(&Disk::new(), &path).err();
        assert!(
            matches!(opened, Some(GraphError::Corrupt { .. })),
            "{pointer} = {lie}: {opened:?}"
        );
        assert!(!check(&Disk::new(), &path, &Silent).unwrap().is_empty(), "{pointer} = {lie}");
    }
    seal(&path, &graph.manifest);
    other_cells(&path);
}
