//! `run`: an algorithm on a graph.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
    time::Instant,
};

use clap::{Args, builder::PossibleValuesParser};
use outercore::{
    Algorithm, Disk, Figure, Graph, GraphError, InputError, Job, Key, MemoryModel, NAMES, Outcome,
    Plan, Request, Resources, Result, ResultFormat, RunConfig, RunReport, RunSettings, Source,
    TopRow, WriteOptions, by_name, human_bytes, is_standard_output, memory, result_scratch,
    top_rows, write_result_with,
};

use crate::{
    options::Face,
    output::{self, grouped, note, one_line, print_json, printable, real},
    progress::Meter,
    signals,
    switches::Switches,
};

const EXAMPLES: &str = "Examples:
  outercore run pagerank web.oc --memory 512M --iterations 20 -o ranks.parquet
  outercore run bfs web.oc --source max-degree
  outercore run sssp road.oc --source 1 -o distances.csv
  outercore run bfs names.oc --source=-x              an id that begins with a dash
  outercore run bfs names.oc --source '\"max-degree\"'  an id that is called so
  outercore run components web.oc --json";

/// Bytes that writing a result takes beside its tables.
const WRITING: u64 = 24 << 20;
/// Columns of a result, at most.
const MOST_COLUMNS: u64 = 2;
/// Bytes of the largest file of sources.
const MOST_SOURCES: u64 = 64 << 20;

/// Run an algorithm
#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct Run {
    #[command(flatten)]
    pub(super) asked: Asked,
}

/// What is run on what, and how: the arguments of `run` and `plan`.
#[derive(Args)]
pub struct Asked {
    /// The algorithm
    #[arg(value_name = "ALGO", value_parser = PossibleValuesParser::new(NAMES))]
    algorithm: String,
    /// The graph
    pub(super) graph: PathBuf,
    #[command(flatten, next_help_heading = "Parameters of the algorithms")]
    request: Switches<Request>,
    /// Where a traversal from many vertices starts: a file with one id in each line, each as it
    /// stands
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "sources",
        help_heading = "Parameters of the algorithms"
    )]
    sources_file: Option<PathBuf>,
    #[command(flatten, next_help_heading = "How it runs")]
    resources: Switches<Resources>,
    #[command(flatten, next_help_heading = "How it runs")]
    settings: Switches<RunSettings>,
    /// Write a result for each vertex, by original id: FILE.parquet, FILE.csv, FILE.tsv,
    /// FILE.jsonl, FILE.npy, or FILE.graphalytics (the benchmark's own format); text is packed if
    /// .gz or .zst follows; - is standard output, as CSV
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Output")]
    pub face: Face,
}

impl Asked {
    /// Everything that can be refused before the work begins.
    pub fn prepare(&self) -> Result<(Box<dyn Algorithm>, Graph, RunConfig)> {
        let mut request = self.request.0.clone();
        if let Some(path) = &self.sources_file {
            request.sources = sources_of(path)?;
        }
        let algorithm = by_name(&self.algorithm, &request)?;
        if let Some(path) = &self.output {
            ResultFormat::of(path)?;
            output::check_data(path, self.face.json)?;
            if !algorithm.has_columns() {
                let what = format!(
                    "{} gives no value for each vertex: there is nothing to write to {}",
                    self.algorithm,
                    path.display()
                );
                return Err(GraphError::Usage(what));
            }
        }
        let graph = Graph::open(&Disk::new(), &self.graph)?;
        let resources = self.resources.0.clone().for_items(graph.manifest().arcs);
        let config = self.settings.0.config(&resources);
        Ok((algorithm, graph, config))
    }

    /// Refuses a plan that takes more scratch than is allowed, and a run that comes to take more.
    /// What writing the result takes is beside the plan.
    pub fn check_disk(&self, graph: &Graph, plan: &Plan) -> Result<()> {
        let is_external = plan.memory_model == MemoryModel::FullyExternal;
        let written = self.output.as_ref().filter(|_| is_external);
        let result = written.map_or(0, |_| result_scratch(graph, MOST_COLUMNS));
        let needed = plan.disk_bytes + result;
        let allowed = self.resources.0.disk(graph.disk(), &self.graph)?;
        graph.disk().allow_scratch(allowed);
        if needed > allowed { Err(GraphError::Disk { needed, allowed }) } else { Ok(()) }
    }
}

/// The ids in the lines of a file; empty lines count for nothing.
fn sources_of(path: &Path) -> Result<Vec<Source>> {
    let wrong = |line: Option<u64>, what: &str, advice: &str| {
        let (path, what, advice) = (path.to_owned(), what.to_owned(), advice.to_owned());
        GraphError::from(InputError { path, line, offset: None, what, advice })
    };
    let bytes = Disk::new().read_all(path, MOST_SOURCES).map_err(GraphError::from)?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let mut sources = Vec::new();
    for (line, number) in bytes.split(|&byte| byte == b'\n').zip(1..) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let id = std::str::from_utf8(line)
            .map_err(|_| wrong(Some(number), "the id is not UTF-8", "ids are UTF-8 text"))?;
        if !id.is_empty() {
            sources.push(Source::Key(Key::Name(id.to_owned())));
        }
    }
    match sources.is_empty() {
        true => Err(wrong(None, "there is no id in it", "write one id in each line")),
        false => Ok(sources),
    }
}

impl Run {
    pub fn run(&self) -> Result<()> {
        let asked = &self.asked;
        let (algorithm, graph, config) = asked.prepare()?;
        let meter = Meter::of_run(asked.face.progress, asked.request.0.iterations);
        let counted = graph.counted_apart();
        let prepared = algorithm.prepare(Job::new(&counted, &config, &meter))?;
        asked.check_disk(&counted, &prepared.plan)?;
        let mut outcome = prepared.run()?;
        meter.finish();
        // All that can fail comes before the result has its name: an error says that there is none.
        let rows = match asked.face.json {
            true => Vec::new(),
            false => best(&graph, &outcome, asked.request.0.top.unwrap_or(10))?,
        };
        if let Some(path) = &asked.output {
            write(path, &counted, &outcome, &config, &meter)?;
            outcome.report.peak_rss_bytes =
                outcome.report.peak_rss_bytes.max(memory::peak_rss_bytes());
        }
        if asked.face.json {
            return print_json(&outcome.report);
        }
        let table = printable(&table(&outcome, &rows));
        match &asked.output {
            Some(path) => output::print_beside(path, &table),
            None => output::print(&table),
        }
    }
}

/// Writes the result, and says so.
fn write(
    path: &Path,
    graph: &Graph,
    outcome: &Outcome,
    config: &RunConfig,
    meter: &Meter,
) -> Result<()> {
    let begin = Instant::now();
    meter.start("writing the result", Some(graph.vertices()));
    let options = WriteOptions {
        memory: config.memory.saturating_sub(memory::current_rss_bytes() + WRITING),
        advance: &|rows| meter.add(rows),
        cancelled: &signals::stopped,
    };
    write_result_with(path, graph, &outcome.columns, &options)?;
    meter.finish();
    if !is_standard_output(path) {
        note(&format!("wrote {} in {:.2} s", path.display(), begin.elapsed().as_secs_f64()));
    }
    Ok(())
}

/// The rows to show: those of the summary, or the best of a result where a rank makes sense.
fn best(graph: &Graph, outcome: &Outcome, count: usize) -> Result<Vec<TopRow>> {
    match (outcome.report.summary.get("top"), outcome.columns.first()) {
        (Some(Figure::Top(rows)), _) => Ok(rows.clone()),
        (_, Some(column)) if outcome.ranked => Ok(top_rows(graph, column, count)?),
        _ => Ok(Vec::new()),
    }
}

/// The report as a person reads it.
fn table(outcome: &Outcome, rows: &[TopRow]) -> String {
    let report = &outcome.report;
    let mut text = format!(
        "{} on {}: {} vertices, {} edges\n",
        report.algorithm,
        one_line(&report.graph),
        grouped(report.vertices),
        grouped(report.edges)
    );
    let mut line =
        |name: &str, value: String| text.push_str(format!("  {name:<14}{value}\n").as_str());
    for (name, figure) in &report.summary {
        if let Some(value) = figure_text(figure) {
            line(&name.replace('_', " "), value);
        }
    }
    line("time", time(report));
    line("model", model(report));
    line("read", traffic(report));
    if report.requests > 0 {
        line("requests", requests(report));
    }
    line(
        "peak memory",
        format!(
            "{} of {}",
            human_bytes(report.peak_rss_bytes),
            human_bytes(report.memory_budget_bytes)
        ),
    );
    if !rows.is_empty() {
        let name = outcome.columns.first().map_or("score", |column| column.name);
        let ids: Vec<String> = rows.iter().map(|row| printable(&row.0.to_string())).collect();
        let width = ids.iter().map(|id| id.chars().count()).max().unwrap_or(0).clamp(8, 60);
        let _ = write!(text, "\n  {:<6}{:<width$}  {name}\n", "rank", "id");
        for (rank, (id, row)) in ids.iter().zip(rows).enumerate() {
            let _ = writeln!(text, "  {:<6}{id:<width$}  {}", rank + 1, real(row.1));
        }
    }
    text.trim_end().to_owned()
}

fn figure_text(figure: &Figure) -> Option<String> {
    Some(match figure {
        Figure::Integer(number) => grouped(*number),
        Figure::Float(number) => real(*number),
        Figure::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        Figure::Key(key) => key.to_string(),
        Figure::Null => "none".to_owned(),
        Figure::Top(_) => return None,
    })
}

fn time(report: &RunReport) -> String {
    let (count, noun) = (
        grouped(report.iterations),
        if report.iterations == 1 { "iteration" } else { "iterations" },
    );
    let speed = report.edges_processed as f64 / report.seconds.max(1e-9) / 1e6;
    format!(
        "{:.2} s ({:.2} s of it loading), {count} {noun}, {speed:.1} M edges/s",
        report.seconds, report.load_seconds
    )
}

fn model(report: &RunReport) -> String {
    let (count, noun) = (report.threads, if report.threads == 1 { "thread" } else { "threads" });
    let huge = if report.huge_pages { ", huge pages" } else { "" };
    format!("{}, {count} {noun}, {}{huge}", report.memory_model.name(), report.io_backend)
}

fn requests(report: &RunReport) -> String {
    let io = &report.io;
    let (mean, block, gap, most) = (
        io.reading.mean_request_bytes as u64,
        io.limits.block_bytes,
        io.limits.max_gap_bytes,
        io.limits.max_request_bytes,
    );
    let mut text = format!(
        "{} each, {:.1} in flight; {}, blocks of {}, gaps to {}, requests to {}",
        human_bytes(mean),
        io.reading.mean_queue_depth,
        io.scheduling.name(),
        human_bytes(block),
        human_bytes(gap),
        human_bytes(most)
    );
    if io.unverified_bytes > 0 {
        let _ = write!(
            text,
            "; {} not verified (blocks are parts of pages)",
            human_bytes(io.unverified_bytes)
        );
    }
    text
}

fn traffic(report: &RunReport) -> String {
    if report.bytes_read == 0 {
        return "nothing".to_owned();
    }
    let speed = report.bytes_read as f64 / report.seconds.max(1e-9) / 1e9;
    let (bytes, requests) = (human_bytes(report.bytes_read), grouped(report.requests));
    let planned = report
        .planned
        .bytes_read
        .map(|planned| format!("; planned {}", human_bytes(planned)))
        .unwrap_or_default();
    format!(
        "{bytes} in {requests} requests, {speed:.2} GB/s, {:.0} % of it wanted{planned}",
        report.io_utility * 100.0
    )
}
