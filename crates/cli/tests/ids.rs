//! Ids and numbers mean what they say.

mod place;

use place::Place;

/// The names of a graph whose ids are not what they look like, in a circle.
const NAMES: [&str; 8] = ["0", "00", "5", "+5", "a,b", "-x", "max-degree", "\"quoted\""];

fn circle(place: &Place) {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let line =
        |at: usize| format!("{},{}\n", quoted(NAMES[at]), quoted(NAMES[(at + 1) % NAMES.len()]));
    place.file("e.csv", (0..NAMES.len()).map(line).collect::<String>());
    place.ends(0, &["build", "e.csv", "-o", "g.oc", "--format", "csv", "--ids", "string"]);
}

#[test]
fn a_source_is_the_id_that_is_written() {
    let place = Place::new();
    circle(&place);
    let source = |given: &str| {
        let report = place.json(&["run", "bfs", "g.oc", "--source", given]);
        report["summary"]["source"].as_str().unwrap().to_owned()
    };
    for name in ["0", "00", "5", "+5", "a,b", "-x"] {
        assert_eq!(source(name), name);
    }
    assert_eq!(source("\"max-degree\""), "max-degree");
    assert_eq!(source("\"\"\"quoted\"\"\""), "\"quoted\"");
    let dashed = place.json(&["run", "bfs", "g.oc", "--source=-x"]);
    assert_eq!(dashed["summary"]["source"], "-x");
    for absent in ["000", "05", "+0", "x"] {
        let (_, error) = place.ends(2, &["run", "bfs", "g.oc", "--source", absent]);
        assert!(error.contains(&format!("no vertex {absent}")), "{error}");
    }
    place.ends(2, &["run", "bfs", "g.oc", "--source", "\"open"]);
    // Numbers are numbers, however many zeros are in front.
    place.file("n.txt", "1 2\n2 4\n");
    place.ends(0, &["build", "n.txt", "-o", "n.oc"]);
    assert_eq!(place.json(&["run", "bfs", "n.oc", "--source", "04"])["summary"]["source"], 4);
    place.ends(2, &["run", "bfs", "n.oc", "--source", "+4"]);
}

#[test]
fn sources_have_commas_and_come_from_a_file() {
    let place = Place::new();
    circle(&place);
    let many = |arguments: &[&str]| {
        let all = [&["run", "multi-source", "g.oc"], arguments].concat();
        place.json(&all)["summary"]["sources"].as_u64().unwrap()
    };
    assert_eq!(many(&["--sources", "\"a,b\",00,\"max-degree\""]), 3);
    place.file("ids.txt", "\u{feff}a,b\r\n-x\n\nmax-degree\n\"quoted\"\n");
    assert_eq!(many(&["--sources-file", "ids.txt"]), 4);
    place.file("ids.txt", "a,b\nnobody\n");
    let (_, error) = place.ends(2, &["run", "multi-source", "g.oc", "--sources-file", "ids.txt"]);
    assert!(error.contains("nobody"), "{error}");
    place.file("ids.txt", "\n");
    place.ends(3, &["run", "multi-source", "g.oc", "--sources-file", "ids.txt"]);
}

#[test]
fn columns_that_nothing_names_are_3() {
    let place = Place::new();
    place.file("p.csv", "left_id,left_name,right_id,right_name,score\n1,a,2,b,0.5\n2,b,3,c,1\n");
    let (_, error) = place.ends(3, &["build", "p.csv", "-o", "p.oc"]);
    assert!(error.contains("\"right_name\"") && error.contains("--columns"), "{error}");
    let columns = "source=left_id,target=right_id,weight=score";
    place.ends(0, &["build", "p.csv", "-o", "p.oc", "--columns", columns]);
    let report = place.json(&["run", "sssp", "p.oc", "--source", "1"]);
    assert_eq!(report["summary"]["max_distance"], 1.5);
    place.ends(2, &["build", "p.csv", "-o", "q.oc", "--columns", "left_id,right_id"]);
}

#[test]
fn distances_beyond_the_numbers_are_no_answer() {
    let place = Place::new();
    let run = |text: &str, code| {
        place.file("e.txt", text);
        place.ends(0, &["build", "e.txt", "-o", "w.oc", "--force", "--weights", "f64"]);
        place.ends(code, &["run", "sssp", "w.oc", "--source", "1", "--json"])
    };
    let (_, error) = run("1 2 1e308\n2 3 1e308\n", 2);
    assert!(error.contains("largest number"), "{error}");
    // A path that is too long is none where there is another.
    let (out, _) = run("1 2 1e308\n2 3 1e308\n1 3 7\n", 0);
    assert!(out.contains("\"reached\":3"), "{out}");
    let (_, error) = run("1 2 4\n2 3 1\n7 9 -2.5\n", 2);
    assert!(error.contains("from 7 to 9") && error.contains("-2.5"), "{error}");
    // Whole distances are exact, and a sum of them that is too large is rounded.
    let path: String = (1..100_000u32).map(|at| format!("{at} {} 4294967295\n", at + 1)).collect();
    place.file("p.txt", path);
    place.ends(0, &["build", "p.txt", "-o", "p.oc"]);
    let report = place.json(&["run", "sssp", "p.oc", "--source", "1"]);
    let (steps, weight) = (99_999u64, 4_294_967_295u64);
    assert_eq!(report["summary"]["max_distance"], steps * weight);
    let sum = report["summary"]["distance_sum"].as_f64().unwrap();
    let expected = (steps * (steps + 1) / 2) as f64 * weight as f64;
    assert!((sum / expected - 1.0).abs() < 1e-12, "{sum} {expected}");
}

/// A circle of zeros behind two ways of equal length; `far` is not reached.
#[test]
fn parents_are_written_as_ids() {
    let place = Place::new();
    place.file("e.csv", "a,b,2\na,c,2\nb,d,1\nc,d,1\nd,x,0\nx,y,0\ny,d,0\nfar,a,1\n");
    place.ends(0, &["build", "e.csv", "-o", "g.oc", "--directed", "--ids", "string"]);
    let sssp = ["run", "sssp", "g.oc", "--source", "a"];
    for model in ["in-memory", "semi-external", "fully-external"] {
        let file = format!("{model}.csv");
        place.ends(0, &[&sssp[..], &["--parents", "-o", &file, "--model", model]].concat());
        let tree = std::fs::read_to_string(place.path(&file)).unwrap();
        let rows = ["a,0,a", "b,2,a", "c,2,a", "far,,", "x,3,d", "y,3,x"];
        assert!(tree.starts_with("id,distance,parent\n"), "{tree}");
        assert!(rows.iter().all(|row| tree.lines().any(|line| line == *row)), "{tree}");
        assert!(tree.contains("d,3,b") || tree.contains("d,3,c"), "{tree}");
    }
    place.ends(0, &[&sssp[..], &["-o", "plain.csv"]].concat());
    let plain = std::fs::read_to_string(place.path("plain.csv")).unwrap();
    assert!(plain.starts_with("id,distance\n"), "{plain}");
    let (_, error) = place.ends(2, &["run", "components", "g.oc", "--parents"]);
    assert!(error.contains("components has no --parents: it is for sssp"), "{error}");
}
