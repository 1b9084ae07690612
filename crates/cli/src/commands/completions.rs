//! `completions`: the shell completes what the user begins.

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use outercore::Result;

use crate::output;

const EXAMPLES: &str = "Examples:
  outercore completions bash > /etc/bash_completion.d/outercore
  outercore completions zsh > ~/.zfunc/_outercore";

/// Print a script that completes commands and options in a shell
#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub fn run(&self) -> Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut crate::Cli::command(), "outercore", &mut script);
        output::print(String::from_utf8_lossy(&script).trim_end())
    }
}
