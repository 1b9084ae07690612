//! Every operation of opening a graph, running an algorithm on it and reading the result by
//! original id fails once, in every way: the answer is the right one, or there is an error that
//! says what failed; never a wrong answer, a panic or a hang.

mod answers;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use outercore_algorithms::NAMES;
use outercore_engine::{EngineError, IoBackend, MemoryModel, ReadPolicy, RunConfig};
use outercore_graph::{BuildOptions, GraphError};
use outercore_storage::{Disk, Fault, FaultPlan, HugePages, StorageError};

use answers::{
    answer, building,
    building::{Ids, Watchdog},
};

/// A graph to run on.
struct Scene {
    folder: tempfile::TempDir,
    ids: Ids,
}

impl Scene {
    fn new(ids: Ids, stripes: usize) -> Self {
        let folder = building::folder();
        let input = folder.path().join("edges.txt");
        std::fs::write(&input, building::text(ids, 3000, 20_000, 4)).unwrap();
        std::fs::create_dir(folder.path().join("place")).unwrap();
        let stripes =
            (0..stripes).map(|stripe| folder.path().join(format!("stripe-{stripe}"))).collect();
        let scene = Self { folder, ids };
        building::build(
            &Disk::new(),
            &input,
            &scene.graph(),
            &BuildOptions { stripes, ..building::options() },
        )
        .unwrap();
        scene
    }

    fn graph(&self) -> PathBuf {
        self.folder.path().join("place/graph.oc")
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
        for name in NAMES.iter().filter(|name| {
            config.model != Some(MemoryModel::FullyExternal) || EXTERNAL.contains(name)
        }) {
            let counted = Arc::new(FaultPlan::count_only());
            let expected =
                answer(&Disk::with_faults(counted.clone()), &self.graph(), name, self.ids, config)
                    .unwrap();
            assert!(!expected.is_empty());
            let (mut right, mut failed) = (0, 0);
            let step = if ["bfs", "sssp", "components", "pagerank"].contains(name) {
                step
            } else {
                3 * step
            };
            for n in (0..counted.operations()).step_by(step) {
                for &fault in faults {
                    let what = format!(
                        "{name}, operation {n} of {}, {fault:?}, {config:?}",
                        counted.operations()
                    );
                    dog.step(what.clone());
                    let disk = Disk::with_faults(Arc::new(plan(n, fault)));
                    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        answer(&disk, &self.graph(), name, self.ids, config)
                    }));
                    match result.unwrap_or_else(|_| panic!("{what}: panic")) {
                        Ok(answer) => {
                            right += 1;
                            assert!(answer == expected, "{what}: a wrong answer");
                        }
                        Err(EngineError::Graph(GraphError::Storage(
                            StorageError::Io { .. }
                            | StorageError::Full { .. }
                            | StorageError::Interrupted,
                        ))) => failed += 1,
                        Err(error) => panic!("{what}: this does not say what failed: {error}"),
                    }
                }
            }
            eprintln!(
                "{name}: {} operations; {right} answers right, {failed} errors",
                counted.operations()
            );
            // Whatever a failed run left goes with the next one that works.
            answer(&Disk::new(), &self.graph(), name, self.ids, config).unwrap();
            assert_eq!(building::names(self.graph().parent().unwrap()), ["graph.oc"], "{name}");
        }
    }
}

fn config(model: MemoryModel, io: IoBackend, threads: usize) -> RunConfig {
    RunConfig {
        memory: 128 << 20,
        model: Some(model),
        io,
        threads,
        huge_pages: HugePages::Off,
        ..RunConfig::default()
    }
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
    Scene::new(Ids::Dense, 0).disturb(
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
    Scene::new(Ids::Dense, 0).disturb(
        &config(MemoryModel::FullyExternal, IoBackend::Uring, 2),
        &ONCE,
        2,
        FaultPlan::nth,
    );
}

/// Devices that answer late change nothing.
#[test]
fn slow_operations() {
    let scene = Scene::new(Ids::Dense, 2);
    scene.disturb(
        &config(MemoryModel::SemiExternal, IoBackend::Uring, 2),
        &[Fault::Stall(Duration::from_millis(20))],
        7,
        FaultPlan::nth,
    );
}
