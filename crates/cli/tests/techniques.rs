//! The papers' techniques as users meet them: what is refused, what plans and reports say.

mod place;

use place::Place;
use serde_json::{Value, json};

/// A folder with a graph `r.oc`.
fn place() -> Place {
    let place = Place::new();
    let made = ["generate", "rmat", "--scale", "17", "--seed", "7", "--weights", "uw"];
    place.ends(0, &[&made[..], &["-o", "r.oc"]].concat());
    place
}

/// What an object says of the technique of this name.
fn technique<'v>(object: &'v Value, name: &str) -> &'v Value {
    let all = object["techniques"].as_array().unwrap();
    all.iter().find(|technique| technique["name"] == name).unwrap()
}

#[test]
fn a_switch_that_cannot_act_is_refused_with_what_it_is_for() {
    let place = place();
    let sssp = ["sssp", "r.oc", "--source", "max-degree"];
    for verb in ["run", "plan"] {
        for (switch, is_for) in [
            (["--read", "full"], "runs that pass over all edges"),
            (["--cross-iteration", "fciu"], "passes over a whole grid"),
            (["--direction", "push"], "breadth-first searches"),
        ] {
            let (out, error) = place.ends(2, &[&[verb], &sssp[..], &switch[..]].concat());
            assert_eq!(out, "");
            let refusal = format!("{} cannot act in this run of sssp", switch.join(" "));
            assert!(error.contains(&refusal) && error.contains(is_for), "{error}");
        }
        place.ends(0, &[&[verb], &sssp[..], &["--read", "auto"]].concat());
    }
}

#[test]
fn reports_say_what_became_of_every_technique() {
    let place = place();
    // Nothing stays in memory that the next pass would read.
    let asked = ["pagerank", "r.oc", "--iterations", "4", "--model", "fully-external"];
    let asked = [&asked[..], &["--sub-blocks", "off"]].concat();
    let fciu = ["--cross-iteration", "fciu"];
    let report = place.json(&[&["run"], &asked[..], &fciu[..]].concat());
    let found = technique(&report, "fciu");
    assert_eq!((&found["switch"], &found["state"]), (&"cross-iteration".into(), &"used".into()));
    assert!(found["saved_bytes"].as_u64() > Some(0), "{found}");
    assert!(found["reason"].as_str().unwrap().contains("served before"), "{found}");
    assert_eq!(technique(&report, "sciu")["state"], "not-applicable");
    assert!(technique(&report, "vertex-passing")["switch"].is_null());
    let off = place.json(&[&["run"], &asked[..], &["--cross-iteration", "off"]].concat());
    assert_eq!(
        (&technique(&off, "fciu")["state"], &technique(&off, "fciu")["reason"]),
        (&"idle".into(), &"off".into())
    );
    // Each pass that is saved was half of the grid.
    let read = |report: &Value| report["bytes_read"].as_u64().unwrap();
    assert!(read(&report) < read(&off), "{} {}", read(&report), read(&off));
    let planned = place.json(&[&["plan"], &asked[..], &fciu[..]].concat());
    assert_eq!(technique(&planned, "fciu")["state"], "used");
}

#[test]
fn plans_with_a_preset_list_its_techniques() {
    let place = place();
    let asked = ["plan", "sssp", "r.oc", "--source", "max-degree", "--preset", "graphsd"];
    let (text, _) = place.ends(0, &asked);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("  graphsd ")).collect();
    assert_eq!(lines.len(), 5, "{text}");
    assert!(lines.iter().all(|line| line.contains("it is for ")), "{text}");
    let asked = ["plan", "pagerank", "r.oc", "--model", "fully-external", "--preset", "graphsd"];
    let (text, _) = place.ends(0, &asked);
    assert!(text.lines().any(|line| line.contains(" fciu ") && line.ends_with("it is used")));
}

/// The conventional partition has intervals of equally many vertices, most of whose edges lead to
/// the first ones.
#[test]
fn info_shows_how_evenly_edges_are_spread() {
    let place = Place::new();
    let spread = |partition: &str| {
        let graph = format!("{partition}.oc");
        let made = ["generate", "rmat", "--scale", "16", "--partition", partition, "-o", &graph];
        place.ends(0, &made);
        let text = place.ends(0, &["info", &graph]).0;
        let line = format!("  partition       {partition}: ");
        for line in [line.as_str(), "  tiles ", "    of a column ", "    of a row "] {
            assert!(text.contains(line), "{line}: {text}");
        }
        let tiles = &place.json(&["info", &graph])["tiles"];
        assert_eq!(tiles["partition"], partition);
        assert_eq!(
            (&tiles["rows"]["parts"], &tiles["rows"]["largest"]),
            (&json!(1), &json!(1 << 20))
        );
        [tiles, &tiles["columns"]]
            .map(|parts| parts["largest"].as_f64().unwrap() / parts["mean"].as_f64().unwrap())
    };
    let ([tiles, columns], uniform) = (spread("balanced"), spread("uniform"));
    assert!(columns < 1.5 && tiles < 4.0, "{tiles} {columns}");
    assert!(uniform.iter().all(|&times| times > 8.0), "{uniform:?}");
}

/// A number below zero is told to be out of range: it is no argument of its own.
#[test]
fn numbers_below_zero_are_out_of_range() {
    let place = place();
    for (switch, value) in [
        ("--tolerance", "-1"),
        ("--damping", "-0.5"),
        ("--iterations", "-3"),
        ("--threads", "-1"),
        ("--memory", "-5"),
    ] {
        let (_, error) = place.ends(2, &["run", "pagerank", "r.oc", switch, value]);
        assert!(error.contains(switch) && !error.contains("unexpected"), "{error}");
    }
}
