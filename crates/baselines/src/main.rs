//! What `make bench-papers` compares with: serial algorithms in memory, and plain reads.
//!
//! It shares no code with the engine. A number of it can be wrong only in its own way. Every
//! command prints one JSON object.

mod chain;
mod csr;
mod edges;
mod heap;
mod reads;
mod search;
mod sets;

use std::{error::Error, path::PathBuf, time::Instant};

use clap::{Parser, Subcommand, ValueEnum};
use serde_json::{Value, json};

use csr::{Csr, Id};
use edges::Edges;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[derive(Parser)]
#[command(about = "Serial algorithms in memory, and plain reads, to compare with")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs one serial algorithm on an edge list that `outercore export` wrote as CSV
    Graph(GraphArguments),
    /// Random reads in a second, by how many are in flight
    Device(DeviceArguments),
    /// Makes the reads of a list
    Read(ReadArguments),
    /// How many reads of pages wait for each other in a search, if every page is read once
    Chain(ChainArguments),
}

#[derive(clap::Args)]
struct GraphArguments {
    /// The edges: a line `source,target[,weight]` each, after a header
    edges: PathBuf,
    /// What to run
    algorithm: Algorithm,
    /// Vertices; their ids are 0 to N-1 or 1 to N
    #[arg(long)]
    vertices: u32,
    /// Where a traversal starts
    #[arg(long, default_value_t = 0)]
    source: u32,
    /// Runs of each kind; the median is printed
    #[arg(long, default_value_t = 3)]
    repeats: usize,
}

#[derive(Clone, Copy, ValueEnum)]
enum Algorithm {
    /// Breadth-first search with a queue
    Bfs,
    /// Dijkstra's algorithm with a heap of four children
    Sssp,
    /// Union-find with path halving
    Components,
}

#[derive(clap::Args)]
struct DeviceArguments {
    /// A file that is larger than caches are
    file: PathBuf,
    /// Bytes of a read
    #[arg(long, default_value_t = 4096)]
    bytes: usize,
    /// Reads in flight
    #[arg(long, value_delimiter = ',', default_value = "1,4,16,64,256,1024,4096")]
    depths: Vec<usize>,
    /// How long each depth is measured
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
}

#[derive(clap::Args)]
struct ReadArguments {
    /// Where the files are
    folder: PathBuf,
    /// The reads: a line `file offset bytes` each, in the order in which they are made
    list: PathBuf,
    /// Threads, each with its own reads in flight
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Reads in flight for each thread
    #[arg(long, default_value_t = 64)]
    depth: usize,
}

#[derive(clap::Args)]
struct ChainArguments {
    /// The edges, as for `graph`
    edges: PathBuf,
    /// Vertices
    #[arg(long)]
    vertices: u32,
    /// Where the search starts
    #[arg(long, default_value_t = 0)]
    source: u32,
    /// Bytes of a neighbor on disk
    #[arg(long, default_value_t = 4)]
    neighbor: u64,
}

fn main() -> Result<()> {
    let printed = match Arguments::parse().command {
        Command::Graph(given) => graph(&given)?,
        Command::Device(given) => device(&given)?,
        Command::Read(given) => {
            reads::replay(&given.folder, &given.list, given.threads, given.depth)?
        }
        Command::Chain(given) => {
            let edges = Edges::read(&given.edges, given.vertices)?;
            chain::bound(&edges, edges.place(given.source)?, given.neighbor)
        }
    };
    println!("{printed}");
    Ok(())
}

/// One algorithm with ids of both widths in the order of the file, and with narrow ids by degree.
fn graph(given: &GraphArguments) -> Result<Value> {
    let start = Instant::now();
    let mut edges = Edges::read(&given.edges, given.vertices)?;
    let mut source = edges.place(given.source)?;
    let load = start.elapsed().as_secs_f64();
    let (summary, narrow) = timed::<u32>(&edges, source, given)?;
    let (same, wide) = timed::<u64>(&edges, source, given)?;
    let order = edges.by_degree();
    source = order[source as usize];
    edges.rename(&order);
    let (again, ordered) = timed::<u32>(&edges, source, given)?;
    if same != summary || again != summary {
        return Err(format!("answers differ: {summary}, {same}, {again}").into());
    }
    Ok(json!({
        "load_seconds": load,
        "ids_32": narrow,
        "ids_64": wide,
        "ids_32_by_degree": ordered,
        "summary": summary,
    }))
}

/// What came out, and how long it took to build the lists and to run.
fn timed<I: Id>(edges: &Edges, source: u32, given: &GraphArguments) -> Result<(Value, Value)> {
    let start = Instant::now();
    let csr = Csr::<I>::new(edges)?;
    let build = start.elapsed().as_secs_f64();
    let (mut seconds, mut summary) = (Vec::new(), Value::Null);
    for _ in 0..given.repeats.max(1) {
        let start = Instant::now();
        let came = match given.algorithm {
            Algorithm::Bfs => search::bfs(&csr, source),
            Algorithm::Sssp => search::dijkstra(&csr, source),
            Algorithm::Components => sets::components(&csr),
        };
        seconds.push(start.elapsed().as_secs_f64());
        summary = came;
    }
    seconds.sort_by(f64::total_cmp);
    Ok((summary, json!({"seconds": seconds[seconds.len() / 2], "build_seconds": build})))
}

/// The requests that a device answers in a second, at each depth.
fn device(given: &DeviceArguments) -> Result<Value> {
    let mut points = Vec::new();
    for &depth in &given.depths {
        let done = reads::random(&given.file, given.bytes, depth, given.seconds)?;
        let rate = done.requests as f64 / done.seconds;
        points.push(json!({
            "depth": depth,
            "requests_per_second": rate,
            "microseconds": depth as f64 / rate * 1e6,
        }));
    }
    Ok(json!({"bytes": given.bytes, "points": points}))
}
