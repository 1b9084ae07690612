//! Degrees, the index of the lists, and the lists: what they are by the letter of
//! `docs/format.md` is what `check`, exports and passes see, and what they cannot be is found.

use outercore::{Disk, Graph, MemoryModel};

use crate::{
    choices::Choices,
    forged::{Forged, is_clean, is_refusal, naive_pass, pass},
};

pub fn run(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let model =
        choices.of(&[MemoryModel::InMemory, MemoryModel::SemiExternal, MemoryModel::FullyExternal]);
    let n = 1 + usize::from(choices.short()) % 300;
    let mends = choices.byte();
    let flip = (choices.byte(), choices.byte());
    let mut degrees: Vec<u32> = choices.take(n).iter().map(|byte| (byte % 16).into()).collect();
    degrees.resize(n, 0);
    let width = if n > 256 { 2 } else { 1 };
    let mut entries: Vec<u64> = choices.0.chunks_exact(width).map(little).collect();
    if mends & 1 != 0 {
        mend(&mut degrees, &mut entries);
    }
    if entries.is_empty() {
        return;
    }
    let honest = mends & 2 != 0 || flip.1 == 0;
    let flip = if honest { (0, 0) } else { flip };
    let folder = graph(&degrees, &entries, width, flip).write();
    let edges = edges(&degrees, &entries);
    let sound = honest && edges.is_some();
    assert_eq!(is_clean(&folder), sound);
    let mut exported = Vec::new();
    let graph = Graph::open(&Disk::new(), folder.path()).expect("files of the right length");
    let done = graph.for_each_edge(7, &mut |rows| {
        exported.extend(rows.sources.iter().copied().zip(rows.targets.iter().copied()));
        Ok(())
    });
    match (&edges, done) {
        (Some(edges), Ok(())) => assert_eq!(exported, *edges),
        (_, Err(error)) => assert!(is_refusal(&error) && edges.is_none(), "{error}"),
        // Lists out of order are exported as they are.
        (None, Ok(())) => {}
    }
    if let Some(edges) = edges.filter(|_| sound) {
        let found = pass(&folder, model).expect("a graph that is sound");
        assert_eq!(found, naive_pass(n as u64, edges.into_iter()), "{}", model.name());
    }
}

/// The graph that says so; a byte of its index is another one.
fn graph(degrees: &[u32], entries: &[u64], width: usize, (at, bits): (u8, u8)) -> Forged {
    let n = degrees.len();
    let mut forged = Forged::of_lists(&vec![Vec::new(); n]);
    forged.arcs = entries.len() as u64;
    let largest = degrees.iter().max().copied().unwrap_or(0);
    let first = degrees.iter().position(|&degree| degree == largest).unwrap_or(0);
    forged.largest = (largest.into(), first as u64);
    let sums = degrees.iter().scan(0u64, |sum, &degree| {
        *sum += u64::from(degree);
        Some(*sum)
    });
    let sums: Vec<u64> = std::iter::once(0).chain(sums).collect();
    let groups = (0..n).step_by(64).chain([n]).map(|vertex| sums[vertex]);
    let mut index: Vec<u8> = groups.flat_map(u64::to_le_bytes).collect();
    let at = usize::from(at) % index.len();
    index[at] ^= bits;
    forged.sections.extend([
        ("out.degrees", degrees.iter().flat_map(|degree| degree.to_le_bytes()).collect()),
        ("out.index", index),
        (
            "out.adjacency",
            entries.iter().flat_map(|entry| entry.to_le_bytes()[..width].to_vec()).collect(),
        ),
    ]);
    forged
}

/// As many entries as degrees say, sorted and of vertices that there are.
fn mend(degrees: &mut [u32], entries: &mut Vec<u64>) {
    let (n, mut left) = (degrees.len() as u64, entries.len() as u32);
    for degree in degrees.iter_mut() {
        *degree = (*degree).min(left);
        left -= *degree;
    }
    entries.truncate(entries.len() - left as usize);
    let mut rest = &mut entries[..];
    for &mut degree in degrees {
        let (list, others) = rest.split_at_mut(degree as usize);
        list.iter_mut().for_each(|entry| *entry %= n);
        list.sort_unstable();
        rest = others;
    }
}

/// The edges in the order of the lists; `None`: the lists cannot be.
fn edges(degrees: &[u32], entries: &[u64]) -> Option<Vec<(u64, u64)>> {
    let (mut edges, mut at) = (Vec::new(), 0);
    for (vertex, &degree) in degrees.iter().enumerate() {
        let list = entries.get(at..at + degree as usize)?;
        at += degree as usize;
        if !list.is_sorted() || list.iter().any(|&entry| entry >= degrees.len() as u64) {
            return None;
        }
        edges.extend(list.iter().map(|&target| (vertex as u64, target)));
    }
    (at == entries.len()).then_some(edges)
}

fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}
