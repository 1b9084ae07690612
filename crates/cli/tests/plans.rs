//! Plans of small runs are tried out: what they say is what a run then does.

mod place;

use place::Place;
use serde_json::Value;

const RUNS: [&[&str]; 6] = [
    &["bfs", "--source", "max-degree", "--model", "semi-external"],
    &["sssp", "--source", "max-degree", "--model", "fully-external"],
    &["kcore", "--model", "fully-external"],
    &["components", "--model", "fully-external"],
    &["betweenness", "--sources", "random:1", "--model", "semi-external"],
    &["multi-source", "--sources", "random:1,random:2"],
];

fn place() -> Place {
    let place = Place::new();
    let rmat = ["generate", "rmat", "--scale", "13", "--edge-factor", "8"];
    let more = ["--weights", "uniform:1:9", "--undirected", "--simple", "-o", "g.oc"];
    place.ends(0, &[&rmat[..], &more[..]].concat());
    place
}

/// The words of a verb for the algorithm and the options in `run`.
fn words<'a>(verb: &'a str, run: &[&'a str]) -> Vec<&'a str> {
    [&[verb, run[0], "g.oc"], &run[1..], &["--memory", "64M", "--threads", "1"]].concat()
}

fn number(report: &Value, key: &str) -> f64 {
    report[key].as_f64().unwrap_or_else(|| panic!("{key} in {report}"))
}

#[test]
fn a_small_run_does_what_was_planned() {
    let place = place();
    for run in RUNS {
        let plan = place.json(&words("plan", run));
        assert_eq!(plan["tried"], true, "{run:?}");
        let report = place.json(&words("run", run));
        let items = plan["memory"].as_array().unwrap();
        let memory: f64 = items.iter().map(|item| number(item, "bytes")).sum();
        for (planned, was) in [
            (number(&plan, "expected_bytes_read"), number(&report, "bytes_read")),
            (number(&plan, "expected_bytes_written"), number(&report, "bytes_written")),
            (memory, number(&report, "peak_rss_bytes")),
        ] {
            assert!((planned - was).abs() <= 0.1 * was, "{run:?}: {planned} planned, {was}");
        }
        assert!(memory <= number(&plan, "memory_budget_bytes"), "{run:?}");
        assert_eq!(place.names(), ["g.oc"], "{run:?} leaves nothing");
    }
    let said = place.ends(0, &words("plan", RUNS[0])).0;
    assert!(said.contains(", tried out"), "{said}");
}

/// What a trial did not take is not shown as nothing.
#[test]
fn items_that_take_nothing_are_not_shown() {
    let place = Place::new();
    place.graph();
    let asked = words("plan", &["bfs", "--source", "1"]);
    let (text, _) = place.ends(0, &asked);
    let (_, items) = text.split_once("memory budget").unwrap();
    let (items, _) = items.split_once("smallest budget").unwrap();
    assert!(items.lines().count() > 1 && !items.contains(" 0 B"), "{text}");
}

#[test]
fn what_a_run_would_leave_is_not_tried() {
    let place = Place::new();
    place.ends(0, &["generate", "rmat", "--scale", "10", "-o", "g.oc"]);
    let before = place.names();
    let plan = place.json(&words("plan", &["kcore"]));
    assert_eq!(plan["tried"], false, "a view of the graph is made first, and kept");
    assert!(number(&plan, "expected_bytes_written") > 0.0, "the view's");
    assert_eq!(place.names(), before);
    place.json(&words("run", &["kcore"]));
    let plan = place.json(&words("plan", &["kcore"]));
    assert_eq!(plan["tried"], true, "the view is there");
}

#[test]
fn scratch_that_is_not_allowed_is_not_taken_for_a_trial() {
    let place = place();
    let run = ["pagerank", "--model", "fully-external", "--disk", "4K"];
    let said = place.ends(6, &words("plan", &run)).1;
    assert!(said.contains("disk"), "{said}");
}

/// What writing a result takes on scratch is part of the disk budget: a refusal before the run, not
/// behind it, names a figure that works.
#[test]
fn the_disk_budget_has_room_for_the_result() {
    let place = place();
    let external = ["pagerank", "--model", "fully-external"];
    let planned = number(&place.json(&words("plan", &external)), "disk_bytes").to_string();
    let run = |disk: &str, code| {
        let asked = [&external[..], &["--disk", disk, "-o", "ranks.csv"]].concat();
        place.ends(code, &words("run", &asked)).1
    };
    let said = run(&planned, 6);
    let needed = said.split(": ").last().unwrap().split(' ').next().unwrap();
    assert_eq!(place.names(), ["g.oc"], "{said}");
    run(needed, 0);
    assert_eq!(place.names(), ["g.oc", "ranks.csv"]);
}
