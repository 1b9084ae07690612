//! `cache`: which lists of a graph a static cache holds.

use std::path::PathBuf;

use clap::Args;
use outercore::{
    About, Disk, Graph, Resources, Result, Runs, SelectSettings, human_bytes, memory, path_of,
    select,
};
use serde_json::json;

use crate::{
    options::Face,
    output::{self, grouped, note, print_json, printable, shown},
    switches::Switches,
};

const EXAMPLES: &str = "Examples:
  outercore cache web.oc --size 64M
  outercore cache web.oc --size 10% --rounds 100
  outercore cache web.oc --select low-degree --size 64M
  outercore run bfs web.oc --source 17 --page-cache 32M --static-cache 64M";

/// Select the lists that a static cache holds, for all runs to come
///
/// The selection is saved beside the graph, in GRAPH.cache: original ids, in the order of their
/// choice. `run --static-cache SIZE` loads as many of the lists as fit, before it begins, and keeps
/// them. Each direction of a graph has a selection of this size. One that was there is replaced. It
/// stays good for the graph while few of its edges change, also when it is built again.
/// docs/guide.md says more.
#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct Cache {
    /// The graph
    pub graph: PathBuf,
    #[command(flatten)]
    settings: Switches<SelectSettings>,
    #[command(flatten)]
    resources: Switches<Resources>,
    #[command(flatten)]
    face: Face,
}

impl Cache {
    pub fn run(&self) -> Result<()> {
        let graph = Graph::open(&Disk::new(), &self.graph)?;
        let options = self.settings.0.options(&graph, &self.resources.0)?;
        let meter = self.face.meter();
        let about = select(&graph, &options, &meter)?;
        meter.finish();
        let path = path_of(graph.path());
        if self.face.json {
            return print_json(&json!({
                "schema": 1, "selection": path.display().to_string(), "about": about,
                "memory_budget_bytes": options.memory, "peak_rss_bytes": memory::peak_rss_bytes(),
            }));
        }
        output::print(&printable(&table(&shown(&path), &about)))?;
        note(&format!(
            "next: outercore run bfs {} --source max-degree --static-cache {}",
            shown(&self.graph),
            about.size
        ));
        Ok(())
    }
}

/// What was selected.
fn table(path: &str, about: &About) -> String {
    let by: Vec<_> =
        about.settings.iter().map(|(name, value)| format!(", {name} {value}")).collect();
    let mut lines = vec![format!("{path}: {}{}", about.select, by.concat())];
    for side in &about.sides {
        let [bytes, all] = side.bytes;
        let share = 100.0 * bytes as f64 / all.max(1) as f64;
        let (lists, direction) = (grouped(side.lists), side.direction.name());
        let name = match side.runs {
            Runs::Search => direction.to_owned(),
            Runs::Many => format!("{direction}, many"),
            Runs::Spreading => format!("{direction}, all"),
        };
        let [stored, packed] = [bytes, side.packed].map(human_bytes);
        lines.push(format!(
            "  {name:<16}{lists} lists, {stored} ({share:.1} % of all), packed into {packed}"
        ));
        let worth = side.worth.unwrap_or(about.size);
        if worth < about.size {
            lines.push(format!(
                "{:18}beside a page cache {} of {} are used: pages are worth more than the rest",
                "",
                human_bytes(worth),
                human_bytes(about.size)
            ));
        }
    }
    lines.push(format!("  selected in     {:.2} s", about.seconds));
    lines.join("\n")
}
