//! Commands that meet: a graph is replaced again and again while others run on it, check it, export
//! it and write results. Each ends with the answer of one of the graphs, or with exit code 8.

mod place;

use std::{
    collections::BTreeMap,
    process::Command,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
};

use place::{Place, command};
use serde_json::Value;

/// How many commands are run: some, or with `make fault` all.
fn commands() -> usize {
    if std::env::var_os("OUTERCORE_TEST_ALL").is_some() { 400 } else { 60 }
}

fn of(place: &Place, arguments: &[&str]) -> Command {
    let mut command = command();
    command.args(arguments).current_dir(place.0.path());
    command
}

/// What a command says that must be the same on the same graph.
fn said(out: &[u8], keys: &[&str]) -> Vec<String> {
    let json: Value = serde_json::from_slice(out).expect("one line of JSON");
    keys.iter().map(|&key| json[key].to_string()).collect()
}

/// The commands, what of their output counts, and the file that they write.
const COMMANDS: [(&[&str], &[&str], Option<&str>); 6] = [
    (&["run", "components", "g.oc", "--json"], &["summary", "edges"], None),
    (&["check", "g.oc", "--json"], &["ok"], None),
    (&["export", "g.oc", "-o", "e.csv", "--json"], &[], Some("e.csv")),
    (&["run", "kcore", "g.oc", "--json"], &["summary", "edges"], None),
    (
        &["run", "bfs", "g.oc", "--source", "1", "-o", "r.csv", "--json"],
        &["summary"],
        Some("r.csv"),
    ),
    (
        &["run", "pagerank", "g.oc", "--model", "fully-external", "--iterations", "3", "--json"],
        &["summary"],
        None,
    ),
];

/// What the commands say of a graph, and the files that they write.
type Answers = Vec<(Vec<String>, Option<Vec<u8>>)>;

fn edges(count: u64, step: u64) -> String {
    let line = |i: u64| format!("{} {}\n", i % 997, (i * i * step + 1) % 2003);
    (0..count).map(line).collect()
}

/// What each command says of the graph at `g.oc` when nobody disturbs it.
fn answers(place: &Place) -> Answers {
    let answer = |&(arguments, keys, file): &(&[&str], &[&str], Option<&str>)| {
        let output = of(place, arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        (said(&output.stdout, keys), file.map(|file| std::fs::read(place.path(file)).unwrap()))
    };
    COMMANDS.iter().map(answer).collect()
}

/// Runs one command beside others; returns its exit code.
fn meet(place: &Place, which: usize, known: &[Answers]) -> i32 {
    let (arguments, keys, file) = COMMANDS[which];
    let output = of(place, arguments).output().unwrap();
    let code = output.status.code().unwrap_or(-1);
    let right = |answers: &Answers| answers[which].0 == said(&output.stdout, keys);
    match code {
        0 => assert!(known.iter().any(right), "{arguments:?}: {output:?}"),
        8 => {}
        _ => panic!("{arguments:?}: {output:?}"),
    }
    // Several write this file, each a whole one.
    if let Some(file) = file {
        let there = std::fs::read(place.path(file)).unwrap();
        assert!(known.iter().any(|answers| answers[which].1.as_ref() == Some(&there)), "{file}");
    }
    code
}

/// Builds again and again while three threads run commands; how many of these ended with which
/// code, and how many builds there were.
fn beside(
    build: &(dyn Fn(&str) + Sync),
    run: &(dyn Fn(usize) -> i32 + Sync),
) -> (BTreeMap<i32, usize>, usize) {
    let (next, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let read = || {
        let numbers = std::iter::repeat_with(|| next.fetch_add(1, Relaxed));
        numbers.take_while(|&number| number < commands()).map(run).collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        let builder = scope.spawn(|| {
            let mut builds = 0;
            while !over.load(Relaxed) {
                build(["b.txt", "a.txt"][builds % 2]);
                builds += 1;
            }
            builds
        });
        let readers: Vec<_> = (0..3).map(|_| scope.spawn(read)).collect();
        let ended: Vec<_> = readers.into_iter().map(|reader| reader.join()).collect();
        over.store(true, Relaxed);
        let builds = builder.join().unwrap();
        let mut codes = BTreeMap::new();
        for code in ended.into_iter().flat_map(|codes| codes.unwrap()) {
            *codes.entry(code).or_insert(0) += 1;
        }
        (codes, builds)
    })
}

#[test]
fn replaced_while_others_read() {
    let place = Place::new();
    place.file("a.txt", edges(4000, 3));
    place.file("b.txt", edges(3000, 7));
    let build = |text: &str| {
        place.ends(0, &["build", text, "-o", "g.oc", "--force", "--memory", "64M"]);
    };
    let known = ["b.txt", "a.txt"].map(|text| {
        build(text);
        answers(&place)
    });
    assert_ne!(known[0], known[1]);
    let (codes, builds) = beside(&build, &|number| meet(&place, number % COMMANDS.len(), &known));
    eprintln!("{builds} builds beside {} commands; by exit code: {codes:?}", commands());
    let right = codes.get(&0).copied().unwrap_or(0);
    assert!(right * 10 >= commands() * 9, "most commands need not wait: {codes:?}");
    build("a.txt");
    assert_eq!(place.names(), ["a.txt", "b.txt", "e.csv", "g.oc", "r.csv"]);
}

#[test]
fn builds_of_one_new_name() {
    let place = Place::new();
    place.file("a.txt", edges(500, 3));
    for round in 0..commands() / 6 {
        let name = format!("g{round}.oc");
        let begin = || of(&place, &["build", "a.txt", "-o", &name]).spawn().unwrap();
        let builders: Vec<_> = (0..3).map(|_| begin()).collect();
        let ended = builders.into_iter().map(|mut builder| builder.wait().unwrap().code());
        let codes: Vec<_> = ended.map(Option::unwrap).collect();
        // One that begins when another has ended finds that the name is taken.
        assert!(codes.iter().all(|code| [0, 2, 8].contains(code)), "{codes:?}");
        assert_eq!(codes.iter().filter(|&&code| code == 0).count(), 1, "{codes:?}");
        place.ends(0, &["check", &name]);
        place.ends(0, &["build", "a.txt", "-o", &name, "--force"]);
    }
    assert!(place.names().iter().all(|name| !name.starts_with('.')), "{:?}", place.names());
}

/// A folder's name with a line feed cannot be listed.
#[test]
fn stripes_of_an_odd_name() {
    let place = Place::new();
    place.file("a.txt", "1 2\n");
    let (_, said) = place.ends(2, &["build", "a.txt", "-o", "g.oc", "--stripe", "a\nb"]);
    assert!(said.contains("line feed") && said.contains("a\\nb"), "{said}");
    assert_eq!(place.names(), ["a.txt"]);
}
