//! `generate`: synthetic graphs.

use std::str::FromStr;

use clap::{Args, Subcommand};
use outercore::{
    Disk, Result,
    generate::{GeneratedWeights, Rmat, Uniform},
    input::EdgeSource,
};

use super::build::make;
use crate::options::Making;

const EXAMPLES: &str = "Examples:
  outercore generate rmat --scale 20 -o rmat20.oc
  outercore generate rmat --scale 24 --edge-factor 16 --seed 1 --weights uw -o rmat24.oc
  outercore generate uniform --vertices 1000000 --edges 16000000 -o uniform.oc --undirected";

/// Make a synthetic graph; the same seed makes the same graph
#[derive(Args)]
#[command(before_help = EXAMPLES)]
pub struct Generate {
    #[command(subcommand)]
    model: Model,
}

#[derive(Subcommand)]
enum Model {
    /// A recursive-matrix graph: few hubs, many vertices of low degree
    Rmat(RmatArgs),
    /// Edges between uniformly drawn vertices
    Uniform(UniformArgs),
}

// A number below zero is told to be out of range, not unknown.
#[derive(Args)]
#[command(allow_negative_numbers = true)]
struct RmatArgs {
    /// Log 2 of the number of vertices
    #[arg(long, value_name = "N")]
    scale: u32,
    /// Edges for each vertex
    #[arg(long, value_name = "N", default_value_t = 16)]
    edge_factor: u64,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Probability of the quadrant low source, low target
    #[arg(long, value_name = "P", default_value_t = 0.57)]
    a: f64,
    /// Low source, high target
    #[arg(long, value_name = "P", default_value_t = 0.19)]
    b: f64,
    /// High source, low target
    #[arg(long, value_name = "P", default_value_t = 0.19)]
    c: f64,
    /// High source, high target [default: what the others leave]
    #[arg(long, value_name = "P")]
    d: Option<f64>,
    /// Do not permute the ids: the hubs have the low ones
    #[arg(long)]
    no_permute: bool,
    /// none, uw (uniform in 0..vertices), luw (log-uniform), or uniform:LOW:HIGH
    #[arg(long, value_name = "WEIGHTS", default_value = "none")]
    weights: Weights,
    #[command(flatten)]
    making: Making,
}

#[derive(Args)]
#[command(allow_negative_numbers = true)]
struct UniformArgs {
    /// Vertices
    #[arg(long, value_name = "N")]
    vertices: u64,
    /// Edges
    #[arg(long, value_name = "N")]
    edges: u64,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// none, uw (uniform in 0..vertices), luw (log-uniform), or uniform:LOW:HIGH
    #[arg(long, value_name = "WEIGHTS", default_value = "none")]
    weights: Weights,
    #[command(flatten)]
    making: Making,
}

/// Weights as the user names them.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Weights {
    None,
    Uniform,
    LogUniform,
    Between(u32, u32),
}

impl FromStr for Weights {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wrong = || {
            format!(
                "unknown weights {text:?}; known: none, uw, luw, uniform:LOW:HIGH (whole numbers \
                 below 2^32)"
            )
        };
        match (text, text.strip_prefix("uniform:")) {
            ("none", _) => Ok(Weights::None),
            ("uw", _) => Ok(Weights::Uniform),
            ("luw", _) => Ok(Weights::LogUniform),
            (_, Some(bounds)) => {
                let (low, high) = bounds.split_once(':').ok_or_else(wrong)?;
                let (low, high) =
                    (low.parse().map_err(|_| wrong())?, high.parse().map_err(|_| wrong())?);
                if low <= high { Ok(Weights::Between(low, high)) } else { Err(wrong()) }
            }
            _ => Err(wrong()),
        }
    }
}

impl Weights {
    /// The library's form, for so many vertices.
    fn of(self, vertices: u64) -> GeneratedWeights {
        match self {
            Weights::None => GeneratedWeights::None,
            Weights::Uniform => GeneratedWeights::Uniform {
                low: 0,
                high: (vertices.max(1) - 1).min(u64::from(u32::MAX)) as u32,
            },
            Weights::LogUniform => GeneratedWeights::LogUniform {
                bits: (64 - (vertices.max(2) - 1).leading_zeros()).min(32),
            },
            Weights::Between(low, high) => GeneratedWeights::Uniform { low, high },
        }
    }
}

impl Generate {
    pub fn run(&self) -> Result<()> {
        let (source, making): (Box<dyn EdgeSource>, _) = match &self.model {
            Model::Rmat(args) => (Box::new(args.rmat().source()?), &args.making),
            Model::Uniform(args) => (Box::new(args.uniform().source()?), &args.making),
        };
        let disk = Disk::new();
        make(&disk, &*source, making, &making.options(&disk)?)
    }
}

impl RmatArgs {
    fn rmat(&self) -> Rmat {
        Rmat {
            scale: self.scale,
            edge_factor: self.edge_factor,
            a: self.a,
            b: self.b,
            c: self.c,
            d: self.d.unwrap_or(1.0 - self.a - self.b - self.c),
            seed: self.seed,
            permute: !self.no_permute,
            weights: self.weights.of(1u64.checked_shl(self.scale).unwrap_or(u64::MAX)),
        }
    }
}

impl UniformArgs {
    fn uniform(&self) -> Uniform {
        Uniform {
            vertices: self.vertices,
            edges: self.edges,
            seed: self.seed,
            weights: self.weights.of(self.vertices),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_by_name() {
        assert_eq!("uniform:1:9".parse(), Ok(Weights::Between(1, 9)));
        assert_eq!("luw".parse(), Ok(Weights::LogUniform));
        for bad in
            ["", "uniform", "uniform:9:1", "uniform:1", "uniform:-1:2", "uniform:0:4294967296"]
        {
            assert!(bad.parse::<Weights>().is_err(), "{bad}");
        }
    }
}
