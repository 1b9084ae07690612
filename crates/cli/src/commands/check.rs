//! `check`: everything that can be wrong with a graph.

use std::path::PathBuf;

use clap::Args;
use outercore::{Disk, GraphError, Result};
use serde_json::json;

use crate::{
    options::Face,
    output::{self, one_line, print_json, shown},
};

const EXAMPLES: &str = "Examples:
  outercore check web.oc && cp -r web.oc /backup";

/// Read everything, verify every checksum and invariant, list every fault
#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct Check {
    /// The graph
    graph: PathBuf,
    #[command(flatten)]
    face: Face,
}

impl Check {
    pub fn run(&self) -> Result<()> {
        let meter = self.face.meter();
        let faults = outercore::check(&Disk::new(), &self.graph, &meter)?;
        meter.finish();
        let graph = self.graph.display().to_string();
        if self.face.json {
            let list: Vec<_> = faults
                .iter()
                .map(|fault| json!({"file": fault.path.display().to_string(), "fault": fault.what}))
                .collect();
            print_json(
                &json!({"schema": 1, "graph": graph, "ok": faults.is_empty(), "faults": list}),
            )?;
        } else {
            for fault in &faults {
                output::print(&one_line(&format!("{}: {}", shown(&fault.path), fault.what)))?;
            }
            if faults.is_empty() {
                output::print(&format!("{}: no faults", shown(&self.graph)))?;
            }
        }
        match faults.len() {
            0 => Ok(()),
            1 => Err(corrupt(&self.graph, "1 fault was found".to_owned())),
            count => Err(corrupt(&self.graph, format!("{count} faults were found"))),
        }
    }
}

fn corrupt(path: &std::path::Path, what: String) -> outercore::GraphError {
    GraphError::Corrupt { path: path.to_owned(), what }
}
