//! Every operation of a build fails once, in every way: afterwards the graph is there, whole and
//! with the same bytes, or the place is as it was.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use outercore_graph::{BuildOptions, Layout, Silent, check};
use outercore_storage::{Disk, Fault, FaultPlan};
use outercore_testing::{
    Essence, Ids, Watchdog, build_file, contents, essence, folder, names, options, random_text,
    share,
};

const FAULTS: [Fault; 4] =
    [Fault::Error(libc::EIO), Fault::Error(libc::ENOSPC), Fault::Short, Fault::Interrupted];

/// A build to be disturbed.
struct Scene {
    folder: tempfile::TempDir,
    options: BuildOptions,
    /// Whether a graph is there already, to be replaced.
    replaces: bool,
}

impl Scene {
    fn new(ids: Ids, stripes: usize, replaces: bool, options: BuildOptions) -> Self {
        let folder = folder();
        std::fs::write(folder.path().join("edges.txt"), random_text(ids, 200, 1500, 1)).unwrap();
        std::fs::write(folder.path().join("old.txt"), random_text(Ids::Zero, 50, 100, 2)).unwrap();
        std::fs::create_dir(folder.path().join("place")).unwrap();
        let stripes =
            (0..stripes).map(|stripe| folder.path().join(format!("stripe-{stripe}"))).collect();
        Self { options: BuildOptions { stripes, force: replaces, ..options }, folder, replaces }
    }

    fn input(&self) -> PathBuf {
        self.folder.path().join("edges.txt")
    }

    fn place(&self) -> PathBuf {
        self.folder.path().join("place")
    }

    fn output(&self) -> PathBuf {
        self.place().join("graph.oc")
    }

    /// An empty place, or one with an old graph.
    fn prepare(&self) {
        std::fs::remove_dir_all(self.place()).unwrap();
        std::fs::create_dir(self.place()).unwrap();
        for stripe in &self.options.stripes {
            let _ = std::fs::remove_dir_all(stripe);
        }
        if self.replaces {
            build_file(
                &Disk::new(),
                &self.folder.path().join("old.txt"),
                &self.output(),
                &self.options,
            )
            .unwrap();
        }
    }

    /// Everything that is there, the stripes included.
    fn everything(&self) -> Vec<std::collections::BTreeMap<PathBuf, Vec<u8>>> {
        std::iter::once(&self.place())
            .chain(&self.options.stripes)
            .filter(|path| path.exists())
            .map(|path| contents(path))
            .collect()
    }

    fn attempt(&self, disk: &Disk) -> Result<(), outercore_graph::GraphError> {
        build_file(disk, &self.input(), &self.output(), &self.options).map(|_| ())
    }

    /// No file but those of one graph.
    fn assert_tidy(&self, what: &str) {
        assert_eq!(names(&self.place()), ["graph.oc"], "{what}");
        let manifest =
            outercore_graph::format::Manifest::read(&Disk::new(), &self.output()).unwrap();
        for (stripe, own) in self.options.stripes.iter().zip(&manifest.stripes) {
            let own = own.file_name().unwrap().to_string_lossy().into_owned();
            assert_eq!(names(stripe), [own], "{what}");
        }
    }
}

/// Builds in the place of what is left, which makes it tidy; the essence of the graph.
fn cleared(scene: &Scene, what: &str) -> Essence {
    let options = BuildOptions { force: true, ..scene.options.clone() };
    build_file(&Disk::new(), &scene.input(), &scene.output(), &options).unwrap();
    scene.assert_tidy(what);
    essence(&scene.output())
}

/// Fails every operation of a build in every way.
fn disturb(scene: &Scene) {
    let dog = Watchdog::new(Duration::from_secs(60));
    scene.prepare();
    let plan = Arc::new(FaultPlan::count_only());
    scene.attempt(&Disk::with_faults(plan.clone())).unwrap();
    scene.assert_tidy("undisturbed");
    let (expected, operations) = (essence(&scene.output()), plan.operations());
    assert!(operations > 50, "a build has more than {operations} operations");
    let (mut built, mut failed) = (0, 0);
    // Builds that replace another, or are striped, take long.
    let long = scene.replaces || !scene.options.stripes.is_empty();
    let step = share(if long { 13 } else { 5 });
    for n in (0..operations).step_by(step) {
        for fault in FAULTS {
            let what = format!("operation {n} of {operations}, {fault:?}");
            dog.step(what.clone());
            scene.prepare();
            let before = if scene.replaces { Some(scene.everything()) } else { None };
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                scene.attempt(&Disk::with_faults(Arc::new(FaultPlan::nth(n, fault))))
            }));
            match result.unwrap_or_else(|_| panic!("{what}: panic")) {
                Ok(()) => {
                    built += 1;
                    assert!(essence(&scene.output()) == expected, "{what}: other bytes");
                }
                Err(error) => {
                    failed += 1;
                    assert!(
                        matches!(fault, Fault::Error(_)) || error.to_string().contains("nterrupt"),
                        "{what}: {error}"
                    );
                    unharmed(scene, before.as_ref(), &format!("{what}: {error}"));
                }
            }
            let strays = names(&scene.place()) != ["graph.oc"]
                || n % 16 == 0
                || !scene.options.stripes.is_empty();
            if strays {
                assert!(
                    cleared(scene, &what) == expected,
                    "{what}: other bytes after it was cleared"
                );
            }
        }
    }
    eprintln!("{operations} operations: {built} builds succeeded, {failed} failed cleanly");
    assert!(failed >= operations / step as u64, "nearly every error must be noticed");
}

/// After a failure: nothing at the output, or what was there.
fn unharmed(
    scene: &Scene,
    before: Option<&Vec<std::collections::BTreeMap<PathBuf, Vec<u8>>>>,
    what: &str,
) {
    match before {
        None => assert!(!scene.output().exists(), "{what}: yet something is there"),
        Some(before) => {
            let old = |files: &std::collections::BTreeMap<PathBuf, Vec<u8>>,
                       place: usize|
             -> Vec<(PathBuf, Vec<u8>)> {
                files
                    .iter()
                    .filter(|(path, _)| place > 0 || path.starts_with("graph.oc"))
                    .map(|(path, content)| (path.clone(), content.clone()))
                    .collect()
            };
            let now = scene.everything();
            for (place, files) in before.iter().enumerate() {
                let now: std::collections::BTreeMap<_, _> =
                    old(&now[place], place).into_iter().collect();
                for (path, content) in old(files, place) {
                    assert!(
                        now.get(&path) == Some(&content),
                        "{what}: {} is not what it was",
                        path.display()
                    );
                }
            }
            assert!(check(&Disk::new(), &scene.output(), &Silent).unwrap().is_empty(), "{what}");
        }
    }
}

#[test]
fn dense_ids() {
    disturb(&Scene::new(Ids::Zero, 0, false, options()));
}

#[test]
fn sparse_ids() {
    disturb(&Scene::new(Ids::Sparse, 0, false, options()));
}

#[test]
fn the_hybrid_layout() {
    disturb(&Scene::new(Ids::Zero, 0, false, BuildOptions { layout: Layout::Hybrid, ..options() }));
}

#[test]
fn names_as_ids() {
    disturb(&Scene::new(
        Ids::Names,
        0,
        false,
        BuildOptions { directed: Some(false), simple: true, ..options() },
    ));
}

#[test]
fn striped() {
    disturb(&Scene::new(Ids::Zero, 2, false, options()));
}

#[test]
fn replacing() {
    disturb(&Scene::new(Ids::Zero, 0, true, options()));
}

#[test]
fn replacing_striped() {
    disturb(&Scene::new(Ids::Sparse, 2, true, options()));
}

/// Errors that do not go away: the device is lost, or full for good. What could not be removed is
/// removed by the next build.
#[test]
fn from_some_operation_on_everything_fails() {
    let dog = Watchdog::new(Duration::from_secs(60));
    for (ids, stripes, replaces) in
        [(Ids::Zero, 2, false), (Ids::Names, 0, true), (Ids::Sparse, 2, true)]
    {
        let scene = Scene::new(ids, stripes, replaces, BuildOptions { threads: 2, ..options() });
        scene.prepare();
        let plan = Arc::new(FaultPlan::count_only());
        scene.attempt(&Disk::with_faults(plan.clone())).unwrap();
        let expected = essence(&scene.output());
        for n in 0..plan.operations() {
            let what = format!("everything from operation {n} on, {ids:?}, {stripes} stripes");
            dog.step(what.clone());
            scene.prepare();
            let before = replaces.then(|| scene.everything());
            match scene
                .attempt(&Disk::with_faults(Arc::new(FaultPlan::from(n, Fault::Error(libc::EIO)))))
            {
                Ok(()) => assert!(essence(&scene.output()) == expected, "{what}"),
                // The name may have changed before the failure, and could not be changed back: then
                // the graph is whole all the same.
                Err(_) if scene.output().exists() && essence(&scene.output()) == expected => {}
                Err(error) => unharmed(&scene, before.as_ref(), &format!("{what}: {error}")),
            }
            if n % 4 == 0 || n + 30 > plan.operations() {
                build_file(
                    &Disk::new(),
                    &scene.input(),
                    &scene.output(),
                    &BuildOptions { force: true, ..scene.options.clone() },
                )
                .unwrap();
                scene.assert_tidy(&what);
            }
        }
    }
}

/// Rows and ids do not depend on how many threads built them, nor on the memory they had. (Where
/// the grid is cut does.)
#[test]
fn threads_and_memory_leave_no_trace_in_rows() {
    for ids in [Ids::Zero, Ids::Sparse, Ids::Names] {
        let folder = folder();
        let input = folder.path().join("edges.txt");
        std::fs::write(&input, random_text(ids, 5000, 200_000, 3)).unwrap();
        let graph = |threads: usize, mib: u64| {
            let output = folder.path().join(format!("graph-{threads}-{mib}.oc"));
            build_file(
                &Disk::new(),
                &input,
                &output,
                &BuildOptions { threads, memory: mib << 20, ..options() },
            )
            .unwrap();
            assert!(check(&Disk::new(), &output, &Silent).unwrap().is_empty());
            let mut files = essence(&output).0;
            files.retain(|name, _| !name.contains("/grid."));
            files
        };
        let expected = graph(1, 64);
        assert!(expected.len() > 10);
        for (threads, mib) in [(2, 64), (3, 96), (2, 512)] {
            let made = graph(threads, mib);
            let other: Vec<_> = expected
                .iter()
                .filter(|&(name, bytes)| made.get(name) != Some(bytes))
                .map(|(name, _)| name)
                .collect();
            assert!(
                other.is_empty() && made.len() == expected.len(),
                "{ids:?}: {threads} threads with {mib} MiB make other bytes: {other:?}"
            );
        }
    }
}

/// Where two names cannot be exchanged in one step, and at any other moment: the old graph or the
/// new one.
#[test]
fn names_that_cannot_be_exchanged() {
    let scene = Scene::new(Ids::Sparse, 1, true, options());
    scene.prepare();
    let plan = Arc::new(FaultPlan::count_only());
    scene.attempt(&Disk::with_faults(plan.clone())).unwrap();
    let (new, operations) = (essence(&scene.output()), plan.operations());
    let mut built = 0;
    for n in 0..operations {
        scene.prepare();
        let old = essence(&scene.output());
        let fault = FaultPlan::nth(n, Fault::Error(libc::EINVAL));
        let result = scene.attempt(&Disk::with_faults(Arc::new(fault)));
        let there = essence(&scene.output());
        assert!(there == if result.is_ok() { new.clone() } else { old }, "operation {n}");
        assert_eq!(check(&Disk::new(), &scene.output(), &Silent).unwrap(), [], "operation {n}");
        built += usize::from(result.is_ok());
    }
    assert!(built > 0, "an exchange is not the only way");
}

/// A crash between the steps of an exchange: the graph has its name back, or what it replaced goes.
#[test]
fn a_graph_that_lost_its_name() {
    let scene = Scene::new(Ids::Zero, 1, true, options());
    scene.prepare();
    let aside = scene.place().join(format!(".graph.oc.replaced-{}", "0".repeat(32)));
    let stranger = scene.place().join(".graph.oc.replaced-mine");
    std::fs::create_dir(&stranger).unwrap();
    std::fs::rename(scene.output(), &aside).unwrap();
    // Without --force a graph that is there again is not replaced.
    let careful = BuildOptions { force: false, ..scene.options.clone() };
    let refused = build_file(&Disk::new(), &scene.input(), &scene.output(), &careful).err();
    assert!(matches!(refused, Some(outercore_graph::GraphError::Exists { .. })), "{refused:?}");
    assert!(check(&Disk::new(), &scene.output(), &Silent).unwrap().is_empty());
    std::fs::rename(scene.output(), &aside).unwrap();
    let elsewhere = scene.place().join("elsewhere.oc");
    build_file(&Disk::new(), &scene.input(), &elsewhere, &careful).unwrap();
    std::fs::rename(&elsewhere, scene.output()).unwrap();
    scene.attempt(&Disk::new()).unwrap();
    assert!(!aside.exists() && stranger.exists());
    std::fs::remove_dir(&stranger).unwrap();
    scene.assert_tidy("mended");
}
