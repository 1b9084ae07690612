//! Products with a vector of the user's, from every kind of file and in every model, and vectors
//! that are refused.

use std::sync::Arc;

use outercore_algorithms::{Algorithm, Spmv, Vector};
use outercore_engine::{MemoryModel, RunConfig, Silent};
use outercore_graph::{GraphError, WeightKind};
use outercore_testing::{
    Built, Edges, Ids, MODELS, Random, Recipe, answer, assert_close, build, config, folder,
    reference, shapes,
};

/// The numbers of the list's vertices in ascending order of original ids.
fn by_rank(ids: Ids, x: &[f64]) -> Vec<f64> {
    let mut sorted = vec![0.0; x.len()];
    ids.ranks(x.len()).iter().zip(x).for_each(|(&rank, &number)| sorted[rank as usize] = number);
    sorted
}

/// Lines of ids and numbers as results are written.
fn rows(ids: Ids, x: &[f64], header: &str, separator: char) -> String {
    let mut lines: Vec<_> = (0..x.len() as u32).map(|vertex| (ids.key(vertex), vertex)).collect();
    lines.sort();
    let line = |(key, vertex): &(_, u32)| format!("{key}{separator}{}\n", x[*vertex as usize]);
    header.to_owned() + &lines.iter().map(line).collect::<String>()
}

fn npy(kind: &str, len: usize, bytes: impl Iterator<Item = u8>) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({len},), }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.bytes().chain(bytes));
    file
}

fn product(built: &Built, vector: Vector, config: &RunConfig) -> Vec<Option<f64>> {
    let spmv = Spmv { vector: Some(vector) };
    // What this handle has read before is no part of the run.
    let plan = spmv.plan(&built.graph.counted_apart(), config).unwrap();
    assert!(plan.memory.iter().map(|item| item.bytes).sum::<u64>() <= config.memory, "{plan}");
    let outcome = spmv.run(&built.graph, config, &Silent).unwrap();
    let (report, reads) = (&outcome.report, plan.expected_bytes_read);
    assert_eq!(Some(report.memory_model), config.model);
    let off = report.bytes_read.abs_diff(reads);
    assert!(off <= reads / 4 + (64 << 10), "{} bytes read of {reads}", report.bytes_read);
    answer(built, &outcome).numbers(0)
}

fn expected(edges: &Edges, x: &[f64]) -> Vec<Option<f64>> {
    reference::spmv(edges, x).into_iter().map(Some).collect()
}

/// Whole numbers, so that those of 32 bits are the same.
fn numbers(n: usize, random: &mut Random) -> Vec<f64> {
    (0..n).map(|_| f64::from(random.below(2000u32)) - 1000.0).collect()
}

#[test]
fn every_file_is_read_in_every_model() {
    let folder = folder();
    let mut random = Random::new(3);
    for (index, shape) in shapes::all(4).iter().enumerate() {
        let ids = Ids::ALL[index % 4];
        let weights = if index % 3 == 0 { WeightKind::None } else { WeightKind::U32 };
        let built = build(&shape.graph, &Recipe { ids, weights, lists: true, ..Recipe::default() });
        let mut edges = shape.graph.clone();
        if weights == WeightKind::None {
            edges.edges.iter_mut().for_each(|edge| edge.2 = 1.0);
        }
        let x = numbers(edges.n, &mut random);
        let sorted = by_rank(ids, &x);
        let lines: String = sorted.iter().map(|number| format!("{number}\n")).collect();
        let csv = rows(ids, &x, "id,value\n", ',');
        let packed = zstd::encode_all(csv.as_bytes(), 3).unwrap();
        let doubles = sorted.iter().flat_map(|number| number.to_le_bytes());
        let singles = sorted.iter().flat_map(|&number| (number as i32).to_le_bytes());
        let files = [
            ("a.txt", format!("# numbers\n\n{lines}").into_bytes()),
            ("b.csv", csv.into_bytes()),
            ("c.csv.zst", packed),
            ("d.tsv", rows(ids, &x, "", '\t').into_bytes()),
            ("e.npy", npy("<f8", x.len(), doubles)),
            ("f.npy", npy("<i4", x.len(), singles)),
        ];
        let expected = expected(&edges, &x);
        for (at, (name, content)) in files.into_iter().enumerate() {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            let model = MODELS[(index + at) % 3];
            if model == MemoryModel::FullyExternal && !edges.directed && weights != WeightKind::None
            {
                continue;
            }
            let config = RunConfig { model: Some(model), threads: 1 + at % 2, ..config() };
            assert_close(&product(&built, Vector::File(path), &config), &expected);
        }
        let config = RunConfig { model: Some(MODELS[index % 2]), ..config() };
        let given = Vector::Numbers(Arc::from(sorted));
        assert_close(&product(&built, given, &config), &expected);
    }
}

/// Several intervals, whose numbers go through logs.
#[test]
fn vectors_beyond_memory() {
    let mut random = Random::new(8);
    let pairs = shapes::skewed(700_000, 900_000, &mut random);
    let edges = Edges { n: 700_000, ..Edges::of(&pairs, true) };
    let recipe = Recipe { weights: WeightKind::None, ids: Ids::Sparse, ..Recipe::default() };
    let built = build(&edges, &Recipe { lists: true, ..recipe });
    let x = numbers(edges.n, &mut random);
    let expected = expected(&edges, &x);
    let vector = Vector::Numbers(Arc::from(by_rank(Ids::Sparse, &x)));
    let spmv = Spmv { vector: Some(vector.clone()) };
    for model in MODELS {
        let config = RunConfig { model: Some(model), ..config() };
        let memory = spmv.plan(&built.graph, &config).unwrap().smallest_budget_bytes;
        let config = RunConfig { memory, ..config };
        assert_close(&product(&built, vector.clone(), &config), &expected);
        if model == MemoryModel::FullyExternal {
            let report = spmv.run(&built.graph, &config, &Silent).unwrap().report;
            let logged = 12 * built.graph.connected();
            assert!(report.bytes_written > logged, "{} bytes written", report.bytes_written);
            let plain = Spmv::default().plan(&built.graph, &config).unwrap().smallest_budget_bytes;
            assert!(memory < plain + (6 << 20), "{memory} bytes, and {plain} without a vector");
        }
    }
    // With ones it is what it is without.
    let ones = Vector::Numbers(vec![1.0; edges.n].into());
    let config = RunConfig { model: Some(MemoryModel::InMemory), ..config() };
    let plain = Spmv::default().run(&built.graph, &config, &Silent).unwrap();
    assert_eq!(product(&built, ones, &config), answer(&built, &plain).numbers(0));
}

#[test]
fn other_vectors_are_refused_with_their_line() {
    let folder = folder();
    let edges = Edges::of(&[(0, 1), (1, 2), (2, 3)], true);
    let path = folder.path().join("x.csv");
    let error = |built: &Built, vector| {
        let spmv = Spmv { vector: Some(vector) };
        spmv.run(&built.graph, &config(), &Silent).map(drop).unwrap_err()
    };
    let refused = |ids, content: &[u8]| {
        let built = build(&edges, &Recipe { ids, ..Recipe::default() });
        std::fs::write(&path, content).unwrap();
        match error(&built, Vector::File(path.clone())) {
            GraphError::Input(error) => (error.line, error.what),
            other => panic!("{other}"),
        }
    };
    for (content, line, what) in [
        ("1\n2\nnan\n4\n", Some(3), "\"nan\" is no finite number"),
        ("1\n2\n-inf\n4\n", Some(3), "\"-inf\" is no finite number"),
        ("id,value\n0,1\n1,\n", Some(3), "is no finite number"),
        ("1\n\n2\nx\n4\n", Some(4), "\"x\" is no finite number"),
        ("1\n2\n3\n", None, "too few numbers: the graph has 4 vertices"),
        ("", None, "too few numbers"),
        ("1\n2\n3\n4\n5\n", Some(5), "has 4 vertices, and here are more"),
        ("0,1\n2,1\n1,1\n3,1\n", Some(2), "the id is \"2\", and 1 is expected"),
        ("id,a,b\n0,1,2\n", Some(1), "neither a number nor an id and a number"),
        ("0,\"1\n", Some(1), "a quotation mark is not closed"),
        ("1\n2\0\n", Some(2), "NUL"),
    ] {
        let (found, said) = refused(Ids::Zero, content.as_bytes());
        assert!((found, said.contains(what)) == (line, true), "{content:?}: {found:?} {said}");
    }
    let (line, said) = refused(Ids::Names, b"id,value\nother,2\n");
    assert!(line == Some(2) && said.contains("the id is \"other\", and v"), "{line:?} {said}");
    let short = npy("<f8", 2, [1.0f64, 2.0].iter().flat_map(|number| number.to_le_bytes()));
    assert!(refused(Ids::Zero, &short).1.contains("too few"));
    let long = npy("<f8", 4, [1.0f64; 4].iter().flat_map(|x| x.to_le_bytes()).chain([7; 3]));
    assert!(refused(Ids::Zero, &long).1.contains("here are more numbers"));
    let bad = npy("<f8", 4, [1.0, f64::NAN, 2.0, 2.0].iter().flat_map(|x: &f64| x.to_le_bytes()));
    assert!(refused(Ids::Zero, &bad).1.contains("number 2 is NaN"));
    assert!(refused(Ids::Zero, &npy("<c16", 4, [0; 64].into_iter())).1.contains("<c16"));
    assert!(refused(Ids::Zero, b"\x93NUMPY\x01\x00\xff\xff").1.contains("cut short"));

    let built = build(&edges, &Recipe::default());
    let said = |numbers: &[f64]| error(&built, Vector::Numbers(numbers.into())).to_string();
    assert!(said(&[1.0; 3]).contains("3 numbers, and the graph has 4 vertices"));
    assert!(said(&[1.0, 2.0, 3.0, f64::INFINITY]).contains("inf for 3"));
    let absent = error(&built, Vector::File(folder.path().join("none")));
    assert!(absent.to_string().contains("none"), "{absent}");
}
