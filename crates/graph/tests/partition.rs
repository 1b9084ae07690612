//! How the grid is cut: uniform intervals are equally wide, whatever buckets the builder sorts by;
//! balanced ones have equally many edges.

#[allow(dead_code)]
#[path = "golden/decode.rs"]
mod decode;
#[allow(dead_code)]
#[path = "golden/forge.rs"]
mod forge;

use std::path::Path;

use decode::{Decoded, numbers};
use forge::seal;
use outercore_graph::{
    BuildOptions, Graph, GraphError, GraphInfo, GridPartition, Layout, Order, Silent, TileEdges,
    check,
    generate::{GeneratedWeights, Rmat},
    input::{self, EdgeSource, Input, InputOptions},
};
use outercore_storage::Disk;
use serde_json::json;

/// So many threads in so little memory sort in several buckets.
fn options(partition: GridPartition, layout: Layout) -> BuildOptions {
    BuildOptions {
        memory: 80 << 20,
        threads: 16,
        order: Order::Original,
        partition,
        layout,
        ..BuildOptions::default()
    }
}

fn build(source: &dyn EdgeSource, path: &Path, options: &BuildOptions) -> Decoded {
    outercore_graph::build(&Disk::new(), source, path, options, &Silent).unwrap();
    assert_eq!(check(&Disk::new(), path, &Silent).unwrap(), [], "{}", path.display());
    Decoded::open(path)
}

/// Ids that are not permuted: the first ones have most of the edges.
fn skewed() -> Rmat {
    let weights = GeneratedWeights::Uniform { low: 0, high: 300 };
    Rmat { permute: false, weights, ..Rmat::new(16, 3) }
}

fn spread(path: &Path) -> TileEdges {
    GraphInfo::of(&Graph::open(&Disk::new(), path).unwrap()).unwrap().tiles.unwrap()
}

/// The edges of each interval.
fn columns(graph: &Decoded) -> Vec<u64> {
    let bounds = numbers(&graph.section("grid.stripes"), 8);
    let mut columns = vec![0; bounds.len() - 1];
    for (_, target, _) in graph.grid().0 {
        columns[bounds.partition_point(|&bound| bound <= target) - 1] += 1;
    }
    columns
}

#[test]
fn uniform_intervals_are_as_wide_as_each_other() {
    let place = tempfile::tempdir().unwrap();
    let source = skewed().source().unwrap();
    for layout in [Layout::Grid, Layout::Hybrid, Layout::Row] {
        let path = place.path().join(format!("{}.oc", layout.name()));
        let graph = build(&source, &path, &options(GridPartition::Uniform, layout));
        assert_eq!(graph.manifest["partition"], "uniform");
        let bounds = numbers(&graph.section("grid.stripes"), 8);
        if layout == Layout::Row {
            // Without edges in tiles there is nothing to cut.
            assert!(graph.grid().0.is_empty());
            continue;
        }
        let width = bounds[1];
        let (last, whole) = bounds.split_last().unwrap();
        assert!(whole.iter().enumerate().all(|(at, &bound)| bound == at as u64 * width));
        assert!(*last > whole[whole.len() - 1] && *last <= whole.len() as u64 * width);
        let columns = columns(&graph);
        let all: u64 = columns.iter().sum();
        let said = spread(&path);
        assert_eq!((said.partition, said.rows.parts), (GridPartition::Uniform, 1));
        assert_eq!(said.columns.largest, columns[0], "the first has most of the edges");
        assert_eq!((said.tiles, said.largest), (columns.len() as u64, columns[0]));
        if layout == Layout::Grid {
            // More than a bucket holds: the interval is in several.
            assert!(columns[0] * 4 > all, "{columns:?}");
            let mut tiled = graph.grid().0;
            tiled.sort_unstable();
            let mut listed = graph.rows("out");
            listed.sort_unstable();
            assert!(tiled == listed, "every edge once, with its weight");
        }
    }
}

#[test]
fn balanced_intervals_have_as_many_edges_as_each_other() {
    let place = tempfile::tempdir().unwrap();
    let source = skewed().source().unwrap();
    let of = |partition: GridPartition| {
        let path = place.path().join(format!("{}.oc", partition.name()));
        let graph = build(&source, &path, &options(partition, Layout::Grid));
        (graph, spread(&path))
    };
    let (graph, balanced) = of(GridPartition::Balanced);
    let (_, uniform) = of(GridPartition::Uniform);
    assert!(graph.manifest.get("partition").is_none(), "the usual one is not named");
    assert_eq!(balanced.columns.largest, *columns(&graph).iter().max().unwrap());
    let shares = [balanced, uniform].map(|spread| spread.columns.largest);
    assert!(shares[0] * 3 < shares[1], "{shares:?}");
    assert!(balanced.largest * 3 < uniform.largest, "{balanced:?}");
}

/// A vertex with more edges than a bucket has several: they are all in its one interval.
#[test]
fn a_hub_of_several_buckets_is_in_one_uniform_interval() {
    let place = tempfile::tempdir().unwrap();
    let into_the_hub = (0..600_000).map(|edge| format!("{} 7\n", edge % 50_000));
    let lines: String = into_the_hub.chain((0..50_000).map(|at| format!("7 {at}\n"))).collect();
    let text = place.path().join("edges.txt");
    std::fs::write(&text, lines).unwrap();
    let source = input::open(&Disk::new(), &[Input::from(text)], &InputOptions::default()).unwrap();
    let path = place.path().join("hub.oc");
    let graph = build(source.as_ref(), &path, &options(GridPartition::Uniform, Layout::Grid));
    let columns = columns(&graph);
    assert!(columns[0] >= 600_000 && columns.iter().sum::<u64>() == 650_000, "{columns:?}");
    assert_eq!(spread(&path).columns.largest, columns[0]);
}

#[test]
fn a_manifest_with_another_partition_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("graph.oc");
    let source = skewed().source().unwrap();
    let graph = build(&source, &path, &options(GridPartition::Uniform, Layout::Grid));
    for lie in [json!("rows"), json!(2), json!(null)] {
        let mut manifest = graph.manifest.clone();
        manifest["partition"] = lie.clone();
        seal(&path, &manifest);
        let opened = Graph::open(&Disk::new(), &path).err();
        assert!(matches!(opened, Some(GraphError::Corrupt { .. })), "{lie}: {opened:?}");
    }
}
