//! Every bit of every file of small graphs, changed before a run and in the middle of one: every
//! algorithm in every model gives the right answer or says that the graph is damaged, and so does
//! the reading of all edges with their ids, as for exports. `check` finds each.

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use outercore_algorithms::{NAMES, Source};
use outercore_engine::{IterationReport, MemoryModel, RunConfig, RunProgress, Silent as Unwatched};
use outercore_graph::{BuildOptions, Graph, GraphError, Layout, Silent, check};
use outercore_storage::{Disk, StorageError};
use outercore_testing::{
    Ids, MODELS, Watchdog, contents, options, random_graph, request, run_opened, share,
};

/// Every value of every vertex, by original id.
type Answer = BTreeMap<String, Vec<String>>;

/// A graph, its bytes, and the right answers.
struct Scene {
    folder: tempfile::TempDir,
    ids: Ids,
    files: BTreeMap<PathBuf, Vec<u8>>,
    edges: Vec<String>,
    runs: Vec<(&'static str, MemoryModel, Answer)>,
}

impl Scene {
    fn new(ids: Ids, build: BuildOptions) -> Self {
        let (folder, graph) = random_graph(ids, (30, 60, 5), &build);
        let files = contents(&graph);
        let mut new = Self { folder, ids, files, edges: Vec::new(), runs: Vec::new() };
        new.edges = new.read_edges().unwrap();
        for (name, model) in NAMES.iter().flat_map(|&name| MODELS.map(|model| (name, model))) {
            let right = new.run(name, model, &Unwatched).unwrap();
            new.runs.push((name, model, right));
        }
        new
    }

    fn graph(&self) -> PathBuf {
        self.folder.path().join("graph.oc")
    }

    fn run(
        &self,
        name: &str,
        model: MemoryModel,
        progress: &dyn RunProgress,
    ) -> Result<Answer, GraphError> {
        let config = RunConfig { memory: 64 << 20, threads: 1, ..outercore_testing::config() };
        let config = RunConfig { model: Some(model), ..config };
        let sources = [0, 1, 2].map(|vertex| Source::Key(self.ids.key(vertex)));
        let request = request(name, &sources);
        run_opened(&Disk::new(), &self.graph(), name, &request, (&config, progress))
    }

    /// All edges by original id, as an export has them.
    fn read_edges(&self) -> Result<Vec<String>, GraphError> {
        let (graph, mut edges) = (Graph::open(&Disk::new(), &self.graph())?, Vec::new());
        graph.for_each_edge(100, &mut |rows| {
            for (at, (&source, &target)) in rows.sources.iter().zip(&rows.targets).enumerate() {
                let ends = (graph.key_of(source)?, graph.key_of(target)?);
                edges.push(format!("{ends:?} {:?}", rows.weights.get(at)));
            }
            Ok(())
        })?;
        Ok(edges)
    }
}

/// Changes a bit of a file, in its place.
fn flip(path: &Path, bit: usize) {
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let (mut byte, at) = ([0], bit as u64 / 8);
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 1 << (bit % 8)], at).unwrap();
}

/// Flips a bit after so many iterations.
struct Flips<'f> {
    path: &'f Path,
    bit: usize,
    after: u64,
    iterations: AtomicU64,
}

impl RunProgress for Flips<'_> {
    fn iteration(&self, _: &IterationReport) {
        if self.iterations.fetch_add(1, Relaxed) == self.after {
            flip(self.path, self.bit);
        }
    }

    fn cancelled(&self) -> bool {
        false
    }
}

/// What is right, or the error of damage; whether it was that.
fn right_or_damage<T: PartialEq>(
    what: &str,
    right: &T,
    work: impl FnOnce() -> Result<T, GraphError>,
) -> bool {
    let end = catch_unwind(AssertUnwindSafe(work));
    match end.unwrap_or_else(|_| panic!("{what}: a panic")) {
        Ok(answer) => assert!(answer == *right, "{what}: a wrong answer"),
        Err(
            GraphError::Corrupt { .. }
            | GraphError::Storage(StorageError::Checksum { .. } | StorageError::Truncated { .. }),
        ) => return true,
        Err(error) => panic!("{what}: {error}"),
    }
    false
}

/// Every bit of what is in the files; with `make test` some, whose place in a byte goes round.
fn every_bit(scene: &Scene) {
    let dog = Watchdog::new(Duration::from_secs(120));
    let (mut turn, mut told) = (0, [0; 3]);
    // The manifest is looked at in `damage.rs`.
    for (file, content) in scene.files.iter().filter(|(file, _)| !file.ends_with("manifest.json")) {
        let path = scene.graph().join(file);
        // The rest is padding up to a page, of which a few bits stand for all.
        let used = content.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        let padding = (used * 8..content.len() * 8).step_by(4099);
        for bit in (0..used * 8).step_by(share(61)).chain(padding.step_by(share(5))) {
            turn += 1;
            let what = format!("bit {bit} of {}, {:?}", file.display(), scene.ids);
            dog.step(what.clone());
            flip(&path, bit);
            let faults = check(&Disk::new(), &scene.graph(), &Silent);
            assert!(faults.is_ok_and(|faults| !faults.is_empty()), "{what}: check");
            told[0] += u32::from(right_or_damage(&what, &scene.edges, || scene.read_edges()));
            let (name, model, right) = &scene.runs[turn % scene.runs.len()];
            let run = || scene.run(name, *model, &Unwatched);
            told[1] += u32::from(right_or_damage(&format!("{what}, {name} {model:?}"), right, run));
            flip(&path, bit);
            let (name, model, right) = &scene.runs[(turn * 7 + 3) % scene.runs.len()];
            let (after, iterations) = (turn as u64 % 2, AtomicU64::new(0));
            let flips = Flips { path: &path, bit, after, iterations };
            let run = || scene.run(name, *model, &flips);
            let what = format!("{what} after {after} iterations, {name} {model:?}");
            told[2] += u32::from(right_or_damage(&what, right, run));
            if flips.iterations.into_inner() > after {
                flip(&path, bit);
            }
        }
    }
    println!("{turn} bits; told of by edges, runs, runs under way: {told:?}");
    assert!(told.iter().all(|&told| told > 0), "{told:?} of {turn}");
    assert_eq!(check(&Disk::new(), &scene.graph(), &Silent).unwrap(), []);
}

#[test]
fn dense_ids() {
    every_bit(&Scene::new(Ids::Zero, options()));
}

#[test]
fn numbers_undirected_in_lists_and_tiles() {
    let build = BuildOptions { directed: Some(false), layout: Layout::Hybrid, ..options() };
    every_bit(&Scene::new(Ids::Sparse, build));
}

#[test]
fn names_in_lists_alone() {
    every_bit(&Scene::new(Ids::Names, BuildOptions { layout: Layout::Row, ..options() }));
}
