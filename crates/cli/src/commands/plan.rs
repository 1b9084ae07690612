//! `plan`: what a run would do.

use clap::Args;
use outercore::Result;

use super::run::Asked;
use crate::{
    output::{self, print_json, printable},
    progress::{Meter, Mode},
};

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
        let (meter, allow) =
            (Meter::new(Mode::None), |plan: &_| self.asked.check_disk(&graph, plan));
        let plan = outercore::plan(&*algorithm, &graph, &config, &meter, allow)?;
        if self.asked.face.json {
            print_json(&plan)
        } else {
            output::print(&printable(&plan.to_string()))
        }
    }
}
