//! [`Executing`]: what was asked of the executor.

use outercore_engine::{Job, MemoryModel, Preset};
use outercore_graph::{Result, error::refuse};
use outercore_storage::named;

named! {
    /// Whether a traversal waits at the end of each level or round.
    #[derive(Default)]
    pub enum Executor: "executor" {
        /// Whichever is faster, as far as can be known: a search may begin in levels and go over.
        #[default]
        Auto = "auto",
        /// In levels or rounds.
        Sync = "sync",
        /// By prioritized visitors that wait for no level.
        Async = "async",
    }
}

named! {
    /// What decides to which worker a vertex belongs.
    #[derive(Default)]
    pub enum Ownership: "ownership" {
        /// Its group, of 64 in memory and of 4096 where lists are read: what is read together has
        /// one owner.
        #[default]
        Group = "group",
        /// Itself, as in the paper.
        Vertex = "vertex",
    }
}

/// What was asked of the executor.
#[derive(Clone, Debug, Default)]
pub struct Executing {
    /// Whether a traversal waits at the end of each level or round.
    pub executor: Executor,
    /// The most visitors of a worker with reads pending; `None`: as many as suit.
    pub in_flight: Option<u64>,
    /// Whether a neighbor's label is looked at before a visitor is sent to it; `None`: it is.
    pub peek: Option<bool>,
    /// What decides to which worker a vertex belongs; `None`: its group.
    pub ownership: Option<Ownership>,
}

impl Executing {
    /// Whether visitors are to run; `auto` says so where nothing was asked for. `instead` is a
    /// switch that was given and asks for another way.
    pub fn is_async(&self, job: Job, instead: Option<&str>, auto: bool) -> Result<bool> {
        let config = job.config;
        let other = match instead {
            Some(switch) => Some(switch),
            None if config.preset != Preset::Best => Some("--preset"),
            None if config.model == Some(MemoryModel::FullyExternal) => {
                Some("--model fully-external")
            }
            None => None,
        };
        // Visitors that were asked for say themselves that they cannot do this.
        let auto = auto && !config.wants_monotone() && !config.read.scans();
        match (self.executor, other) {
            (Executor::Async, Some(switch)) => {
                return refuse(format!(
                    "{switch} is for --executor sync. Visitors run in memory and semi-externally, \
                     on lists that are read on demand: leave out one of the two"
                ));
            }
            (Executor::Async, None) => {}
            (Executor::Auto, None) if auto => {}
            _ if self.in_flight.is_some() || self.peek.is_some() || self.ownership.is_some() => {
                return refuse(
                    "--in-flight, --peek and --ownership are for visitors: give --executor async",
                );
            }
            _ => return Ok(false),
        }
        if self.in_flight == Some(0) {
            return refuse("--in-flight must be at least 1");
        }
        Ok(true)
    }
}
