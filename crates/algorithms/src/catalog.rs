//! Algorithms by name: what a face collected becomes an algorithm, and a parameter that it has not
//! is refused.

use outercore_engine::{EngineError, Named, Result, Settings};

use crate::{
    Algorithm, Betweenness, Bfs, Clustering, Components, Diameter, KCore, LabelPropagation,
    MultiSource, PageRank, PageRankDelta, Request, Source, Spmv, Sssp, Triangles,
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
    let mut given = Given { name, request, taken: Vec::new() };
    let algorithm: Box<dyn Algorithm> = match name {
        "bfs" => Box::new(Bfs { source: given.source()?, method: given.method()? }),
        "sssp" => Box::new(Sssp {
            source: given.source()?,
            delta: given.take("delta", |request| request.delta),
        }),
        "components" => Box::new(Components { method: given.method()? }),
        "pagerank" => Box::new(pagerank(&mut given)?),
        "pagerank-delta" => Box::new(pagerank_delta(&mut given)?),
        "kcore" => {
            Box::new(KCore { k: given.take("k", |request| request.k), method: given.method()? })
        }
        "betweenness" => Box::new(Betweenness {
            sources: given.sources(),
            method: given.method()?,
            top: given.take("top", |request| request.top).unwrap_or(10),
        }),
        "multi-source" => Box::new(MultiSource { sources: given.sources() }),
        "spmv" => Box::new(Spmv),
        "triangles" => Box::new(Triangles),
        "clustering" => Box::new(Clustering),
        "diameter" => Box::new(Diameter {
            exact: given.take("exact", |request| request.exact.then_some(())).is_some(),
        }),
        "label-propagation" => Box::new(LabelPropagation {
            iterations: given.iterations()?.unwrap_or(LabelPropagation::default().iterations),
        }),
        _ => {
            return Err(EngineError::Usage(format!(
                "there is no algorithm {name}; there are {}",
                NAMES.join(", ")
            )));
        }
    };
    given.refuse_the_rest()?;
    Ok(algorithm)
}

fn pagerank(given: &mut Given) -> Result<PageRank> {
    let default = PageRank::default();
    let damping = given.damping()?.unwrap_or(default.damping);
    let tolerance = given.tolerance()?;
    let iterations = given.iterations()?;
    let most = if tolerance.is_some() { 1000 } else { default.iterations };
    Ok(PageRank {
        damping,
        tolerance,
        iterations: iterations.unwrap_or(most),
        top: given.take("top", |request| request.top).unwrap_or(default.top),
    })
}

fn pagerank_delta(given: &mut Given) -> Result<PageRankDelta> {
    let default = PageRankDelta::default();
    Ok(PageRankDelta {
        damping: given.damping()?.unwrap_or(default.damping),
        tolerance: given.tolerance()?.unwrap_or(default.tolerance),
        iterations: given.iterations()?.unwrap_or(default.iterations),
        top: given.take("top", |request| request.top).unwrap_or(default.top),
    })
}

/// Parameters, and which of them the algorithm has taken.
struct Given<'r> {
    name: &'r str,
    request: &'r Request,
    taken: Vec<&'static str>,
}

impl Given<'_> {
    fn take<T>(
        &mut self,
        parameter: &'static str,
        value: impl Fn(&Request) -> Option<T>,
    ) -> Option<T> {
        self.taken.push(parameter);
        value(self.request)
    }

    fn source(&mut self) -> Result<Source> {
        let source = self.take("source", |request| request.source.clone());
        source.ok_or_else(|| {
            EngineError::Usage(format!(
                "{} needs --source: an id, max-degree, or random:SEED",
                self.name
            ))
        })
    }

    /// The damping factor, if it is given.
    fn damping(&mut self) -> Result<Option<f64>> {
        match self.take("damping", |request| request.damping) {
            Some(damping) if !(0.0..1.0).contains(&damping) => Err(EngineError::Usage(format!(
                "--damping {damping} is out of range: at least 0, below 1"
            ))),
            damping => Ok(damping),
        }
    }

    /// The tolerance, if it is given.
    fn tolerance(&mut self) -> Result<Option<f64>> {
        match self.take("tolerance", |request| request.tolerance) {
            Some(tolerance) if tolerance.is_nan() || tolerance <= 0.0 => {
                Err(EngineError::Usage("--tolerance must be above 0".to_owned()))
            }
            tolerance => Ok(tolerance),
        }
    }

    /// The number of iterations, if it is given.
    fn iterations(&mut self) -> Result<Option<u64>> {
        match self.take("iterations", |request| request.iterations) {
            Some(0) => Err(EngineError::Usage("--iterations must be at least 1".to_owned())),
            iterations => Ok(iterations),
        }
    }

    /// The method, if it is given.
    fn method<M: Named>(&mut self) -> Result<Option<M>> {
        let asked = self.take("method", |request| request.method.clone());
        let known = |name: String| {
            M::of(&name).ok_or_else(|| {
                EngineError::Usage(format!(
                    "{} has no --method {name}; it has {}",
                    self.name,
                    M::names()
                ))
            })
        };
        asked.map(known).transpose()
    }

    /// Those of `sources`, or the one of `source`.
    fn sources(&mut self) -> Vec<Source> {
        self.taken.extend(["source", "sources"]);
        self.request.sources.iter().chain(&self.request.source).cloned().collect()
    }

    fn refuse_the_rest(&self) -> Result<()> {
        match self.request.asked().iter().find(|parameter| !self.taken.contains(parameter)) {
            Some(parameter) => {
                Err(EngineError::Usage(format!("{} has no --{parameter}", self.name)))
            }
            None => Ok(()),
        }
    }
}
