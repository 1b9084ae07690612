//! Algorithms by name: what a face collected becomes an algorithm, and a parameter that it has not
//! is refused.

use outercore_graph::Result;
use std::mem::take;

use outercore_engine::{Named, Settings};

use crate::{
    common::{Executing, refuse},
    *,
};

/// The algorithms' names.
pub const NAMES: &[&str] = &[
    "bfs",
    "sssp",
    "components",
    "pagerank",
    "kcore",
    "betweenness",
    "multi-source",
    "spmv",
    "triangles",
    "clustering",
    "label-propagation",
    "diameter",
    "pagerank-delta",
];

/// The algorithm of that name with these parameters.
pub fn by_name(name: &str, request: &Request) -> Result<Box<dyn Algorithm>> {
    let (algorithm, left) = taken(name, request.clone())?;
    let Some(parameter) = left.first() else { return Ok(algorithm) };
    let has = |other: &&&str| {
        let mut request = request.clone();
        request.source.get_or_insert(Source::MaxDegree);
        // Methods have their own names.
        let is_method = *parameter == "method";
        request.method.take_if(|_| !is_method);
        taken(other, request).map_or(is_method, |(_, left)| !left.contains(parameter))
    };
    let others: Vec<&str> = NAMES.iter().filter(has).copied().collect();
    refuse(format!("{name} has no --{parameter}: it is for {}", others.join(", ")))
}

/// The algorithm of that name, and the parameters that it has not.
fn taken(name: &str, request: Request) -> Result<(Box<dyn Algorithm>, Vec<&'static str>)> {
    let mut given = Given { name, left: request };
    let algorithm: Box<dyn Algorithm> = match name {
        "bfs" => Box::new(Bfs {
            source: given.source()?,
            method: given.method()?,
            executing: given.executing(),
        }),
        "sssp" => Box::new(Sssp {
            source: given.source()?,
            delta: given.left.delta.take(),
            method: given.method()?,
            parents: take(&mut given.left.parents),
            executing: given.executing(),
        }),
        "components" => {
            Box::new(Components { method: given.method()?, executing: given.executing() })
        }
        "pagerank" => Box::new(pagerank(&mut given, PageRank::default())?),
        "pagerank-delta" => {
            let pagerank = pagerank(&mut given, PageRankDelta::default().pagerank)?;
            Box::new(PageRankDelta { pagerank, method: given.method()? })
        }
        "kcore" => Box::new(KCore { k: given.left.k.take(), method: given.method()? }),
        "betweenness" => Box::new(Betweenness {
            sources: given.sources(),
            method: given.method()?,
            top: given.top(),
        }),
        "multi-source" => Box::new(MultiSource {
            sources: given.sources(),
            weighted: take(&mut given.left.weighted),
        }),
        "spmv" => Box::new(Spmv { vector: given.left.vector.take() }),
        "triangles" => Box::new(Triangles),
        "clustering" => Box::new(Clustering),
        "diameter" => Box::new(Diameter { exact: take(&mut given.left.exact) }),
        "label-propagation" => Box::new(LabelPropagation {
            iterations: given.iterations(LabelPropagation::default().iterations)?,
        }),
        _ => {
            let names = NAMES.join(", ");
            return refuse(format!("there is no algorithm {name}; there are {names}"));
        }
    };
    Ok((algorithm, given.left.asked()))
}

fn pagerank(given: &mut Given, usual: PageRank) -> Result<PageRank> {
    let damping = given.left.damping.take().unwrap_or(usual.damping);
    if !(0.0..1.0).contains(&damping) {
        return refuse(format!("--damping {damping} is out of range: at least 0, below 1"));
    }
    let tolerance = given.left.tolerance.take();
    if !tolerance.is_none_or(|tolerance| tolerance > 0.0) {
        return refuse("--tolerance must be above 0");
    }
    let most = if tolerance.is_some() { 1000 } else { usual.iterations };
    let (iterations, tolerance) = (given.iterations(most)?, tolerance.or(usual.tolerance));
    Ok(PageRank { damping, iterations, tolerance, top: given.top() })
}

/// What a face collected for the algorithm of this name.
struct Given<'r> {
    name: &'r str,
    /// The parameters that the algorithm has not taken.
    left: Request,
}

impl Given<'_> {
    fn source(&mut self) -> Result<Source> {
        let needs = || format!("{} needs --source: an id, max-degree, or random:SEED", self.name);
        self.left.source.take().map_or_else(|| refuse(needs()), Ok)
    }

    /// Those of `sources`, or the one of `source`.
    fn sources(&mut self) -> Vec<Source> {
        take(&mut self.left.sources).into_iter().chain(self.left.source.take()).collect()
    }

    fn iterations(&mut self, usual: u64) -> Result<u64> {
        match self.left.iterations.take().unwrap_or(usual) {
            0 => refuse("--iterations must be at least 1"),
            iterations => Ok(iterations),
        }
    }

    /// The number of rows of a summary.
    fn top(&mut self) -> usize {
        self.left.top.take().unwrap_or(10)
    }

    /// What is asked of the executor.
    fn executing(&mut self) -> Executing {
        let Request { executor, in_flight, peek, ownership, .. } = &mut self.left;
        Executing {
            executor: executor.take().unwrap_or_default(),
            in_flight: in_flight.take(),
            peek: peek.take(),
            ownership: ownership.take(),
        }
    }

    /// The method, if it is given.
    fn method<M: Named>(&mut self) -> Result<Option<M>> {
        let Some(asked) = self.left.method.take() else { return Ok(None) };
        let unknown = || format!("{} has no --method {asked}; it has {}", self.name, M::names());
        M::of(&asked).map_or_else(|| refuse(unknown()), |method| Ok(Some(method)))
    }
}
