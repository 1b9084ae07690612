//! Options that several verbs share.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use outercore::{BuildOptions, BuildSettings, Disk, GraphError, Resources};

use crate::{
    progress::{Meter, Mode},
    switches::Switches,
};

/// How results and progress are shown.
#[derive(Args, Clone)]
pub struct Face {
    /// Print one JSON object on standard output instead of text
    #[arg(long)]
    pub json: bool,
    /// Show progress on standard error
    #[arg(long, value_enum, default_value = "auto", value_name = "HOW")]
    pub progress: Mode,
}

impl Face {
    /// A meter of that kind.
    pub fn meter(&self) -> Meter {
        Meter::new(self.progress)
    }
}

/// What every way to make a graph has.
#[derive(Args, Clone)]
pub struct Making {
    /// The graph to make, a folder
    #[arg(short, long, value_name = "GRAPH")]
    pub output: PathBuf,
    /// Edges have a direction [default: what the format says, else directed]
    #[arg(long)]
    pub directed: bool,
    /// Edges have no direction
    #[arg(long, conflicts_with = "directed")]
    pub undirected: bool,
    /// Drop duplicate edges and self-loops
    #[arg(long)]
    pub simple: bool,
    #[command(flatten)]
    pub settings: Switches<BuildSettings>,
    /// Spread the edges over these folders, one for each device (repeatable)
    #[arg(long, value_name = "DIR", action = ArgAction::Append)]
    pub stripe: Vec<PathBuf>,
    /// Replace a graph that exists
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub resources: Switches<Resources>,
    #[command(flatten)]
    pub face: Face,
}

impl Making {
    /// What the user said of the direction.
    pub fn directed(&self) -> Option<bool> {
        match (self.directed, self.undirected) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    /// The library's options.
    pub fn options(&self, disk: &Disk) -> Result<BuildOptions, GraphError> {
        Ok(BuildOptions {
            directed: self.directed(),
            simple: self.simple,
            stripes: self.stripe.clone(),
            force: self.force,
            ..self.settings.0.options(&self.resources.0, disk, &self.output)?
        })
    }
}
