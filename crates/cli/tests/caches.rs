//! `cache`, `--page-cache` and `--static-cache` as users meet them: exit codes, what is said, what
//! is left.

mod place;

use place::Place;

const SEARCH: [&str; 4] = ["bfs", "g.oc", "--source", "max-degree"];

/// A folder with a graph `g.oc`.
fn place() -> Place {
    let place = Place::new();
    place.ends(0, &["generate", "rmat", "--scale", "13", "--order", "original", "-o", "g.oc"]);
    place
}

fn search(place: &Place, verb: &str, more: &[&str]) -> serde_json::Value {
    place.json(&[&[verb], &SEARCH[..], more].concat())
}

#[test]
fn a_selection_is_made_once_and_serves_runs() {
    let place = place();
    let plain = search(&place, "run", &[]);
    let made = place.json(&["cache", "g.oc", "--size", "40K", "--rounds", "5"]);
    assert_eq!(made["about"]["select"], "gvs");
    let names = place.names();
    assert_eq!(names, ["g.oc", "g.oc.cache"], "it lies beside the graph, and nothing else does");
    let both = ["--page-cache", "64K", "--static-cache", "40K"];
    let run = search(&place, "run", &both);
    assert_eq!(run["summary"], plain["summary"]);
    let cache = &run["cache"];
    assert!(cache["static_hits"].as_u64() > Some(0), "{cache}");
    assert!(cache["pages"]["utilization"].as_f64() > Some(0.0), "{cache}");
    assert_eq!(cache["selected"]["is_current"], true);
    let plan = search(&place, "plan", &both);
    for (name, bytes) in [("page cache", 64 << 10), ("static cache", 40 << 10)] {
        let items = plan["memory"].as_array().unwrap();
        let item = items.iter().find(|item| item["name"] == name);
        assert_eq!(item.unwrap()["bytes"], bytes, "{name}");
    }
    assert!(plan["selection"]["is_used"] == true && plan["selection"]["is_current"] == true);
    let told = |more: &[&str]| place.ends(0, &[&["plan"], &SEARCH[..], more].concat()).0;
    let semi = ["--model", "semi-external"];
    assert!(told(&semi).contains("by gvs: --static-cache SIZE uses it"), "{}", told(&semi));
    // In so small a graph no lists are worth their place among pages.
    assert!(told(&both).contains("by gvs: all is left to the page cache"), "{}", told(&both));
    assert!(told(&both).contains("by sample searches"), "{}", told(&both));
    let scans = place.json(&["plan", "pagerank", "g.oc"]);
    assert!(scans["selection"].is_null(), "it cannot use one: {scans}");
    let (text, _) = place.ends(0, &["cache", "g.oc", "--select", "low-degree"]);
    assert!(!told(&both).contains("sample search"), "{}", told(&both));
    assert!(text.contains("low-degree") && text.contains("lists"), "{text}");
    place.ends(0, &["check", "g.oc"]);
}

#[test]
fn penalties_are_divided_by_the_degree_that_is_asked_for() {
    let place = place();
    let lists = |more: &[&str]| {
        let asked = ["cache", "g.oc", "--size", "40K", "--rounds", "5", "--sample", "0"];
        place.json(&[&asked[..], more].concat())["about"]["sides"].clone()
    };
    let by = |degree| lists(&["--divided-by", degree]);
    let [both, own, arriving] = ["both", "own-degree", "arriving-degree"].map(by);
    assert_eq!(lists(&[]), both, "it is usual");
    assert!(own != both && arriving != both && own != arriving, "{both} {own} {arriving}");
    for (asked, told) in [
        (&["--divided-by", "degree"][..], "own-degree"),
        (&["--divided-by", "own-degree", "--sample", "4"], "--sample 0"),
        (&["--divided-by", "own-degree", "--select", "low-degree"], "--divided-by"),
    ] {
        let said = place.ends(2, &[&["cache", "g.oc"], asked].concat()).1;
        assert!(said.contains(told), "{said}");
    }
}

#[test]
fn bad_asks_have_their_exit_codes() {
    let place = place();
    let run = |code, more: &[&str]| place.ends(code, &[&["run"], &SEARCH[..], more].concat()).1;
    let said = run(2, &["--static-cache", "40K"]);
    assert!(said.contains("outercore cache g.oc --size"), "{said}");
    let said = run(2, &["--page-cache", "1M", "--model", "in-memory"]);
    assert!(said.contains("--page-cache cannot act in this run of bfs"), "{said}");
    let said = run(7, &["--page-cache", "60M", "--memory", "48M"]);
    assert!(said.contains("too small"), "{said}");
    run(2, &["--page-cache", "much"]);
    // Both run on a view, which has no selection of its own, and is not made to say so.
    for algorithm in [&["kcore"][..], &["components", "--method", "program"]] {
        let asked = [&["run", algorithm[0], "g.oc"], &algorithm[1..], &["--static-cache", "4K"]];
        let said = place.ends(2, &asked.concat()).1;
        let is_told = said.contains("view of g.oc") && said.contains("--undirected --simple");
        assert!(is_told && place.names() == ["g.oc"], "{said} {:?}", place.names());
    }
    let pagerank = ["run", "pagerank", "g.oc", "--page-cache", "1M"];
    assert!(place.ends(2, &pagerank).1.contains("--page-cache cannot act"));
    for wrong in [
        &["--select", "low-degree", "--rounds", "3"][..],
        &["--seed", "3"],
        &["--rounds", "0"],
        &["--select", "best"],
        &["--size", "huge"],
    ] {
        place.ends(2, &[&["cache", "g.oc"], wrong].concat());
    }
    place.ends(7, &["cache", "g.oc", "--memory", "1M"]);
    place.ends(4, &["cache", "none.oc"]);
    assert_eq!(place.names(), ["g.oc"]);
}

/// The budget that a refusal names.
fn named(place: &Place, asked: &[&str]) -> u64 {
    let said = place.ends(7, &[asked, &["--memory", "1M"]].concat()).1;
    let (_, rest) = said.split_once("at least ").expect(&said);
    rest.split_once(" bytes").expect(&said).0.parse().expect(&said)
}

/// Many short lists: what is known of them is more than they are. A writer that died left a file.
#[test]
fn the_budgets_that_refusals_name_are_enough_and_are_held() {
    let place = Place::new();
    let shape = ["--scale", "20", "--edge-factor", "1", "--order", "original", "-o", "g.oc"];
    place.ends(0, &[&["generate", "rmat"], &shape[..]].concat());
    place.file(&format!(".g.oc.cache.{}.tmp", "0123456789abcdef".repeat(2)), "");
    let cache = ["cache", "g.oc", "--select", "random", "--size", "100%"];
    let run = [&["run"], &SEARCH[..], &["--static-cache", "4M"]].concat();
    for asked in [&cache[..], &run] {
        let budget = named(&place, asked);
        assert!(budget > 25 << 20, "{budget}");
        let done = place.run(&[asked, &["--memory", &budget.to_string(), "--json"]].concat());
        assert!(done.status.success(), "{done:?}");
        let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        let peak = report["peak_rss_bytes"].as_u64().expect("it is in the report");
        assert!(peak <= budget, "{asked:?}: {peak} of {budget}");
    }
    assert_eq!(place.names(), ["g.oc", "g.oc.cache"]);
}

#[test]
fn a_damaged_selection_leaves_the_graph_usable() {
    let place = place();
    let plain = search(&place, "run", &[]);
    place.ends(0, &["cache", "g.oc", "--size", "40K", "--rounds", "2"]);
    let mut bytes = std::fs::read(place.path("g.oc.cache")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    place.file("g.oc.cache", bytes);
    let asked = [&["run"], &SEARCH[..], &["--static-cache", "40K"]].concat();
    let (out, said) = place.ends(4, &asked);
    assert!(out.is_empty() && said.contains("g.oc.cache") && !said.contains("rebuild"), "{said}");
    assert_eq!(search(&place, "run", &[])["summary"], plain["summary"]);
    place.ends(0, &["cache", "g.oc", "--size", "40K", "--rounds", "2"]);
    place.ends(0, &asked);
}

#[test]
fn another_graph_takes_no_selection_and_a_later_version_says_how_much_is_left() {
    let place = place();
    place.ends(0, &["cache", "g.oc", "--size", "40K", "--rounds", "2"]);
    let asked = [&["run"], &SEARCH[..], &["--static-cache", "40K", "--json"]].concat();
    place.ends(0, &["order", "degree", "g.oc", "-o", "other.oc"]);
    std::fs::rename(place.path("g.oc"), place.path("first.oc")).unwrap();
    std::fs::rename(place.path("other.oc"), place.path("g.oc")).unwrap();
    let (out, said) = place.ends(0, &asked);
    assert!(said.contains("earlier version") && said.contains("100.0 %"), "{said}");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["cache"]["selected"]["is_current"], false);
    assert!(report["cache"]["static_hits"].as_u64() > Some(0));
    let generate = ["generate", "rmat", "--scale", "13", "--seed", "77", "--edge-factor", "40"];
    place.ends(0, &[&generate[..], &["-o", "g.oc", "--force"]].concat());
    for verb in ["run", "plan"] {
        let (_, said) = place.ends(2, &[&[verb], &asked[1..]].concat());
        assert!(said.contains("selected for another graph"), "{verb}: {said}");
    }
}

#[test]
fn a_budget_that_a_cache_is_too_large_for_is_refused_with_what_would_do() {
    let place = place();
    place.ends(0, &["cache", "g.oc", "--size", "40K", "--rounds", "2"]);
    for cache in ["--page-cache", "--static-cache"] {
        for verb in ["run", "plan"] {
            let with = |size: &str| {
                let asked = [&[verb], &SEARCH[..], &[cache, size, "--memory", "40M"]].concat();
                asked.into_iter().map(str::to_owned).collect::<Vec<_>>()
            };
            let asked = with("64M");
            let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
            let (_, said) = place.ends(7, &asked);
            let told = format!("{cache} takes {} bytes and ", 64 << 20);
            let most = said.split(&told).nth(1).unwrap_or_else(|| panic!("{said}"));
            let most: u64 = most.split(' ').next().unwrap().parse().unwrap();
            assert!(most > 1 << 20, "{said}");
            let asked = with(&most.to_string());
            let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
            place.ends(0, &asked);
        }
    }
}

/// A chain: the neighbors of each vertex are one apart, or two.
#[test]
fn info_tells_the_cost_of_an_order() {
    let place = Place::new();
    place.file("g.txt", "0 1\n1 2\n1 4\n2 3\n3 4\n");
    place.ends(0, &["build", "g.txt", "-o", "g.oc", "--order", "original"]);
    // Only 1 has several neighbors: 2 and 4, of variance 1, and one edge leads to it.
    assert_eq!(place.json(&["info", "g.oc", "--io-cost"])["io_cost"], 1.0);
    assert!(place.json(&["info", "g.oc"]).get("io_cost").is_none());
    assert!(place.ends(0, &["info", "g.oc", "--io-cost"]).0.contains("I/O cost"));
}
