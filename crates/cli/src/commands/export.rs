//! `export`: a graph's edges as a file.

use std::{path::PathBuf, time::Instant};

use clap::Args;
use outercore::{
    Disk, ExportFormat, Graph, Resources, Result, Size, WriteOptions, export_edges, memory,
};
use serde_json::json;

use crate::{
    options::Face,
    output::{self, grouped, print_json, shown},
    signals,
};

const EXAMPLES: &str = "Examples:
  outercore export web.oc -o edges.parquet
  outercore export web.oc -o edges.mtx
  outercore export web.oc -o - | sort -t, -k2,2n";

/// Write a graph's edges by original id: parquet, csv or mtx (whose numbers are ranks where ids are
/// strings, or have gaps)
#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct Export {
    /// The graph
    pub(super) graph: PathBuf,
    /// The file to write; its extension says the format: .parquet, .mtx, or .csv, which is packed
    /// if .gz or .zst follows; - is standard output, as CSV
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The memory budget (512M, 25%); more makes it faster where ids are sparse or strings
    /// [default: half of what the machine has]
    #[arg(long, value_name = "SIZE")]
    memory: Option<Size>,
    #[command(flatten)]
    face: Face,
}

impl Export {
    pub fn run(&self) -> Result<()> {
        let format = ExportFormat::of(&self.output)?;
        output::check_data(&self.output, self.face.json)?;
        let begin = Instant::now();
        let graph = Graph::open(&Disk::new(), &self.graph)?;
        let budget = Resources { memory: self.memory, ..Resources::default() }.memory();
        let tables = format.tables(&graph, budget)?;
        let meter = self.face.meter();
        meter.start("writing edges", Some(graph.edges()));
        let options = WriteOptions {
            memory: tables,
            advance: &|rows| meter.add(rows),
            cancelled: &signals::stopped,
        };
        let edges = export_edges(&self.output, &graph, &options)?;
        meter.finish();
        let (file, seconds) = (self.output.display().to_string(), begin.elapsed().as_secs_f64());
        if self.face.json {
            let peak = memory::peak_rss_bytes();
            return print_json(&json!({
                "schema": 1, "file": file, "edges": edges, "seconds": seconds,
                "memory_budget_bytes": budget, "peak_rss_bytes": peak,
            }));
        }
        output::print_beside(
            &self.output,
            &format!(
                "{}: {} edges, written in {seconds:.2} s",
                shown(&self.output),
                grouped(edges)
            ),
        )
    }
}
