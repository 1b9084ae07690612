//! `plan`: what a run would do.

use clap::Args;
use outercore::Result;

use super::run::Asked;
use crate::output::{self, print_json, printable};

const EXAMPLES: &str = "Examples:
  outercore plan pagerank web.oc
  outercore plan bfs web.oc --source 17 --memory 512M --json";

/// Show what a run would do and cost, and why; takes the options of `run`
#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct PlanRun {
    #[command(flatten)]
    pub(super) asked: Asked,
}

impl PlanRun {
    pub fn run(&self) -> Result<()> {
        let (algorithm, graph, config) = self.asked.prepare()?;
        let plan = algorithm.plan(&graph, &config)?;
        self.asked.check_disk(&graph, &plan)?;
        if self.asked.face.json {
            print_json(&plan)
        } else {
            output::print(&printable(&plan.to_string()))
        }
    }
}
