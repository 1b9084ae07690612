//! What replacing and cleaning remove: what belongs to the graph, and nothing that a link, a copy
//! or a manifest merely leads to.

use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use outercore_graph::{BuildOptions, GraphError, Silent, check};
use outercore_storage::{Disk, checksum::crc32c};
use outercore_testing::{Ids, build_file, folder, names, options, random_text};

/// A graph with its edges in two stripe directories.
struct Striped {
    folder: tempfile::TempDir,
    options: BuildOptions,
}

impl Striped {
    fn new() -> Self {
        let folder = folder();
        std::fs::write(folder.path().join("edges.txt"), random_text(Ids::Sparse, 300, 2000, 3))
            .unwrap();
        let stripes = ["one", "two"].map(|name| folder.path().join(name)).to_vec();
        let new = Self { folder, options: BuildOptions { stripes, force: true, ..options() } };
        new.build("graph.oc", &new.options).unwrap();
        new
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn build(&self, name: &str, options: &BuildOptions) -> Result<(), GraphError> {
        let input = self.path("edges.txt");
        build_file(&Disk::new(), &input, &self.path(name), options).map(drop)
    }

    /// Without stripes of its own.
    fn replace(&self, name: &str) {
        self.build(name, &BuildOptions { force: true, ..options() }).unwrap();
    }

    fn assert_whole(&self, name: &str) {
        assert_eq!(check(&Disk::new(), &self.path(name), &Silent).unwrap(), [], "{name}");
    }

    /// How many graphs have folders in the stripe directories.
    fn striped(&self) -> Vec<usize> {
        self.options.stripes.iter().map(|stripe| names(stripe).len()).collect()
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn a_graphs_own_stripes_go_with_it() {
    let graph = Striped::new();
    graph.build("graph.oc", &graph.options).unwrap();
    assert_eq!(graph.striped(), [1, 1]);
    // Also after it was renamed.
    std::fs::rename(graph.path("graph.oc"), graph.path("moved.oc")).unwrap();
    graph.replace("moved.oc");
    assert_eq!(graph.striped(), [0, 0]);
}

#[test]
fn links_and_copies_have_no_stripes() {
    let graph = Striped::new();
    symlink("graph.oc", graph.path("link.oc")).unwrap();
    copy(&graph.path("graph.oc"), &graph.path("copy.oc"));
    for name in ["link.oc", "copy.oc"] {
        graph.replace(name);
        graph.assert_whole(name);
        graph.assert_whole("graph.oc");
    }
    // With a slash a link leads on, for most programs.
    std::fs::remove_dir_all(graph.path("link.oc")).unwrap();
    symlink("graph.oc", graph.path("link.oc")).unwrap();
    graph.replace("link.oc/");
    graph.assert_whole("graph.oc");
}

#[test]
fn a_folder_is_not_a_stripe_because_it_is_named() {
    let graph = Striped::new();
    // Its name is like a stripe's, and perhaps it says that it is one of another graph.
    for (number, record) in [None, Some("graph 0\ninode 0\n")].into_iter().enumerate() {
        let mine = graph.path(&format!("outercore-thesis{number}"));
        std::fs::create_dir(&mine).unwrap();
        std::fs::write(mine.join("thesis.txt"), "dear").unwrap();
        record.inspect(|record| std::fs::write(mine.join("owner.txt"), record).unwrap());
        let leftover = graph.path(&format!(".new.oc.building-{}", "0".repeat(32)));
        std::fs::create_dir(&leftover).unwrap();
        std::fs::write(leftover.join("stripes.txt"), mine.to_str().unwrap()).unwrap();
        graph.replace("new.oc");
        assert!(!leftover.exists() && mine.join("thesis.txt").exists());
        let manifest = graph.path("new.oc/manifest.json");
        let text = std::fs::read_to_string(&manifest).unwrap();
        let text = text.rsplit_once("\n# crc32c").unwrap().0;
        let text = text.replace("\"stripes\": []", &format!("\"stripes\": [{mine:?}]"));
        assert!(text.contains("thesis"));
        let seal = crc32c(text.as_bytes());
        std::fs::write(&manifest, format!("{text}\n# crc32c {seal:08x}\n")).unwrap();
        graph.replace("new.oc");
        assert!(mine.join("thesis.txt").exists());
        graph.assert_whole("new.oc");
    }
}

#[test]
fn a_stripe_behind_a_link_is_not_followed() {
    let graph = Striped::new();
    let [stripe] = &names(&graph.options.stripes[0])[..] else { panic!("one stripe") };
    let (place, elsewhere) = (graph.options.stripes[0].join(stripe), graph.path("elsewhere"));
    std::fs::rename(&place, &elsewhere).unwrap();
    symlink(&elsewhere, &place).unwrap();
    graph.assert_whole("graph.oc");
    graph.replace("graph.oc");
    assert!(!names(&elsewhere).is_empty());
    assert_eq!(graph.striped(), [1, 0]);
}

#[test]
fn names_that_only_look_like_ours_are_left_and_block_nothing() {
    let graph = Striped::new();
    let uuid = "a".repeat(32);
    let planted = [".graph.oc.building-x".to_owned(), format!(".graph.oc.building-{uuid}")];
    for name in &planted {
        std::fs::write(graph.path(name), "mine").unwrap();
    }
    std::fs::create_dir(graph.path(".graph.oc.building-old")).unwrap();
    graph.build("graph.oc", &graph.options).unwrap();
    graph.assert_whole("graph.oc");
    assert!(planted.iter().all(|name| graph.path(name).exists()));
    assert!(graph.path(".graph.oc.building-old").exists());
}

/// A whole name of ours is not enough: what builders do not write is not theirs.
#[test]
fn folders_with_a_stranger_are_left_and_block_nothing() {
    let graph = Striped::new();
    let uuid = "a".repeat(32);
    let planted = ["building", "view", "replaced", "replacing"]
        .map(|what| format!(".new.oc.{what}-{uuid}"))
        .to_vec();
    for name in &planted {
        std::fs::create_dir(graph.path(name)).unwrap();
        std::fs::write(graph.path(name).join("letter.txt"), "mine").unwrap();
        std::fs::write(graph.path(name).join("out.index"), "perhaps mine").unwrap();
    }
    for force in [false, true] {
        graph.build("new.oc", &BuildOptions { force, ..options() }).unwrap();
        graph.assert_whole("new.oc");
        for name in &planted {
            assert_eq!(names(&graph.path(name)), ["letter.txt", "out.index"], "{name}");
        }
    }
}

/// Every file of every kind of graph is known as ours: what a dead builder left is removed.
#[test]
fn leftovers_of_every_kind_of_graph_are_removed() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let graph = Striped::new();
    let mut kinds = 0;
    for version in ["v1", "v2", "v3", "v4", "v5"] {
        for kind in names(&golden.join(version)) {
            let kind = golden.join(version).join(kind);
            if !kind.join("manifest.json").exists() {
                continue;
            }
            for what in ["building", "replaced"] {
                let left = graph.path(&format!(".new.oc.{what}-{}", "b".repeat(32)));
                copy(&kind, &left);
                std::fs::create_dir(left.join("scratch")).unwrap();
                std::fs::write(left.join("stripes.txt"), "").unwrap();
                std::fs::write(left.join("replaces.txt"), "").unwrap();
                graph.replace("new.oc");
                assert!(!left.exists(), "{what}: {}", kind.display());
                kinds += 1;
            }
        }
    }
    assert!(kinds >= 20, "{kinds}");
}

/// Many things have a manifest.json, and people put letters into folders.
#[test]
fn what_is_not_a_graph_alone_is_not_replaced() {
    let graph = Striped::new();
    std::fs::create_dir(graph.path("extension")).unwrap();
    std::fs::write(graph.path("extension/manifest.json"), "{}").unwrap();
    std::fs::write(graph.path("graph.oc/letter.txt"), "mine").unwrap();
    std::fs::write(graph.path("extension/popup.js"), "mine").unwrap();
    for (name, stranger) in [("graph.oc", "letter.txt"), ("extension", "popup.js")] {
        let before = names(&graph.path(name));
        let refused = graph.build(name, &BuildOptions { force: true, ..options() }).unwrap_err();
        assert!(matches!(refused, GraphError::Usage(_)), "{refused}");
        assert!(refused.to_string().contains(stranger), "{refused}");
        assert_eq!(names(&graph.path(name)), before);
        std::fs::remove_file(graph.path(name).join(stranger)).unwrap();
        graph.replace(name);
        graph.assert_whole(name);
    }
}

#[test]
fn stripes_that_cannot_be() {
    let graph = Striped::new();
    use std::os::unix::ffi::OsStringExt as _;
    let odd = PathBuf::from(std::ffi::OsString::from_vec(b"/tmp/\xff".to_vec()));
    let twice = graph.options.stripes[0].clone();
    for stripes in [vec![odd], vec![twice.clone(), twice]] {
        let ended = graph.build("odd.oc", &BuildOptions { stripes, ..options() });
        assert!(matches!(ended, Err(GraphError::Usage(_))), "{ended:?}");
        assert_eq!(graph.striped(), [1, 1]);
    }
    assert!(!names(graph.folder.path()).iter().any(|name| name.contains("building")));
}
