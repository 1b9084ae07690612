//! Real graphs and published answers, in both memory models. Where the shared data is absent, a
//! test says SKIPPED and passes.

mod reference;
mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use outercore_algorithms::{NAMES, Request, Source};
use outercore_engine::{Cell, Column, Figure, MemoryModel, Outcome, ReadPolicy, RunConfig};
use outercore_graph::input::{self, Input, InputOptions};
use outercore_graph::{BuildOptions, Graph, Key, Keys};
use outercore_storage::Disk;

use support::{data, number, whole};

/// A graph built from published files.
struct Published {
    graph: Graph,
    folder: tempfile::TempDir,
}

/// Builds from files of the shared data; `None` where one is absent.
fn shared(inputs: &[&str], options: InputOptions) -> Option<Published> {
    let paths: Option<Vec<PathBuf>> = inputs.iter().map(|name| data::path(name)).collect();
    Some(from_files(&paths?, options))
}

fn from_files(inputs: &[PathBuf], options: InputOptions) -> Published {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::new();
    let inputs: Vec<Input> = inputs.iter().map(Input::from).collect();
    let source = input::open(&disk, &inputs, &options).unwrap();
    let output = folder.path().join("graph.oc");
    let build = BuildOptions { memory: 512 << 20, threads: 2, ..BuildOptions::default() };
    outercore_graph::build(&disk, source.as_ref(), &output, &build, &outercore_graph::Silent)
        .unwrap();
    Published { graph: Graph::open(&disk, &output).unwrap(), folder }
}

/// Builds from lines of text; `vertices` exist with or without edges.
fn from_text(text: &str, vertices: &[u64], directed: bool) -> Published {
    let folder = tempfile::tempdir().unwrap();
    let (edges, listed) = (folder.path().join("edges.txt"), folder.path().join("vertices.txt"));
    std::fs::write(&edges, text).unwrap();
    std::fs::write(&listed, vertices.iter().map(|id| format!("{id}\n")).collect::<String>())
        .unwrap();
    from_files(
        &[edges],
        InputOptions {
            directed: Some(directed),
            vertices: vec![listed],
            ..InputOptions::default()
        },
    )
}

/// An adjacency list, a vertex and its neighbors on each line, as edges. In an undirected one, each
/// edge is there from both ends.
fn from_adjacency(text: &[u8], directed: bool) -> Published {
    let (mut edges, mut vertices) = (String::new(), Vec::new());
    for line in std::str::from_utf8(text).unwrap().lines() {
        let ids: Vec<u64> = line.split_ascii_whitespace().map(|id| id.parse().unwrap()).collect();
        let Some((&vertex, neighbors)) = ids.split_first() else { continue };
        vertices.push(vertex);
        neighbors
            .iter()
            .filter(|&&neighbor| directed || vertex < neighbor)
            .for_each(|neighbor| edges += &format!("{vertex} {neighbor}\n"));
    }
    from_text(&edges, &vertices, directed)
}

fn shared_options(directed: Option<bool>) -> InputOptions {
    InputOptions { directed, ..InputOptions::default() }
}

impl Published {
    /// Runs in both memory models and hands each outcome to `verify`.
    fn run(&self, name: &str, request: &Request, verify: impl Fn(&Outcome)) {
        for model in [MemoryModel::SemiExternal, MemoryModel::InMemory] {
            let config = RunConfig {
                memory: 1 << 30,
                model: Some(model),
                threads: 2,
                ..RunConfig::default()
            };
            let outcome = support::run(&self.graph, name, request, &config);
            eprintln!(
                "{name}, {}: {:.2} s, {:?}",
                model.name(),
                outcome.report.seconds,
                outcome.report.summary
            );
            verify(&outcome);
        }
    }

    /// The values of a column by original id; names of vertices are original ids too.
    fn column(&self, column: &Column) -> BTreeMap<u64, Cell> {
        let mut values = BTreeMap::new();
        let visit = &mut |keys: &Keys, ids: &[u64]| {
            let Keys::Numbers(keys) = keys else { panic!("numbers were read") };
            values.extend(keys.iter().zip(ids).map(|(&key, &id)| (key, column.get(id))));
            Ok(())
        };
        self.graph.for_each_key(1 << 16, visit).unwrap();
        assert_eq!(values.len() as u64, self.graph.vertices());
        values
    }

    fn first(&self, outcome: &Outcome) -> BTreeMap<u64, Cell> {
        self.column(&outcome.columns[0])
    }
}

fn source(id: u64) -> Request {
    Request { source: Some(Source::Key(Key::Number(id))), ..Request::default() }
}

/// Triangles, in one window and in many: with the smallest budget, too.
fn triangles(graph: &Published, expected: u64) {
    let request = Request::default();
    graph.run("triangles", &request, |outcome| assert_eq!(figure(outcome, "triangles"), expected));
    let model = MemoryModel::FullyExternal;
    let mut config =
        RunConfig { memory: 1 << 30, model: Some(model), threads: 2, ..RunConfig::default() };
    let algorithm = outercore_algorithms::by_name("triangles", &request).unwrap();
    config.memory = algorithm.plan(&graph.graph, &config).unwrap().smallest_budget_bytes;
    let outcome = algorithm.run(&graph.graph, &config, &outercore_engine::Silent).unwrap();
    assert_eq!((figure(&outcome, "triangles"), outcome.report.memory_model), (expected, model));
    let windows = outcome.report.per_iteration.len();
    assert!(windows >= (graph.graph.edges() >> 20) as usize, "{windows} windows");
}

/// PageRank's residual, reached by differences with at least 40 % fewer edges.
fn differences(graph: &Published) {
    let config = RunConfig {
        read: ReadPolicy::OnDemand,
        memory: 1 << 30,
        threads: 2,
        ..RunConfig::default()
    };
    for iterations in [5, 10, 20] {
        let all = support::run(
            &graph.graph,
            "pagerank",
            &Request { iterations: Some(iterations), ..Request::default() },
            &config,
        )
        .report;
        let Figure::Float(residual) = all.summary["residual"] else {
            panic!("a residual is a number")
        };
        let request = Request { tolerance: Some(residual), ..Request::default() };
        let some = support::run(&graph.graph, "pagerank-delta", &request, &config).report;
        assert!(matches!(some.summary["residual"], Figure::Float(reached) if reached <= residual));
        let share = some.edges_processed as f64 / all.edges_processed as f64;
        eprintln!(
            "pagerank-delta: {residual:.2e} in {} iterations, {share:.2} of the edges of {iterations}",
            some.iterations
        );
        assert!(share <= 0.6, "{share:.2} of the edges");
    }
}

/// The diameter, proved by at most so many searches.
fn diameter(graph: &Published, expected: u64, most: u64) {
    let exact = Request { exact: true, ..Request::default() };
    graph.run("diameter", &exact, |outcome| {
        assert_eq!(
            (figure(outcome, "lower_bound"), figure(outcome, "upper_bound")),
            (expected, expected)
        );
        assert!(outcome.report.iterations <= most, "{} searches", outcome.report.iterations);
    });
    graph.run("diameter", &Request::default(), |outcome| {
        assert!(
            figure(outcome, "lower_bound") <= expected
                && figure(outcome, "upper_bound") >= expected
        );
    });
}

fn figure(outcome: &Outcome, name: &str) -> u64 {
    match outcome.report.summary.get(name) {
        Some(Figure::Integer(value)) => *value,
        other => panic!("{name} is {other:?}"),
    }
}

fn converged() -> Request {
    Request { tolerance: Some(1e-9), ..Request::default() }
}

/// The sum of the absolute differences of all values from those of an array over ids; ids that the
/// graph does not have must not matter.
fn l1(values: &BTreeMap<u64, Cell>, expected: &[f64], first: u64) -> f64 {
    assert_eq!(values.len(), expected.len());
    values
        .iter()
        .map(|(id, &cell)| (number(cell).unwrap() - expected[(id - first) as usize]).abs())
        .sum()
}

/// The same partition of the vertices, whatever the labels.
fn same_groups(values: &BTreeMap<u64, Cell>, expected: &BTreeMap<u64, String>) {
    assert!(values.keys().eq(expected.keys()));
    let found: Vec<u64> = values.values().map(|&cell| whole(cell).unwrap()).collect();
    let expected: Vec<&String> = expected.values().collect();
    assert!(
        reference::by_smallest_member(&found) == reference::by_smallest_member(&expected),
        "other components"
    );
}

/// Whole numbers; `i64::MAX` in LDBC's files means unreached.
fn same_levels(values: &BTreeMap<u64, Cell>, expected: &BTreeMap<u64, String>) {
    let expected: BTreeMap<u64, Option<u64>> = expected
        .iter()
        .map(|(&id, level)| {
            (id, Some(level.parse().unwrap()).filter(|&level| level != i64::MAX as u64))
        })
        .collect();
    assert!(values.iter().map(|(&id, &cell)| (id, whole(cell))).eq(expected));
}

/// Values that are vertices, by their original ids.
fn same_vertices(graph: &Published, outcome: &Outcome, expected: &BTreeMap<u64, String>) {
    let values = graph.first(outcome);
    let mut keys = BTreeMap::new();
    let visit = &mut |names: &Keys, ids: &[u64]| {
        let Keys::Numbers(names) = names else { panic!("numbers were read") };
        keys.extend(ids.iter().copied().zip(names.iter().copied()));
        Ok(())
    };
    graph.graph.for_each_key(1 << 16, visit).unwrap();
    let values =
        values.iter().map(|(&id, &cell)| (id, keys[&whole(cell).expect("every vertex has one")]));
    assert!(values.eq(expected.iter().map(|(&id, value)| (id, value.parse().unwrap()))));
}

fn same_numbers(values: &BTreeMap<u64, Cell>, expected: &BTreeMap<u64, String>, tolerance: f64) {
    assert!(values.keys().eq(expected.keys()));
    for (id, (&cell, expected)) in values.iter().map(|(id, cell)| (id, (cell, &expected[id]))) {
        let expected: f64 = expected.parse().unwrap();
        match number(cell) {
            None => assert!(!expected.is_finite(), "{id} has no value instead of {expected}"),
            Some(value) => assert!(
                (value - expected).abs() <= tolerance * expected.abs(),
                "{id}: {value} instead of {expected}"
            ),
        }
    }
}

#[test]
fn notre_dame() {
    let Some(graph) = shared(&["snap/web-NotreDame.txt.gz"], shared_options(None)) else { return };
    assert_eq!((graph.graph.vertices(), graph.graph.edges()), (325_729, 1_497_134));
    graph.run("components", &Request::default(), |outcome| {
        assert_eq!((figure(outcome, "components"), figure(outcome, "largest")), (1, 325_729));
    });
    triangles(&graph, 8_910_005);
    diameter(&graph, 46, 100);
    let Some(expected) = data::numpy("oracle/notredame.pagerank_igraph.npy.zst") else { return };
    graph.run("pagerank", &converged(), |outcome| {
        assert!(l1(&graph.first(outcome), &expected, 0) < 1e-6)
    });
    graph.run("pagerank-delta", &converged(), |outcome| {
        assert!(l1(&graph.first(outcome), &expected, 0) < 1e-6)
    });
    differences(&graph);
    coreness(&graph, "oracle/notredame.coreness_igraph.npy.zst", 0, 155);
}

/// Core numbers, once there is an algorithm for them.
fn coreness(graph: &Published, oracle: &str, first: u64, degeneracy: u64) {
    let Some(expected) = data::numpy(oracle).filter(|_| NAMES.contains(&"kcore")) else { return };
    graph.run("kcore", &Request::default(), |outcome| {
        let cores = graph.first(outcome);
        assert_eq!(cores.values().filter_map(|&cell| whole(cell)).max(), Some(degeneracy));
        assert!(
            cores
                .iter()
                .all(|(id, &cell)| number(cell).unwrap_or(0.0) == expected[(id - first) as usize])
        );
    });
}

#[test]
fn epinions() {
    let Some(graph) = shared(&["snap/soc-Epinions1.txt.gz"], shared_options(None)) else { return };
    assert_eq!((graph.graph.vertices(), graph.graph.edges()), (75_879, 508_837));
    graph.run("components", &Request::default(), |outcome| {
        assert_eq!(figure(outcome, "largest"), 75_877)
    });
    coreness(&graph, "oracle/epinions.coreness_igraph.npy.zst", 0, 67);
    triangles(&graph, 1_624_481);
    diameter(&graph, 15, 100);
    // The oracle has every id up to the largest.
    let Some(expected) = data::numpy("oracle/epinions.pagerank_igraph.npy.zst") else { return };
    let listed = graph.folder.path().join("vertices.txt");
    std::fs::write(&listed, (0..expected.len()).map(|id| format!("{id}\n")).collect::<String>())
        .unwrap();
    let Some(graph) = shared(
        &["snap/soc-Epinions1.txt.gz"],
        InputOptions { vertices: vec![listed], ..InputOptions::default() },
    ) else {
        return;
    };
    graph.run("components", &Request::default(), |outcome| {
        assert_eq!(figure(outcome, "components"), 2 + 9)
    });
    graph.run("pagerank", &converged(), |outcome| {
        assert!(l1(&graph.first(outcome), &expected, 0) < 1e-6)
    });
}

#[test]
fn citations() {
    let Some(graph) = shared(&["snap/arxiv-cit-hep-ph.jlg"], shared_options(None)) else { return };
    assert_eq!((graph.graph.vertices(), graph.graph.edges()), (34_546, 421_578));
    graph.run("components", &Request::default(), |outcome| {
        assert_eq!(figure(outcome, "largest"), 34_401)
    });
    coreness(&graph, "oracle/jlg_arxiv-cit-hep-ph.coreness_igraph.npy.zst", 1, 30);
    triangles(&graph, 1_276_868);
    diameter(&graph, 14, 100);
    let Some(expected) = data::numpy("oracle/jlg_arxiv-cit-hep-ph.pagerank_igraph.npy.zst") else {
        return;
    };
    graph.run("pagerank", &converged(), |outcome| {
        assert!(l1(&graph.first(outcome), &expected, 1) < 1e-6)
    });
}

/// The adjacency is in another order than the oracle's, so ranks are compared sorted.
#[test]
fn cnr_2000() {
    let Some(text) = data::bytes("webgraph/java2006/cnr-2000.graph-txt.gz") else { return };
    let mut lines = text.split(|&byte| byte == b'\n');
    let vertices: u64 = std::str::from_utf8(lines.next().unwrap()).unwrap().trim().parse().unwrap();
    let mut edges = Vec::with_capacity(48 << 20);
    for (vertex, line) in lines.take(vertices as usize).enumerate() {
        for neighbor in line.split(|&byte| byte == b' ').filter(|neighbor| !neighbor.is_empty()) {
            edges.extend_from_slice(format!("{vertex} ").as_bytes());
            edges.extend_from_slice(neighbor);
            edges.push(b'\n');
        }
    }
    let graph =
        from_text(std::str::from_utf8(&edges).unwrap(), &(0..vertices).collect::<Vec<_>>(), true);
    assert_eq!((graph.graph.vertices(), graph.graph.edges()), (325_557, 3_216_152));
    graph.run("components", &Request::default(), |outcome| {
        assert_eq!(figure(outcome, "components"), 1)
    });
    triangles(&graph, 20_977_629);
    diameter(&graph, 34, 100);
    let Some(mut expected) = data::numpy("oracle/cnr_rs.pagerank_igraph.npy.zst") else { return };
    expected.sort_by(f64::total_cmp);
    graph.run("pagerank", &converged(), |outcome| {
        let mut ranks: Vec<f64> =
            graph.first(outcome).into_values().map(|cell| number(cell).unwrap()).collect();
        ranks.sort_by(f64::total_cmp);
        assert!(
            ranks
                .iter()
                .zip(&expected)
                .map(|(rank, expected)| (rank - expected).abs())
                .sum::<f64>()
                < 1e-6
        );
    });
}

#[test]
fn roads_of_new_york() {
    let Some(graph) = shared(&["road/USA-road-d.NY.gr.gz"], shared_options(None)) else { return };
    assert_eq!((graph.graph.vertices(), graph.graph.edges()), (264_346, 733_846));
    let oracle = data::numpy("oracle/USA-road-d.NY.sssp_scipy_src1.npy.zst");
    graph.run("sssp", &source(1), |outcome| {
        assert_eq!(
            (figure(outcome, "max_distance"), figure(outcome, "distance_sum")),
            (1_440_081, 186_686_642_878)
        );
        if let Some(expected) = &oracle {
            assert_eq!(l1(&graph.first(outcome), expected, 1), 0.0);
        }
    });
    graph.run("sssp", &source(2), |outcome| {
        assert_eq!(
            (figure(outcome, "max_distance"), figure(outcome, "distance_sum")),
            (1_440_884, 186_898_907_898)
        );
    });
    graph.run("bfs", &source(1), |outcome| {
        assert_eq!(
            (figure(outcome, "levels"), figure(outcome, "level_sum"), figure(outcome, "reached")),
            (620, 90_771_609, 264_346)
        );
    });
    graph.run("components", &Request::default(), |outcome| {
        assert_eq!(figure(outcome, "components"), 1)
    });
    triangles(&graph, 6_529);
    diameter(&graph, 720, 100);
}

#[test]
fn facebook() {
    let Some(graph) = shared(&["snap/facebook_combined.txt.gz"], shared_options(Some(false)))
    else {
        return;
    };
    assert_eq!((graph.graph.vertices(), graph.graph.edges()), (4_039, 88_234));
    triangles(&graph, 1_612_010);
    diameter(&graph, 8, 100);
}

#[test]
fn git_history_of_bazel() {
    let Some(graph) = shared(&["gitdag/gitdag-bazel.u32.zst"], shared_options(Some(true))) else {
        return;
    };
    assert_eq!((graph.graph.vertices(), graph.graph.edges()), (94_853, 5_344_159));
    for (id, reached, last, sum) in [
        (0, 94_853, 7_713, 170_410_532),
        (100, 93_622, 7_613, 165_951_567),
        (3000, 53_705, 4_713, 59_318_245),
    ] {
        graph.run("bfs", &source(id), |outcome| {
            assert_eq!(
                (
                    figure(outcome, "reached"),
                    figure(outcome, "levels"),
                    figure(outcome, "level_sum")
                ),
                (reached, last + 1, sum)
            );
        });
    }
    let Some(graph) = shared(&["gitdag/gitdag-bazel.u32.zst"], shared_options(Some(false))) else {
        return;
    };
    graph.run("bfs", &source(0), |outcome| {
        assert_eq!(
            (figure(outcome, "reached"), figure(outcome, "levels"), figure(outcome, "level_sum")),
            (94_853, 11, 454_332)
        );
    });
}

#[test]
fn git_history_of_crates() {
    let Some(graph) = shared(&["gitdag/gitdag-crates.u32.zst"], shared_options(Some(true))) else {
        return;
    };
    assert_eq!((graph.graph.vertices(), graph.graph.edges()), (252_100, 34_814_594));
    graph.run("bfs", &source(20_000), |outcome| {
        assert_eq!(
            (figure(outcome, "reached"), figure(outcome, "levels"), figure(outcome, "level_sum")),
            (152_326, 20_591, 1_022_764_110)
        );
    });
}

#[test]
fn rmat_of_scale_17() {
    let Some(files) = data::archive("havoqgt/havoqgt-rmat17-kronS10-13.tar.zst") else { return };
    let folder = tempfile::tempdir().unwrap();
    let inputs: Vec<PathBuf> =
        (0..8).map(|part| folder.path().join(format!("part {part}.txt"))).collect();
    inputs.iter().enumerate().for_each(|(part, path)| {
        std::fs::write(path, &files[&format!("edge_list_rmat_s17-{part}")]).unwrap()
    });
    let graph = from_files(&inputs, shared_options(Some(false)));
    assert_eq!(graph.graph.edges(), 2_097_152);
    // The files list every id; those without an edge are not in the graph.
    triangles(&graph, 37_816_883);
    let levels = data::pairs(&files["bfs_level_rmat_s17"]);
    graph.run("bfs", &source(0), |outcome| {
        let found = graph.first(outcome);
        for (id, level) in &levels {
            let level = Some(level.parse::<u64>().unwrap()).filter(|&level| level != 65_535);
            assert_eq!(found.get(id).and_then(|&cell| whole(cell)), level, "vertex {id}");
        }
    });
    let groups = data::pairs(&files["cc_rmat_s17"]);
    graph.run("components", &Request::default(), |outcome| {
        let found = graph.first(outcome);
        same_groups(
            &found,
            &groups
                .iter()
                .filter(|(id, _)| found.contains_key(id))
                .map(|(&id, group)| (id, group.clone()))
                .collect(),
        );
    });
}

#[test]
fn ldbc_examples() {
    for (kind, start) in [("directed", 1), ("undirected", 2)] {
        let file = |name: &str| format!("ldbc-validation/example/example-{kind}{name}");
        let Some(graph) = shared(&[&file(".e")], shared_options(Some(kind == "directed"))) else {
            return;
        };
        let expected =
            |name: &str| data::pairs(&data::bytes(&file(name)).expect("it lies beside the edges"));
        graph.run("bfs", &source(start), |outcome| {
            same_levels(&graph.first(outcome), &expected("-BFS"))
        });
        graph.run("sssp", &source(start), |outcome| {
            same_numbers(&graph.first(outcome), &expected("-SSSP"), 1e-12)
        });
        graph.run("components", &Request::default(), |outcome| {
            same_groups(&graph.first(outcome), &expected("-WCC"))
        });
        let twice = Request { iterations: Some(2), ..Request::default() };
        graph.run("pagerank", &twice, |outcome| {
            same_numbers(&graph.first(outcome), &expected("-PR"), 1e-6)
        });
        graph.run("clustering", &Request::default(), |outcome| {
            same_numbers(&graph.first(outcome), &expected("-LCC"), 1e-9)
        });
        graph.run("label-propagation", &twice, |outcome| {
            same_vertices(&graph, outcome, &expected("-CDLP"))
        });
    }
}

#[test]
fn ldbc_unit_graphs() {
    for (kind, directed, rounds) in [("dir", true, 14), ("undir", false, 26)] {
        let file = |name: &str| data::bytes(&format!("ldbc-validation/{name}"));
        let Some(text) = file(&format!("bfs/{kind}-input")) else { return };
        let expected = |name: &str| {
            data::pairs(&file(&format!("{name}/{kind}-output")).expect("it lies beside the input"))
        };
        let adjacency = |name: &str| {
            from_adjacency(
                &file(&format!("{name}/{kind}-input")).expect("it lies beside the output"),
                directed,
            )
        };
        let graph = from_adjacency(&text, directed);
        graph
            .run("bfs", &source(1), |outcome| same_levels(&graph.first(outcome), &expected("bfs")));
        let graph = adjacency("wcc");
        graph.run("components", &Request::default(), |outcome| {
            same_groups(&graph.first(outcome), &expected("wcc"))
        });
        let graph = adjacency("pr");
        let request = Request { iterations: Some(rounds), ..Request::default() };
        graph.run("pagerank", &request, |outcome| {
            same_numbers(&graph.first(outcome), &expected("pr"), 1e-5)
        });
        let graph = adjacency("lcc");
        graph.run("clustering", &Request::default(), |outcome| {
            same_numbers(&graph.first(outcome), &expected("lcc"), 1e-9)
        });
        let graph = adjacency("cdlp");
        let five = Request { iterations: Some(5), ..Request::default() };
        graph.run("label-propagation", &five, |outcome| {
            same_vertices(&graph, outcome, &expected("cdlp"))
        });
        let Some(graph) = shared(
            &[&format!("ldbc-validation/sssp/{kind}-input.e")],
            shared_options(Some(directed)),
        ) else {
            return;
        };
        graph.run("sssp", &source(1), |outcome| {
            same_numbers(&graph.first(outcome), &expected("sssp"), 1e-12)
        });
    }
}

#[test]
fn peers_of_gnutella() {
    let Some(files) = data::archive("p2p-31/p2p-31-with-references.tar.zst") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, path: &Path| std::fs::write(path, &files[name]).unwrap();
    let (edges, vertices) = (folder.path().join("p2p-31.e"), folder.path().join("p2p-31.vertices"));
    file("p2p-31.e", &edges);
    file("p2p-31.v", &vertices);
    let expected = |name: &str| data::pairs(&files[&format!("p2p-31-{name}")]);
    for directed in [false, true] {
        let options = InputOptions {
            directed: Some(directed),
            vertices: vec![vertices.clone()],
            ..InputOptions::default()
        };
        let graph = from_files(
            std::slice::from_ref(&edges),
            InputOptions { format: input::Format::Text, ..options },
        );
        assert_eq!((graph.graph.vertices(), graph.graph.edges()), (62_586, 147_892));
        let name = |base: &str| if directed { format!("{base}-directed") } else { base.to_owned() };
        graph.run("bfs", &source(6), |outcome| {
            same_levels(&graph.first(outcome), &expected(&name("BFS")))
        });
        graph.run("sssp", &source(6), |outcome| {
            same_numbers(&graph.first(outcome), &expected(&name("SSSP")), 1e-12)
        });
        graph.run("components", &Request::default(), |outcome| {
            same_groups(&graph.first(outcome), &expected("WCC"))
        });
        triangles(&graph, 2_024);
        diameter(&graph, 11, 1000);
        if !directed {
            graph.run("label-propagation", &Request::default(), |outcome| {
                same_vertices(&graph, outcome, &expected("CDLP"))
            });
            graph.run("clustering", &Request::default(), |outcome| {
                same_numbers(&graph.first(outcome), &expected("LCC"), 1e-4)
            });
            let ten = Request { iterations: Some(10), ..Request::default() };
            graph.run("pagerank", &ten, |outcome| {
                same_numbers(&graph.first(outcome), &expected("PR"), 1e-6)
            });
        }
    }
}
