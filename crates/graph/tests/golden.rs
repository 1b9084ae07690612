//! Golden graphs: graphs of every released version of the format, committed, which must keep
//! opening and keep their meaning; and `docs/format.md`, held against what the builder writes today
//! through a reader that shares no code with the library (`golden/decode.rs`).
//!
//! When the format's version rises: make the folder of the new version with
//! `make golden VERSION=N`, and leave the old ones alone.

#[path = "golden/decode.rs"]
mod decode;
#[path = "golden/expected.rs"]
mod expected;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use decode::{Decoded, Edge, crc32c};
use outercore_graph::{
    BuildOptions, Graph, GraphError, Key, Layout, Order, Silent, WeightKind, check,
    format::{GRID_VERSION, MANIFEST, VERSION},
    generate::Rmat,
    input::{self, EdgeSource, Input, InputOptions},
};
use outercore_storage::Disk;
use serde_json::{Value, json};

/// The names of the golden graphs of a version; each has an input of that name. Version 3 is of
/// graphs with edges in row format alone.
fn names(version: u32) -> &'static [&'static str] {
    match version {
        1 | 2 => &["undirected", "directed", "plain"],
        3 => &["undirected", "hybrid", "plain"],
        _ => &["undirected", "directed", "hybrid", "plain"],
    }
}

/// The layout of a golden graph.
fn layout(name: &str, version: u32) -> Layout {
    match (name, version) {
        (_, 1 | 2) | ("directed", _) => Layout::Grid,
        ("plain", _) => Layout::Row,
        ("undirected", 4..) => Layout::Grid,
        _ => Layout::Hybrid,
    }
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// Every golden graph: version and name.
fn every() -> impl Iterator<Item = (u32, &'static str)> {
    (1..=VERSION).flat_map(|version| names(version).iter().map(move |&name| (version, name)))
}

/// The input of a golden graph.
fn source(name: &str) -> Box<dyn EdgeSource> {
    let (weights, directed) = match name {
        "undirected" => (WeightKind::None, false),
        "directed" => (WeightKind::F32, true),
        _ => (WeightKind::U32, true),
    };
    let vertices = golden(&format!("inputs/{name}.vertices.txt"));
    let options = InputOptions {
        weights: Some(weights),
        directed: Some(directed),
        vertices: if vertices.exists() { vec![vertices] } else { Vec::new() },
        ..InputOptions::default()
    };
    input::open(&Disk::new(), &[Input::from(golden(&format!("inputs/{name}.txt")))], &options)
        .unwrap()
}

/// How a golden graph is built. Memory and threads decide how edges are cut into tiles; these
/// graphs are too small to be cut.
fn options(name: &str, version: u32, threads: usize) -> BuildOptions {
    let plain = name == "plain" || name == "hybrid";
    let order = if plain { Order::Original } else { Order::Degree };
    // The kind of weights is asked of the input.
    BuildOptions {
        memory: 96 << 20,
        threads,
        transpose: !plain,
        order,
        weights: source(name).info().weights,
        layout: layout(name, version),
        ..BuildOptions::default()
    }
}

/// The edges of an input by original id, with the bits of their weights.
fn edges(name: &str) -> Vec<(String, String, u64)> {
    let text = std::fs::read_to_string(golden(&format!("inputs/{name}.txt"))).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let weight = match name {
                "undirected" => 0,
                "directed" => fields[2].parse::<f32>().unwrap().to_bits().into(),
                _ => fields[2].parse().unwrap(),
            };
            (fields[0].to_owned(), fields[1].to_owned(), weight)
        })
        .collect()
}

/// Edges by internal id, sorted; an undirected one from both ends.
fn expected_edges(name: &str, ids: &[String], directed: bool) -> Vec<Edge> {
    let internal: BTreeMap<&str, u64> = ids.iter().map(String::as_str).zip(0..).collect();
    let mut all = Vec::new();
    for (source, target, weight) in edges(name) {
        let (source, target) = (internal[source.as_str()], internal[target.as_str()]);
        all.push((source, target, weight));
        if !directed && source != target {
            all.push((target, source, weight));
        }
    }
    all.sort_unstable();
    all
}

fn sorted(mut edges: Vec<Edge>) -> Vec<Edge> {
    edges.sort_unstable();
    edges
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Writes a manifest with a seal that fits it.
fn seal(folder: &Path, manifest: &Value) {
    let json = serde_json::to_string_pretty(manifest).unwrap();
    std::fs::write(
        folder.join(MANIFEST),
        format!("{json}\n# crc32c {:08x}\n", crc32c(json.as_bytes())),
    )
    .unwrap();
}

#[test]
fn the_manifest_says_what_is_documented() {
    for (version, name) in every() {
        let decoded = Decoded::open(&golden(&format!("v{version}")).join(name));
        let mut manifest = decoded.manifest.clone();
        let object = manifest.as_object_mut().unwrap();
        let uuid = object.remove("uuid").unwrap();
        let is_uuid = |uuid: &str| uuid.len() == 32 && uuid.chars().all(|c| c.is_ascii_hexdigit());
        assert!(uuid.as_str().is_some_and(is_uuid), "{uuid}");
        object.remove("sections").unwrap();
        assert_eq!(manifest, expected::manifest(name, version, layout(name, version)), "{name}");
        let sections = expected::sections(name, layout(name, version));
        assert_eq!(decoded.names(), sections, "{name}");
        let mut files: Vec<String> = sections
            .iter()
            .flat_map(|section| [(*section).to_owned(), format!("{section}.crc")])
            .collect();
        files.push(MANIFEST.to_owned());
        files.sort();
        let mut found: Vec<String> = std::fs::read_dir(golden(&format!("v{version}")).join(name))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        found.sort();
        assert_eq!(found, files, "{name}");
    }
}

#[test]
fn the_sections_hold_what_is_documented() {
    for (version, name) in every() {
        let decoded = Decoded::open(&golden(&format!("v{version}")).join(name));
        let directed = decoded.says("directed");
        let ids = decoded.original_ids();
        let expected = expected_edges(name, &ids, directed);
        assert_eq!(decoded.rows("out"), expected, "{name}");
        let (grid, found) = decoded.grid();
        // Edges in row format have no weights there, but those of the complete lists.
        let listed = match layout(name, version) {
            Layout::Grid => Vec::new(),
            Layout::Row => expected.clone(),
            Layout::Hybrid => {
                let rows: BTreeSet<(u64, u64)> =
                    decoded.rows("row").into_iter().map(|edge| (edge.0, edge.1)).collect();
                expected.iter().copied().filter(|edge| rows.contains(&(edge.0, edge.1))).collect()
            }
        };
        assert!(
            name != "hybrid" || (grid.len(), listed.len()) == (4096, 15),
            "{} edges in the grid",
            grid.len()
        );
        assert_eq!(sorted([grid, listed].concat()), expected, "{name}");
        assert_eq!(found, expected::skips(name, version), "{name}");
        let pulled = if directed { "in" } else { "out" };
        if decoded.says("transpose") {
            let rows = decoded.rows("in").into_iter();
            let turned = rows.map(|(target, source, weight)| (source, target, weight));
            assert_eq!(sorted(turned.collect()), expected, "{name}");
        }
        if decoded.says("transpose") || !directed {
            let rows = decoded.rows(pulled);
            let first = |vertex| rows.iter().find(|edge| edge.0 == vertex).map(|edge| edge.1);
            assert_eq!(
                decoded.heads(pulled),
                (0..decoded.number("connected")).map(first).collect::<Vec<_>>(),
                "{name}"
            );
        }
        in_order(name, &decoded, &ids);
    }
}

/// Those with edges come first; those with most of them, unless they are in another order.
fn in_order(name: &str, decoded: &Decoded, ids: &[String]) {
    let mut degrees: BTreeMap<&str, u64> = BTreeMap::new();
    let edges = edges(name);
    edges
        .iter()
        .flat_map(|edge| [&edge.0, &edge.1])
        .for_each(|end| *degrees.entry(end).or_default() += 1);
    let by_order: Vec<u64> =
        ids.iter().map(|id| degrees.get(id.as_str()).copied().unwrap_or(0)).collect();
    assert!(
        by_order[..decoded.number("connected") as usize].iter().all(|&degree| degree > 0)
            && by_order.len() as u64 == decoded.number("vertices")
    );
    assert!(
        name == "plain" || name == "hybrid" || by_order.is_sorted_by(|a, b| a >= b),
        "{name}: {by_order:?}"
    );
}

/// The edges that a graph shows, with the bits of their weights.
fn edges_of(graph: &Graph) -> Vec<(u64, u64, u64)> {
    let mut found = Vec::new();
    graph
        .for_each_edge(5, &mut |rows| {
            let weight = |index: usize| rows.weights.get(index).copied().unwrap_or(0.0);
            found.extend(
                (0..rows.sources.len()).map(|index| {
                    (rows.sources[index], rows.targets[index], weight(index).to_bits())
                }),
            );
            Ok(())
        })
        .unwrap();
    found
}

#[test]
fn golden_graphs_open_and_answer() {
    for version in 1..=VERSION {
        for &name in names(version) {
            let path = golden(&format!("v{version}")).join(name);
            let graph = Graph::open(&Disk::new(), &path).unwrap();
            assert_eq!(check(&Disk::new(), &path, &Silent).unwrap(), [], "{name}");
            let ids: Vec<Key> =
                (0..graph.vertices()).map(|vertex| graph.key_of(vertex).unwrap()).collect();
            for (vertex, key) in (0..).zip(&ids) {
                assert_eq!(graph.find(key).unwrap(), Some(vertex), "{name}: {key}");
            }
            assert_eq!(graph.find(&Key::Number(50_000)).unwrap(), None, "{name}");
            let mut listed = Vec::new();
            graph
                .for_each_key(3, &mut |keys, vertices| {
                    listed.extend((0..keys.len()).map(|index| (keys.get(index), vertices[index])));
                    Ok(())
                })
                .unwrap();
            assert!(
                listed.is_sorted()
                    && listed.len() == ids.len()
                    && listed.iter().all(|(key, vertex)| ids[*vertex as usize] == *key),
                "{name}"
            );
            let texts: Vec<String> = ids.iter().map(Key::to_string).collect();
            let value = |bits: u64| match graph.weights() {
                WeightKind::None => 0.0f64,
                WeightKind::F32 => f32::from_bits(bits as u32).into(),
                _ => bits as f64,
            };
            let expected = expected_edges(name, &texts, graph.directed())
                .into_iter()
                .filter(|edge| graph.directed() || edge.0 >= edge.1);
            assert_eq!(
                sorted(edges_of(&graph)),
                sorted(
                    expected
                        .map(|(source, target, bits)| (source, target, value(bits).to_bits()))
                        .collect()
                ),
                "{name}"
            );
        }
    }
}

#[test]
fn the_builder_writes_the_same_bytes() {
    let place = tempfile::tempdir().unwrap();
    for (version, name, threads) in every()
        .filter(|&(version, _)| version == VERSION)
        .flat_map(|(version, name)| [(version, name, 1), (version, name, 3)])
    {
        let path = place.path().join(format!("{name}-{version}-{threads}.oc"));
        outercore_graph::build(
            &Disk::new(),
            source(name).as_ref(),
            &path,
            &options(name, version, threads),
            &Silent,
        )
        .unwrap();
        let kept = golden(&format!("v{version}")).join(name);
        for entry in std::fs::read_dir(&kept).unwrap() {
            let file = entry.unwrap().file_name();
            if file != MANIFEST {
                assert!(
                    std::fs::read(kept.join(&file)).unwrap()
                        == std::fs::read(path.join(&file)).unwrap(),
                    "{name}: {} differs",
                    file.display()
                );
            }
        }
        let manifests = [&kept, &path].map(|folder| {
            let mut manifest = Decoded::open(folder).manifest;
            manifest["uuid"] = Value::Null;
            // Newer than the graphs that were kept.
            manifest.as_object_mut().unwrap().remove("extra");
            manifest
        });
        assert_eq!(manifests[0], manifests[1], "{name}");
    }
}

#[test]
fn one_flipped_bit_is_found_anywhere() {
    let place = tempfile::tempdir().unwrap();
    for (version, name) in every().filter(|&(version, _)| version >= GRID_VERSION) {
        let path = place.path().join(format!("{name}-{version}"));
        copy(&golden(&format!("v{version}")).join(name), &path);
        for entry in std::fs::read_dir(&path).unwrap() {
            let file = entry.unwrap().path();
            let sound = std::fs::read(&file).unwrap();
            if sound.is_empty() {
                continue;
            }
            // The first byte, the last one (padding, in a section), and two between.
            for at in [0, sound.len() / 3, sound.len() / 2, sound.len() - 1] {
                let mut damaged = sound.clone();
                damaged[at] ^= 1 << (at % 8);
                std::fs::write(&file, &damaged).unwrap();
                let faults = check(&Disk::new(), &path, &Silent).unwrap();
                let section = file.to_string_lossy().trim_end_matches(".crc").to_owned();
                assert!(
                    faults.iter().any(|fault| fault.path.to_string_lossy().starts_with(&section)),
                    "{}, byte {at}: {faults:?}",
                    file.display()
                );
            }
            std::fs::write(&file, &sound).unwrap();
        }
        assert_eq!(check(&Disk::new(), &path, &Silent).unwrap(), []);
    }
}

#[test]
fn newer_versions_are_refused_and_new_keys_are_not() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("graph");
    copy(&golden(&format!("v{VERSION}/plain")), &path);
    let mut manifest = Decoded::open(&path).manifest;
    manifest["added_later"] = json!({"a": [1, 2]});
    seal(&path, &manifest);
    assert_eq!(check(&Disk::new(), &path, &Silent).unwrap(), []);
    manifest["version"] = json!(VERSION + 1);
    manifest.as_object_mut().unwrap().remove("connected");
    seal(&path, &manifest);
    let refused = Graph::open(&Disk::new(), &path).err();
    assert!(
        matches!(&refused, Some(GraphError::Newer { version, .. }) if *version == VERSION + 1),
        "{refused:?}"
    );
}

#[test]
fn stripes_lie_where_the_documentation_says() {
    let place = tempfile::tempdir().unwrap();
    let build = |name: &str, stripes: Vec<PathBuf>| {
        let path = place.path().join(name);
        let options =
            BuildOptions { memory: 128 << 20, threads: 2, stripes, ..BuildOptions::default() };
        outercore_graph::build(
            &Disk::new(),
            &Rmat { edge_factor: 48, ..Rmat::new(16, 5) }.source().unwrap(),
            &path,
            &options,
            &Silent,
        )
        .unwrap();
        Decoded::open(&path)
    };
    let whole = build("whole.oc", Vec::new());
    let striped = build(
        "striped.oc",
        (0..3).map(|index| place.path().join(format!("device {index}"))).collect(),
    );
    let bulk = ["out.adjacency", "in.adjacency", "grid.words"];
    for entry in striped.manifest["sections"].as_array().unwrap() {
        let name = entry["name"].as_str().unwrap();
        assert_eq!(entry["striped"] == true, bulk.contains(&name), "{name}");
        assert!(whole.section(name) == striped.section(name), "{name}");
    }
    // Several units in a folder, and a last one that is cut short.
    assert!(whole.section("out.adjacency").len() > 4 << 20);
    assert_eq!(sorted(whole.grid().0), whole.rows("out"));
    let uuid = striped.manifest["uuid"].as_str().unwrap();
    assert!(
        striped.manifest["stripes"]
            .as_array()
            .unwrap()
            .iter()
            .all(|folder| folder.as_str().unwrap().ends_with(&format!("/outercore-{uuid}")))
    );
}
