//! `order`, and `build --order`: exit codes, what is left, and what is said.

mod place;

use place::Place;

const ORDERS: [&str; 10] = [
    "degree",
    "original",
    "in-degree",
    "pagerank",
    "norder",
    "gorder",
    "bfs",
    "random",
    "hubs-norder",
    "hubs-bfs",
];

/// A graph with names, weights and a vertex without edges, as `g.oc`.
fn scene() -> Place {
    let place = Place::new();
    let line = |at: u64| format!("v{},v{},{}\n", at % 40, at * at * 7 % 41, at % 5 + 1);
    place.file("e.csv", (0..300).map(line).collect::<String>());
    place.file("alone.txt", "nobody\n");
    let build = "build e.csv -o g.oc --weights u32 --ids string --vertices alone.txt";
    place.ends(0, &build.split(' ').collect::<Vec<_>>());
    place
}

#[test]
fn every_order_keeps_ids_weights_and_answers() {
    let place = scene();
    let distances = |graph: &str| {
        let name = format!("{graph}.csv");
        place.ends(0, &["run", "sssp", graph, "--source", "v7", "-o", &name]);
        std::fs::read_to_string(place.path(&name)).unwrap()
    };
    let right = distances("g.oc");
    assert!(right.contains("nobody"));
    for order in ORDERS {
        let (one, other) = (format!("{order}.oc"), format!("built-{order}.oc"));
        let made = place.json(&["order", order, "g.oc", "-o", &one]);
        assert_eq!((&made["order"], &made["weights"]), (&order.into(), &"u32".into()));
        let build = "build e.csv --weights u32 --ids string --vertices alone.txt";
        let words: Vec<&str> = build.split(' ').chain(["-o", &other, "--order", order]).collect();
        let (_, said) = place.ends(0, &words);
        assert_eq!(said.contains("built twice"), !["degree", "original"].contains(&order));
        for graph in [&one, &other] {
            assert_eq!(place.json(&["info", graph])["order"], order);
            place.ends(0, &["check", graph]);
            assert_eq!(distances(graph), right, "{graph}");
        }
    }
    assert!(place.names().iter().all(|name| !name.starts_with('.')), "{:?}", place.names());
}

#[test]
fn bad_asks_have_their_exit_codes_and_change_nothing() {
    let place = scene();
    place.ends(0, &["order", "norder", "g.oc", "-o", "n.oc"]);
    let (names, before) = (place.names(), place.json(&["info", "g.oc"]));
    for force in [&[][..], &["--force"]] {
        place.ends(2, &[&["order", "degree", "g.oc", "-o", "g.oc"], force].concat());
        place.ends(2, &[&["order", "degree", "g.oc", "-o", "./g.oc/"], force].concat());
    }
    let (_, error) = place.ends(2, &["order", "degree", "g.oc", "-o", "n.oc"]);
    assert!(error.contains("--force"), "{error}");
    let (_, error) = place.ends(2, &["order", "best", "g.oc", "-o", "b.oc"]);
    assert!(error.contains("norder"), "{error}");
    place.ends(2, &["order", "norder", "g.oc", "-o", "b.oc", "--window", "3"]);
    place.ends(2, &["order", "gorder", "g.oc", "-o", "b.oc", "--window", "0"]);
    place.ends(2, &["order", "bfs", "g.oc", "-o", "b.oc", "--seed", "3"]);
    let (_, error) = place.ends(7, &["order", "bfs", "g.oc", "-o", "b.oc", "--memory", "1M"]);
    assert!(error.contains("--memory"), "{error}");
    place.ends(4, &["order", "norder", "e.csv", "-o", "b.oc"]);
    place.ends(4, &["order", "norder", "nothing.oc", "-o", "b.oc"]);
    assert_eq!((place.names(), place.json(&["info", "g.oc"])), (names, before));
    place.ends(0, &["order", "degree", "g.oc", "-o", "n.oc", "--force"]);
    assert_eq!(place.json(&["info", "n.oc"])["order"], "degree");
}

/// Damage of what is read, in any section that an order reads: exit code 4, and nothing is made.
#[test]
fn a_damaged_graph_is_not_written_again() {
    let place = scene();
    for section in ["out.adjacency", "out.degrees", "out.weights", "ids.rank", "ids.vertex"] {
        let path = place.path("g.oc").join(section);
        let sound = std::fs::read(&path).unwrap();
        let mut damaged = sound.clone();
        damaged[3] ^= 4;
        std::fs::write(&path, &damaged).unwrap();
        // Degrees and ranks are enough for the order of degrees.
        let orders = ["norder", "gorder", "random", "degree"];
        let count = if section == "ids.vertex" { 3 } else { 4 };
        for order in &orders[..count] {
            let (_, error) = place.ends(4, &["order", order, "g.oc", "-o", "b.oc"]);
            assert!(error.contains(section), "{section}: {error}");
            assert!(!place.path("b.oc").exists());
        }
        std::fs::write(&path, &sound).unwrap();
    }
}

/// The figure that a refusal names.
fn named(said: &str) -> String {
    let figure = said.split("at least ").nth(1).unwrap_or_else(|| panic!("{said}"));
    figure.split(' ').next().unwrap().to_owned()
}

/// A graph, and its edges in files.
fn graph_and_its_edges() -> Place {
    let place = Place::new();
    let made = ["generate", "rmat", "--scale", "14", "--seed", "7", "--weights", "uw"];
    place.ends(0, &[&made[..], &["-o", "g.oc"]].concat());
    for name in ["e.csv", "e.parquet", "e.mtx"] {
        place.ends(0, &["export", "g.oc", "-o", name]);
    }
    place
}

/// What a refusal of a budget names is enough at once, for every number of threads.
fn is_enough(place: &Place, asked: &str) {
    for threads in ["1", "7"] {
        let words: Vec<&str> = asked.split(' ').collect();
        let words = [&words[..], &["-o", "x.oc", "--force", "--threads", threads]].concat();
        let (_, said) = place.ends(7, &[&words[..], &["--memory", "1M"]].concat());
        place.ends(0, &[&words[..], &["--memory", &named(&said)]].concat());
    }
}

#[test]
fn the_budget_that_is_named_is_enough_to_order() {
    let place = graph_and_its_edges();
    for order in ORDERS {
        is_enough(&place, &format!("order {order} g.oc"));
        is_enough(&place, &format!("build e.csv --order {order}"));
    }
}

#[test]
fn the_budget_that_is_named_is_enough_to_build() {
    let place = graph_and_its_edges();
    let text = std::fs::read_to_string(place.path("e.csv")).unwrap();
    let lines = text.lines().skip(1).map(|line| format!("vertex-{line}\n"));
    place.file("names.csv", lines.collect::<String>());
    for input in ["e.csv", "e.parquet", "e.mtx", "names.csv --ids string"] {
        for more in ["", " --undirected --order original", " --layout hybrid --weights none"] {
            is_enough(&place, &format!("build {input}{more}"));
        }
    }
}
