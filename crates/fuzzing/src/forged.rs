//! [`Forged`]: a graph whose sections are what a target says, and all of whose seals are right.

use std::{collections::BTreeMap, fs};

use outercore::{
    Disk, GraphError, GridPartition, Job, Layout, MemoryModel, Order, RunConfig, Silent,
    WeightKind,
    format::{IdTable, Manifest, SectionEntry, VERSION},
    program::{Activity, Context, IterationEnd, Next, Start, Sum, VertexProgram, execute},
};
use outercore_graph::types::bytes_for;
use outercore_storage::{HugePages, PageSums, page_sum};

use crate::reading::place;

const PAGE: usize = 4096;

/// A graph to be.
pub struct Forged {
    pub vertices: u64,
    /// Bytes of each section.
    pub sections: BTreeMap<&'static str, Vec<u8>>,
    pub arcs: u64,
    pub grid_words: u64,
    pub layout: Layout,
    pub ids: IdTable,
    pub id_bytes: u32,
    pub order: Order,
    /// The largest degree, and its vertex.
    pub largest: (u64, u64),
}

impl Forged {
    /// A graph with these lists, which passes read too: without tiles, ids from 0 on.
    pub fn of_lists(lists: &[Vec<u64>]) -> Self {
        let n = lists.len() as u64;
        let width = bytes_for(n);
        let (mut degrees, mut index, mut adjacency) = (Vec::new(), Vec::new(), Vec::new());
        let mut arcs = 0u64;
        for (vertex, list) in lists.iter().enumerate() {
            if vertex % 64 == 0 {
                index.extend(arcs.to_le_bytes());
            }
            arcs += list.len() as u64;
            degrees.extend((list.len() as u32).to_le_bytes());
            list.iter().for_each(|neighbor| adjacency.extend(&neighbor.to_le_bytes()[..width]));
        }
        index.extend(arcs.to_le_bytes());
        let largest = lists.iter().map(Vec::len).max().unwrap_or(0);
        let first = lists.iter().position(|list| list.len() == largest).unwrap_or(0);
        let sections = BTreeMap::from([
            ("out.degrees", degrees),
            ("out.index", index),
            ("out.adjacency", adjacency),
            ("grid.stripes", [0, n].iter().flat_map(|bound| bound.to_le_bytes()).collect()),
            ("grid.tiles", Vec::new()),
            ("grid.chunks", Vec::new()),
            ("grid.words", Vec::new()),
        ]);
        Self {
            vertices: n,
            sections,
            arcs,
            grid_words: 0,
            layout: Layout::Row,
            ids: IdTable::Range { first: 0 },
            id_bytes: 0,
            order: Order::Original,
            largest: (largest as u64, first as u64),
        }
    }

    /// The manifest of these sections.
    pub fn manifest(&self) -> Manifest {
        let entry = |(name, bytes): (&&str, &Vec<u8>)| SectionEntry {
            name: (*name).to_owned(),
            bytes: bytes.len() as u64,
            sums_crc: PageSums::new(bytes.chunks(PAGE).map(page_sum).collect()).seal(),
            striped: false,
        };
        Manifest {
            outercore: "graph".to_owned(),
            version: VERSION,
            uuid: "00000000000040008000000000000000".to_owned(),
            vertices: self.vertices,
            connected: self.vertices,
            edges: self.arcs,
            arcs: self.arcs,
            directed: true,
            transpose: false,
            simple: false,
            extra: None,
            weights: WeightKind::None,
            weight_bytes: 0,
            negative_weights: false,
            neighbor_bytes: bytes_for(self.vertices) as u32,
            id_bytes: self.id_bytes,
            ids: self.ids.clone(),
            order: self.order,
            max_out_degree: self.largest,
            max_in_degree: self.arcs,
            grid_words: self.grid_words,
            partition: GridPartition::Balanced,
            layout: self.layout,
            hybrid: None,
            stripe_unit: 1 << 20,
            stripes: Vec::new(),
            sections: self.sections.iter().map(entry).collect(),
        }
    }

    /// Writes the graph.
    pub fn write(&self) -> tempfile::TempDir {
        self.write_with(&self.manifest().to_bytes())
    }

    /// The same with a manifest of these bytes.
    pub fn write_with(&self, manifest: &[u8]) -> tempfile::TempDir {
        let folder = place();
        let put = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes);
        for (name, bytes) in &self.sections {
            let sums: Vec<u8> =
                bytes.chunks(PAGE).flat_map(|page| page_sum(page).to_le_bytes()).collect();
            let mut padded = bytes.clone();
            padded.resize(bytes.len().next_multiple_of(PAGE), 0);
            put(name, &padded).expect("room for a graph");
            put(&format!("{name}.crc"), &sums).expect("room for a graph");
        }
        put("manifest.json", manifest).expect("room for a graph");
        folder
    }
}

/// Whether `check` finds nothing.
pub fn is_clean(folder: &tempfile::TempDir) -> bool {
    let found = outercore::check(&Disk::new(), folder.path(), &outercore_graph::Silent);
    let clean = found.map(|faults| faults.is_empty()).unwrap_or_else(|error| {
        assert!(is_refusal(&error), "{error}");
        false
    });
    clean != crate::is_planted()
}

/// What one pass over all edges brings each vertex: the sum over the edges to it of a number that
/// tells their sources.
pub fn pass(folder: &tempfile::TempDir, model: MemoryModel) -> outercore::Result<Vec<f64>> {
    let graph = outercore::open(folder.path())?;
    let config = RunConfig {
        memory: 2 << 30,
        threads: 2,
        model: Some(model),
        huge_pages: HugePages::Off,
        ..RunConfig::default()
    };
    let job = Job::new(&graph, &config, &Silent);
    let (sums, _) = execute(&mut Pass, "pass", job, Some(1))?;
    let sums = outercore::Column::new("sums", sums).into_memory()?;
    (0..graph.vertices())
        .map(|vertex| match sums.get(vertex) {
            outercore::Cell::Float(sum) => Ok(sum),
            other => panic!("{other:?} is no sum"),
        })
        .collect()
}

/// The same, edge by edge.
pub fn naive_pass(n: u64, edges: impl Iterator<Item = (u64, u64)>) -> Vec<f64> {
    let mut sums = vec![0.0; n as usize];
    edges.for_each(|(source, target)| sums[target as usize] += told(source));
    sums
}

fn told(source: u64) -> f64 {
    (source * source + 1) as f64
}

/// Whether a graph was refused for what it is.
pub fn is_refusal(error: &GraphError) -> bool {
    matches!(error, GraphError::Corrupt { .. } | GraphError::Storage(_))
}

struct Pass;

impl VertexProgram for Pass {
    type Value = f64;
    type Signal = f64;
    type Message = Sum<f64>;
    const ACTIVITY: Activity = Activity::AllSend;

    fn start(&self) -> Start {
        Start::All
    }

    fn init(&self, _: u64, _: u32) -> f64 {
        0.0
    }

    fn scatter(&self, vertex: u64, _: &f64, _: u32) -> Option<f64> {
        Some(told(vertex))
    }

    fn carry(&self, signal: f64, _: f64) -> Sum<f64> {
        Sum(signal)
    }

    fn apply(&self, _: &Context, _: u64, value: &mut f64, sum: Sum<f64>) -> bool {
        *value = sum.0;
        true
    }

    fn end_iteration(&mut self, end: &IterationEnd) -> Next {
        if end.iterations < 1 { Next::Iteration } else { Next::End }
    }
}
