//! Power losses on a disk that keeps what was synced, and any part of the rest: at every step of
//! writing exports and results. The file of that name is the old one or the new one, whole;
//! what its writer was told is there; the next writer leaves nothing but its file.

use std::path::PathBuf;

use outercore_engine::{Column, Isolated, Meaning, Values, VertexArray};
use outercore_graph::Graph;
use outercore_interchange::{export_edges, write_result};
use outercore_storage::{Change, Disk, HugePages, HugeVec};
use outercore_testing::{
    Exchange, Ids, Recorder, Wiles, build_file, folder, names, options, random_text, thorough,
};

/// The states of a file: few, or with `make fault` many.
fn states() -> usize {
    if thorough() { 170 } else { 25 }
}

/// A graph, and a folder for the files that are made of it.
struct Scene {
    inputs: tempfile::TempDir,
    place: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let (inputs, place) = (folder(), folder());
        std::fs::write(inputs.path().join("edges.txt"), random_text(Ids::Sparse, 300, 1200, 1))
            .unwrap();
        let graph = inputs.path().join("graph.oc");
        build_file(&Disk::new(), &inputs.path().join("edges.txt"), &graph, &options()).unwrap();
        Self { inputs, place }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Writes an export or a result through `disk`.
    fn write(&self, disk: &Disk, name: &str) -> outercore_graph::Result<()> {
        let graph = Graph::open(disk, &self.inputs.path().join("graph.oc"))?;
        match name.strip_prefix("edges") {
            Some(_) => export_edges(&self.file(name), &graph, &Default::default()).map(drop),
            None => write_result(&self.file(name), &graph, &[column(&graph)]),
        }
    }

    /// Crashes everywhere; how many states are wrong, and why the first is.
    fn crash(&self, name: &str, replaces: bool, wiles: Wiles) -> (usize, Option<String>) {
        self.write(&Disk::new(), name).unwrap();
        let new = std::fs::read(self.file(name)).unwrap();
        std::fs::remove_file(self.file(name)).unwrap();
        let old = b"what was there before".repeat(300);
        if replaces {
            std::fs::write(self.file(name), &old).unwrap();
        }
        let (recorder, disk) = Recorder::begin(self.place.path(), wiles);
        self.write(&disk, name).unwrap();
        let found = recorder.recording().crash((0, states()), 41, |done, _| {
            match std::fs::read(self.file(name)) {
                Ok(there) if there == new => {}
                Ok(there) if there == old && replaces && !done => {}
                Ok(there) => return Err(format!("{} bytes of something else", there.len())),
                Err(_) if done || replaces => return Err("it is gone".to_owned()),
                Err(_) => {}
            }
            self.write(&Disk::new(), name).map_err(|error| error.to_string())?;
            let (there, left) = (std::fs::read(self.file(name)).unwrap(), names(self.place.path()));
            if there != new || left != [name] { Err(format!("leavings: {left:?}")) } else { Ok(()) }
        });
        let _ = std::fs::remove_file(self.file(name));
        found
    }
}

fn column(graph: &Graph) -> Column {
    let mut values = HugeVec::zeroed(graph.connected() as usize, HugePages::Off).unwrap();
    values.iter_mut().enumerate().for_each(|(vertex, value)| *value = vertex as u64 * 7);
    Column {
        name: "value",
        values: Values::U64(VertexArray::from(values)),
        isolated: Isolated::Null,
        meaning: Meaning::Number,
        exceptions: Vec::new(),
    }
}

const FILES: [&str; 9] = [
    "edges.csv",
    "edges.csv.gz",
    "edges.parquet",
    "edges.mtx",
    "result.csv",
    "result.jsonl.zst",
    "result.parquet",
    "result.npy",
    "result.graphalytics",
];

#[test]
fn exports_and_results() {
    let (scene, begun) = (Scene::new(), std::time::Instant::now());
    for name in FILES {
        let ways = [(false, Exchange::Done), (true, Exchange::Done), (true, Exchange::Unsupported)];
        for (replaces, exchange) in ways {
            let wiles = Wiles { exchange, ..Wiles::default() };
            let (wrong, why) = scene.crash(name, replaces, wiles);
            assert!(wrong == 0, "{name}, {replaces}: {wrong} states: {}", why.unwrap_or_default());
        }
    }
    eprintln!("{} states: {:.1?}", FILES.len() * 3 * states(), begun.elapsed());
}

/// Disks that forget: each must be found out.
#[test]
fn planted_faults_are_found() {
    let cases: [fn(&Change<'_>) -> bool; 2] = [
        |change| matches!(change, Change::Sync(_)),
        |change| matches!(change, Change::SyncFolder(_)),
    ];
    let scene = Scene::new();
    for forgets in cases {
        for replaces in [false, true] {
            let wiles = Wiles { forgets, exchange: Exchange::Done };
            assert!(scene.crash("edges.csv", replaces, wiles).0 > 0, "not found");
        }
    }
}

/// Several writers of one file, at once: each is right, or is told that others write it.
#[test]
fn several_writers() {
    let scene = Scene::new();
    for round in 0..20 {
        let name = if round % 2 == 0 { "edges.csv" } else { "result.csv" };
        let _ = std::fs::remove_file(scene.file(name));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..3 {
                        match scene.write(&Disk::new(), name) {
                            Ok(()) => {}
                            Err(error) => assert!(error.to_string().contains("in use"), "{error}"),
                        }
                    }
                });
            }
        });
        scene.write(&Disk::new(), name).unwrap();
        assert_eq!(names(scene.place.path()).len(), 1 + usize::from(round > 0), "round {round}");
    }
}
