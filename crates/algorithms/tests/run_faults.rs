//! Every operation of opening a graph, running an algorithm on it and reading the result by
//! original id fails once, in every way: the answer is the right one, or there is an error that
//! says what failed; never a wrong answer, a panic or a hang.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use outercore_algorithms::{NAMES, Request, Source, by_name};
use outercore_engine::{
    Activity, Context, IoBackend, IterationEnd, Job, MemoryModel, Next, ReadPolicy, RunConfig,
    RunProgress, Silent, Sum, VertexProgram, execute,
};
use outercore_graph::{BuildOptions, Graph, GraphError};
use outercore_storage::{Disk, Fault, FaultPlan, StorageError};
use outercore_testing::{
    Ids, Watchdog, acting, build_file, folder, names, options, random_text, request, run_opened,
    share,
};

/// A graph to run on.
struct Scene {
    folder: tempfile::TempDir,
    ids: Ids,
}

impl Scene {
    fn new(ids: Ids, stripes: usize) -> Self {
        let folder = folder();
        let inside = |name: &str| folder.path().join(name);
        std::fs::write(inside("edges.txt"), random_text(ids, 3000, 20_000, 4)).unwrap();
        std::fs::create_dir(inside("place")).unwrap();
        let stripes = (0..stripes).map(|stripe| inside(&format!("stripe-{stripe}"))).collect();
        let options = BuildOptions { stripes, ..options() };
        let graph = inside("place/graph.oc");
        build_file(&Disk::new(), &inside("edges.txt"), &graph, &options).unwrap();
        Self { folder, ids }
    }

    fn graph(&self) -> PathBuf {
        self.folder.path().join("place/graph.oc")
    }

    fn request(&self, name: &str) -> Request {
        request(name, &[0, 1, 2].map(|vertex| Source::Key(self.ids.key(vertex))))
    }

    /// Disturbs the operations of every algorithm, in steps of `step` and in each way of `faults`;
    /// those of algorithms that read like others in longer steps.
    fn disturb(
        &self,
        config: &RunConfig,
        faults: &[Fault],
        step: usize,
        plan: impl Fn(u64, Fault) -> FaultPlan,
    ) {
        let dog = Watchdog::new(Duration::from_secs(60));
        let external = config.model == Some(MemoryModel::FullyExternal);
        for name in NAMES.iter().filter(|name| !external || EXTERNAL.contains(name)) {
            let often = ["bfs", "sssp", "components", "pagerank"].contains(name);
            let step = share(5) * if often { step } else { 3 * step };
            let algorithm = by_name(name, &self.request(name)).unwrap();
            let graph = Graph::open(&Disk::new(), &self.graph()).unwrap();
            let config = &acting(algorithm.as_ref(), &graph, config);
            let question = Asked { scene: self, name, config };
            let counted = Arc::new(FaultPlan::count_only());
            let expected = question.answer(&Disk::with_faults(counted.clone())).unwrap();
            assert!(!expected.is_empty());
            let (mut runs, mut failed, operations) = (0, 0, counted.operations());
            for n in (0..operations).step_by(step) {
                for &fault in faults {
                    let what = format!("{name}, operation {n} of {operations}, {fault:?}");
                    dog.step(what.clone());
                    let disk = Disk::with_faults(Arc::new(plan(n, fault)));
                    match question.disturbed(&disk, &what) {
                        Some(answer) => assert!(answer == expected, "{what}: a wrong answer"),
                        None => failed += 1,
                    }
                    runs += 1;
                }
            }
            eprintln!("{name}: {operations} operations, {runs} runs, {failed} errors");
            // Whatever a failed run left goes with the next one that works.
            question.answer(&Disk::new()).unwrap();
            let mut left = names(self.graph().parent().unwrap());
            // The view of a graph is kept for the next run.
            let uuid = Graph::open(&Disk::new(), &self.graph()).unwrap().manifest().uuid.clone();
            left.retain(|name| *name != format!(".graph.oc.view-{uuid}"));
            assert_eq!(left, ["graph.oc"], "{name}");
        }
    }
}

/// An algorithm to be disturbed.
struct Asked<'a> {
    scene: &'a Scene,
    name: &'a str,
    config: &'a RunConfig,
}

/// Every value of every vertex, by original id.
type Answer = std::collections::BTreeMap<String, Vec<String>>;

impl Asked<'_> {
    fn answer(&self, disk: &Disk) -> Result<Answer, GraphError> {
        let request = self.scene.request(self.name);
        let watched = (self.config, &Silent as &dyn RunProgress);
        run_opened(disk, &self.scene.graph(), self.name, &request, watched)
    }

    /// The answer, or none after an error that says what failed.
    fn disturbed(&self, disk: &Disk, what: &str) -> Option<Answer> {
        let run = std::panic::AssertUnwindSafe(|| self.answer(disk));
        match std::panic::catch_unwind(run).unwrap_or_else(|_| panic!("{what}: panic")) {
            Ok(answer) => Some(answer),
            Err(GraphError::Storage(
                StorageError::Io { .. } | StorageError::Full { .. } | StorageError::Interrupted,
            )) => None,
            Err(error) => panic!("{what}: this does not say what failed: {error}"),
        }
    }
}

fn config(model: MemoryModel, io: IoBackend, threads: usize) -> RunConfig {
    RunConfig { memory: 128 << 20, model: Some(model), io, threads, ..outercore_testing::config() }
}

/// Algorithms that have a fully-external run on any graph.
const EXTERNAL: [&str; 10] = [
    "bfs",
    "sssp",
    "components",
    "pagerank",
    "pagerank-delta",
    "multi-source",
    "triangles",
    "clustering",
    "label-propagation",
    "diameter",
];

const ONCE: [Fault; 3] = [Fault::Error(libc::EIO), Fault::Short, Fault::Interrupted];

#[test]
fn every_operation_with_io_uring() {
    Scene::new(Ids::Zero, 0).disturb(
        &config(MemoryModel::SemiExternal, IoBackend::Uring, 1),
        &ONCE,
        1,
        FaultPlan::nth,
    );
}

#[test]
fn every_other_operation_with_threads_that_read() {
    Scene::new(Ids::Sparse, 0).disturb(
        &config(MemoryModel::SemiExternal, IoBackend::Blocking, 2),
        &ONCE,
        2,
        FaultPlan::nth,
    );
}

#[test]
fn every_other_operation_on_stripes_and_names() {
    let config = RunConfig {
        read: ReadPolicy::OnDemand,
        ..config(MemoryModel::InMemory, IoBackend::Uring, 2)
    };
    Scene::new(Ids::Names, 2).disturb(&config, &ONCE, 2, FaultPlan::nth);
}

#[test]
fn errors_that_stay() {
    let scene = Scene::new(Ids::Sparse, 2);
    for io in [IoBackend::Uring, IoBackend::Blocking] {
        let faults = [Fault::Error(libc::EIO), Fault::Error(libc::ENOSPC), Fault::Interrupted];
        scene.disturb(&config(MemoryModel::SemiExternal, io, 2), &faults, 7, FaultPlan::from);
    }
}

/// Scratch is read and written between the edges.
#[test]
fn fully_external() {
    Scene::new(Ids::Zero, 0).disturb(
        &config(MemoryModel::FullyExternal, IoBackend::Uring, 2),
        &ONCE,
        2,
        FaultPlan::nth,
    );
}

/// Devices that answer late change nothing.
#[test]
fn slow_operations() {
    let scene = Scene::new(Ids::Zero, 2);
    scene.disturb(
        &config(MemoryModel::SemiExternal, IoBackend::Uring, 2),
        &[Fault::Stall(Duration::from_millis(20))],
        7,
        FaultPlan::nth,
    );
}

/// Panics at one vertex in one iteration.
struct Panics {
    iteration: u64,
    vertex: u64,
}

impl VertexProgram for Panics {
    type Value = f64;
    type Signal = f64;
    type Message = Sum<f64>;
    const ACTIVITY: Activity = Activity::AllSend;

    fn init(&self, _: u64, _: u32) -> f64 {
        1.0
    }

    fn scatter(&self, _: u64, value: &f64, _: u32) -> Option<f64> {
        Some(*value)
    }

    fn carry(&self, value: f64, _: f64) -> Sum<f64> {
        Sum(value)
    }

    fn apply(&self, context: &Context, vertex: u64, value: &mut f64, sum: Sum<f64>) -> bool {
        let here = (context.iteration, vertex) == (self.iteration, self.vertex);
        assert!(!here, "a panic in a worker");
        *value = sum.0;
        true
    }

    fn end_iteration(&mut self, end: &IterationEnd) -> Next {
        if end.iterations < 4 { Next::Iteration } else { Next::End }
    }
}

/// A panic in one worker ends them all: those too that wait for what it would have done.
#[test]
fn nobody_waits_for_a_worker_that_panicked() {
    let place = folder();
    let (input, path) = (place.path().join("edges.txt"), place.path().join("graph.oc"));
    std::fs::write(&input, random_text(Ids::Zero, 200_000, 800_000, 5)).unwrap();
    build_file(&Disk::new(), &input, &path, &options()).unwrap();
    let dog = Watchdog::new(std::time::Duration::from_secs(20));
    let graph = Graph::open(&Disk::new(), &path).unwrap();
    let models = [MemoryModel::InMemory, MemoryModel::SemiExternal, MemoryModel::FullyExternal];
    let last = graph.connected() - 1;
    for (model, iteration) in
        models.into_iter().flat_map(|model| [(model, 0), (model, 1), (model, 2)])
    {
        for vertex in [0, last / 100, last / 8, last / 2, last] {
            for threads in [1, 2, 4] {
                dog.step(format!("{model:?}, {threads} threads, {vertex} in {iteration}"));
                let config =
                    RunConfig { model: Some(model), threads, ..outercore_testing::config() };
                let mut program = Panics { iteration, vertex };
                let job = Job::new(&graph, &config, &Silent);
                let run = || execute(&mut program, "panics", job, Some(4)).map(drop);
                let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
                assert!(ended.is_err(), "{model:?}, {threads} threads");
            }
        }
    }
}
