//! Commands that meet: a graph is replaced again and again while others run on it, check it, export
//! it and write results. Each ends with the answer of one of the graphs, or with exit code 8.

mod place;

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::Command,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
};

use place::{Place, outercore};
use serde_json::Value;

/// How many commands are run: some, or with `make fault` all.
fn commands() -> usize {
    if std::env::var_os("OUTERCORE_TEST_ALL").is_some() { 400 } else { 60 }
}

/// The command, or one that stands for it, in the folder.
fn of(place: &Place, program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
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
        let output = of(place, outercore(), arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        (said(&output.stdout, keys), file.map(|file| std::fs::read(place.path(file)).unwrap()))
    };
    COMMANDS.iter().map(answer).collect()
}

/// Runs one command beside others: its exit code, or what is wrong with how it ended.
fn meet(place: &Place, program: &Path, which: usize, known: &[Answers]) -> Result<i32, String> {
    let (arguments, keys, file) = COMMANDS[which];
    let output = of(place, program, arguments).output().unwrap();
    let code = output.status.code().unwrap_or(-1);
    let fail = |what: &str| Err(format!("{arguments:?}: {what}: {output:?}"));
    let right = |answers: &Answers| answers[which].0 == said(&output.stdout, keys);
    match code {
        0 if !known.iter().any(right) => return fail("the answer of no graph"),
        0 | 8 => {}
        _ => return fail("another end"),
    }
    // Several write this file, each a whole one.
    if let Some(file) = file {
        let there = fs::read(place.path(file)).unwrap();
        if !known.iter().any(|answers| answers[which].1.as_ref() == Some(&there)) {
            return fail("the file of no graph");
        }
    }
    Ok(code)
}

/// Builds again and again while three threads run commands; how many of these ended with which
/// code, and how many builds there were.
fn beside(
    commands: usize,
    build: &(dyn Fn(&str) + Sync),
    run: &(dyn Fn(usize) -> Result<i32, String> + Sync),
) -> Result<(BTreeMap<i32, usize>, usize), String> {
    let (next, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let read = || {
        let numbers = std::iter::repeat_with(|| next.fetch_add(1, Relaxed));
        numbers.take_while(|&number| number < commands).map(run).collect::<Vec<_>>()
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
            *codes.entry(code?).or_insert(0) += 1;
        }
        Ok((codes, builds))
    })
}

/// Two graphs that take turns under one name, and what the commands say of each.
struct Turns {
    place: Place,
    known: [Answers; 2],
}

impl Turns {
    fn new() -> Self {
        let place = Place::new();
        place.file("a.txt", edges(4000, 3));
        place.file("b.txt", edges(3000, 7));
        let known = ["b.txt", "a.txt"].map(|text| {
            build(&place, text);
            answers(&place)
        });
        assert_ne!(known[0], known[1]);
        Self { place, known }
    }

    /// Runs `program` with the arguments of these commands in turn while the graph is replaced.
    fn meet(
        &self,
        program: &Path,
        commands: usize,
        which: &[usize],
    ) -> Result<(BTreeMap<i32, usize>, usize), String> {
        beside(commands, &|text| build(&self.place, text), &|number| {
            meet(&self.place, program, which[number % which.len()], &self.known)
        })
    }
}

fn build(place: &Place, text: &str) {
    place.ends(0, &["build", text, "-o", "g.oc", "--force", "--memory", "64M"]);
}

#[test]
fn replaced_while_others_read() {
    let turns = Turns::new();
    let (codes, builds) = turns.meet(outercore(), commands(), &[0, 1, 2, 3, 4, 5]).unwrap();
    eprintln!("{builds} builds beside {} commands; by exit code: {codes:?}", commands());
    let right = codes.get(&0).copied().unwrap_or(0);
    assert!(right * 10 >= commands() * 9, "most commands need not wait: {codes:?}");
    build(&turns.place, "a.txt");
    assert_eq!(turns.place.names(), ["a.txt", "b.txt", "e.csv", "g.oc", "r.csv"]);
}

/// Three builds of each of these new names at once, by `program`: what is wrong, if anything is.
fn race(place: &Place, program: &Path, names: &[String]) -> Result<(), String> {
    for name in names {
        let begin = || of(place, program, &["build", "a.txt", "-o", name]).spawn().unwrap();
        let builders: Vec<_> = (0..3).map(|_| begin()).collect();
        let ended = builders.into_iter().map(|mut builder| builder.wait().unwrap().code());
        let codes: Vec<_> = ended.map(Option::unwrap).collect();
        // One that begins when another has ended finds that the name is taken.
        let known = codes.iter().all(|code| [0, 2, 8].contains(code));
        if !known || codes.iter().filter(|&&code| code == 0).count() != 1 {
            return Err(format!("builds of {name} end with {codes:?}"));
        }
        place.ends(0, &["check", name]);
        place.ends(0, &["build", "a.txt", "-o", name, "--force"]);
    }
    let names = place.names();
    let left = names.iter().find(|name| name.starts_with('.'));
    left.map_or(Ok(()), |left| Err(format!("{left} is left")))
}

#[test]
fn builds_of_one_new_name() {
    let place = Place::new();
    place.file("a.txt", edges(500, 3));
    let names: Vec<_> = (0..commands() / 6).map(|round| format!("g{round}.oc")).collect();
    race(&place, outercore(), &names).unwrap();
}

/// Reads the manifest of a graph, and the sections under its name once another graph has that.
const PART_BY_PART: &str = "own=copy.$$; mkdir $own; cat g.oc/manifest.json >$own/manifest.json
while cmp -s g.oc/manifest.json $own/manifest.json; do sleep 0.01; done
for part in g.oc/*.*; do [ -e $own/${part#g.oc/} ] || cat $part >$own/${part#g.oc/}; done
$oc $1 $2 $own --json";

/// Loses the last edges.
const FEWER_EDGES: &str = "head -n 2000 a.txt >$$.txt; $oc build $$.txt -o $$.oc --json >$$.json
$oc $1 $2 $$.oc --json";

/// Programs that do what the command must not do: read a graph part by part, lose edges, write
/// results not as a whole, build under a name that is taken.
#[test]
fn planted_meetings_are_found() {
    let turns = Turns::new();
    for (which, script, why) in [
        (0, PART_BY_PART, "another end"),
        (4, "$oc \"$@\"; code=$?; truncate -s 99 r.csv; exit $code", "the file of no graph"),
        (2, "$oc \"$@\"; code=$?; cat a.txt >>e.csv; exit $code", "the file of no graph"),
        (3, FEWER_EDGES, "the answer of no graph"),
    ] {
        let program = turns.place.stand_in(script);
        let found = turns.meet(&program, 6, &[which]);
        assert!(found.as_ref().is_err_and(|what| what.contains(why)), "{script}: {found:?}");
    }
    let names = ["h.oc".to_owned()];
    let taken = "$oc build $2 -o $$.oc && mv $$.oc $4";
    let place = &turns.place;
    let found = race(place, &place.stand_in(taken), &names);
    assert!(found.is_err_and(|what| what.contains("builds of h.oc")), "three builds have one name");
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

#[test]
fn one_stripe_too_many() {
    let place = Place::new();
    place.file("a.txt", "1 2\n");
    let stripes: Vec<String> = (0..65).map(|at| format!("--stripe=s{at}")).collect();
    let build = |stripes: &[String]| {
        let mut words = vec!["build", "a.txt", "-o", "g.oc"];
        words.extend(stripes.iter().map(String::as_str));
        place.run(&words)
    };
    let refused = build(&stripes);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("at most 64 stripes"), "{said}");
    assert_eq!(place.names(), ["a.txt"]);
    assert!(build(&stripes[1..]).status.success());
    place.ends(0, &["check", "g.oc"]);
}
