//! An algorithm of one's own: how many vertices lie at each distance from the one with most edges.
//! `cargo run --release --example hops -- GRAPH` The author says which vertices are active and what
//! to do with a list; the engine brings the lists, in the order in which the device delivers them.

use outercore_engine::{Frontier, HugePages, Job, Lists, Planner, Resource, RunConfig, Silent};
use outercore_graph::{Direction, Graph, GraphError, Result};
use outercore_storage::Disk;

fn hops(graph: &Graph, source: u64, config: &RunConfig) -> Result<Vec<u64>> {
    let mut planner = Planner::new("hops", Job::new(graph, config, &Silent));
    planner.memory("sets", [3 * Frontier::bytes(graph.connected()); 2]);
    let lists = planner.declare(Lists::along(&[Direction::Out]))?;
    let session = planner.decide()?.start()?;
    let lists = lists.open(&session)?;
    let set = || Frontier::new(graph.connected(), HugePages::Auto);
    let (seen, mut current, mut next, mut counts) = (set()?, set()?, set()?, Vec::new());
    seen.insert(source);
    current.insert(source);
    while !current.is_empty() {
        counts.push(current.count());
        lists.all(&session).for_each(
            u64::MAX,
            |group| current.word(group),
            |_worker| (),
            |(), _vertex, list| {
                for neighbor in list.neighbors().filter(|&neighbor| seen.insert(neighbor)) {
                    next.insert(neighbor);
                }
            },
        )?;
        (current, next) = (next, current);
        next.clear();
    }
    Ok(counts)
}

fn main() -> Result<()> {
    let path = std::env::args().nth(1).ok_or_else(|| GraphError::Usage("hops GRAPH".to_owned()))?;
    let graph = Graph::open(&Disk::new(), path.as_ref())?;
    println!("{:?}", hops(&graph, graph.manifest().max_out_degree.1, &RunConfig::default())?);
    Ok(())
}
