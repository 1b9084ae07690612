//! A build counts the duplicates and the self-loops that a graph holds, whatever is made of the
//! edges; so a graph that happens to have none is known to be simple.

use std::{collections::BTreeSet, fmt::Write, path::Path};

use outercore_graph::{
    BuildOptions, Graph, GraphInfo, Layout, Silent, check,
    format::{Extra, Manifest},
};
use outercore_storage::Disk;
use outercore_testing::{Random, build_file, folder, options};

fn built(folder: &Path, edges: &[[u64; 2]], options: &BuildOptions) -> Manifest {
    let mut text = String::new();
    edges.iter().for_each(|[a, b]| writeln!(text, "{a} {b}").unwrap());
    let (input, output) = (folder.join("edges.txt"), folder.join("graph.oc"));
    std::fs::write(&input, text).unwrap();
    let options = BuildOptions { force: true, ..options.clone() };
    let manifest = build_file(&Disk::new(), &input, &output, &options).unwrap();
    assert_eq!(check(&Disk::new(), &output, &Silent).unwrap(), []);
    let graph = Graph::open(&Disk::new(), &output).unwrap();
    assert_eq!(GraphInfo::of(&graph).unwrap().extra, manifest.extra);
    manifest
}

/// By looking at each edge.
fn counted(edges: &[[u64; 2]], directed: bool) -> Extra {
    let (mut seen, mut extra) = (BTreeSet::new(), Extra::default());
    for &[a, b] in edges {
        let edge = if directed { [a, b] } else { [a.min(b), a.max(b)] };
        extra.self_loops += u64::from(a == b);
        extra.duplicates += u64::from(a != b && !seen.insert(edge));
    }
    extra
}

#[test]
fn whatever_is_made_of_the_edges() {
    let folder = folder();
    let mut random = Random::new(5);
    // Many of both, few, and none.
    let dense: Vec<[u64; 2]> = (0..900).map(|_| [random.below(20), random.below(20)]).collect();
    let sparse: Vec<[u64; 2]> = (0..900).map(|_| [random.below(999), random.below(999)]).collect();
    let path: Vec<[u64; 2]> = (0..900).map(|vertex| [vertex, vertex + 1]).collect();
    for edges in [&dense, &sparse, &path] {
        for layout in [Layout::Grid, Layout::Row, Layout::Hybrid] {
            for (directed, transpose) in [(true, true), (true, false), (false, true)] {
                let directed = Some(directed);
                let options = BuildOptions { directed, transpose, layout, ..options() };
                let manifest = built(folder.path(), edges, &options);
                let right = counted(edges, directed == Some(true));
                assert_eq!(manifest.extra, Some(right), "{layout:?} {directed:?}");
                assert_eq!(manifest.is_simple(), right == Extra::default());
                let dropped =
                    built(folder.path(), edges, &BuildOptions { simple: true, ..options });
                assert_eq!(dropped.extra, Some(Extra::default()));
                assert!(dropped.is_simple());
            }
        }
    }
    assert!(built(folder.path(), &path, &options()).is_simple());
    // Both ways is one edge, where edges have no direction.
    let both = [[1, 2], [2, 1], [3, 1]];
    for (directed, duplicates) in [(true, 0), (false, 1)] {
        let options = BuildOptions { directed: Some(directed), ..options() };
        let extra = built(folder.path(), &both, &options).extra;
        assert_eq!(extra, Some(Extra { duplicates, self_loops: 0 }));
    }
}

/// More copies than a worker can sort at once: their bucket is written in pieces.
#[test]
fn of_buckets_that_are_written_in_pieces() {
    let folder = folder();
    let kinds = [[1, 1], [1, 2], [2, 1], [1, 3]];
    let edges: Vec<[u64; 2]> = (0..1_600_000).map(|at| kinds[at % 4]).collect();
    for directed in [true, false] {
        let options = BuildOptions { directed: Some(directed), memory: 64 << 20, ..options() };
        assert_eq!(
            built(folder.path(), &edges, &options).extra,
            Some(counted(&edges, directed)),
            "directed: {directed}"
        );
    }
}
