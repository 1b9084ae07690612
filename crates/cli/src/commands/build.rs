//! `build`: edge lists become a graph. What any way of making a graph prints is here too.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use clap::Args;
use outercore::{
    BuildOptions, Disk, EdgeFormat, Result, WeightKind,
    format::Manifest,
    human_bytes,
    input::{EdgeSource, Input, InputOptions, InputSettings},
    memory,
};
use serde_json::json;

use crate::{
    options::{Face, Making},
    output::{self, grouped, note, print_json},
    progress::Meter,
    signals,
    switches::Switches,
};

const EXAMPLES: &str = "Examples:
  outercore build edges.txt -o web.oc
  outercore build part-1.csv.gz part-2.csv.gz -o web.oc --undirected --memory 2G
  outercore build edges.parquet -o web.oc --weights f32
  zcat edges.gz | cut -f 2,3 | outercore build - -o web.oc";

/// Make an on-disk graph of edge lists
///
/// An edge list is text (two ids and perhaps a weight on each line, separated by blanks, tabs,
/// commas or semicolons), CSV, Matrix Market, DIMACS, LDBC Graphalytics (the .e file), binary
/// pairs, or Parquet (columns src, dst and perhaps weight); text may be compressed with gzip or
/// zstd. Columns beyond the third, and headers, must say what they are: by names such as source,
/// target and weight, or by --columns. Ids are any numbers below 2^64, or any strings; those with
/// zeros in front are strings, unless --ids u64 says that they are numbers.
#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct Build {
    /// Edge lists, all of one format; `-` is standard input
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// auto, text, csv, mtx, dimacs, graphalytics, pairs-u32, pairs-u64 or parquet
    #[arg(long, default_value = "auto", hide_default_value = true, value_name = "FORMAT")]
    format: EdgeFormat,
    #[command(flatten)]
    settings: Switches<InputSettings>,
    /// A list of vertices that exist whether or not they have edges (repeatable)
    #[arg(long, value_name = "FILE")]
    vertices: Vec<PathBuf>,
    #[command(flatten)]
    making: Making,
}

impl Build {
    pub fn run(&self) -> Result<()> {
        let disk = Disk::new();
        let options = InputOptions {
            directed: self.making.directed(),
            vertices: self.vertices.clone(),
            stopped: Some(signals::stopped),
            ..self.settings.0.options()
        };
        let inputs: Vec<Input> = self.inputs.iter().cloned().map(Input::from).collect();
        let source = outercore::open_edges(&disk, &inputs, self.format, &options)?;
        let build = BuildOptions { weights: options.weights, ..self.making.options(&disk)? };
        make(&disk, &*source, &self.making, &build)
    }
}

/// Builds the graph of `source`, and says what it is.
pub fn make(
    disk: &Disk,
    source: &dyn EdgeSource,
    making: &Making,
    options: &BuildOptions,
) -> Result<()> {
    let info = source.info();
    note(&format!("input: {}", info.description));
    if options.order.is_found() {
        note(&format!(
            "order: {} is found in a graph, and so the graph is built twice: by original ids among \
             the scratch files, and then in its order",
            options.order
        ));
    }
    let made = Made { output: &making.output, face: &making.face, memory: options.memory };
    made.tell((info.format, &info.description), |meter| {
        outercore::build_from(disk, source, &making.output, options, meter)
    })
}

/// A graph that a verb makes.
pub struct Made<'a> {
    /// Where it will be.
    pub output: &'a Path,
    /// How that is shown.
    pub face: &'a Face,
    /// The budget.
    pub memory: u64,
}

impl Made<'_> {
    /// Makes it, and says what it is; it is made of an input of this format and description.
    pub fn tell(
        &self,
        (format, input): (&str, &str),
        make: impl FnOnce(&Meter) -> Result<Manifest>,
    ) -> Result<()> {
        let begin = Instant::now();
        let meter = self.face.meter();
        let manifest = make(&meter)?;
        meter.finish();
        self.say(&manifest, (format, input), begin.elapsed().as_secs_f64())
    }

    fn say(&self, manifest: &Manifest, (format, input): (&str, &str), seconds: f64) -> Result<()> {
        let bytes: u64 = manifest.sections.iter().map(|section| section.bytes).sum();
        let peak = memory::peak_rss_bytes();
        let graph = self.output.display().to_string();
        if self.face.json {
            return print_json(&json!({
                "schema": 1, "graph": graph, "format": format, "input": input,
                "order": manifest.order,
                "vertices": manifest.vertices, "connected": manifest.connected,
                "edges": manifest.edges, "directed": manifest.directed, "weights": manifest.weights,
                "bytes": bytes, "seconds": seconds, "memory_budget_bytes": self.memory,
                "peak_rss_bytes": peak,
            }));
        }
        let speed = manifest.edges as f64 / seconds.max(1e-9) / 1e6;
        let text = format!(
            "{}\n  {} on disk, made in {seconds:.2} s ({speed:.2} M edges/s), peak memory {} of {}",
            headline(&output::shown(self.output), manifest),
            human_bytes(bytes),
            human_bytes(peak),
            human_bytes(self.memory)
        );
        output::print(&output::printable(&text))?;
        note(&format!("next: outercore run pagerank {graph}"));
        Ok(())
    }
}

/// `web.oc: 4 vertices (1 without edges), 3 directed edges, weights u32`.
pub fn headline(graph: &str, manifest: &Manifest) -> String {
    let isolated = match manifest.vertices - manifest.connected {
        0 => String::new(),
        isolated => format!(" ({} without edges)", grouped(isolated)),
    };
    let kind = if manifest.directed { "directed" } else { "undirected" };
    let weights = match manifest.weights {
        WeightKind::None => String::new(),
        weights => format!(", weights {weights}"),
    };
    format!(
        "{graph}: {} vertices{isolated}, {} {kind} edges{weights}",
        grouped(manifest.vertices),
        grouped(manifest.edges)
    )
}
