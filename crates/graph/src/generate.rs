//! Synthetic graphs, seeded: the same graph for the same seed on any machine and any number of
//! threads.
//!
//! Every edge is a function of the seed and its own number, so threads share out the numbers. RMAT
//! after Chakrabarti, Zhan and Faloutsos (2004), ids permuted by a keyed bijection; weights after
//! Pearce et al. (SC'10, section V-A).

#[cfg(target_arch = "x86_64")]
mod avx512;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::{
    error::{GraphError, Result, refuse},
    input::{
        DeclaredVertices, EdgeBatch, EdgeSource, Ends, IdKind, Item, Progress, Sink, SourceInfo,
    },
    types::WeightKind,
};

/// Weights of generated edges.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum GeneratedWeights {
    /// None.
    #[default]
    None,
    /// Whole numbers, uniform in `low..=high`. UW is `0..=vertices - 1`.
    Uniform {
        /// The smallest.
        low: u32,
        /// The largest.
        high: u32,
    },
    /// LUW: uniform in `0..2^i`, `i` uniform in `0..bits`.
    LogUniform {
        /// The bits of a vertex id.
        bits: u32,
    },
}

/// A recursive-matrix graph: 2^scale vertices, `edge_factor` edges for each.
#[derive(Clone, Debug)]
pub struct Rmat {
    /// Log 2 of the vertices, at most 62.
    pub scale: u32,
    /// Edges for each vertex.
    pub edge_factor: u64,
    /// Probability of the quadrant low, low.
    pub a: f64,
    /// Low source, high target.
    pub b: f64,
    /// High source, low target.
    pub c: f64,
    /// High, high.
    pub d: f64,
    /// The seed.
    pub seed: u64,
    /// Whether ids are permuted; without, the hubs have the low ids.
    pub permute: bool,
    /// The weights.
    pub weights: GeneratedWeights,
}

/// Edges between uniformly drawn vertices.
#[derive(Clone, Debug)]
pub struct Uniform {
    /// Vertices.
    pub vertices: u64,
    /// Edges.
    pub edges: u64,
    /// The seed.
    pub seed: u64,
    /// The weights.
    pub weights: GeneratedWeights,
}

/// A generator as a source of edges.
pub struct Generated {
    shape: GraphShape,
    edges: u64,
    seed: u64,
    weights: GeneratedWeights,
    info: SourceInfo,
}

enum GraphShape {
    /// Thresholds of the four quadrants as 32-bit fractions, and the keys of the permutation.
    Rmat {
        scale: u32,
        thresholds: [u32; 3],
        keys: Option<[u64; 4]>,
    },
    Uniform {
        vertices: u64,
    },
}

/// The factors and the step of SplitMix64.
const FIRST: u64 = 0xbf58_476d_1ce4_e5b9;
const SECOND: u64 = 0x94d0_49bb_1331_11eb;
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A mixing function that is a bijection (SplitMix64's finaliser).
#[inline(always)]
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(FIRST);
    let value = (value ^ (value >> 27)).wrapping_mul(SECOND);
    value ^ (value >> 31)
}

/// Random numbers of one edge.
#[derive(Clone, Copy)]
struct Draws(u64);

/// Edges that are made side by side: a processor does the same to all of them at once.
const LANES: usize = 8;

impl Draws {
    #[inline(always)]
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }
}

fn info(
    format: &'static str,
    description: String,
    vertices: u64,
    weights: GeneratedWeights,
    edges: u64,
) -> SourceInfo {
    SourceInfo {
        format,
        description,
        directed: None,
        ids: IdKind::Dense,
        weights: (weights != GeneratedWeights::None).then_some(WeightKind::U32),
        bytes: Some(edges),
        declared_vertices: Some(DeclaredVertices::Range { first: 0, count: vertices }),
    }
}

impl Rmat {
    /// RMAT with the usual parameters (Graph500's): a=.57 b=.19 c=.19 d=.05, 16 edges for each
    /// vertex.
    pub fn new(scale: u32, seed: u64) -> Self {
        Self {
            scale,
            edge_factor: 16,
            a: 0.57,
            b: 0.19,
            c: 0.19,
            d: 0.05,
            seed,
            permute: true,
            weights: GeneratedWeights::None,
        }
    }

    /// The source of its edges.
    pub fn source(&self) -> Result<Generated> {
        let sum = self.a + self.b + self.c + self.d;
        if [self.a, self.b, self.c, self.d].iter().any(|&part| !(0.0..=1.0).contains(&part))
            || (sum - 1.0).abs() > 1e-6
        {
            return refuse(format!(
                "a, b, c and d must lie between 0 and 1 and add up to 1, and add up to {sum}"
            ));
        }
        if !(1..=62).contains(&self.scale) {
            return refuse(format!("--scale {} is out of range: 1 to 62", self.scale));
        }
        let vertices = 1u64 << self.scale;
        let edges =
            vertices.checked_mul(self.edge_factor).filter(|&edges| edges > 0).ok_or_else(|| {
                GraphError::Usage(
                    "--edge-factor must be at least 1, and the edges must fit 64 bits".to_owned(),
                )
            })?;
        let fraction = |value: f64| (value * 4_294_967_296.0).min(4_294_967_295.0) as u32;
        let keys = self.permute.then(|| {
            std::array::from_fn(|index| {
                mix(self.seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ mix(index as u64 + 1)) | 1
            })
        });
        let text = format!("RMAT of scale {}, {edges} edges, seed {}", self.scale, self.seed);
        Ok(Generated {
            shape: GraphShape::Rmat {
                scale: self.scale,
                thresholds: [
                    fraction(self.a),
                    fraction(self.a + self.b),
                    fraction(self.a + self.b + self.c),
                ],
                keys,
            },
            edges,
            seed: self.seed,
            weights: self.weights,
            info: info("rmat", text, vertices, self.weights, edges),
        })
    }
}

impl Uniform {
    /// The source of its edges.
    pub fn source(&self) -> Result<Generated> {
        if self.vertices == 0 || self.edges == 0 {
            return refuse("--vertices and --edges must be at least 1");
        }
        let text = format!(
            "uniform random graph, {} vertices, {} edges, seed {}",
            self.vertices, self.edges, self.seed
        );
        Ok(Generated {
            shape: GraphShape::Uniform { vertices: self.vertices },
            edges: self.edges,
            seed: self.seed,
            weights: self.weights,
            info: info("uniform", text, self.vertices, self.weights, self.edges),
        })
    }
}

/// A keyed bijection of `0..2^bits`: rounds of multiplication by odd keys and shifts, each
/// invertible.
#[inline(always)]
fn permute(id: u64, bits: u32, keys: &[u64; 4]) -> u64 {
    let mask = (1u64 << bits) - 1;
    let half = bits.div_ceil(2);
    keys.iter().fold(id, |id, &key| {
        let id = id.wrapping_mul(key).wrapping_add(key >> 17) & mask;
        id ^ (id >> half)
    })
}

impl GraphShape {
    /// One edge of each sequence of random numbers.
    fn edges(&self, draws: &mut [Draws; LANES]) -> [[u64; 2]; LANES] {
        match self {
            GraphShape::Uniform { vertices } => draws.each_mut().map(|draws| {
                let scaled = |draw| ((u128::from(draw) * u128::from(*vertices)) >> 64) as u64;
                [scaled(draws.next()), scaled(draws.next())]
            }),
            GraphShape::Rmat { scale, thresholds, keys } => {
                #[cfg(target_arch = "x86_64")]
                if has_avx512() {
                    // SAFETY: the processor has it.
                    return unsafe { avx512::rmat(*scale, thresholds, keys.as_ref(), draws) };
                }
                #[cfg(target_arch = "x86_64")]
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has it.
                    return unsafe { rmat_by_avx2(*scale, thresholds, keys.as_ref(), draws) };
                }
                rmat(*scale, thresholds, keys.as_ref(), draws)
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq")
}

/// The random numbers of the edges from this one on.
fn draws_of(seed: u64, number: u64) -> [Draws; LANES] {
    #[cfg(target_arch = "x86_64")]
    if has_avx512() {
        // SAFETY: the processor has it.
        return unsafe { avx512::draws_of(seed, number) };
    }
    let mut all = [Draws(0); LANES];
    for (lane, draws) in all.iter_mut().enumerate() {
        *draws = Draws(mix(seed ^ mix(number.wrapping_add(lane as u64))));
    }
    all
}

/// [`rmat`] for processors with AVX2, whatever the program is compiled for.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn rmat_by_avx2(
    scale: u32,
    thresholds: &[u32; 3],
    keys: Option<&[u64; 4]>,
    draws: &mut [Draws; LANES],
) -> [[u64; 2]; LANES] {
    rmat(scale, thresholds, keys, draws)
}

/// Edges of a recursive matrix: a bit of both ends from each half of a random number. Loops, as
/// adapters of arrays are calls without the compiler's best effort.
#[inline(always)]
fn rmat(
    scale: u32,
    thresholds: &[u32; 3],
    keys: Option<&[u64; 4]>,
    draws: &mut [Draws; LANES],
) -> [[u64; 2]; LANES] {
    let [a, b, c] = thresholds.map(u64::from);
    let (mut sources, mut targets, mut bits) = ([0u64; LANES], [0u64; LANES], [0u64; LANES]);
    for level in 0..scale {
        for lane in 0..LANES {
            bits[lane] = if level % 2 == 0 { draws[lane].next() } else { bits[lane] >> 32 };
            let draw = bits[lane] & 0xffff_ffff;
            // Quadrants in the order a b c d: beyond `b` the source's bit is 1, beyond `a` and not
            // `b`, and beyond `c`, the target's.
            let beyond = |bound| u64::from(draw >= bound);
            sources[lane] = sources[lane] << 1 | beyond(b);
            targets[lane] = targets[lane] << 1 | (beyond(a) ^ beyond(b) ^ beyond(c));
        }
    }
    if let Some(keys) = keys {
        for lane in 0..LANES {
            sources[lane] = permute(sources[lane], scale, keys);
            targets[lane] = permute(targets[lane], scale, keys);
        }
    }
    let mut edges = [[0; 2]; LANES];
    for lane in 0..LANES {
        edges[lane] = [sources[lane], targets[lane]];
    }
    edges
}

impl GeneratedWeights {
    #[inline(always)]
    fn draw(self, draws: &mut Draws) -> f64 {
        match self {
            GeneratedWeights::None => 1.0,
            GeneratedWeights::Uniform { low, high } => {
                (u64::from(low)
                    + ((u128::from(draws.next())
                        * u128::from(u64::from(high) - u64::from(low) + 1))
                        >> 64) as u64) as f64
            }
            GeneratedWeights::LogUniform { bits } => {
                let exponent = (u64::from(bits.clamp(1, 32)) * (draws.next() >> 32)) >> 32;
                (draws.next() & ((1u64 << exponent) - 1)) as f64
            }
        }
    }
}

impl EdgeSource for Generated {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn at_most(&self) -> Option<(u64, u64)> {
        // All vertices are declared.
        self.info.bytes.map(|edges| (edges, 0))
    }

    // Making edges anew takes less time than writing and reading them.
    fn reads_again(&self) -> bool {
        true
    }

    fn read(
        &self,
        threads: usize,
        memory: usize,
        progress: &dyn Progress,
        sink: Sink<'_>,
    ) -> Result<()> {
        // An edge with its weight takes 24 bytes, and about as much on its way to scratch.
        let batch = (memory as u64 / 48 / threads.max(1) as u64).clamp(1 << 10, 1 << 16);
        let next = AtomicU64::new(0);
        crate::build::parallel(threads, |_| {
            loop {
                let first = next.fetch_add(batch, Relaxed);
                if first >= self.edges {
                    return Ok(());
                }
                if progress.cancelled() {
                    return Err(GraphError::Cancelled);
                }
                let end = (first + batch).min(self.edges);
                let mut pairs = Vec::with_capacity((end - first) as usize);
                let mut weights = Vec::new();
                for number in (first..end).step_by(LANES) {
                    let mut draws = draws_of(self.seed, number);
                    let edges = self.shape.edges(&mut draws);
                    let count = ((end - number) as usize).min(LANES);
                    pairs.extend_from_slice(&edges[..count]);
                    if self.weights != GeneratedWeights::None {
                        let drawn = draws[..count].iter_mut().map(|draws| self.weights.draw(draws));
                        weights.extend(drawn);
                    }
                }
                let weights = (self.weights != GeneratedWeights::None).then_some(weights);
                sink(Item::Edges(EdgeBatch { ends: Ends::Numbers(pairs), weights }))?;
                progress.advance(end - first);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::input::NoProgress;

    fn edges(source: &Generated, threads: usize) -> Vec<([u64; 2], u64)> {
        let all = Mutex::new(Vec::new());
        source
            .read(threads, 1 << 20, &NoProgress, &|item| {
                if let Item::Edges(EdgeBatch { ends: Ends::Numbers(pairs), weights }) = item {
                    let weights = weights.unwrap_or_else(|| vec![0.0; pairs.len()]);
                    all.lock().unwrap().extend(
                        pairs.into_iter().zip(weights.into_iter().map(|weight| weight as u64)),
                    );
                }
                Ok(())
            })
            .unwrap();
        let mut all = all.into_inner().unwrap();
        all.sort_unstable();
        all
    }

    #[test]
    fn the_same_seed_is_the_same_graph_on_any_number_of_threads() {
        let rmat =
            Rmat { weights: GeneratedWeights::Uniform { low: 1, high: 255 }, ..Rmat::new(12, 7) };
        let one = edges(&rmat.source().unwrap(), 1);
        assert_eq!(one, edges(&rmat.source().unwrap(), 3));
        assert_eq!(one.len(), 16 << 12);
        assert!(one.iter().all(|&([source, target], weight)| source < 4096
            && target < 4096
            && (1..=255).contains(&weight)));
        assert_ne!(one, edges(&Rmat { seed: 8, ..rmat }.source().unwrap(), 1));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn registers_make_the_same_edges() {
        if !has_avx512() {
            return;
        }
        let keys = std::array::from_fn(|index| mix(index as u64 + 7) | 1);
        for (scale, keys) in [(1, None), (7, Some(&keys)), (24, Some(&keys)), (61, Some(&keys))] {
            for number in [0, 8, 1 << 40, u64::MAX - 3] {
                let one = |lane| Draws(mix(3 ^ mix(u64::wrapping_add(number, lane as u64))));
                let mut plain: [Draws; LANES] = std::array::from_fn(one);
                let mut drawn = draws_of(3, number);
                let thresholds = [0x91eb_851e, 0xc28f_5c28, 0xf333_3333];
                let edges = rmat(scale, &thresholds, keys, &mut plain);
                // SAFETY: the processor has it.
                assert_eq!(edges, unsafe { avx512::rmat(scale, &thresholds, keys, &mut drawn) });
                assert_eq!(plain.map(|draws| draws.0), drawn.map(|draws| draws.0));
            }
        }
    }

    #[test]
    fn ids_are_permuted_without_loss() {
        let keys = std::array::from_fn(|index| mix(index as u64 + 99) | 1);
        for bits in [1, 2, 7, 12] {
            let mut images: Vec<u64> =
                (0..1u64 << bits).map(|id| permute(id, bits, &keys)).collect();
            images.sort_unstable();
            assert!(images.into_iter().eq(0..1u64 << bits));
        }
    }

    #[test]
    fn hubs_are_hubs() {
        let mut degrees = vec![0u64; 1 << 12];
        edges(&Rmat { permute: false, ..Rmat::new(12, 1) }.source().unwrap(), 2)
            .iter()
            .for_each(|&([source, _], _)| degrees[source as usize] += 1);
        assert!(degrees[0] > 1000 && degrees[0] == *degrees.iter().max().unwrap());
    }

    #[test]
    fn wrong_parameters_are_refused() {
        assert!(Rmat { a: 0.9, ..Rmat::new(5, 1) }.source().is_err());
        assert!(Rmat::new(0, 1).source().is_err());
        assert!(
            Uniform { vertices: 0, edges: 1, seed: 1, weights: GeneratedWeights::None }
                .source()
                .is_err()
        );
    }
}
