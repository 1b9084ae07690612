//! Real graphs and published answers, in every memory model. Where the shared data is absent, a
//! test says SKIPPED and passes.

mod graphs;

use std::path::{Path, PathBuf};

use outercore_algorithms::Request;
use outercore_engine::{Figure, MemoryModel, ReadPolicy, RunConfig};
use outercore_graph::{
    Key,
    input::{self, InputOptions},
};
use outercore_testing::{MODELS, data, internal_edges, reference, run, smallest, thorough, values};

use graphs::{Published, from_adjacency, from_files, from_text, options, rounds, shared, source};

/// Triangles, in one window and in many: with the smallest budget, too.
fn triangles(graph: &Published, expected: u64) {
    let request = Request::default();
    graph.run("triangles", &request, |ran| assert_eq!(ran.figure("triangles"), expected));
    let model = Some(MemoryModel::FullyExternal);
    let mut config = RunConfig { memory: 1 << 30, model, threads: 2, ..RunConfig::default() };
    config.memory = smallest(&graph.graph, "triangles", &request, &config);
    let report = run(&graph.graph, "triangles", &request, &config).report;
    assert_eq!(report.summary["triangles"], Figure::Integer(expected));
    assert_eq!(Some(report.memory_model), model);
    let windows = report.per_iteration.len();
    assert!(windows >= (graph.graph.edges() >> 20) as usize, "{windows} windows");
}

/// PageRank's residual, reached by differences with at least 40 % fewer edges.
fn differences(graph: &Published) {
    let config = RunConfig { memory: 1 << 30, threads: 2, ..RunConfig::default() };
    let on_demand = RunConfig { read: ReadPolicy::OnDemand, ..config.clone() };
    for iterations in [5, 10, 20] {
        let all = run(&graph.graph, "pagerank", &rounds(iterations), &config).report;
        let Figure::Float(residual) = all.summary["residual"] else {
            panic!("a residual is a number")
        };
        let method = Some("differences".to_owned());
        let request = Request { tolerance: Some(residual), method, ..Request::default() };
        let some = run(&graph.graph, "pagerank-delta", &request, &on_demand).report;
        assert!(matches!(some.summary["residual"], Figure::Float(reached) if reached <= residual));
        let share = some.edges_processed as f64 / all.edges_processed as f64;
        eprintln!("pagerank-delta: {residual:.2e}, {share:.2} of the edges of {iterations}");
        assert!(share <= 0.6, "{share:.2} of the edges");
    }
}

/// The diameter, proved by at most so many searches.
fn diameter(graph: &Published, expected: u64, most: u64) {
    let exact = Request { exact: true, ..Request::default() };
    // Hundreds of searches take minutes where their edges or even their levels are on the device.
    let models = if thorough() { &MODELS[..] } else { &[MemoryModel::InMemory] };
    graph.run_in(models, "diameter", &exact, |ran| {
        assert_eq!(ran.figures(["lower_bound", "upper_bound"]), [expected, expected]);
        let searches = ran.outcome.report.iterations;
        assert!(searches <= most, "{searches} searches");
    });
    graph.run("diameter", &Request::default(), |ran| {
        let [lower, upper] = ran.figures(["lower_bound", "upper_bound"]);
        assert!(lower <= expected && upper >= expected, "{lower} to {upper}");
    });
}

fn converged() -> Request {
    Request { tolerance: Some(1e-9), ..Request::default() }
}

#[test]
fn notre_dame() {
    let Some(graph) = shared(&["snap/web-NotreDame.txt.gz"], options(None)) else { return };
    assert_eq!((graph.graph.vertices(), graph.graph.edges()), (325_729, 1_497_134));
    graph.run("components", &Request::default(), |ran| {
        assert_eq!(ran.figures(["components", "largest"]), [1, 325_729]);
    });
    triangles(&graph, 8_910_005);
    diameter(&graph, 46, 100);
    let Some(expected) = data::numpy("oracle/notredame.pagerank_igraph.npy.zst") else { return };
    graph.run("pagerank", &converged(), |ran| assert!(ran.l1(&expected, 0) < 1e-6));
    // Rounding leaves a residual above the tolerance: it ends once there is nothing else in it.
    let config = RunConfig { memory: 1 << 30, threads: 2, ..RunConfig::default() };
    let request = Request { tolerance: Some(1e-30), ..Request::default() };
    let report = run(&graph.graph, "pagerank", &request, &config).report;
    assert!((50..200).contains(&report.iterations), "{} iterations", report.iterations);
    graph.run("pagerank-delta", &converged(), |ran| assert!(ran.l1(&expected, 0) < 1e-6));
    differences(&graph);
    coreness(&graph, "oracle/notredame.coreness_igraph.npy.zst", 0, 155);
}

/// Core numbers, and the largest of them.
fn coreness(graph: &Published, oracle: &str, first: u64, degeneracy: u64) {
    let Some(expected) = data::numpy(oracle) else { return };
    graph.run("kcore", &Request::default(), |ran| {
        for (id, value) in &ran.values {
            assert_eq!(value.number().unwrap_or(0.0), expected[(id - first) as usize], "{id}");
        }
        let cores = ran.values.values().filter_map(|value| value.whole());
        assert_eq!(cores.max(), Some(degeneracy));
    });
}

#[test]
fn epinions() {
    let Some(graph) = shared(&["snap/soc-Epinions1.txt.gz"], options(None)) else { return };
    assert_eq!((graph.graph.vertices(), graph.graph.edges()), (75_879, 508_837));
    graph.run("components", &Request::default(), |ran| assert_eq!(ran.figure("largest"), 75_877));
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
    graph.run("components", &Request::default(), |ran| assert_eq!(ran.figure("components"), 2 + 9));
    graph.run("pagerank", &converged(), |ran| assert!(ran.l1(&expected, 0) < 1e-6));
}

#[test]
fn citations() {
    let Some(graph) = shared(&["snap/arxiv-cit-hep-ph.jlg"], options(None)) else { return };
    assert_eq!((graph.graph.vertices(), graph.graph.edges()), (34_546, 421_578));
    graph.run("components", &Request::default(), |ran| assert_eq!(ran.figure("largest"), 34_401));
    coreness(&graph, "oracle/jlg_arxiv-cit-hep-ph.coreness_igraph.npy.zst", 1, 30);
    triangles(&graph, 1_276_868);
    diameter(&graph, 14, 100);
    let Some(expected) = data::numpy("oracle/jlg_arxiv-cit-hep-ph.pagerank_igraph.npy.zst") else {
        return;
    };
    graph.run("pagerank", &converged(), |ran| assert!(ran.l1(&expected, 1) < 1e-6));
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
    let graph = from_text(std::str::from_utf8(&edges).unwrap(), 0..vertices, true);
    assert_eq!((graph.graph.vertices(), graph.graph.edges()), (325_557, 3_216_152));
    graph.run("components", &Request::default(), |ran| assert_eq!(ran.figure("components"), 1));
    triangles(&graph, 20_977_629);
    diameter(&graph, 34, 100);
    let Some(mut expected) = data::numpy("oracle/cnr_rs.pagerank_igraph.npy.zst") else { return };
    expected.sort_by(f64::total_cmp);
    graph.run("pagerank", &converged(), |ran| {
        let mut ranks: Vec<f64> =
            ran.values.values().map(|value| value.number().unwrap()).collect();
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
    let Some(graph) = shared(&["road/USA-road-d.NY.gr.gz"], options(None)) else { return };
    assert_eq!((graph.graph.vertices(), graph.graph.edges()), (264_346, 733_846));
    let oracle = data::numpy("oracle/USA-road-d.NY.sssp_scipy_src1.npy.zst");
    graph.run("sssp", &source(1), |ran| {
        assert_eq!(ran.figures(["max_distance", "distance_sum"]), [1_440_081, 186_686_642_878]);
        if let Some(expected) = &oracle {
            assert_eq!(ran.l1(expected, 1), 0.0);
        }
    });
    graph.run("sssp", &source(2), |ran| {
        assert_eq!(ran.figures(["max_distance", "distance_sum"]), [1_440_884, 186_898_907_898]);
    });
    let (edges, from) = (internal_edges(&graph.graph), graph.graph.find(&Key::Number(1)));
    let from = from.unwrap().expect("a vertex") as u32;
    let ranks: Vec<u64> = (0..edges.n as u64).collect();
    let asked = Request { parents: true, ..source(1) };
    graph.run_in(&MODELS, "sssp", &asked, |ran| {
        assert_eq!(ran.figures(["max_distance", "distance_sum"]), [1_440_081, 186_686_642_878]);
        let [distances, parents] = &values(&ran.outcome)[..] else { panic!("two columns") };
        let distances: Vec<_> = distances.iter().map(|value| value.number()).collect();
        let parents: Vec<_> = parents.iter().map(|value| value.whole()).collect();
        reference::verify_tree(&edges, from, &distances, &parents);
        assert!(parents == reference::parents(&edges, from, &distances, &ranks), "other parents");
    });
    graph.run("bfs", &source(1), |ran| {
        assert_eq!(ran.figures(["levels", "level_sum", "reached"]), [620, 90_771_609, 264_346]);
    });
    graph.run("components", &Request::default(), |ran| assert_eq!(ran.figure("components"), 1));
    triangles(&graph, 6_529);
    diameter(&graph, 720, 100);
}

#[test]
fn facebook() {
    let Some(graph) = shared(&["snap/facebook_combined.txt.gz"], options(Some(false))) else {
        return;
    };
    assert_eq!((graph.graph.vertices(), graph.graph.edges()), (4_039, 88_234));
    triangles(&graph, 1_612_010);
    diameter(&graph, 8, 100);
}

#[test]
fn git_history_of_bazel() {
    let Some(graph) = shared(&["gitdag/gitdag-bazel.u32.zst"], options(Some(true))) else {
        return;
    };
    assert_eq!((graph.graph.vertices(), graph.graph.edges()), (94_853, 5_344_159));
    for (id, reached, last, sum) in [
        (0, 94_853, 7_713, 170_410_532),
        (100, 93_622, 7_613, 165_951_567),
        (3000, 53_705, 4_713, 59_318_245),
    ] {
        graph.run("bfs", &source(id), |ran| {
            assert_eq!(ran.figures(["reached", "levels", "level_sum"]), [reached, last + 1, sum]);
        });
    }
    let Some(graph) = shared(&["gitdag/gitdag-bazel.u32.zst"], options(Some(false))) else {
        return;
    };
    graph.run("bfs", &source(0), |ran| {
        assert_eq!(ran.figures(["reached", "levels", "level_sum"]), [94_853, 11, 454_332]);
    });
}

/// The largest of the graphs: where every case is asked for.
#[test]
fn git_history_of_crates() {
    if !thorough() {
        return;
    }
    let Some(graph) = shared(&["gitdag/gitdag-crates.u32.zst"], options(Some(true))) else {
        return;
    };
    assert_eq!((graph.graph.vertices(), graph.graph.edges()), (252_100, 34_814_594));
    graph.run("bfs", &source(20_000), |ran| {
        assert_eq!(
            ran.figures(["reached", "levels", "level_sum"]),
            [152_326, 20_591, 1_022_764_110]
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
    let graph = from_files(&inputs, options(Some(false)));
    assert_eq!(graph.graph.edges(), 2_097_152);
    // The files list every id; those without an edge are not in the graph.
    triangles(&graph, 37_816_883);
    let levels = data::pairs(&files["bfs_level_rmat_s17"]);
    graph.run("bfs", &source(0), |ran| {
        for (id, level) in &levels {
            let level = Some(level.parse::<u64>().unwrap()).filter(|&level| level != 65_535);
            let found = ran.values.get(id).and_then(|value| value.whole());
            assert_eq!(found, level, "vertex {id}");
        }
    });
    let groups = data::pairs(&files["cc_rmat_s17"]);
    graph.run("components", &Request::default(), |ran| {
        let mut groups = groups.clone();
        groups.retain(|id, _| ran.values.contains_key(id));
        ran.same_groups(&groups);
    });
}

#[test]
fn ldbc_examples() {
    for (kind, start) in [("directed", 1), ("undirected", 2)] {
        let file = |name: &str| format!("ldbc-validation/example/example-{kind}{name}");
        let Some(graph) = shared(&[&file(".e")], options(Some(kind == "directed"))) else {
            return;
        };
        let expected =
            |name: &str| data::pairs(&data::bytes(&file(name)).expect("it lies beside the edges"));
        graph.run("bfs", &source(start), |ran| ran.same_levels(&expected("-BFS")));
        graph.run("sssp", &source(start), |ran| ran.same_numbers(&expected("-SSSP"), 1e-12));
        graph.run("components", &Request::default(), |ran| ran.same_groups(&expected("-WCC")));
        let twice = rounds(2);
        graph.run("pagerank", &twice, |ran| ran.same_numbers(&expected("-PR"), 1e-6));
        graph.run("clustering", &Request::default(), |ran| {
            ran.same_numbers(&expected("-LCC"), 1e-9)
        });
        graph.run("label-propagation", &twice, |ran| ran.same_vertices(&expected("-CDLP")));
    }
}

#[test]
fn ldbc_unit_graphs() {
    for (kind, directed, iterations) in [("dir", true, 14), ("undir", false, 26)] {
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
        graph.run("bfs", &source(1), |ran| ran.same_levels(&expected("bfs")));
        let graph = adjacency("wcc");
        graph.run("components", &Request::default(), |ran| ran.same_groups(&expected("wcc")));
        let graph = adjacency("pr");
        let request = rounds(iterations);
        graph.run("pagerank", &request, |ran| ran.same_numbers(&expected("pr"), 1e-5));
        let graph = adjacency("lcc");
        graph
            .run("clustering", &Request::default(), |ran| ran.same_numbers(&expected("lcc"), 1e-9));
        let graph = adjacency("cdlp");
        let five = rounds(5);
        graph.run("label-propagation", &five, |ran| ran.same_vertices(&expected("cdlp")));
        let Some(graph) =
            shared(&[&format!("ldbc-validation/sssp/{kind}-input.e")], options(Some(directed)))
        else {
            return;
        };
        graph.run("sssp", &source(1), |ran| ran.same_numbers(&expected("sssp"), 1e-12));
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
        graph.run("bfs", &source(6), |ran| ran.same_levels(&expected(&name("BFS"))));
        graph.run("sssp", &source(6), |ran| ran.same_numbers(&expected(&name("SSSP")), 1e-12));
        graph.run("components", &Request::default(), |ran| ran.same_groups(&expected("WCC")));
        triangles(&graph, 2_024);
        diameter(&graph, 11, 1000);
        if !directed {
            graph.run("label-propagation", &Request::default(), |ran| {
                ran.same_vertices(&expected("CDLP"))
            });
            graph.run("clustering", &Request::default(), |ran| {
                ran.same_numbers(&expected("LCC"), 1e-4)
            });
            let ten = rounds(10);
            graph.run("pagerank", &ten, |ran| ran.same_numbers(&expected("PR"), 1e-6));
        }
    }
}
