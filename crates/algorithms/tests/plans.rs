//! What plans say of bytes is what runs move: within a fifth in nine of ten runs whose course is
//! known, and there is an estimate for every run. `make plan-truth` measures more graphs and
//! budgets.

use outercore_algorithms::{NAMES, Request, Source};
use outercore_engine::{MemoryModel, Preset, RunConfig, Technique};
use outercore_graph::{
    BuildOptions, Graph, Layout,
    generate::{GeneratedWeights, Rmat},
};
use outercore_testing::{config, external_as, generate, request, run, smallest};

/// Algorithms whose edges are read in scans, and their rounds.
const KNOWN: [(&str, u64); 4] =
    [("pagerank", 6), ("spmv", 1), ("label-propagation", 3), ("triangles", 1)];
/// What is moved for other reasons: pages of ids of the summary, the ends of files.
const SMALL: u64 = 64 << 10;

fn graph(folder: &std::path::Path) -> Graph {
    let options = BuildOptions {
        memory: 256 << 20,
        threads: 2,
        directed: Some(false),
        simple: true,
        ..BuildOptions::default()
    };
    let weights = GeneratedWeights::Uniform { low: 1, high: 100 };
    generate(folder.join("graph.oc"), Rmat { weights, ..Rmat::new(16, 5) }, options)
}

/// Each model in its smallest budget and in a larger one.
fn configs(graph: &Graph, name: &str, request: &Request) -> Vec<RunConfig> {
    let models = [MemoryModel::InMemory, MemoryModel::SemiExternal, MemoryModel::FullyExternal];
    let both = models.into_iter().flat_map(|model| {
        let ample = RunConfig { model: Some(model), ..config() };
        let least = smallest(graph, name, request, &ample);
        [least, least / 2 * 3].map(|memory| RunConfig { memory, ..ample.clone() })
    });
    both.collect()
}

#[test]
fn what_is_known_is_planned_within_a_fifth_in_nine_of_ten_runs() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (graph, mut runs, mut wrong) = (graph(folder.path()), 0, Vec::new());
    for (name, rounds) in KNOWN {
        let iterations = Some(rounds).filter(|&rounds| rounds > 1);
        let request = Request { iterations, ..Request::default() };
        for config in configs(&graph, name, &request) {
            let report = run(&graph, name, &request, &config).report;
            let planned = report.planned;
            let what = format!("{name}, {}, {}", report.memory_model.name(), config.memory);
            runs += 1;
            let mut check = |kind: &str, planned: u64, moved: u64| {
                if planned.abs_diff(moved) > moved / 5 && planned.max(moved) > SMALL {
                    wrong.push(format!("{what}: {planned} bytes {kind} planned, {moved} moved"));
                }
            };
            check("read", planned.bytes_read.expect("there is an estimate"), report.bytes_read);
            check("written", planned.bytes_written, report.bytes_written);
        }
    }
    assert!(10 * wrong.len() <= runs, "{} of {runs}:\n{}", wrong.len(), wrong.join("\n"));
}

/// What vertex passing writes to its logs is in the plan, and what it has there at a time: within a
/// fifth in layout row.
#[test]
fn what_goes_to_logs_is_planned() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for layout in [Layout::Row, Layout::Hybrid] {
        let options = BuildOptions {
            memory: 256 << 20,
            threads: 2,
            directed: Some(false),
            simple: true,
            layout,
            ..BuildOptions::default()
        };
        let graph = generate(folder.path().join(layout.name()), Rmat::new(18, 5), options);
        for name in ["pagerank", "components", "bfs"] {
            let asked = request(name, &[Source::MaxDegree]);
            let config = RunConfig { memory: 32 << 20, ..external_as(Preset::Seraph) };
            let report = run(&graph, name, &asked, &config).report;
            let (planned, moved) = (report.planned.bytes_written, report.bytes_written);
            let what = format!("{name}, {layout:?}: {planned} bytes planned, {moved} written");
            println!("{what}");
            let passed = report.techniques.iter().find(|it| it.name == Technique::VertexPassing);
            assert!(passed.is_some_and(|it| it.effect > 100_000), "{what}");
            // Of a part of the edges it is less known where their messages go.
            let parts = if layout == Layout::Row { 5 } else { 2 };
            assert!(planned.abs_diff(moved) * parts <= moved, "{what}");
            let (planned, held) = (report.planned.disk_bytes, report.peak_disk_bytes);
            assert!(held <= planned + planned / parts, "{what}: {held} of {planned} at a time");
        }
    }
}

#[test]
fn every_plan_has_estimates_and_room_for_all_scratch() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let graph = graph(folder.path());
    for name in NAMES {
        let usual = request(name, &[Source::MaxDegree]);
        // Of shortest paths, with parents too, by either method.
        let more = ["delta-stepping", "program"].into_iter().filter(|_| *name == "sssp");
        let more = more.map(|method| {
            let method = Some(method.to_owned());
            Request { parents: true, method, ..usual.clone() }
        });
        let asked = more.chain([usual.clone()]).flat_map(|request| {
            configs(&graph, name, &request).into_iter().map(move |config| (request.clone(), config))
        });
        for (request, config) in asked {
            let report = run(&graph, name, &request, &config).report;
            let what = format!("{name}, {}, {}", report.memory_model.name(), config.memory);
            assert!(report.planned.bytes_read > Some(0), "{what}");
            let external = report.memory_model == MemoryModel::FullyExternal;
            assert!(
                external || report.planned.bytes_written + report.peak_disk_bytes == 0,
                "{what}"
            );
            assert!(report.peak_disk_bytes <= report.bytes_written, "{what}");
            // An interval begins a page.
            let most = report.planned.disk_bytes + report.planned.disk_bytes / 8 + (1 << 20);
            assert!(report.peak_disk_bytes <= most, "{what}: {}", report.peak_disk_bytes);
        }
    }
}

/// What a run was found not to take is not shown as nothing. Which items these are is a matter of
/// the machine, so each is tried.
#[test]
fn items_that_take_nothing_are_not_shown() {
    let folder = outercore_testing::folder();
    let graph = graph(folder.path());
    let algorithm =
        outercore_algorithms::by_name("bfs", &request("bfs", &[Source::MaxDegree])).unwrap();
    let plan = algorithm.plan(&graph, &config()).unwrap();
    let lines = |plan: &outercore_engine::Plan| plan.to_string().lines().count();
    assert!(plan.memory.len() > 3);
    for index in 0..plan.memory.len() {
        let mut without = plan.clone();
        without.memory[index].bytes = 0;
        let (text, name) = (without.to_string(), plan.memory[index].name);
        assert!(plan.to_string().contains(&format!("    {name} ")), "{plan}");
        assert!(!text.contains(&format!("    {name} ")) && !text.contains(" 0 B\n    "), "{text}");
        assert_eq!(lines(&without) + 1, lines(&plan), "{text}");
    }
}
