//! Damaged graphs: `check` finds every flipped bit, and a run on a damaged graph ends in an error
//! or in the right answer.

#[allow(dead_code)]
#[path = "../../graph/tests/golden/decode.rs"]
mod decode;
#[path = "../../graph/tests/golden/forge.rs"]
mod forge;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use outercore_algorithms::{Algorithm, NAMES, Source, by_name};
use outercore_engine::{
    CrossIteration, IterationReport, Job, MemoryModel, Prepared, ReadPolicy, RunConfig,
    RunProgress, Silent as Unwatched, SubBlocks,
};
use outercore_graph::{BuildOptions, Fault, Graph, GraphError, Silent};
use outercore_storage::{Disk, StorageError};
use outercore_testing::{
    Ids, Random, Watchdog, acting, build_file, contents, options, random_graph, random_text,
    request, run_opened, share,
};

/// Every value of every vertex, by original id.
type Answer = BTreeMap<String, Vec<String>>;

/// A graph, its bytes, and the right answers.
struct Scene {
    folder: tempfile::TempDir,
    ids: Ids,
    files: BTreeMap<PathBuf, Vec<u8>>,
    answers: BTreeMap<&'static str, Answer>,
}

fn config() -> RunConfig {
    RunConfig { memory: 128 << 20, threads: 1, ..outercore_testing::config() }
}

/// A whole run, as its user sees it.
fn answer(graph: &Path, name: &str, ids: Ids) -> Result<Answer, GraphError> {
    let sources = [0, 1, 2].map(|vertex| Source::Key(ids.key(vertex)));
    let request = request(name, &sources);
    run_opened(&Disk::new(), graph, name, &request, (&config(), &Unwatched))
}

impl Scene {
    fn new(ids: Ids, build: BuildOptions) -> Self {
        let (folder, graph) = random_graph(ids, (3000, 12_000, 5), &build);
        let answers = NAMES.iter().map(|&name| (name, answer(&graph, name, ids).unwrap()));
        Self { ids, files: contents(&graph), answers: answers.collect(), folder }
    }

    fn graph(&self) -> PathBuf {
        self.folder.path().join("graph.oc")
    }

    /// Writes `content` in the place of a file, lets `test` look, and puts the file back.
    fn with<T>(&self, file: &Path, content: &[u8], test: impl FnOnce() -> T) -> T {
        let path = self.graph().join(file);
        std::fs::write(&path, content).unwrap();
        let result = test();
        std::fs::write(&path, &self.files[file]).unwrap();
        result
    }

    /// What `check` says; an error is an answer too.
    fn check(&self) -> Result<Vec<Fault>, GraphError> {
        outercore_graph::check(&Disk::new(), &self.graph(), &Silent)
    }

    fn assert_found(&self, what: &str) {
        match self.check() {
            Ok(faults) => assert!(!faults.is_empty(), "{what}: check found nothing"),
            Err(
                GraphError::Corrupt { .. }
                | GraphError::Newer { .. }
                | GraphError::NotAGraph { .. },
            ) => {}
            Err(error) => panic!("{what}: check says {error}"),
        }
    }

    /// Every algorithm is right or says that the graph is damaged.
    fn assert_never_wrong(&self, what: &str) {
        for (name, expected) in &self.answers {
            let result = catch_unwind(|| answer(&self.graph(), name, self.ids));
            match result.unwrap_or_else(|_| panic!("{what}: {name} panics")) {
                Ok(answer) => assert!(answer == *expected, "{what}: {name} gives a wrong answer"),
                Err(
                    GraphError::Corrupt { .. }
                    | GraphError::Newer { .. }
                    | GraphError::NotAGraph { .. },
                ) => {}
                Err(GraphError::Storage(
                    StorageError::Checksum { .. } | StorageError::Truncated { .. },
                )) => {}
                Err(error) => {
                    panic!("{what}: {name} does not say that the graph is damaged: {error}")
                }
            }
        }
    }

    fn sections(&self) -> Vec<&PathBuf> {
        self.files.keys().filter(|file| file.as_path() != Path::new("manifest.json")).collect()
    }
}

fn scenes() -> Vec<Scene> {
    let undirected = BuildOptions { directed: Some(false), simple: true, ..options() };
    vec![
        Scene::new(Ids::Zero, options()),
        Scene::new(Ids::Sparse, undirected),
        Scene::new(Ids::Names, options()),
    ]
}

#[test]
fn every_bit_of_the_manifest() {
    for scene in scenes() {
        let manifest = &scene.files[Path::new("manifest.json")];
        let dog = Watchdog::new(Duration::from_secs(60));
        // Every third bit, whose place in a byte goes round; all with `make fault`.
        for bit in (0..manifest.len() * 8).step_by(share(3)) {
            let mut damaged = manifest.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let what = format!("bit {bit} of the manifest, {:?}", scene.ids);
            dog.step(what.clone());
            scene.with(Path::new("manifest.json"), &damaged, || {
                scene.assert_found(&what);
                let opened = outercore_graph::Graph::open(&Disk::new(), &scene.graph());
                assert!(
                    matches!(
                        opened.err(),
                        Some(GraphError::Corrupt { .. } | GraphError::Newer { .. })
                    ),
                    "{what}"
                );
            });
        }
    }
}

#[test]
fn random_bits_of_every_other_file() {
    let mut random = Random::new(6);
    for scene in scenes() {
        let sections = scene.sections();
        let dog = Watchdog::new(Duration::from_secs(60));
        // Each file several times, whatever its size; a third of it without `make fault`.
        for round in (0..100).step_by(share(3)) {
            let file = sections[round % sections.len()];
            let mut damaged = scene.files[file].clone();
            if damaged.is_empty() {
                continue;
            }
            // Near the front, where the content is, as often as anywhere.
            let limit = if round % 2 == 0 { damaged.len().min(2000) } else { damaged.len() };
            let bit = random.below(limit as u64 * 8) as usize;
            damaged[bit / 8] ^= 1 << (bit % 8);
            let what = format!("bit {bit} of {}, {:?}", file.display(), scene.ids);
            dog.step(what.clone());
            scene.with(file, &damaged, || {
                scene.assert_found(&what);
                scene.assert_never_wrong(&what);
            });
        }
    }
}

/// What a device or a careless copy does to a file: pages of zeros, pages exchanged, an end cut off
/// or lengthened, the file of another build.
fn damages(content: &[u8], other: Option<&Vec<u8>>) -> Vec<(&'static str, Vec<u8>)> {
    let page = content.len().min(4096);
    let mut forms = vec![
        ("cut off", content[..content.len() - page].to_vec()),
        ("cut by a byte", content[..content.len() - 1].to_vec()),
        ("with a page more", [content, &[0; 4096]].concat()),
        ("empty", Vec::new()),
        ("zeros", vec![0; content.len()]),
    ];
    forms.extend(other.map(|other| ("another build's", other.clone())));
    if content.len() >= 8192 {
        let mut exchanged = content.to_vec();
        let (first, second) = exchanged.split_at_mut(4096);
        first.swap_with_slice(&mut second[..4096]);
        forms.push(("two pages exchanged", exchanged));
    }
    forms.retain(|(_, damaged)| damaged != content);
    forms
}

/// Flips a bit of a file after the first iteration.
struct Flips<'f> {
    file: &'f Path,
    content: &'f [u8],
    bit: usize,
    done: AtomicBool,
}

impl RunProgress for Flips<'_> {
    fn iteration(&self, _: &IterationReport) {
        if !self.done.swap(true, Relaxed) {
            let mut content = self.content.to_vec();
            content[self.bit / 8] ^= 1 << (self.bit % 8);
            std::fs::write(self.file, content).unwrap();
        }
    }

    fn cancelled(&self) -> bool {
        false
    }
}

/// What was right when it was first read, and is damaged when it is read again: found, if it is
/// read again. Nothing is kept in memory of edges here.
#[test]
fn bits_that_change_during_a_run() {
    let scene = Scene::new(Ids::Zero, options());
    let mut random = Random::new(8);
    let mut found = Vec::new();
    for name in ["pagerank", "components", "label-propagation", "diameter", "bfs"] {
        for file in ["grid.words", "out.adjacency", "in.adjacency", "out.index", "out.degrees"] {
            for read in [ReadPolicy::Full, ReadPolicy::OnDemand] {
                let config = RunConfig {
                    model: Some(MemoryModel::FullyExternal),
                    cross_iteration: CrossIteration::Off,
                    sub_blocks: SubBlocks::Off,
                    read,
                    ..config()
                };
                let content = &scene.files[Path::new(file)];
                let bit = random.below(content.len() as u64 * 8) as usize;
                let what = format!("{name}, bit {bit} of {file} in a run, {read:?}");
                let (path, done) = (scene.graph().join(file), AtomicBool::new(false));
                let flips = Flips { file: &path, content, bit, done };
                let sources = [Source::Key(scene.ids.key(0))];
                let request = request(name, &sources);
                let graph = Graph::open(&Disk::new(), &scene.graph()).unwrap();
                let algorithm = by_name(name, &request).unwrap();
                let config = acting(algorithm.as_ref(), &graph, &config);
                let run = |progress: &dyn RunProgress| {
                    run_opened(&Disk::new(), &scene.graph(), name, &request, (&config, progress))
                };
                let (right, end) = (run(&Unwatched).unwrap(), run(&flips));
                std::fs::write(&path, content).unwrap();
                match end {
                    Ok(answer) => assert!(answer == right, "{what}: a wrong answer"),
                    Err(GraphError::Storage(StorageError::Checksum { .. })) => {
                        found.push((name, file, read))
                    }
                    Err(error) => panic!("{what}: {error}"),
                }
            }
        }
    }
    let scans = ("pagerank", "grid.words", ReadPolicy::Full);
    assert!(found.contains(&scans), "what a run reads again is verified again: {found:?}");
}

#[test]
fn pages_and_files_in_the_wrong_place() {
    // Some files of a scene, others in the next scene; all with `make fault`.
    let step = share(6);
    for (index, scene) in scenes().into_iter().enumerate() {
        let dog = Watchdog::new(Duration::from_secs(60));
        let order = outercore_graph::Order::Original;
        let other = Scene::new(scene.ids, BuildOptions { order, ..options() });
        for file in scene.sections().into_iter().skip(index % step).step_by(step) {
            for (form, damaged) in damages(&scene.files[file], other.files.get(file)) {
                let what = format!("{} {form}, {:?}", file.display(), scene.ids);
                dog.step(what.clone());
                scene.with(file, &damaged, || {
                    scene.assert_found(&what);
                    scene.assert_never_wrong(&what);
                });
            }
        }
    }
}

#[test]
fn missing_files() {
    for (index, scene) in scenes().into_iter().enumerate() {
        let dog = Watchdog::new(Duration::from_secs(60));
        for file in scene.sections().into_iter().skip(index % share(3)).step_by(share(3)) {
            dog.step(format!("{} is missing, {:?}", file.display(), scene.ids));
            let path = scene.graph().join(file);
            std::fs::remove_file(&path).unwrap();
            assert!(!scene.check().unwrap().is_empty(), "{} is missing", file.display());
            for (name, expected) in &scene.answers {
                match answer(&scene.graph(), name, scene.ids) {
                    Ok(answer) => {
                        assert!(answer == *expected, "{} is missing: {name}", file.display());
                    }
                    Err(GraphError::Corrupt { .. }) => {}
                    Err(error) => panic!("{} is missing: {name}: {error}", file.display()),
                }
            }
            std::fs::write(&path, &scene.files[file]).unwrap();
        }
    }
}

/// Whoever calls the library is told of a graph that contradicts itself though its checksums fit:
/// no panic comes out of a run.
#[test]
fn lies_that_a_run_stumbles_over() {
    let scene = Scene::new(Ids::Zero, options());
    let sound = decode::Decoded::open(&scene.graph());
    let mut stumbled = 0;
    let lies = ["out.index", "out.degrees", "out.adjacency", "in.index", "grid.words"];
    for (section, byte) in lies.iter().flat_map(|name| [(name, 0xff), (name, 0x01)]) {
        forge::forge(&sound, &scene.graph(), section, vec![byte; sound.section(section).len()]);
        scene.assert_found(&format!("{section} of {byte}"));
        for &name in NAMES {
            let run = || answer(&scene.graph(), name, scene.ids);
            let end = catch_unwind(run).unwrap_or_else(|_| {
                panic!("{name} panics over {section} of {byte}");
            });
            let told = matches!(end, Ok(_) | Err(GraphError::Corrupt { .. }));
            stumbled += u32::from(end.is_err());
            assert!(told, "{name}, {section} of {byte}: {:?}", end.err());
        }
        // An algorithm of the user's own, which trips over nothing but itself.
        let graph = Graph::open(&Disk::new(), &scene.graph()).unwrap();
        let end = Panics.run(&graph, &config(), &Unwatched).map(drop);
        assert!(matches!(end, Err(GraphError::Corrupt { .. })), "{section} of {byte}: {end:?}");
        for file in [section.to_string(), format!("{section}.crc"), "manifest.json".to_owned()] {
            std::fs::write(scene.graph().join(&file), &scene.files[Path::new(&file)]).unwrap();
        }
    }
    assert!(stumbled > 0, "no run minds any of this");
    assert!(scene.check().unwrap().is_empty());
    // On a graph that is sound the panic is whose it is.
    let graph = Graph::open(&Disk::new(), &scene.graph()).unwrap();
    let run = AssertUnwindSafe(|| Panics.run(&graph, &config(), &Unwatched).map(drop));
    assert_eq!(catch_unwind(run).unwrap_err().downcast_ref::<&str>(), Some(&"out of bounds"));
}

/// An algorithm that finds what it cannot go on with.
struct Panics;

impl Algorithm for Panics {
    fn name(&self) -> &'static str {
        "panics"
    }

    fn declare<'a>(&'a self, _: Job<'a>) -> Result<Prepared<'a>, GraphError> {
        panic!("out of bounds")
    }
}

/// A graph that is replaced while it is open stays the old one for whoever has opened it.
#[test]
fn replaced_while_open() {
    for ids in [Ids::Zero, Ids::Sparse, Ids::Names] {
        let scene = Scene::new(ids, options());
        let graph = outercore_graph::Graph::open(&Disk::new(), &scene.graph()).unwrap();
        let expected: Vec<_> = (0..50).map(|vertex| graph.key_of(vertex).unwrap()).collect();
        let input = scene.folder.path().join("other.txt");
        std::fs::write(&input, random_text(ids, 3000, 12_000, 99)).unwrap();
        let options = BuildOptions { force: true, ..options() };
        build_file(&Disk::new(), &input, &scene.graph(), &options).unwrap();
        for (vertex, expected) in expected.iter().enumerate() {
            assert_eq!(graph.key_of(vertex as u64).unwrap(), *expected, "the id of another graph");
        }
    }
}
