//! Real files, where they are at hand.

use super::*;

/// A file of the shared data, if it is there.
fn data(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("SKIPPED: {name} is not there");
    None
}

/// Reads a file by its content alone, unless a format is given.
fn read_data(name: &str, format: Format) -> Option<Read> {
    let path = data(name)?;
    let source = open(
        &Disk::new(),
        &[Input::from(&path)],
        &InputOptions { format, ..InputOptions::default() },
    )
    .unwrap();
    Some(drain(source.as_ref(), 2, 200 << 20).unwrap())
}

#[test]
fn numbers_of_edges_are_the_published_ones() {
    for (name, edges) in [
        ("snap/web-NotreDame.txt.gz", 1_497_134),
        ("snap/soc-Epinions1.txt.gz", 508_837),
        ("snap/facebook_combined.txt.gz", 88_234),
        ("snap/arxiv-cit-hep-ph.jlg", 421_578),
        ("road/USA-road-d.NY.gr.gz", 733_846),
    ] {
        if let Some(read) = read_data(name, Format::Auto) {
            assert_eq!(read.edges.len(), edges, "{name}");
        }
    }
    if let Some(read) = read_data("gitdag/gitdag-bazel.u32.zst", Format::Auto) {
        assert_eq!(read.edges.len(), 5_344_159);
        assert_eq!(read.edges.iter().flatten().max(), Some(&94_852));
    }
}

#[test]
fn road_weights_are_in_their_range() {
    if let Some(read) = read_data("road/USA-road-d.NY.gr.gz", Format::Auto) {
        let weights = read.weighted.iter().map(|(_, weight)| *weight);
        assert_eq!(
            (weights.clone().fold(f64::MAX, f64::min), weights.fold(0.0, f64::max)),
            (1.0, 36_946.0)
        );
    }
}

#[test]
fn one_graph_in_every_form() {
    let read = |name| read_data(&format!("gapbs-test/graphs/{name}"), Format::Auto);
    let (Some(el), Some(wel), Some(gr), Some(mtx), Some(weighted)) =
        (read("4.el"), read("4.wel"), read("4.gr"), read("4.mtx"), read("4w.mtx"))
    else {
        return;
    };
    assert_eq!(el.edges.len(), 256);
    assert_eq!(el.edges, wel.edges);
    let from_one: Vec<[u64; 2]> = el.edges.iter().map(|edge| [edge[0] + 1, edge[1] + 1]).collect();
    assert_eq!(from_one, gr.edges);
    assert_eq!(from_one, mtx.edges);
    assert_eq!(gr.weighted.len(), 256);
    let shifted: Vec<_> =
        wel.weighted.iter().map(|(edge, weight)| ([edge[0] + 1, edge[1] + 1], *weight)).collect();
    assert_eq!(shifted, gr.weighted);
    assert_eq!(weighted.weighted.len(), 256);
}

#[test]
fn graphalytics_examples() {
    for (name, vertices, edges) in [("directed", 10, 17), ("undirected", 9, 12)] {
        if let Some(read) =
            read_data(&format!("ldbc-validation/example/example-{name}.e"), Format::Auto)
        {
            assert_eq!((read.vertices.len(), read.weighted.len()), (vertices, edges));
        }
    }
}

#[test]
fn other_formats_are_refused() {
    for name in [
        "gapbs-test/graphs/4.graph",
        "road/SiouxFalls_net.tntp",
        "formats/p2p-31.e.parquet",
        "formats/p2p-31.e.orc",
        "ldbc-validation/bfs/dir-input",
    ] {
        if let Some(path) = data(name) {
            let error = complaint(read_files(&[&path], &InputOptions::default()));
            assert!(!error.advice.is_empty(), "{error}");
        }
    }
}
