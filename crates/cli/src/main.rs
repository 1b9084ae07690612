//! The command line: words to configuration structs, results to text and JSON. Everything else is
//! in the libraries.
//!
//! - `commands`: one file for each verb.
//! - `options`: what several verbs share; `switches`: the libraries' settings as options.
//! - `progress`: bars on a terminal, or events as lines.
//! - `failure`: which exit code an error is; `panics`: what a bug says of itself.
//! - `heap`: what is said where the system refuses memory.
//! - `signals`: Ctrl-C ends a run in order.
//! - `output`: standard output, which may be closed or full.

mod commands;
mod failure;
mod heap;
mod options;
mod output;
mod panics;
mod progress;
mod signals;
mod switches;

use std::io::IsTerminal;

use clap::Parser;
use outercore::{Disk, check::blaming};
use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, Targets},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use crate::commands::Command;

/// Graph analytics on one machine: the graph on disk, the run inside a memory budget.
#[derive(Parser)]
#[command(name = "outercore", version, arg_required_else_help = true)]
#[command(before_help = EXAMPLES, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  outercore build edges.txt.gz -o web.oc          an edge list becomes an on-disk graph
  outercore run pagerank web.oc --memory 512M     run within 512 MiB
  outercore run bfs web.oc --source 17 -o levels.parquet
  outercore plan pagerank web.oc --memory 1G      what a run would do, and why";

const EXIT_CODES: &str = "Data goes to standard output, everything else to standard error.
Sizes take K, M, G and T (powers of 1024). Ctrl-C ends a command in order, a second one at once.

Exit codes:
    0  done
    1  a bug in Outercore
    2  wrong usage
    3  bad input data
    4  the graph is damaged, or is none
    5  an I/O error, or a limit of the system (files, threads, address space)
    6  no space, or the disk budget is too small
    7  the memory budget is too small
    8  in use by another process
  130  interrupted (143: terminated, 129: hung up)";

/// What the libraries log goes to standard error: `OUTERCORE_LOG=outercore_engine=debug`.
fn log() {
    let asked = std::env::var("OUTERCORE_LOG").ok().and_then(|asked| asked.parse().ok());
    let targets = asked.unwrap_or(Targets::new().with_default(LevelFilter::WARN));
    let declined = std::env::var_os("NO_COLOR").is_some_and(|asked| !asked.is_empty());
    let colours = std::io::stderr().is_terminal() && !declined;
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(colours)
        .without_time()
        .with_target(false);
    tracing_subscriber::registry().with(lines.with_filter(targets)).init();
}

fn main() {
    heap::install();
    panics::install();
    signals::install();
    log();
    let cli = Cli::parse();
    // What was under way when something panics is dropped, and so cleans up.
    let code = match std::panic::catch_unwind(|| match cli.command.graph() {
        Some(graph) => blaming(&Disk::new(), graph, || cli.command.run()),
        None => cli.command.run(),
    }) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => failure::report(&error),
        Err(_) => {
            panics::report();
            failure::BUG
        }
    };
    std::process::exit(code);
}
