//! Builders that are killed at any moment: what opens afterwards is a whole graph, and the next
//! build removes whatever they left.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use outercore_graph::{BuildOptions, Graph, GraphError, Silent, check};
use outercore_storage::Disk;
use outercore_testing::{Essence, Ids, Random, build_file, essence, names, options, random_text};

/// The folder that a child works in.
const FOLDER: &str = "OUTERCORE_TEST_KILLED";

fn recipe(folder: &Path, force: bool) -> BuildOptions {
    BuildOptions {
        stripes: vec![folder.join("stripe-0"), folder.join("stripe-1")],
        threads: 2,
        force,
        ..options()
    }
}

/// Not a test: the process that is killed. It builds until it ends, or is ended.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    build_file(
        &Disk::new(),
        &folder.join("edges.txt"),
        &folder.join("place/graph.oc"),
        &recipe(&folder, true),
    )
    .unwrap();
}

fn spawn(folder: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child", "--test-threads", "1"])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Nothing but one graph is left, in its folder and in its stripes.
fn assert_tidy(folder: &Path) {
    assert_eq!(names(&folder.join("place")), ["graph.oc"]);
    let graph = Graph::open(&Disk::new(), &folder.join("place/graph.oc")).unwrap();
    for (index, own) in graph.manifest().stripes.iter().enumerate() {
        assert_eq!(
            names(&folder.join(format!("stripe-{index}"))),
            [own.file_name().unwrap().to_string_lossy().into_owned()]
        );
    }
}

/// Removes a graph with its stripes.
fn remove(graph: &Path) {
    let stripes = Graph::open(&Disk::new(), graph).unwrap().manifest().stripes.clone();
    stripes.iter().for_each(|stripe| std::fs::remove_dir_all(stripe).unwrap());
    std::fs::remove_dir_all(graph).unwrap();
}

/// Whether the new graph is there, whole; else the old one is, if there was one.
fn is_new(what: &str, graph: &Path, new: &Essence, old: Option<&Essence>) -> bool {
    match Graph::open(&Disk::new(), graph) {
        Ok(opened) => {
            drop(opened);
            let faults = check(&Disk::new(), graph, &Silent).unwrap();
            assert!(faults.is_empty(), "{what}: a graph that is not whole");
            let now = essence(graph);
            assert!(now == *new || Some(&now) == old, "{what}: neither the old graph nor the new");
            now == *new
        }
        Err(GraphError::NotAGraph { .. }) => {
            assert!(old.is_none(), "{what}: the old graph is gone");
            false
        }
        Err(error) => panic!("{what}: {error}"),
    }
}

/// Starts a builder and kills it after a while; whether it had ended by then.
fn ends(folder: &Path, after: Duration) -> bool {
    let mut builder = spawn(folder);
    std::thread::sleep(after);
    builder.kill().unwrap();
    builder.wait().unwrap().success()
}

/// Kills builders after random times; `before` is a graph that is there already.
fn kill(before: bool, rounds: u64) {
    // On a real file system: a killed process may be inside of a write.
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (edges, old, graph) =
        (folder.join("edges.txt"), folder.join("old.txt"), folder.join("place/graph.oc"));
    std::fs::write(&edges, random_text(Ids::Sparse, 30_000, 250_000, 1)).unwrap();
    std::fs::write(&old, random_text(Ids::Zero, 300, 3000, 2)).unwrap();
    std::fs::create_dir(folder.join("place")).unwrap();
    let undisturbed = |_| {
        let begun = Instant::now();
        assert!(spawn(folder).wait().unwrap().success());
        begun.elapsed()
    };
    let whole = (0..3).map(undisturbed).min().unwrap();
    let new = essence(&graph);
    build_file(&Disk::new(), &old, &graph, &recipe(folder, true)).unwrap();
    let old_essence = before.then(|| essence(&graph));
    let mut random = Random::new(7);
    let (mut during, mut published) = (0, 0);
    for round in 0..rounds {
        if before {
            build_file(&Disk::new(), &old, &graph, &recipe(folder, true)).unwrap();
            assert_tidy(folder);
        } else if graph.exists() {
            remove(&graph);
        }
        // The last rounds aim at the end, where the name changes.
        let share =
            if round * 2 < rounds { random.below(1000u64) } else { 850 + random.below(200) };
        during += u64::from(!ends(folder, whole.mul_f64(share as f64 / 1000.0)));
        published +=
            u64::from(is_new(&format!("round {round}"), &graph, &new, old_essence.as_ref()));
        // The leftovers of several killed builders may lie there together.
        if round % 3 == 0 {
            build_file(&Disk::new(), &old, &graph, &recipe(folder, true)).unwrap();
            assert_tidy(folder);
        }
    }
    eprintln!(
        "of {rounds} builders {during} were killed before their end, and {published} had published \
         by then (a whole build takes {whole:?})"
    );
    assert!(during >= 3, "most builders ended before they were killed");
    build_file(&Disk::new(), &edges, &graph, &recipe(folder, true)).unwrap();
    assert!(essence(&graph) == new);
    assert_tidy(folder);
}

#[test]
fn killed_while_nothing_is_there() {
    kill(false, 20);
}

#[test]
fn killed_while_replacing() {
    kill(true, 20);
}

/// A builder that lives holds its folder: another one does not clean it away.
#[test]
fn living_builders_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("edges.txt"), random_text(Ids::Sparse, 60_000, 600_000, 1)).unwrap();
    std::fs::write(folder.join("small.txt"), random_text(Ids::Zero, 30, 100, 2)).unwrap();
    std::fs::create_dir(folder.join("place")).unwrap();
    let mut builder = spawn(folder);
    let place = folder.join("place");
    let limit = Instant::now() + Duration::from_secs(30);
    while names(&place).is_empty() && Instant::now() < limit {
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(Duration::from_millis(20));
    // In between, the same name is built with something small, again and again.
    let mut others = 0;
    while builder.try_wait().unwrap().is_none() {
        others += u32::from(
            build_file(
                &Disk::new(),
                &folder.join("small.txt"),
                &place.join("graph.oc"),
                &BuildOptions { force: true, ..options() },
            )
            .is_ok(),
        );
    }
    assert!(builder.wait().unwrap().success(), "the builder was disturbed by {others} others");
    assert!(check(&Disk::new(), &place.join("graph.oc"), &Silent).unwrap().is_empty());
    build_file(
        &Disk::new(),
        &folder.join("small.txt"),
        &place.join("graph.oc"),
        &BuildOptions { force: true, ..options() },
    )
    .unwrap();
    assert_eq!(names(&place), ["graph.oc"]);
}
