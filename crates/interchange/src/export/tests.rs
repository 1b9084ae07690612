use std::path::PathBuf;

use outercore_graph::BuildOptions;
use outercore_storage::Disk;

use super::*;
use crate::testing::{Fixture, built_with, graph_of};

fn fixture(text: &str, directed: bool) -> Fixture {
    built_with(
        text,
        None,
        &BuildOptions { memory: 256 << 20, directed: Some(directed), ..BuildOptions::default() },
    )
}

fn exported(fixture: &Fixture, name: &str) -> (u64, PathBuf) {
    let path = fixture.dir.path().join(name);
    let edges = export_edges(&path, &fixture.graph, &WriteOptions::default()).unwrap();
    (edges, path)
}

/// The lines of a file after `skip`, sorted.
fn lines(path: &Path, skip: usize) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines: Vec<String> = text.lines().skip(skip).map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn csv_has_every_edge() {
    let fixture = fixture("5 7 0.5\n7 5 2\n7 9 3\n5 7 1\n", true);
    let (edges, path) = exported(&fixture, "e.csv");
    assert_eq!(edges, 4);
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("source,target,weight\n"));
    let without: Vec<String> =
        lines(&path, 1).iter().map(|line| line.trim_end_matches(".0").to_owned()).collect();
    assert_eq!(without, ["5,7,0.5", "5,7,1", "7,5,2", "7,9,3"]);
}

#[test]
fn csv_of_names_without_weights() {
    let fixture = fixture("a b\nb c\n", true);
    let (edges, path) = exported(&fixture, "e.csv");
    assert_eq!((edges, lines(&path, 1)), (2, vec!["a,b".to_owned(), "b,c".to_owned()]));
}

#[test]
fn undirected_edges_come_once() {
    let fixture = fixture("1 2\n2 3\n3 1\n", false);
    let (edges, path) = exported(&fixture, "e.mtx");
    assert_eq!(edges, 3);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("%%MatrixMarket matrix coordinate pattern symmetric\n3 3"), "{text}");
    assert_eq!(lines(&path, 2), ["2 1", "3 1", "3 2"]);
}

#[test]
fn matrix_market_is_read_back() {
    let fixture = fixture("10 20 5\n20 30 6\n30 10 70000\n", true);
    let (_, path) = exported(&fixture, "e.mtx");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(
        text.starts_with("%%MatrixMarket matrix coordinate integer general\n% index i"),
        "{text}"
    );
    let source = crate::open(
        &Disk::new(),
        &[path.clone().into()],
        crate::EdgeFormat::default(),
        &Default::default(),
    )
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let graph = graph_of(
        &*source,
        folder.path(),
        &BuildOptions { memory: 256 << 20, ..BuildOptions::default() },
    );
    assert_eq!((graph.vertices(), graph.edges()), (3, 3));
}

#[test]
fn parquet_is_read_back() {
    for text in ["5 7 0.5\n7 5 2\n7 9 3\n", "5 7 1\n7 5 2\n", "a b\nb c\n", "1 2\n2 3\n"] {
        let fixture = fixture(text, true);
        let (edges, path) = exported(&fixture, "e.parquet");
        let source = crate::open(
            &Disk::new(),
            &[path.clone().into()],
            crate::EdgeFormat::default(),
            &Default::default(),
        )
        .unwrap();
        assert_eq!(source.info().format, "parquet");
        let folder = tempfile::tempdir().unwrap();
        let graph = graph_of(
            &*source,
            folder.path(),
            &BuildOptions { memory: 256 << 20, ..BuildOptions::default() },
        );
        assert_eq!(
            (graph.vertices(), graph.edges(), graph.weights()),
            (fixture.graph.vertices(), edges, fixture.graph.weights())
        );
        let (_, first) = exported(&fixture, "a.csv");
        let second = folder.path().join("b.csv");
        export_edges(&second, &graph, &WriteOptions::default()).unwrap();
        assert_eq!(lines(&first, 0), lines(&second, 0));
    }
}

#[test]
fn extensions_decide() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(ExportFormat::of(&dir.path().join("a.mtx")).unwrap(), ExportFormat::MatrixMarket);
    assert!(ExportFormat::of(&dir.path().join("a.npy")).unwrap_err().to_string().contains(".mtx"));
}

/// Every table is read from the device again, and each page of it is verified.
#[test]
fn a_changed_bit_of_an_id_is_found() {
    for text in ["10 200\n200 3000\n3000 10\n3000 40000\n", "ash oak\noak elm\nelm ash\nelm fir\n"]
    {
        let fixture = fixture(text, true);
        exported(&fixture, "right.csv");
        for name in ["ids.rank", "ids.keys", "ids.ends"] {
            let file = fixture.graph.path().join(name);
            let Ok(whole) = std::fs::read(&file) else { continue };
            for bit in 0..64 * 8 {
                let mut changed = whole.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                std::fs::write(&file, changed).unwrap();
                let path = fixture.dir.path().join(format!("{name}.{bit}.csv"));
                let end = export_edges(&path, &fixture.graph, &WriteOptions::default());
                assert!(end.is_err(), "{name}, bit {bit}");
            }
            std::fs::write(&file, whole).unwrap();
        }
    }
}
