//! The undirected simple view that a run leaves beside its graph: used again, made again where it
//! is damaged, and removed with what it is a view of; whoever else uses it.

use std::{
    path::{Path, PathBuf},
    sync::atomic::Ordering::Relaxed,
};

use outercore_graph::{
    BuildOptions, Graph, GraphError, GraphInfo, Silent, build::SMALLEST_BUDGET, check,
    generate::Rmat, view,
};
use outercore_storage::{Disk, StorageError};
use outercore_testing::{Ids, build_file, folder, generate, names, options, random_text};

/// A directed graph of which there are views.
struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let new = Self { folder: folder() };
        new.build(3);
        new
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Builds the graph, or another one in its place.
    fn build(&self, seed: u64) {
        let text = self.path("edges.txt");
        std::fs::write(&text, random_text(Ids::Sparse, 300, 2000, seed)).unwrap();
        let options = BuildOptions { force: true, ..options() };
        build_file(&Disk::new(), &text, &self.path("graph.oc"), &options).unwrap();
    }

    fn open(&self) -> Graph {
        Graph::open(&Disk::new(), &self.path("graph.oc")).unwrap()
    }

    /// The hidden names beside the graph.
    fn hidden(&self) -> Vec<String> {
        let mut names = names(self.folder.path());
        names.retain(|name| name.starts_with('.'));
        names
    }

    /// What the view of the graph is called.
    fn own(&self) -> String {
        format!(".graph.oc.view-{}", self.open().manifest().uuid)
    }
}

/// All edges of a view.
fn edges_of(view: &Graph) -> Result<Vec<[u64; 2]>, GraphError> {
    let mut edges = Vec::new();
    view.for_each_edge(1000, &mut |rows| {
        let pairs = rows.sources.iter().zip(&rows.targets);
        edges.extend(pairs.map(|(&source, &target)| [source, target]));
        Ok(())
    })?;
    Ok(edges)
}

/// The view's uuid, and all its edges, as a run of k-core uses it.
fn view_of(graph: &Graph) -> (String, Vec<[u64; 2]>) {
    let read = |view: &Graph| Ok((view.manifest().uuid.clone(), edges_of(view)?));
    view::with(graph, (64 << 20, 1), &Silent, read).unwrap()
}

/// The edges of a graph's view, by the graph's own.
fn expected(graph: &Graph) -> Vec<[u64; 2]> {
    let mut edges = Vec::new();
    graph
        .for_each_edge(100, &mut |rows| {
            let pairs = rows.sources.iter().zip(&rows.targets);
            let pairs = pairs.filter(|(source, target)| source != target);
            edges.extend(pairs.map(|(&a, &b)| [a.min(b), a.max(b)]));
            Ok(())
        })
        .unwrap();
    edges.sort_unstable();
    edges.dedup();
    edges
}

fn sorted(mut edges: Vec<[u64; 2]>) -> Vec<[u64; 2]> {
    edges.iter_mut().for_each(|edge| edge.sort_unstable());
    edges.sort_unstable();
    edges
}

#[test]
fn a_view_is_used_again() {
    let scene = Scene::new();
    let graph = scene.open();
    assert!(view::kept(&graph).unwrap().is_none() && GraphInfo::of(&graph).unwrap().view.is_none());
    let (uuid, edges) = view_of(&graph);
    assert_eq!(sorted(edges), expected(&graph));
    assert_eq!(scene.hidden(), [scene.own()]);
    assert_eq!(view_of(&graph).0, uuid);
    let known = GraphInfo::of(&graph).unwrap().view.unwrap();
    assert_eq!(known.path, std::fs::canonicalize(scene.path(&scene.own())).unwrap());
    assert!(known.bytes > 0);
    // Also by way of a link, and it may be removed.
    std::os::unix::fs::symlink("graph.oc", scene.path("link.oc")).unwrap();
    let link = Graph::open(&Disk::new(), &scene.path("link.oc")).unwrap();
    assert_eq!(view_of(&link).0, uuid);
    std::fs::remove_dir_all(known.path).unwrap();
    assert_ne!(view_of(&graph).0, uuid);
    assert_eq!(scene.hidden(), [scene.own()]);
}

#[test]
fn a_view_goes_with_its_graph() {
    let scene = Scene::new();
    let old = scene.open();
    view_of(&old);
    let view = view::kept(&old).unwrap().unwrap();
    // In use, it stays; the next build or run removes it.
    scene.build(4);
    assert_eq!(scene.hidden().len(), 1);
    drop(view);
    let new = scene.open();
    let (_, edges) = view_of(&new);
    assert_eq!(sorted(edges), expected(&new));
    assert_eq!(scene.hidden(), [scene.own()]);
    // Not in use, it goes at once.
    scene.build(5);
    assert_eq!(scene.hidden(), [""; 0]);
    // A graph that has lost its name leaves none.
    let (_, edges) = view_of(&new);
    assert_eq!(sorted(edges), expected(&new));
    assert_eq!(scene.hidden(), [""; 0]);
}

#[test]
fn a_build_that_does_not_replace_leaves_the_view() {
    let scene = Scene::new();
    let (uuid, _) = view_of(&scene.open());
    let again =
        build_file(&Disk::new(), &scene.path("edges.txt"), &scene.path("graph.oc"), &options());
    assert!(matches!(again, Err(GraphError::Exists { .. })), "{again:?}");
    assert_eq!(view_of(&scene.open()).0, uuid);
}

#[test]
fn what_dead_users_left_is_removed_and_blocks_nothing() {
    let scene = Scene::new();
    let uuid = "0123456789abcdef".repeat(2);
    let left = [
        format!(".graph.oc.view-{uuid}"),
        format!("..graph.oc.view-{uuid}.building-{uuid}"),
        format!(".{}.building-{uuid}", scene.own()),
        format!(".graph.oc.building-{uuid}"),
        scene.own(),
    ];
    let others = [format!(".other.oc.view-{uuid}"), ".graph.oc.view-mine".to_owned()];
    for by_a_build in [false, true] {
        for name in left.iter().chain(&others) {
            // Killed while it was removed, for instance: no manifest.
            std::fs::create_dir_all(scene.path(name)).unwrap();
            std::fs::write(scene.path(name).join("out.index"), "x").unwrap();
        }
        let kept = if by_a_build {
            scene.build(4);
            None
        } else {
            let graph = scene.open();
            assert_eq!(sorted(view_of(&graph).1), expected(&graph));
            Some(scene.own())
        };
        let there = |name: &&String| scene.path(name).exists() && Some(*name) != kept.as_ref();
        assert_eq!(left.iter().find(there), None, "by a build: {by_a_build}");
        assert!(others.iter().all(|name| scene.path(name).exists()));
    }
}

/// Changes a byte in the middle of a file.
fn flip(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn damaged_views_are_made_again() {
    let scene = Scene::new();
    let graph = scene.open();
    let right = expected(&graph);
    type Damage = (&'static str, fn(&Path));
    let damages: [Damage; 6] = [
        ("a neighbor", |view| flip(&view.join("out.adjacency"))),
        ("a checksum", |view| flip(&view.join("out.adjacency.crc"))),
        ("the manifest", |view| flip(&view.join("manifest.json"))),
        ("no manifest", |view| std::fs::remove_file(view.join("manifest.json")).unwrap()),
        ("no section", |view| std::fs::remove_file(view.join("out.index")).unwrap()),
        ("cut short", |view| std::fs::write(view.join("out.degrees"), "").unwrap()),
    ];
    for (what, damage) in damages {
        let (before, _) = view_of(&graph);
        damage(&scene.path(&scene.own()));
        let faults = check(&Disk::new(), &scene.path("graph.oc"), &Silent).unwrap();
        assert!(faults.iter().any(|fault| fault.what.contains("simple view")), "{what}");
        let (after, edges) = view_of(&graph);
        assert_ne!(before, after, "{what}");
        assert_eq!(sorted(edges), right, "{what}");
        assert_eq!(check(&Disk::new(), &scene.path("graph.oc"), &Silent).unwrap(), [], "{what}");
    }
    // What is damaged again and again is an error.
    let (own, mut runs) = (scene.path(&scene.own()), 0);
    let ended = view::with(&graph, (64 << 20, 1), &Silent, |view| {
        runs += 1;
        flip(&own.join("out.adjacency"));
        view.for_each_edge(100, &mut |_| Ok(()))
    });
    assert!(matches!(ended, Err(GraphError::Storage(StorageError::Checksum { .. }))), "{ended:?}");
    assert_eq!(runs, 2);
}

/// A graph that is no view of this one is not taken for it, whatever its name.
#[test]
fn another_graph_is_no_view() {
    let scene = Scene::new();
    let graph = scene.open();
    let text = scene.path("other.txt");
    std::fs::write(&text, random_text(Ids::Zero, 50, 100, 1)).unwrap();
    build_file(&Disk::new(), &text, &scene.path(&scene.own()), &options()).unwrap();
    assert_eq!(sorted(view_of(&graph).1), expected(&graph));
}

#[test]
fn several_users_at_once() {
    let scene = Scene::new();
    let right = expected(&scene.open());
    for damaged in [false, true] {
        if damaged {
            flip(&scene.path(&scene.own()).join("out.adjacency"));
        }
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..8 {
                        assert_eq!(sorted(view_of(&scene.open()).1), right);
                    }
                });
            }
        });
        assert_eq!(scene.hidden(), [scene.own()]);
    }
}

/// In the smallest budget there is no room for a block of each bucket that a worker can sort: they
/// are larger then, and the view is the same. So it is where incoming edges are not kept.
#[test]
fn in_small_budgets_views_are_the_same() {
    let folder = folder();
    for (name, transpose, memory, threads) in [
        ("ample.oc", true, 256 << 20, 2),
        ("small.oc", true, SMALLEST_BUDGET, 8),
        ("one-way.oc", false, SMALLEST_BUDGET, 2),
    ] {
        let options = BuildOptions { transpose, ..options() };
        let graph = generate(folder.path().join(name), Rmat::new(15, 7), options);
        let edges = view::with(&graph, (memory, threads), &Silent, |view| {
            assert!(check(&Disk::new(), view.path(), &Silent)?.is_empty(), "{name}");
            edges_of(view)
        });
        assert!(sorted(edges.unwrap()) == expected(&graph), "{name}");
    }
}

/// What making the view of these edges writes, beyond the view itself, in the smallest budget.
fn scratch_of_a_view(name: &str, edges: &str, options: BuildOptions) -> u64 {
    let (folder, disk) = (folder(), Disk::new());
    let (text, path) = (folder.path().join("edges.txt"), folder.path().join("graph.oc"));
    std::fs::write(&text, edges).unwrap();
    build_file(&disk, &text, &path, &options).unwrap();
    let graph = Graph::open(&disk, &path).unwrap();
    let written = || disk.counters().bytes_written.load(Relaxed);
    let before = written();
    let (found, bytes) = view::with(&graph, (SMALLEST_BUDGET, 3), &Silent, |view| {
        assert!(check(&Disk::new(), view.path(), &Silent)?.is_empty(), "{name}");
        Ok((edges_of(view)?, GraphInfo::of(view)?.bytes))
    })
    .unwrap();
    assert!(sorted(found) == expected(&graph), "{name}");
    (written() - before).saturating_sub(bytes)
}

/// Lists of both directions are merged: nothing is written but the view. A hub has more edges than
/// a worker has room for; there are edges of one direction, of both, repeated ones, and loops.
#[test]
fn views_are_merged_from_lists() {
    let hub = 0..120_000;
    let edges: String = hub
        .map(|spoke| match spoke % 5 {
            0 => format!("0 {spoke}\n"),
            1 => format!("{spoke} 0\n"),
            2 => format!("{spoke} 0\n0 {spoke}\n{spoke} {spoke}\n"),
            3 => format!("0 {spoke}\n0 {spoke}\n{spoke} {}\n", spoke + 1),
            _ => format!("{spoke} {}\n{spoke} {}\n", spoke / 2, spoke / 3),
        })
        .collect();
    for (name, directed, transpose) in
        [("both directions", true, true), ("undirected", false, true), ("one way", true, false)]
    {
        let options = BuildOptions { directed: Some(directed), transpose, ..options() };
        let scratch = scratch_of_a_view(name, &edges, options);
        // Checksums, the manifest, and what fills the last pages.
        let is_merged = scratch < 200 << 10;
        assert_eq!(is_merged, transpose, "{name}: {scratch} bytes");
    }
}
