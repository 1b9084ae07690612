//! `order`: a graph once more, with its vertices in another order.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use outercore::{BuildOptions, Disk, Graph, Order, OrderSettings, Resources, Result, reorder};

use super::build::Made;
use crate::{
    options::Face,
    output::{note, shown},
    switches::{Switches, named},
};

const EXAMPLES: &str = "Examples:
  outercore order norder web.oc -o web-norder.oc
  outercore order gorder web.oc -o web-gorder.oc --window 5 --memory 8G
  outercore order random web.oc -o web-random.oc --seed 7
  outercore order degree web-norder.oc -o web.oc";

/// Write a graph once more, with its vertices in another order on disk
///
/// Original ids, weights, direction, layout and vertices without edges stay as they are, and so do
/// the answers of every algorithm. The order decides which lists lie side by side, and so how much
/// a traversal reads. degree, the order of a build, suits most runs; norder and hubs-bfs suit
/// traversals that read lists on demand. docs/guide.md says more.
#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct OrderGraph {
    /// The order
    #[arg(value_name = "ORDER", value_parser = named::<Order>())]
    order: Order,
    /// The graph
    pub graph: PathBuf,
    /// The graph to make, a folder
    #[arg(short, long, value_name = "GRAPH")]
    output: PathBuf,
    #[command(flatten)]
    settings: Switches<OrderSettings>,
    /// Spread the edges over these folders, one for each device (repeatable)
    #[arg(long, value_name = "DIR", action = ArgAction::Append)]
    stripe: Vec<PathBuf>,
    /// Replace a graph that exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    resources: Switches<Resources>,
    #[command(flatten)]
    face: Face,
}

impl OrderGraph {
    pub fn run(&self) -> Result<()> {
        let disk = Disk::new();
        let means = self.settings.0.means(self.order)?;
        let graph = Graph::open(&disk, &self.graph)?;
        let asked = (&graph, self.order);
        let usual = self.settings.0.options(asked, &self.resources.0, &disk, &self.output)?;
        let options = BuildOptions { stripes: self.stripe.clone(), force: self.force, ..usual };
        let (from, order) = (graph.manifest().order.name(), self.order.name());
        note(&format!("input: {}, in the order {from}", shown(&self.graph)));
        let made = Made { output: &self.output, face: &self.face, memory: options.memory };
        let input = format!("a graph in the order {from}, written in the order {order}");
        made.tell(("graph", &input), |meter| reorder(&graph, &self.output, &options, means, meter))
    }
}
