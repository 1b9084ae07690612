//! Power losses on a disk that keeps what was synced, and any part of the rest: at every step of
//! builds, new ones and such that replace, striped or not, and of views. And power losses while the
//! next build clears up after one. The graph of that name is the old one or the new one, whole;
//! what a builder was told is there; the next build leaves nothing but its graph.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use outercore_graph::{BuildOptions, Graph, GraphError, Silent, check, format::Manifest};
use outercore_graph::{format::MANIFEST, view};
use outercore_storage::{Change, Disk};
use outercore_testing::{
    Exchange, Ids, Recorder, Recording, Watchdog, Wiles, build_file, essence, folder, names,
    options, random_text, thorough,
};

/// The states of a test: few, or with `make fault` all.
fn states(few: usize, all: usize) -> usize {
    if thorough() { all } else { few }
}

type Essence = (BTreeMap<String, Vec<u8>>, Manifest);

/// Builds to be cut off.
struct Scene {
    /// What lies here is not lost.
    inputs: tempfile::TempDir,
    place: tempfile::TempDir,
    options: BuildOptions,
    replaces: bool,
    wiles: Wiles,
    old: Option<Essence>,
    new: Essence,
}

impl Scene {
    fn new(stripes: usize, replaces: bool, wiles: Wiles) -> Self {
        let (inputs, place) = (folder(), folder());
        std::fs::write(inputs.path().join("new.txt"), random_text(Ids::Sparse, 120, 700, 1))
            .unwrap();
        std::fs::write(inputs.path().join("old.txt"), random_text(Ids::Zero, 50, 100, 2)).unwrap();
        let root = place.path();
        std::fs::create_dir(root.join("graphs")).unwrap();
        let stripes = (0..stripes).map(|stripe| root.join(format!("stripes-{stripe}/s"))).collect();
        let options = BuildOptions { stripes, force: true, ..options() };
        let built = |text: &str| {
            let graph = root.join("graphs/graph.oc");
            build_file(&Disk::new(), &inputs.path().join(text), &graph, &options).unwrap();
            essence(&graph)
        };
        let new = built("new.txt");
        let old = if replaces { Some(built("old.txt")) } else { None };
        if !replaces {
            for path in std::fs::read_dir(root).unwrap() {
                std::fs::remove_dir_all(path.unwrap().path()).unwrap();
            }
        }
        Self { inputs, options, replaces, wiles, old, new, place }
    }

    fn graph(&self) -> PathBuf {
        self.place.path().join("graphs/graph.oc")
    }

    fn build(&self, disk: &Disk, options: &BuildOptions) -> Result<Manifest, GraphError> {
        build_file(disk, &self.inputs.path().join("new.txt"), &self.graph(), options)
    }

    fn record(&self) -> Recording {
        let (recorder, disk) = Recorder::begin(self.place.path(), self.wiles);
        let options = BuildOptions { force: self.replaces, ..self.options.clone() };
        self.build(&disk, &options).unwrap();
        recorder.recording()
    }

    /// Whether the old graph keeps its name until the new one has it.
    fn is_exchanged(&self) -> bool {
        self.wiles.exchange == Exchange::Done
    }

    /// What is there is right: the old graph, the new one, or none where that may be.
    fn is_whole(&self, done: bool, state: usize) -> Result<(), String> {
        if self.wiles.exchange == Exchange::AcrossLayers && !done {
            // Half of the old one may be removed: the next build ends that.
            return Ok(());
        }
        match Graph::open(&Disk::new(), &self.graph()) {
            Err(GraphError::NotAGraph { .. }) if done => Err("what was promised is gone".into()),
            // In three steps: it is there under another name.
            Err(GraphError::NotAGraph { .. }) if self.replaces && self.is_exchanged() => {
                Err("the old graph is gone".into())
            }
            Err(GraphError::NotAGraph { .. }) => Ok(()),
            Err(error) => Err(error.to_string()),
            Ok(_) => {
                if state.is_multiple_of(8) {
                    let faults = check(&Disk::new(), &self.graph(), &Silent);
                    if !faults.as_ref().is_ok_and(Vec::is_empty) {
                        return Err(format!("{faults:?}"));
                    }
                }
                let there = essence(&self.graph());
                let is_old = !done && self.old.as_ref() == Some(&there);
                if there == self.new || is_old { Ok(()) } else { Err("another graph".into()) }
            }
        }
    }

    /// The next build works, and leaves nothing but its graph.
    fn is_cleared(&self, disk: &Disk) -> Result<(), String> {
        if !self.is_exchanged() && self.replaces {
            // A graph that lost its name has it again, or its successor has it, before anything is
            // said about it.
            let careful = BuildOptions { force: false, ..self.options.clone() };
            match self.build(disk, &careful) {
                Err(GraphError::Exists { .. }) => {}
                other => return Err(format!("the old graph is gone: {other:?}")),
            }
        }
        self.build(disk, &self.options).map_err(|error| format!("the next build: {error}"))?;
        if essence(&self.graph()) != self.new {
            return Err("the next build made another graph".into());
        }
        self.is_tidy()
    }

    fn is_tidy(&self) -> Result<(), String> {
        let graphs = self.graph().parent().map(names).unwrap_or_default();
        if graphs != ["graph.oc"] {
            return Err(format!("leavings: {graphs:?}"));
        }
        let manifest = Manifest::read(&Disk::new(), &self.graph()).unwrap();
        for (stripe, own) in self.options.stripes.iter().zip(&manifest.stripes) {
            let there = names(stripe);
            if there != [own.file_name().unwrap().to_string_lossy().into_owned()] {
                return Err(format!("leavings in {}: {there:?}", stripe.display()));
            }
        }
        Ok(())
    }

    /// Crashes everywhere; how many states are wrong.
    fn crash(&self, count: usize, seed: u64) -> (usize, Option<String>) {
        let dog = Watchdog::new(Duration::from_secs(120));
        let (begun, recording) = (Instant::now(), self.record());
        assert!(recording.steps() > 60, "a build has more than {} steps", recording.steps());
        let found = recording.crash((0, count), seed, |done, state| {
            dog.step(format!("state {state}"));
            self.is_whole(done, state)?;
            self.is_cleared(&Disk::new())
        });
        eprintln!("{count} states of {} steps: {:.1?}", recording.steps(), begun.elapsed());
        found
    }

    /// Crashes, and crashes again while the next build clears up.
    fn crash_twice(&self, count: usize, each: usize, seed: u64) {
        let dog = Watchdog::new(Duration::from_secs(120));
        let recording = self.record();
        let mut second = 0;
        let (_, why) = recording.crash((0, count), seed, |done, state| {
            let (recorder, disk) = Recorder::begin(self.place.path(), self.wiles);
            self.is_cleared(&disk)?;
            let recovery = recorder.recording();
            let (wrong, why) = recovery.crash((0, each), seed + state as u64, |again, number| {
                dog.step(format!("state {state}, {number}"));
                second += 1;
                // What was promised before the first crash may have been replaced by the same, or
                // be half removed if it cannot be renamed.
                let is_kept = self.wiles.exchange != Exchange::AcrossLayers;
                self.is_whole(again || (done && is_kept), number)?;
                self.is_cleared(&Disk::new())
            });
            if wrong > 0 { Err(why.unwrap_or_default()) } else { Ok(()) }
        });
        assert!(why.is_none(), "{}", why.unwrap_or_default());
        eprintln!("{second} crashes of recoveries");
    }
}

/// Other states of the same kind: `OUTERCORE_TEST_SEED`.
fn seed() -> u64 {
    std::env::var("OUTERCORE_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(17)
}

fn sound(stripes: usize, replaces: bool, wiles: Wiles, count: usize) {
    let (wrong, why) = Scene::new(stripes, replaces, wiles).crash(count, seed());
    assert!(wrong == 0, "{wrong} of {count} states: {}", why.unwrap_or_default());
}

/// Names cannot be exchanged.
const IN_STEPS: Wiles = Wiles { forgets: |_| false, exchange: Exchange::Unsupported };
/// The old graph cannot be renamed.
const FIXED: Wiles = Wiles { forgets: |_| false, exchange: Exchange::AcrossLayers };

#[test]
fn new_graphs() {
    sound(0, false, Wiles::default(), states(50, 1000));
}

#[test]
fn new_striped_graphs() {
    sound(2, false, Wiles::default(), states(50, 1500));
}

#[test]
fn replaced_graphs() {
    sound(0, true, Wiles::default(), states(50, 1000));
}

#[test]
fn replaced_striped_graphs() {
    sound(2, true, Wiles::default(), states(50, 1500));
}

#[test]
fn graphs_replaced_in_steps() {
    sound(0, true, IN_STEPS, states(25, 500));
    sound(1, true, IN_STEPS, states(25, 500));
}

#[test]
fn graphs_that_cannot_be_renamed() {
    sound(0, true, FIXED, states(25, 500));
    sound(1, true, FIXED, states(25, 500));
}

#[test]
fn crashes_of_recoveries() {
    Scene::new(2, false, Wiles::default()).crash_twice(states(8, 100), 6, 3);
    Scene::new(2, true, Wiles::default()).crash_twice(states(8, 100), 8, 4);
    Scene::new(1, true, IN_STEPS).crash_twice(states(8, 100), 6, 5);
    Scene::new(1, true, FIXED).crash_twice(states(8, 100), 6, 6);
}

/// The view that k-core makes and leaves: whatever there is of it, the graph is as it was, and the
/// next run has a whole view, and leaves nothing else.
#[test]
fn views() {
    let scene = Scene::new(1, true, Wiles::default());
    let (recorder, disk) = Recorder::begin(scene.place.path(), scene.wiles);
    let make = |disk: &Disk| {
        let graph = Graph::open(disk, &scene.graph()).unwrap();
        let read = |view: &Graph| {
            view.for_each_edge(100, &mut |_| Ok(()))?;
            Ok(view.path().to_owned())
        };
        view::with(&graph, (64 << 20, 1), &Silent, read).map_err(|error| error.to_string())
    };
    make(&disk).unwrap();
    let old = scene.old.clone().unwrap();
    let (wrong, why) = recorder.recording().crash((0, states(40, 600)), 23, |_, _| {
        let there = essence(&scene.graph());
        let view = make(&Disk::new())?;
        let faults =
            check(&Disk::new(), &scene.graph(), &Silent).map_err(|error| error.to_string())?;
        if !faults.is_empty() {
            return Err(format!("{faults:?}"));
        }
        std::fs::remove_dir_all(view).map_err(|error| error.to_string())?;
        let same = there == old && essence(&scene.graph()) == old;
        if same { scene.is_tidy() } else { Err("the graph is another".into()) }
    });
    assert!(wrong == 0, "{wrong} states: {}", why.unwrap_or_default());
}

/// Disks that forget: each must be found out.
#[test]
fn planted_faults_are_found() {
    fn is(path: &Path, name: &str) -> bool {
        path.file_name().is_some_and(|last| last == name)
    }
    type Forgets = fn(&Change<'_>) -> bool;
    let cases: [(&str, usize, Forgets); 5] = [
        (
            "sections are not synced",
            0,
            |change| matches!(change, Change::Sync(path) if is(path, "out.adjacency")),
        ),
        (
            "checksums are not synced",
            0,
            |change| matches!(change, Change::Sync(path) if is(path, "grid.words.crc")),
        ),
        (
            "the manifest is not synced",
            0,
            |change| matches!(change, Change::Sync(path) if is(path, MANIFEST)),
        ),
        (
            "the graph's name is not synced",
            0,
            |change| matches!(change, Change::SyncFolder(path) if is(path, "graphs")),
        ),
        ("names in stripes are not synced", 2, |change| {
            matches!(change, Change::SyncFolder(path)
                if path.parent().is_some_and(|parent| is(parent, "s")))
        }),
    ];
    for (what, stripes, forgets) in cases {
        for replaces in [false, true] {
            let scene = Scene::new(stripes, replaces, Wiles { forgets, exchange: Exchange::Done });
            let (wrong, why) = scene.crash(30, 29);
            assert!(wrong > 0, "{what}, {replaces}: not found");
            let why = why.unwrap();
            eprintln!("{what}: {wrong} of 30: {}", why.lines().next().unwrap());
        }
    }
}
