//! Manifests that lie, though their seals fit, and those of newer versions: refused, or found by
//! `check`, and never believed beyond what a graph can be.

use std::path::Path;

use outercore_graph::format::VERSION;
use outercore_graph::{BuildOptions, Graph, GraphError, Silent, check};
use outercore_storage::{Disk, checksum::crc32c};
use outercore_testing::{build_file, names, options, small_graph};

/// Changes the manifest and seals it again, as somebody would who means it.
fn forge(graph: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let path = graph.join("manifest.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut json: serde_json::Value =
        serde_json::from_str(text.rsplit_once("\n# crc32c").unwrap().0).unwrap();
    change(&mut json);
    let text = serde_json::to_string_pretty(&json).unwrap();
    std::fs::write(&path, format!("{text}\n# crc32c {:08x}\n", crc32c(text.as_bytes()))).unwrap();
}

#[test]
fn newer_versions() {
    let (_folder, graph) = small_graph();
    forge(&graph, |json| json["version"] = (VERSION + 1).into());
    let newer = |error: Option<GraphError>| match error {
        Some(GraphError::Newer { version, known, .. }) => {
            (version, known) == (VERSION + 1, VERSION)
        }
        _ => false,
    };
    assert!(newer(Graph::open(&Disk::new(), &graph).err()));
    assert!(newer(check(&Disk::new(), &graph, &Silent).err()));
}

/// What a manifest might be changed to say: where, and what.
fn lies() -> Vec<(String, serde_json::Value)> {
    let numbers = [0u64, 1, 255, 4095, 1 << 31, 1 << 32, 1 << 47, 1 << 62, 1 << 63, u64::MAX];
    let mut lies: Vec<(String, serde_json::Value)> = Vec::new();
    for field in [
        "vertices",
        "connected",
        "arcs",
        "edges",
        "neighbor_bytes",
        "id_bytes",
        "weight_bytes",
        "stripe_unit",
        "grid_words",
        "extra/duplicates",
        "extra/self_loops",
    ] {
        lies.extend(numbers.map(|number| (field.to_owned(), number.into())));
    }
    for section in 0..16 {
        lies.extend(numbers.map(|number| (format!("sections/{section}/bytes"), number.into())));
        lies.extend(
            ["../../../etc/passwd", "/etc/passwd", "", "out.degrees", "a\0b", "manifest.json"]
                .map(|name| (format!("sections/{section}/name"), name.into())),
        );
        lies.push((format!("sections/{section}/striped"), true.into()));
    }
    lies.extend(["f64", "none", "u64"].map(|kind| ("weights".to_owned(), kind.into())));
    lies.extend(["directed", "transpose"].map(|field| (field.to_owned(), false.into())));
    lies.push(("sections".to_owned(), serde_json::json!([])));
    lies.push(("stripes".to_owned(), serde_json::json!(["/nowhere"])));
    lies.push(("ids".to_owned(), serde_json::json!({"kind": "range", "first": u64::MAX})));
    lies.push(("ids".to_owned(), serde_json::json!({"kind": "names"})));
    lies.push(("max_out_degree".to_owned(), serde_json::json!([7, u64::MAX])));
    lies
}

#[test]
fn manifests_that_lie() {
    let (_folder, graph) = small_graph();
    let original = std::fs::read(graph.join("manifest.json")).unwrap();
    for (field, value) in lies() {
        std::fs::write(graph.join("manifest.json"), &original).unwrap();
        let mut same = false;
        forge(&graph, |json| {
            let place = json.pointer_mut(&format!("/{field}")).unwrap();
            same = *place == value;
            *place = value.clone();
        });
        let result = std::panic::catch_unwind(|| {
            let opened = Graph::open(&Disk::new(), &graph);
            if let Ok(graph) = &opened {
                let _ = graph.for_each_key(1000, &mut |_, _| Ok(()));
            }
            (opened.is_ok(), check(&Disk::new(), &graph, &Silent))
        });
        let (opened, checked) = result.unwrap_or_else(|_| panic!("{field} = {value}: panic"));
        // What nothing else depends on cannot be found out.
        let unused = ["grid_words", "edges", "stripe_unit", "stripes"].contains(&field.as_str())
            || field.ends_with("/striped");
        let harmless = same || (unused && opened);
        assert!(
            harmless || !opened || !checked.is_ok_and(|faults| faults.is_empty()),
            "{field} = {value} is believed"
        );
    }
}

/// One more stripe than a graph has at most.
const STRIPES: usize = 65;

#[test]
fn too_many_stripes() {
    let (folder, graph) = small_graph();
    let original = std::fs::read(graph.join("manifest.json")).unwrap();
    // As many as fit what is read of a manifest, and far more.
    for (count, stripe) in [(STRIPES, "/stripe"), (3 << 20, ""), (30 << 20, "")] {
        std::fs::write(graph.join("manifest.json"), &original).unwrap();
        forge(&graph, |json| json["stripes"] = vec![stripe; count].into());
        match Graph::open(&Disk::new(), &graph).err() {
            Some(GraphError::Corrupt { path, what }) => {
                assert_eq!(path, graph.join("manifest.json"), "{what}");
                assert!(what.len() < 200, "{what}");
            }
            other => panic!("{count} stripes: {other:?}"),
        }
        assert!(!check(&Disk::new(), &graph, &Silent).unwrap().is_empty(), "{count} stripes");
    }
    let stripes: Vec<_> = (0..STRIPES).map(|at| folder.path().join(format!("{at}"))).collect();
    let (input, output) = (folder.path().join("edges.txt"), folder.path().join("other.oc"));
    let before = names(folder.path());
    let refused = build_file(
        &Disk::new(),
        &input,
        &output,
        &BuildOptions { stripes: stripes.clone(), ..options() },
    );
    assert!(refused.unwrap_err().to_string().contains("at most 64 stripes"));
    assert_eq!(names(folder.path()), before);
    let stripes = stripes[1..].to_vec();
    build_file(&Disk::new(), &input, &output, &BuildOptions { stripes, ..options() }).unwrap();
    assert!(check(&Disk::new(), &output, &Silent).unwrap().is_empty());
}
