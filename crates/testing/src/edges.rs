//! Graphs as plain lists of edges, and the same edges as lines of text.

use std::fmt::Write as _;

use outercore_graph::Key;

use crate::Random;

/// A graph: `n` vertices and a list of (source, target, weight).
#[derive(Clone, Debug)]
pub struct Edges {
    /// The number of vertices; their ids are `0..n`.
    pub n: usize,
    /// Whether an edge leads from its source to its target only.
    pub directed: bool,
    /// The edges, in any order, duplicates and self-loops included; an undirected edge is here
    /// once.
    pub edges: Vec<(u32, u32, f64)>,
}

impl Edges {
    /// Edges of weight 1 among as many vertices as they name.
    pub fn of(pairs: &[(u32, u32)], directed: bool) -> Self {
        let n = pairs.iter().map(|&(source, target)| source.max(target) as usize + 1).max();
        let edges = pairs.iter().map(|&(source, target)| (source, target, 1.0)).collect();
        Self { n: n.unwrap_or(0), directed, edges }
    }

    /// Every way along an edge, as (source, target, weight).
    pub fn arcs(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        self.edges.iter().flat_map(|&(source, target, weight)| {
            let (source, target) = (source as usize, target as usize);
            let back = (!self.directed && source != target).then_some((target, source, weight));
            std::iter::once((source, target, weight)).chain(back)
        })
    }

    /// Each vertex's neighbors and the weights of the edges to them.
    pub fn neighbors(&self) -> Vec<Vec<(usize, f64)>> {
        let mut lists = vec![Vec::new(); self.n];
        for (source, target, weight) in self.arcs() {
            lists[source].push((target, weight));
        }
        lists
    }

    /// The same edges without their directions.
    pub fn undirected(&self) -> Edges {
        Edges { directed: false, ..self.clone() }
    }
}

/// How the vertices `0..n` of a list of edges are called in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    /// 0, 1, 2 ...
    Zero,
    /// 1, 2, 3 ...
    One,
    /// Numbers all over the range of 64 bits.
    Sparse,
    /// Words.
    Names,
}

impl Ids {
    /// All of them.
    pub const ALL: [Ids; 4] = [Ids::Zero, Ids::One, Ids::Sparse, Ids::Names];

    /// The original id of a vertex.
    pub fn key(self, vertex: u32) -> Key {
        match self {
            Ids::Zero => Key::Number(vertex.into()),
            Ids::One => Key::Number(u64::from(vertex) + 1),
            // An odd factor: a bijection.
            Ids::Sparse => Key::Number(
                u64::from(vertex).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x0123_4567_89ab_cdef,
            ),
            Ids::Names => Key::Name(format!("v{:x}-\u{fc}", vertex.wrapping_mul(0x9e37_79b1))),
        }
    }

    /// For each vertex of `0..n`, the place of its original id among the sorted ones.
    pub fn ranks(self, n: usize) -> Vec<u64> {
        let mut vertices: Vec<u32> = (0..n as u32).collect();
        vertices.sort_by_key(|&vertex| self.key(vertex));
        let mut ranks = vec![0; n];
        vertices.iter().zip(0..).for_each(|(&vertex, rank)| ranks[vertex as usize] = rank);
        ranks
    }
}

/// The edges as lines of text.
pub fn text(edges: &Edges, ids: Ids, weighted: bool) -> String {
    let mut text = String::new();
    for &(source, target, weight) in &edges.edges {
        write!(text, "{}\t{}", ids.key(source), ids.key(target)).expect("memory");
        if weighted {
            write!(text, "\t{weight}").expect("memory");
        }
        text.push('\n');
    }
    text
}

/// Lines of random edges with weights, duplicates and loops among them.
pub fn random_text(ids: Ids, vertices: u32, edges: usize, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut edge = || {
        let mut end = || random.below(vertices).min(random.below(vertices));
        (end(), end(), f64::from(random.below(300u32)))
    };
    let edges = (0..edges).map(|_| edge()).collect();
    text(&Edges { n: vertices as usize, directed: true, edges }, ids, true)
}
