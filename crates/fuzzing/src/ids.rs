//! The tables of ids: sound ones lead both ways and out of the graph as they say, and others are
//! refused or lead somewhere, without a panic.

use std::fs;

use outercore::{
    Disk, EdgeFormat, Graph, Key, Order, WeightKind, WriteOptions, export_edges,
    format::IdTable,
    input::{Format, IdKind, InputOptions},
};

use crate::{
    choices::Choices,
    forged::{Forged, is_clean, is_refusal},
    reading::{NARROW, file, place, read},
};

pub fn run(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let n = 1 + choices.below(80);
    let (names, wide, ranks_of) = (choices.below(2) == 1, choices.below(2) == 1, choices.byte());
    let mut ranks: Vec<u8> = (0..n as u8).collect();
    for _ in 0..choices.below(8) {
        let (one, other) = (choices.below(n), choices.below(n));
        ranks.swap(one, other);
    }
    let mut vertices = vec![0; n];
    ranks.iter().zip(0..).for_each(|(&rank, vertex)| vertices[usize::from(rank)] = vertex);
    if ranks_of % 4 == 0 && wide {
        let (at, other) = (choices.below(n), choices.byte());
        if ranks_of & 4 == 0 {
            vertices[at] = other
        } else {
            ranks[at] = other
        };
    }
    let lists: Vec<Vec<u64>> = (0..n as u64).map(|vertex| vec![(vertex + 1) % n as u64]).collect();
    let mut forged = Forged::of_lists(&lists);
    let keys =
        if names { names_of(&mut forged, choices, n) } else { numbers_of(&mut forged, choices, n) };
    if wide {
        forged.id_bytes = 1;
        // Any ranks can be, as all degrees are the same.
        forged.order = Order::Degree;
        forged.sections.extend([("ids.rank", ranks.clone()), ("ids.vertex", vertices.clone())]);
    } else {
        ranks = (0..n as u8).collect();
        vertices = ranks.clone();
    }
    let inverse = (0..n).all(|vertex| {
        vertices.get(usize::from(ranks[vertex])).is_some_and(|&back| usize::from(back) == vertex)
    });
    let folder = forged.write();
    let sound = inverse.then_some(keys).flatten();
    let graph = Graph::open(&Disk::new(), folder.path()).expect("files of the right length");
    assert_eq!(is_clean(&folder), sound.is_some(), "check");
    match sound {
        Some(keys) => compare(&graph, &keys, &ranks, &vertices),
        None => look_around(&graph),
    }
}

/// Names of ends that do not descend, or of any; the keys if they can be.
fn names_of(forged: &mut Forged, mut choices: Choices, n: usize) -> Option<Vec<Key>> {
    let (any, mut ends) = (choices.below(4) == 0, Vec::new());
    let mut end = 0u64;
    for _ in 0..n {
        end = if any { choices.byte().into() } else { end + choices.below(5) as u64 };
        ends.push(end);
    }
    let text = choices.0.to_vec();
    forged.ids = IdTable::Names;
    forged.sections.extend([
        ("ids.ends", ends.iter().flat_map(|end| end.to_le_bytes()).collect()),
        ("ids.keys", text.clone()),
    ]);
    let mut keys = Vec::new();
    let mut start = 0;
    for &end in &ends {
        let name = text.get(start as usize..end as usize)?;
        keys.push(Key::Name(std::str::from_utf8(name).ok()?.to_owned()));
        start = end;
    }
    let whole = start == text.len() as u64;
    (whole && keys.is_sorted_by(|one, next| one < next)).then_some(keys)
}

/// Numbers that ascend by bytes, or any.
fn numbers_of(forged: &mut Forged, mut choices: Choices, n: usize) -> Option<Vec<Key>> {
    let (any, mut last, mut numbers) = (choices.below(3) == 0, 0u64, Vec::new());
    for _ in 0..n {
        let eight: [u8; 8] = std::array::from_fn(|_| if any { choices.byte() } else { 0 });
        last = if any { u64::from_le_bytes(eight) } else { last + u64::from(choices.byte()) };
        numbers.push(last);
    }
    forged.ids = IdTable::Numbers;
    forged.sections.insert("ids.keys", numbers.iter().flat_map(|id| id.to_le_bytes()).collect());
    let ascends = numbers.is_sorted_by(|one, next| one < next);
    ascends.then(|| numbers.into_iter().map(Key::Number).collect())
}

/// Every way through the tables leads where they say.
fn compare(graph: &Graph, keys: &[Key], ranks: &[u8], vertices: &[u8]) {
    let mut seen = Vec::new();
    graph
        .for_each_key(7, &mut |batch, vertices| {
            seen.extend((0..batch.len()).map(|at| (batch.get(at), vertices[at])));
            Ok(())
        })
        .expect("sound tables");
    let said = keys.iter().cloned().zip(vertices.iter().map(|&vertex| u64::from(vertex)));
    assert_eq!(seen, said.collect::<Vec<_>>());
    for (vertex, &rank) in ranks.iter().enumerate() {
        let key = &keys[usize::from(rank)];
        assert_eq!(graph.key_of(vertex as u64).expect("sound tables"), *key);
        assert_eq!(graph.find(key).expect("sound tables"), Some(vertex as u64));
    }
    for absent in [Key::Number(u64::MAX - 3), Key::Name("\u{10ffff}zz".to_owned())] {
        if !keys.contains(&absent) {
            assert_eq!(graph.find(&absent).expect("sound tables"), None);
        }
    }
    let parquet = export(graph, "edges.parquet").expect("sound tables");
    assert!(parquet.starts_with(b"PAR1"));
    let text = String::from_utf8(export(graph, "edges.csv").expect("sound tables"));
    let text = text.expect("names are UTF-8");
    let names: Vec<String> = keys.iter().map(Key::to_string).collect();
    let name = |vertex: usize| names[usize::from(ranks[vertex % names.len()])].clone();
    let ends = |vertex: usize| [name(vertex), name(vertex + 1)];
    // What comes out goes in again, unless no line can have it.
    if names.iter().any(|name| name.is_empty() || name.contains(['\n', '\r', '\0'])) {
        return;
    }
    let place = place();
    let options = InputOptions {
        ids: Some(IdKind::Names),
        weights: Some(WeightKind::None),
        ..InputOptions::default()
    };
    let format = EdgeFormat::Plain(Format::Csv);
    let again = read(&file(&place, "edges.csv", text.as_bytes()), format, &options, NARROW);
    let mut expected: Vec<_> = (0..names.len()).map(|vertex| (ends(vertex), None)).collect();
    expected.sort_unstable();
    assert_eq!(again.expect("an export").edges, expected, "{text}");
}

fn export(graph: &Graph, name: &str) -> Result<Vec<u8>, outercore::GraphError> {
    let place = place();
    let path = place.path().join(name);
    export_edges(&path, graph, &WriteOptions::default())?;
    Ok(fs::read(&path).expect("an export"))
}

/// Every way through tables that are not sound ends.
fn look_around(graph: &Graph) {
    let refused = |error| assert!(is_refusal(&error), "{error}");
    let n = graph.vertices();
    for vertex in [0, n / 2, n - 1] {
        match graph.key_of(vertex) {
            Ok(key) => drop(graph.find(&key).map_err(refused)),
            Err(error) => refused(error),
        }
    }
    let _ = graph.find(&Key::Number(7)).map_err(refused);
    let _ = graph.find(&Key::Name("n".to_owned())).map_err(refused);
    let _ = graph
        .for_each_key(7, &mut |batch, _| {
            (0..batch.len()).for_each(|at| drop(batch.get(at)));
            Ok(())
        })
        .map_err(refused);
    let _ = export(graph, "edges.csv").map_err(refused);
    let _ = export(graph, "edges.parquet").map_err(refused);
}
