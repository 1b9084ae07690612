//! `info`: what a graph is.

use std::path::PathBuf;

use clap::Args;
use outercore_engine::{Result, human_bytes};
use outercore_graph::{
    Graph, Layout, Order,
    format::{IdTable, Manifest},
};
use outercore_storage::Disk;
use serde_json::json;

use super::build::headline;
use crate::output::{self, grouped, print_json, printable};

const EXAMPLES: &str = "Examples:
  outercore info web.oc
  outercore info web.oc --json";

/// Show a graph's sizes, degrees, order, ids and sections
#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct Info {
    /// The graph
    graph: PathBuf,
    /// Print one JSON object on standard output instead of text
    #[arg(long)]
    json: bool,
}

impl Info {
    pub fn run(&self) -> Result<()> {
        let graph = Graph::open(&Disk::new(), &self.graph)?;
        let manifest = graph.manifest();
        let hub = if manifest.connected > 0 {
            Some(graph.key_of(manifest.max_out_degree.1)?)
        } else {
            None
        };
        let bytes: u64 = manifest.sections.iter().map(|section| section.bytes).sum();
        if self.json {
            let sections: Vec<_> = manifest
                .sections
                .iter()
                .map(|section| json!({"name": section.name, "bytes": section.bytes, "striped": section.striped}))
                .collect();
            return print_json(&json!({
                "schema": 1, "graph": self.graph.display().to_string(), "format_version": manifest.version, "uuid": manifest.uuid,
                "vertices": manifest.vertices, "connected": manifest.connected, "edges": manifest.edges, "directed": manifest.directed,
                "transpose": manifest.transpose, "simple": manifest.simple, "weights": manifest.weights, "negative_weights": manifest.negative_weights,
                "order": manifest.order, "ids": manifest.ids, "max_out_degree": manifest.max_out_degree.0,
                "max_out_degree_vertex": hub.map(|hub| hub.to_string()), "max_in_degree": in_degree(manifest), "bytes": bytes,
                "layout": manifest.layout, "shares": manifest.shares(), "stripes": manifest.stripes, "sections": sections,
            }));
        }
        let name = self.graph.display().to_string();
        let mut lines = vec![headline(&name, manifest)];
        let mut line = |name: &str, value: String| lines.push(format!("  {name:<16}{value}"));
        let mean = manifest.edges as f64 / manifest.connected.max(1) as f64
            * if manifest.directed { 1.0 } else { 2.0 };
        let kind = if manifest.directed { "out-degree" } else { "degree" };
        if let Some(hub) = hub {
            line(
                kind,
                format!(
                    "{mean:.1} on average, {} at most (vertex {hub})",
                    grouped(manifest.max_out_degree.0)
                ),
            );
        }
        if let (true, Some(degree)) = (manifest.directed, in_degree(manifest)) {
            line("in-degree", format!("{} at most", grouped(degree)));
        }
        line(
            "incoming edges",
            if manifest.directed && !manifest.transpose { "not kept" } else { "kept" }.to_owned(),
        );
        line(
            "duplicates",
            if manifest.simple { "dropped, and self-loops too" } else { "kept" }.to_owned(),
        );
        line("order", order(manifest.order).to_owned());
        line("ids", ids(manifest));
        line("layout", layout(manifest));
        line(
            "format",
            format!(
                "version {}, a CRC-32C for each 4 KiB page; `outercore check` verifies them",
                manifest.version
            ),
        );
        for stripe in &manifest.stripes {
            line("stripe", stripe.display().to_string());
        }
        line("on disk", human_bytes(bytes));
        for section in &manifest.sections {
            line("", format!("{:<18}{:>12}", section.name, human_bytes(section.bytes)));
        }
        output::print(&printable(&lines.join("\n")))
    }
}

/// The largest in-degree, if it is known.
fn in_degree(manifest: &Manifest) -> Option<u64> {
    (!manifest.directed || manifest.transpose).then_some(manifest.max_in_degree)
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

fn order(order: Order) -> &'static str {
    match order {
        Order::Degree => "descending degree",
        Order::Original => "ascending original id",
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
