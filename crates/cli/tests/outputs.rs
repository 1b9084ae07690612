//! Where results go: packed files, standard output.

mod place;

use std::{fs, io, process::Stdio};

use self::place::{Place, command};

fn gunzip(place: &Place, name: &str) -> String {
    let file = fs::File::open(place.path(name)).unwrap();
    io::read_to_string(flate2::read::GzDecoder::new(file)).unwrap()
}

#[test]
fn packed_results_and_edges_are_the_same_and_are_read_again() {
    let place = Place::new();
    place.graph();
    place.ends(0, &["run", "components", "g.oc", "-o", "r.csv"]);
    place.ends(0, &["run", "components", "g.oc", "-o", "r.csv.gz"]);
    assert_eq!(gunzip(&place, "r.csv.gz"), fs::read_to_string(place.path("r.csv")).unwrap());
    let edges = place.json(&["info", "g.oc"])["edges"].clone();
    for name in ["e.csv.gz", "e.csv.zst"] {
        assert_eq!(place.json(&["export", "g.oc", "-o", name])["edges"], edges);
        assert_eq!(place.json(&["build", name, "-o", &format!("{name}.oc")])["edges"], edges);
    }
    for (command, name) in [("run components", "r.parquet.gz"), ("export", "e.mtx.zst")] {
        let words: Vec<&str> = command.split(' ').chain(["g.oc", "-o", name]).collect();
        let (_, error) = place.ends(2, &words);
        assert!(error.contains("only text is packed"), "{error}");
    }
}

#[test]
fn standard_output_has_the_data_alone() {
    let place = Place::new();
    place.graph();
    place.ends(0, &["run", "bfs", "g.oc", "--source", "1", "-o", "r.csv"]);
    let file = fs::read_to_string(place.path("r.csv")).unwrap();
    let (out, error) = place.ends(0, &["run", "bfs", "g.oc", "--source", "1", "-o", "-"]);
    assert_eq!(out, file);
    assert!(error.starts_with("bfs on g.oc: 5 vertices"), "{error}");
    let (out, error) = place.ends(0, &["export", "g.oc", "-o", "-"]);
    assert!(out.starts_with("source,target\n") && out.lines().count() == 5, "{out}");
    assert!(error.contains("4 edges"), "{error}");
    assert!(!place.path("-").exists());
    for words in [["run", "components", "g.oc"].as_slice(), &["export", "g.oc"]] {
        let (out, error) = place.ends(2, &[words, &["-o", "-", "--json"]].concat());
        assert!(out.is_empty() && error.contains("--json"), "{error}");
    }
}

/// The reader of standard output has enough: no error, and not a word.
#[test]
fn a_closed_pipe_is_no_error() {
    let place = Place::new();
    place.graph();
    place.ends(0, &["generate", "uniform", "--vertices", "200000", "--edges", "9", "-o", "u.oc"]);
    for words in [&["info", "g.oc"][..], &["run", "components", "u.oc", "-o", "-"]] {
        let mut child = command()
            .args(words)
            .current_dir(place.0.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), error.as_ref()), (Some(0), ""), "{words:?}");
    }
}

#[test]
fn a_result_is_the_vector_of_the_next_product() {
    let place = Place::new();
    place.file("edges.txt", "1 2\n1 3\n2 3\n3 1\n4 1\n");
    place.ends(0, &["build", "edges.txt", "-o", "g.oc", "--directed"]);
    let product = |vector: &[&str], name: &str| {
        let words = [&["run", "spmv", "g.oc", "-o", name], vector].concat();
        let norm = place.json(&words)["summary"]["norm"].as_f64().unwrap();
        (norm, fs::read_to_string(place.path(name)).unwrap_or_default())
    };
    let (_, once) = product(&[], "a.csv");
    assert_eq!(once, "id,value\n1,2.0\n2,1.0\n3,2.0\n4,0.0\n");
    place.ends(0, &["run", "spmv", "g.oc", "-o", "a.tsv.gz"]);
    place.ends(0, &["run", "spmv", "g.oc", "-o", "a.npy"]);
    for vector in ["a.csv", "a.tsv.gz", "a.npy"] {
        for model in ["in-memory", "semi-external", "fully-external"] {
            let (norm, twice) = product(&["--vector", vector, "--model", model], "b.csv");
            assert_eq!(twice, "id,value\n1,2.0\n2,2.0\n3,3.0\n4,0.0\n", "{vector} {model}");
            assert_eq!(norm, 17.0f64.sqrt());
        }
    }
    place.file("nan.csv", "id,value\n1,2\n2,NaN\n3,1\n4,1\n");
    let (_, error) = place.ends(3, &["run", "spmv", "g.oc", "--vector", "nan.csv"]);
    assert!(error.contains("nan.csv, line 3: \"NaN\" is no finite number"), "{error}");
    place.file("short.csv", "1\n2\n");
    let (_, error) = place.ends(3, &["run", "spmv", "g.oc", "--vector", "short.csv"]);
    assert!(error.contains("too few numbers: the graph has 4 vertices"), "{error}");
    let (_, error) = place.ends(2, &["run", "spmv", "g.oc", "--vector", "-"]);
    assert!(error.contains("vector is a file"), "{error}");
    let (_, error) = place.ends(2, &["run", "bfs", "g.oc", "--source", "1", "--vector", "a.csv"]);
    assert!(error.contains("bfs has no --vector: it is for spmv"), "{error}");
}
