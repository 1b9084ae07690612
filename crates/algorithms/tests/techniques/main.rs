//! No switch is silent: for every algorithm, memory model and switch, a run does what was asked, to
//! be seen in what it reports, or it is refused, and the refusal says what the switch is for. The
//! table of docs/papers.md says where each acts.

mod cells;

use std::{collections::BTreeMap, fmt::Write, path::Path};

use outercore_algorithms::{NAMES, Request, Source, by_name};
use outercore_caches::{SelectSettings, select};
use outercore_engine::{
    Figure, MemoryModel, Named, Plan, Resources, RunConfig, RunReport, RunSettings, Settings,
    Technique, TechniqueReport, TechniqueState,
};
use outercore_graph::{
    BuildOptions, Graph, GraphError, Layout, Silent,
    generate::{GeneratedWeights, Rmat},
};
use outercore_testing::{MODELS, generate, request, run};
use outercore_visit::Executor;

use cells::Cells;

/// An algorithm, and its method, [`VISITORS`] or [`WEIGHTED`]; none: its usual method.
type Row = (&'static str, Option<&'static str>);

/// Instead of a method: `--executor async`.
const VISITORS: &str = "visitors";
/// Instead of a method: `--weighted`.
const WEIGHTED: &str = "weighted";

/// Algorithms, each with its usual method and with others.
const ROWS: [Row; 23] = [
    ("bfs", None),
    ("bfs", Some("program")),
    ("bfs", Some(VISITORS)),
    ("sssp", None),
    ("sssp", Some("program")),
    ("sssp", Some(VISITORS)),
    ("components", None),
    ("components", Some("program")),
    ("components", Some(VISITORS)),
    ("pagerank", None),
    ("pagerank-delta", None),
    ("pagerank-delta", Some("differences")),
    ("kcore", None),
    ("kcore", Some("program")),
    ("betweenness", None),
    ("betweenness", Some("batches")),
    ("multi-source", None),
    ("multi-source", Some(WEIGHTED)),
    ("spmv", None),
    ("triangles", None),
    ("clustering", None),
    ("label-propagation", None),
    ("diameter", None),
];

/// A switch with a value that is not the usual one, and the technique that it asks for; none: it
/// turns something off.
type Asked = (&'static str, &'static str, Option<Technique>);

const SWITCHES: [Asked; 25] = [
    ("read", "full", Some(Technique::FullPasses)),
    ("read", "active", Some(Technique::FullPasses)),
    ("read", "on-demand", Some(Technique::OnDemand)),
    ("read", "iteration", Some(Technique::StateAware)),
    ("cross-iteration", "fciu", Some(Technique::Fciu)),
    ("cross-iteration", "sciu", Some(Technique::Sciu)),
    ("cross-iteration", "off", None),
    ("sub-blocks", "off", None),
    ("sub-blocks", "secondary", Some(Technique::SubBlocks)),
    ("precompute", "gap", Some(Technique::Precompute)),
    ("cost", "paper", Some(Technique::StateAware)),
    ("direction", "push", Some(Technique::Push)),
    ("direction", "pull", Some(Technique::Direction)),
    ("io-scheduling", "list", Some(Technique::BitmapIo)),
    ("io-scheduling", "pluglist", Some(Technique::BitmapIo)),
    ("max-request", "16K", Some(Technique::RequestBound)),
    ("block", "512", Some(Technique::SmallBlocks)),
    ("queue-depth", "1", Some(Technique::QueueDepth)),
    ("io-threads", "1", Some(Technique::IoThreads)),
    ("page-cache", "64K", Some(Technique::PageCache)),
    ("static-cache", "256K", Some(Technique::StaticCache)),
    ("max-gap", "0", None),
    ("stealing", "off", None),
    ("io", "blocking", None),
    ("huge-pages", "off", None),
];

/// Graphs for the rows: with weights where these are needed.
struct Graphs {
    plain: Graph,
    weighted: Graph,
}

impl Graphs {
    fn new(folder: &Path, scale: u32) -> Self {
        let graph = |name, weights| {
            let options = BuildOptions {
                memory: 256 << 20,
                threads: 2,
                directed: Some(false),
                simple: true,
                layout: Layout::Grid,
                ..BuildOptions::default()
            };
            let graph =
                generate(folder.join(name), Rmat { weights, ..Rmat::new(scale, 5) }, options);
            let asked = SelectSettings { rounds: Some(2), ..SelectSettings::default() };
            let options = asked.options(&graph, &Resources::default()).unwrap();
            select(&graph, &options, &Silent).unwrap();
            graph
        };
        let weights = GeneratedWeights::Uniform { low: 1, high: 100 };
        Self { plain: graph("plain", GeneratedWeights::None), weighted: graph("weighted", weights) }
    }

    fn of(&self, (name, method): Row) -> &Graph {
        if name == "sssp" || method == Some(WEIGHTED) { &self.weighted } else { &self.plain }
    }
}

fn asked((name, method): Row) -> Request {
    let mut asked = request(name, &[Source::MaxDegree]);
    if method == Some(VISITORS) {
        asked.executor = Some(Executor::Async);
    } else if method == Some(WEIGHTED) {
        asked.weighted = true;
    } else {
        asked.method = method.map(str::to_owned);
    }
    asked
}

/// The models in which a row runs.
fn models((_, method): Row) -> &'static [MemoryModel] {
    if method == Some(VISITORS) { &MODELS[..2] } else { &MODELS }
}

/// A run with these switches.
fn config(model: MemoryModel, switches: &[(&str, &str)]) -> RunConfig {
    let mut settings = RunSettings { model: Some(model), ..RunSettings::default() };
    for (switch, value) in switches {
        assert_eq!(settings.set(switch, value), Some(Ok(())), "{switch}");
    }
    RunConfig { memory: 96 << 20, threads: 1, ..settings.config(&Resources::default()) }
}

fn plan(graph: &Graph, row: Row, config: &RunConfig) -> Result<Plan, GraphError> {
    by_name(row.0, &asked(row)).unwrap().plan(graph, config)
}

fn report(graph: &Graph, row: Row, config: &RunConfig) -> RunReport {
    run(graph, row.0, &asked(row), config).report
}

fn of(report: &RunReport, technique: Technique) -> &TechniqueReport {
    report.techniques.iter().find(|report| report.name == technique).expect("all are there")
}

/// What a report says that does not depend on time.
fn figures(report: &RunReport) -> BTreeMap<String, String> {
    let modes: Vec<_> = report.per_iteration.iter().map(|report| report.read_mode).collect();
    let mut figures = BTreeMap::from([
        ("read modes".to_owned(), format!("{modes:?}")),
        ("bytes".to_owned(), format!("{} {}", report.bytes_read, report.bytes_written)),
        ("requests".to_owned(), report.requests.to_string()),
        ("edges".to_owned(), report.edges_processed.to_string()),
        ("iterations".to_owned(), report.iterations.to_string()),
        ("cache".to_owned(), format!("{:?}", report.cache)),
        ("backend".to_owned(), report.io_backend.to_owned()),
        ("huge pages".to_owned(), report.huge_pages.to_string()),
    ]);
    let timed = [Technique::WorkStealing, Technique::Huge, Technique::QueueDepth];
    for TechniqueReport { name, effect, saved_bytes, .. } in &report.techniques {
        if !timed.contains(name) {
            figures.insert(name.name().to_owned(), format!("{effect} {saved_bytes}"));
        }
    }
    figures
}

/// The whole numbers of the answer.
fn answer(report: &RunReport) -> Vec<(&str, u64)> {
    let whole = |(&name, figure): (&&'static str, &Figure)| match figure {
        Figure::Integer(number) => Some((name, *number)),
        _ => None,
    };
    report.summary.iter().filter_map(whole).collect()
}

/// Where the graph gives a switch nothing to do, the report says so. Every switch acts somewhere.
#[test]
fn every_switch_is_refused_or_in_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = Graphs::new(folder.path(), 15);
    assert!(NAMES.iter().all(|name| ROWS.iter().any(|row| row.0 == *name)), "all have a row");
    let mut cells = Cells::of(&graphs);
    let acted: usize = cells.acted.values().sum();
    let said = format!("{acted} act, {} are refused, idle: {:#?}", cells.refused, cells.idle);
    println!("{said}");
    assert!(acted > 300 && cells.refused > 200 && cells.first > 200, "{said}");
    // Huge pages are the system's to grant.
    cells.acted.remove(&("huge-pages", "off"));
    assert_eq!(cells.acted.len(), SWITCHES.len() - 1, "{:?}; {said}", cells.acted);
}

/// A thread that computes has at most one that reads for it.
#[test]
fn more_io_threads_than_threads_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = Graphs::new(folder.path(), 10);
    let row = ("pagerank", None);
    let algorithm = by_name(row.0, &asked(row)).unwrap();
    let threads = config(MemoryModel::SemiExternal, &[]).threads;
    for (count, fits) in [(threads, true), (threads + 1, false)] {
        let config = config(MemoryModel::SemiExternal, &[("io-threads", &count.to_string())]);
        let planned = algorithm.plan(graphs.of(row), &config);
        assert_eq!(planned.is_ok(), fits, "{planned:?}");
    }
}

/// What is usual is never refused, nor is what a preset asks for.
#[test]
fn usual_values_and_presets_are_for_all() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = Graphs::new(folder.path(), 12);
    for row in ROWS {
        for &model in models(row) {
            for (switch, value) in [
                ("read", "auto"),
                ("cross-iteration", "on"),
                ("sub-blocks", "on"),
                ("precompute", "off"),
                ("cost", "measured"),
                ("direction", "auto"),
                ("io-scheduling", "bitmap"),
                ("block", "4096"),
                ("queue-depth", "64"),
                ("io-threads", "0"),
                ("stealing", "on"),
                ("preset", "best"),
                ("preset", "streaming"),
                ("preset", "graphene"),
                ("preset", "graphsd"),
                ("preset", "seraph"),
            ] {
                if switch == "preset" && row.1 == Some(VISITORS) {
                    continue;
                }
                let planned = plan(graphs.of(row), row, &config(model, &[(switch, value)]));
                let plan = planned.unwrap_or_else(|error| panic!("{row:?} {switch}: {error}"));
                assert_eq!(plan.techniques.len(), Technique::ALL.len(), "{row:?} {switch} {value}");
                let text = plan.to_string();
                let shown = text.lines().filter(|line| line.starts_with(&format!("  {value} ")));
                let is_preset = switch == "preset" && value != "best";
                assert_eq!(shown.count() > 0, is_preset, "{text}");
            }
        }
    }
}

/// What is known of a preset's techniques, as plans say it.
#[test]
fn plans_say_which_techniques_of_a_preset_apply() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = Graphs::new(folder.path(), 12);
    let states = |row: Row, preset| {
        let config = config(MemoryModel::FullyExternal, &[("preset", preset)]);
        let plan = plan(graphs.of(row), row, &config).unwrap();
        let state = |report: &TechniqueReport| {
            assert_eq!(report.state == TechniqueState::Used, report.reason.is_empty());
            (report.name, report.state)
        };
        plan.techniques.iter().map(state).collect::<Vec<_>>()
    };
    use TechniqueState::{NotApplicable, Used};
    for (row, preset, technique, state) in [
        (("pagerank", None), "graphsd", Technique::Fciu, Used),
        (("pagerank", None), "graphsd", Technique::Sciu, NotApplicable),
        (("multi-source", None), "graphsd", Technique::Sciu, Used),
        (("sssp", None), "graphsd", Technique::Fciu, Used),
        (("bfs", None), "seraph", Technique::Precompute, Used),
        (("pagerank", None), "seraph", Technique::Precompute, NotApplicable),
        (("bfs", None), "streaming", Technique::FullPasses, Used),
        (("sssp", None), "graphene", Technique::BitmapIo, Used),
    ] {
        assert!(states(row, preset).contains(&(technique, state)), "{row:?} {preset}");
    }
}

/// A search that turns from one side to the other looks at fewer edges than from either side alone.
#[test]
fn searches_from_one_side_look_at_more_edges() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = Graphs::new(folder.path(), 14);
    for name in ["bfs", "diameter"] {
        let of = |direction| {
            let config = config(MemoryModel::SemiExternal, &[("direction", direction)]);
            report(graphs.of((name, None)), (name, None), &config)
        };
        let [auto, push, pull] = ["auto", "push", "pull"].map(of);
        assert_eq!((answer(&push), answer(&pull)), (answer(&auto), answer(&auto)));
        let edges = [&auto, &push, &pull].map(|report| report.edges_processed);
        assert!(edges[0] < edges[1] && edges[0] < edges[2], "{name}: {edges:?}");
        let pulled = [&auto, &push, &pull].map(of_levels);
        assert!(pulled[1] == 0 && 0 < pulled[0] && pulled[0] < pulled[2], "{name}: {pulled:?}");
    }
}

/// Levels that were pulled.
fn of_levels(report: &RunReport) -> u64 {
    of(report, Technique::Direction).effect
}

/// The first letters of the models for which something holds.
fn letters(row: Row, holds: impl Fn(MemoryModel) -> bool) -> String {
    let models = models(row).iter().filter(|&&model| holds(model));
    let all: String = models.map(|model| &model.name()[..1]).collect();
    if all.is_empty() { "-".to_owned() } else { all }
}

/// The table of docs/papers.md.
fn table(graphs: &Graphs) -> String {
    let columns: Vec<(&str, &str)> = SWITCHES
        .iter()
        .map(|&(switch, value, _)| (switch, value))
        .filter(|(switch, _)| !["io", "huge-pages"].contains(switch))
        .collect();
    let mut text = "| algorithm |".to_owned();
    for (switch, value) in &columns {
        let _ = write!(text, " `--{switch} {value}` |");
    }
    let _ = write!(text, " vertex passing |\n|---|{}", "---|".repeat(columns.len() + 1));
    for row in ROWS {
        let graph = graphs.of(row);
        let method = match row.1 {
            Some(VISITORS) => " `--executor async`".to_owned(),
            Some(WEIGHTED) => " `--weighted`".to_owned(),
            method => method.map_or(String::new(), |method| format!(" `--method {method}`")),
        };
        let _ = write!(text, "\n| `{}`{method} |", row.0);
        for &asked in &columns {
            let takes = |model| {
                let config = RunConfig { threads: 2, ..config(model, &[asked]) };
                plan(graph, row, &config).is_ok()
            };
            let _ = write!(text, " {} |", letters(row, takes));
        }
        let passes = |model| {
            let plan = plan(graph, row, &config(model, &[])).unwrap();
            let passing = |report: &&TechniqueReport| report.name == Technique::VertexPassing;
            plan.techniques.iter().find(passing).unwrap().state == TechniqueState::Used
        };
        let _ = write!(text, " {} |", letters(row, passes));
    }
    text
}

const BEGIN: &str = "<!-- made by `cargo test -p outercore-algorithms --test techniques` -->\n";
const END: &str = "\n<!-- end of what was made -->";

/// With `OUTERCORE_WRITE_DOCS=1` the table is written instead.
#[test]
fn the_table_of_the_documents_is_what_plans_say() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(&Graphs::new(folder.path(), 13));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/papers.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the table's place");
    let (there, after) = rest.split_once(END).expect("the table's end");
    if std::env::var_os("OUTERCORE_WRITE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(
        there, table,
        "docs/papers.md is behind: OUTERCORE_WRITE_DOCS=1 cargo test -p outercore-algorithms \
         --test techniques"
    );
}
