//! `info`: what a graph is.

use std::{fmt::Write, path::PathBuf};

use clap::Args;
use outercore::{
    Disk, Graph, GraphInfo, Layout, Named, Result, Spread, TileEdges, ViewInfo,
    format::{Extra, IdTable, Manifest},
    human_bytes, io_cost,
};
use serde::Serialize;

use super::build::headline;
use crate::output::{self, grouped, one_line, print_json, printable, shown};
use crate::progress::{Meter, Mode};

const EXAMPLES: &str = "Examples:
  outercore info web.oc
  outercore info web.oc --json
  outercore info web.oc --io-cost     what its order costs searches, by a model";

/// Show a graph's sizes, degrees, order, ids and sections
#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct Info {
    /// The graph
    graph: PathBuf,
    /// Say what the order of the vertices costs searches: a sum over all vertices of the edges that
    /// lead to one times the variance of its neighbors' ids (Lee et al., ATC'19). Reads all lists
    #[arg(long)]
    io_cost: bool,
    /// Print one JSON object on standard output instead of text
    #[arg(long)]
    json: bool,
}

impl Info {
    pub fn run(&self) -> Result<()> {
        let graph = Graph::open(&Disk::new(), &self.graph)?;
        let info = GraphInfo::of(&graph)?;
        let cost = self.io_cost.then(|| io_cost(&graph, &Meter::new(Mode::None))).transpose()?;
        if self.json {
            return print_json(&Said { info: &info, io_cost: cost });
        }
        let mut text = table(graph.manifest(), &info);
        if let Some(cost) = cost {
            write!(text, "\n  {:<16}{cost:.6e}", "I/O cost").expect("text grows");
        }
        output::print(&printable(&text))
    }
}

/// The figures, and the cost of the order where it was asked for.
#[derive(Serialize)]
struct Said<'i> {
    #[serde(flatten)]
    info: &'i GraphInfo,
    #[serde(skip_serializing_if = "Option::is_none")]
    io_cost: Option<f64>,
}

/// The figures as a person reads them.
fn table(manifest: &Manifest, info: &GraphInfo) -> String {
    let mut lines = vec![headline(&one_line(&info.graph), manifest)];
    let mut line = |name: &str, value: String| lines.push(format!("  {name:<16}{value}"));
    let ends = if info.directed { 1.0 } else { 2.0 };
    let mean = info.edges as f64 / info.connected.max(1) as f64 * ends;
    if let Some(hub) = &info.max_out_degree_vertex {
        let most = grouped(info.max_out_degree);
        let name = if info.directed { "out-degree" } else { "degree" };
        line(name, format!("{mean:.1} on average, {most} at most (vertex {hub})"));
    }
    if let (true, Some(degree)) = (info.directed, info.max_in_degree) {
        line("in-degree", format!("{} at most", grouped(degree)));
    }
    let incoming = if info.max_in_degree.is_some() { "kept" } else { "not kept" };
    line("incoming edges", incoming.to_owned());
    line("duplicates", duplicates(info));
    line("order", format!("{}: {}", info.order, meaning(info.order)));
    line("ids", ids(manifest));
    line("layout", layout(manifest));
    if let Some(TileEdges { partition, tiles, largest, mean, columns, rows }) = info.tiles {
        line("partition", format!("{partition}: {}", meaning(partition)));
        for (name, Spread { parts, largest, mean }) in [
            ("tiles", Spread { parts: tiles, largest, mean }),
            ("  of a column", columns),
            ("  of a row", rows),
        ] {
            let (parts, most, times) = (grouped(parts), grouped(largest), largest as f64 / mean);
            let spread = format!("{mean:.0} edges on average, {most} at most ({times:.2}x)");
            line(name, format!("{parts}, {spread}"));
        }
    }
    let sums = "a CRC-32C for each 4 KiB page; `outercore check` verifies them";
    line("format", format!("version {}, {sums}", info.format_version));
    for stripe in &info.stripes {
        line("stripe", shown(stripe));
    }
    line("on disk", human_bytes(info.bytes));
    for section in &info.sections {
        line("", format!("{:<18}{:>12}", section.name, human_bytes(section.bytes)));
    }
    if let Some(ViewInfo { path, bytes }) = &info.view {
        line(
            "simple view",
            format!("{}, {}, which may be removed", shown(path), human_bytes(*bytes)),
        );
    }
    lines.join("\n")
}

/// What became of duplicates and self-loops.
fn duplicates(info: &GraphInfo) -> String {
    match info.extra {
        _ if info.simple => "dropped, and self-loops too".to_owned(),
        Some(Extra { duplicates: 0, self_loops: 0 }) => "none, and no self-loops".to_owned(),
        Some(Extra { duplicates, self_loops }) => {
            format!("{} kept, and {} self-loops", grouped(duplicates), grouped(self_loops))
        }
        None => "kept".to_owned(),
    }
}

/// What a name means, as the end of a line.
fn meaning<T: Named>(value: T) -> String {
    let doc = T::CHOICES.iter().find(|choice| choice.name == value.name());
    let doc = doc.map_or("", |choice| choice.doc).trim_end_matches('.');
    let mut letters = doc.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// How the edges lie that full passes read, and how many lie how.
fn layout(manifest: &Manifest) -> String {
    match (manifest.layout, &manifest.hybrid) {
        (Layout::Hybrid, Some(hybrid)) => {
            let share =
                |arcs: u64| format!("{:.1} %", 100.0 * arcs as f64 / manifest.arcs.max(1) as f64);
            let (rows, grid) = (share(hybrid.row_arcs), share(hybrid.grid_arcs));
            let cells = format!(
                "{} cells in row format ({rows} of the edges), {} in grid format ({grid})",
                hybrid.row_cells, hybrid.grid_cells
            );
            format!("hybrid: {0} x {0} ranges of vertices; {cells}", hybrid.ranges)
        }
        (Layout::Row, _) => "row: passes over all edges read the lists".to_owned(),
        _ => "grid: passes over all edges read tiles".to_owned(),
    }
}

fn ids(manifest: &Manifest) -> String {
    match manifest.ids {
        IdTable::Range { first } if manifest.vertices > 0 => {
            format!("{first} to {}", first + (manifest.vertices - 1))
        }
        IdTable::Range { .. } => "none".to_owned(),
        IdTable::Numbers => "numbers".to_owned(),
        IdTable::Names => "strings".to_owned(),
    }
}
