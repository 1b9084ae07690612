//! The verbs: one file each, a struct of its arguments and what it does.

mod bench;
mod build;
mod cache;
mod check;
mod completions;
mod export;
mod generate;
mod info;
mod order;
mod plan;
mod run;

use std::path::Path;

use clap::Subcommand;
use outercore::Result;

/// A verb.
#[derive(Subcommand)]
pub enum Command {
    Build(build::Build),
    Generate(generate::Generate),
    Order(order::OrderGraph),
    Cache(cache::Cache),
    Info(info::Info),
    Check(check::Check),
    Plan(plan::PlanRun),
    Run(run::Run),
    Export(export::Export),
    Bench(bench::Bench),
    Completions(completions::Completions),
}

impl Command {
    /// The graph that it reads.
    pub fn graph(&self) -> Option<&Path> {
        match self {
            Command::Plan(verb) => Some(&verb.asked.graph),
            Command::Run(verb) => Some(&verb.asked.graph),
            Command::Export(verb) => Some(&verb.graph),
            Command::Order(verb) => Some(&verb.graph),
            Command::Cache(verb) => Some(&verb.graph),
            _ => None,
        }
    }

    /// Does it.
    pub fn run(&self) -> Result<()> {
        match self {
            Command::Build(verb) => verb.run(),
            Command::Generate(verb) => verb.run(),
            Command::Order(verb) => verb.run(),
            Command::Cache(verb) => verb.run(),
            Command::Info(verb) => verb.run(),
            Command::Check(verb) => verb.run(),
            Command::Plan(verb) => verb.run(),
            Command::Run(verb) => verb.run(),
            Command::Export(verb) => verb.run(),
            Command::Bench(verb) => verb.run(),
            Command::Completions(verb) => verb.run(),
        }
    }
}
