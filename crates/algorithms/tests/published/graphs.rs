//! Graphs built from published files, and their answers by original id.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use outercore_algorithms::{Request, Source};
use outercore_engine::{Figure, Meaning, MemoryModel, Outcome, RunConfig};
use outercore_graph::input::{self, Input, InputOptions};
use outercore_graph::{BuildOptions, Graph, Key, Keys};
use outercore_storage::Disk;
use outercore_testing::{MODELS, Value, data, reference, run, thorough, values};

/// A graph built from published files.
pub struct Published {
    /// The opened graph.
    pub graph: Graph,
    /// The folder that it lies in.
    pub folder: tempfile::TempDir,
    /// From an internal id to the original one.
    ids: Vec<u64>,
    /// How many questions it was asked.
    asked: Cell<usize>,
}

/// Builds from files of the shared data; `None` where one is absent.
pub fn shared(inputs: &[&str], options: InputOptions) -> Option<Published> {
    let paths: Option<Vec<PathBuf>> = inputs.iter().map(|name| data::path(name)).collect();
    Some(from_files(&paths?, options))
}

/// The options of an input that says all but whether it is directed.
pub fn options(directed: Option<bool>) -> InputOptions {
    InputOptions { directed, ..InputOptions::default() }
}

/// Builds from files.
pub fn from_files(inputs: &[PathBuf], options: InputOptions) -> Published {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::new();
    let inputs: Vec<Input> = inputs.iter().map(Input::from).collect();
    let source = input::open(&disk, &inputs, &options).unwrap();
    let output = folder.path().join("graph.oc");
    let build = BuildOptions { memory: 512 << 20, threads: 2, ..BuildOptions::default() };
    outercore_graph::build(&disk, source.as_ref(), &output, &build, &outercore_graph::Silent)
        .unwrap();
    let graph = Graph::open(&disk, &output).unwrap();
    let mut ids = vec![u64::MAX; graph.vertices() as usize];
    let visit = &mut |keys: &Keys, vertices: &[u64]| {
        let Keys::Numbers(keys) = keys else { panic!("numbers were read") };
        vertices.iter().zip(keys).for_each(|(&vertex, &key)| ids[vertex as usize] = key);
        Ok(())
    };
    graph.for_each_key(1 << 16, visit).unwrap();
    Published { graph, folder, ids, asked: Cell::new(0) }
}

/// Builds from lines of text; `vertices` exist with or without edges.
pub fn from_text(text: &str, vertices: impl Iterator<Item = u64>, directed: bool) -> Published {
    let folder = tempfile::tempdir().unwrap();
    let (edges, listed) = (folder.path().join("edges.txt"), folder.path().join("vertices.txt"));
    std::fs::write(&edges, text).unwrap();
    std::fs::write(&listed, vertices.map(|id| format!("{id}\n")).collect::<String>()).unwrap();
    let vertices = vec![listed];
    let options = InputOptions { directed: Some(directed), vertices, ..InputOptions::default() };
    from_files(&[edges], options)
}

/// An adjacency list, a vertex and its neighbors on each line, as edges. In an undirected one, each
/// edge is there from both ends.
pub fn from_adjacency(text: &[u8], directed: bool) -> Published {
    let (mut edges, mut vertices) = (String::new(), Vec::new());
    for line in std::str::from_utf8(text).unwrap().lines() {
        let ids: Vec<u64> = line.split_ascii_whitespace().map(|id| id.parse().unwrap()).collect();
        let Some((&vertex, neighbors)) = ids.split_first() else { continue };
        vertices.push(vertex);
        for neighbor in neighbors.iter().filter(|&&neighbor| directed || vertex < neighbor) {
            edges += &format!("{vertex} {neighbor}\n");
        }
    }
    from_text(&edges, vertices.into_iter(), directed)
}

/// An answer by original id.
pub struct Ran {
    /// The first column; a value that is a vertex is an original id.
    pub values: BTreeMap<u64, Value>,
    /// All of it.
    pub outcome: Outcome,
}

impl Published {
    /// Runs in two memory models, in turn, or in every one where every case is asked for; hands
    /// each answer to `verify`.
    pub fn run(&self, name: &str, request: &Request, verify: impl Fn(&Ran)) {
        let asked = self.asked.replace(self.asked.get() + 1);
        let mut models = MODELS.to_vec();
        models.rotate_left(asked % MODELS.len());
        models.truncate(if thorough() { MODELS.len() } else { 2 });
        self.run_in(&models, name, request, verify);
    }

    /// The same in these models.
    pub fn run_in(
        &self,
        models: &[MemoryModel],
        name: &str,
        request: &Request,
        verify: impl Fn(&Ran),
    ) {
        for &model in models {
            let memory = 1 << 30;
            let config =
                RunConfig { memory, model: Some(model), threads: 2, ..RunConfig::default() };
            let outcome = run(&self.graph, name, request, &config);
            let (seconds, summary) = (outcome.report.seconds, &outcome.report.summary);
            eprintln!("{name}, {}: {seconds:.2} s, {summary:?}", model.name());
            assert_eq!(outcome.report.memory_model, model);
            verify(&Ran { values: self.first(&outcome), outcome });
        }
    }

    /// The first column by original id.
    fn first(&self, outcome: &Outcome) -> BTreeMap<u64, Value> {
        let Some(column) = outcome.columns.first() else { return BTreeMap::new() };
        let named = |value| match value {
            Value::Whole(id) if column.meaning == Meaning::Vertex => {
                Value::Whole(self.ids[id as usize])
            }
            value => value,
        };
        let connected = values(outcome).swap_remove(0);
        let isolated = (connected.len() as u64..self.graph.vertices()).collect::<Vec<_>>();
        let isolated = column.gather(&isolated).unwrap().into_iter().map(Value::from);
        let all = connected.into_iter().chain(isolated).map(named);
        self.ids.iter().copied().zip(all).collect()
    }
}

impl Ran {
    /// A whole number of the summary.
    pub fn figure(&self, name: &str) -> u64 {
        match self.outcome.report.summary.get(name) {
            Some(Figure::Integer(value)) => *value,
            other => panic!("{name} is {other:?}"),
        }
    }

    /// Several of them.
    pub fn figures<const N: usize>(&self, names: [&str; N]) -> [u64; N] {
        names.map(|name| self.figure(name))
    }

    /// The sum of the absolute differences of all values from those of an array over ids from
    /// `first` on; ids that the graph does not have must not matter.
    pub fn l1(&self, expected: &[f64], first: u64) -> f64 {
        assert_eq!(self.values.len(), expected.len());
        let difference = |(id, value): (&u64, &Value)| {
            (value.number().unwrap() - expected[(id - first) as usize]).abs()
        };
        self.values.iter().map(difference).sum()
    }

    /// The same partition of the vertices, whatever the labels.
    pub fn same_groups(&self, expected: &BTreeMap<u64, String>) {
        assert!(self.values.keys().eq(expected.keys()));
        let found: Vec<_> = self.values.values().map(|value| value.whole().unwrap()).collect();
        let expected: Vec<&String> = expected.values().collect();
        let [found, expected] =
            [reference::by_smallest_member(&found), reference::by_smallest_member(&expected)];
        assert!(found == expected, "other components");
    }

    /// Whole numbers; `i64::MAX` in LDBC's files means unreached.
    pub fn same_levels(&self, expected: &BTreeMap<u64, String>) {
        let reached = |level: &u64| *level != i64::MAX as u64;
        let level = |level: &String| Some(level.parse().unwrap()).filter(reached);
        let expected = expected.iter().map(|(&id, value)| (id, level(value)));
        assert!(self.values.iter().map(|(&id, value)| (id, value.whole())).eq(expected));
    }

    /// Values that are vertices, by their original ids.
    pub fn same_vertices(&self, expected: &BTreeMap<u64, String>) {
        let expected = expected.iter().map(|(&id, value)| (id, Some(value.parse().unwrap())));
        assert!(self.values.iter().map(|(&id, value)| (id, value.whole())).eq(expected));
    }

    /// Numbers but for rounding; infinity means unreached.
    pub fn same_numbers(&self, expected: &BTreeMap<u64, String>, tolerance: f64) {
        assert!(self.values.keys().eq(expected.keys()));
        for (id, value) in &self.values {
            let expected: f64 = expected[id].parse().unwrap();
            let same = match value.number() {
                None => !expected.is_finite(),
                Some(value) => (value - expected).abs() <= tolerance * expected.abs(),
            };
            assert!(same, "{id}: {value:?} instead of {expected}");
        }
    }
}

/// The request of a search from an id.
pub fn source(id: u64) -> Request {
    Request { source: Some(Source::Key(Key::Number(id))), ..Request::default() }
}

/// A request for exactly so many iterations.
pub fn rounds(iterations: u64) -> Request {
    Request { iterations: Some(iterations), ..Request::default() }
}
