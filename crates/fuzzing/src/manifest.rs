//! Manifests: whatever a manifest says, it is refused or it is what was written, and a graph that
//! has it is opened or refused.

use std::path::Path;

use outercore::{Disk, Graph, format::Manifest};
use serde_json::Value;

use crate::{choices::Choices, forged::Forged};

/// The number that seals a manifest.
const MARK: &str = "\n# crc32c ";

pub fn run(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let forged = Forged::of_lists(&[vec![0, 1], vec![2], vec![]]);
    let honest = forged.manifest();
    let text = match choices.below(3) {
        0 => choices.0.to_vec(),
        1 => {
            // Some bytes of an honest one are others.
            let mut text = serde_json::to_vec_pretty(&honest).expect("plain data");
            while !choices.0.is_empty() {
                let (at, byte) = (usize::from(choices.short()) % text.len(), choices.byte());
                text[at] = byte;
            }
            text
        }
        _ => changed(&honest, choices),
    };
    let path = Path::new("manifest.json");
    drop(Manifest::from_bytes(&text, path));
    let sealed = seal(&text);
    let Ok(found) = Manifest::from_bytes(&sealed, path) else { return };
    let again = Manifest::from_bytes(&found.to_bytes(), path).expect("what was written is read");
    let again = if crate::is_planted() { Manifest { edges: 0, ..again } } else { again };
    assert_eq!(found, again);
    assert_eq!(found.contradiction(), None);
    // What is said of the files must be true, too; a stripe may be anywhere.
    if found.stripes.is_empty() {
        let folder = forged.write_with(&sealed);
        let disk = Disk::new();
        if let Ok(graph) = Graph::open(&disk, folder.path()) {
            drop(graph.grid());
            drop(outercore::GraphInfo::of(&graph));
        }
        drop(outercore::check(&disk, folder.path(), &outercore_graph::Silent));
    }
}

fn seal(text: &[u8]) -> Vec<u8> {
    let sum = outercore_storage::checksum::crc32c(text);
    [text, format!("{MARK}{sum:08x}\n").as_bytes()].concat()
}

/// An honest manifest of which some values are others.
fn changed(honest: &Manifest, mut choices: Choices) -> Vec<u8> {
    let mut text = serde_json::to_value(honest).expect("plain data");
    for _ in 0..=choices.below(3) {
        let wanted = usize::from(choices.byte());
        let count = leaves(&mut text, usize::MAX, &mut None);
        let value = match choices.below(14) {
            0 => Value::from(0),
            1 => Value::from(1),
            2 => Value::from(-1),
            3 => Value::from(1u64 << 48),
            4 => Value::from((1u64 << 48) - u64::from(choices.byte())),
            5 => Value::from(u64::MAX),
            6 => Value::from(1e300),
            7 => Value::from(""),
            8 => Value::from("../../x\0"),
            9 => Value::Null,
            10 => Value::from(true),
            11 => Value::Array(Vec::new()),
            12 => Value::from(choices.short()),
            _ => Value::from(String::from_utf8_lossy(choices.take(20))),
        };
        leaves(&mut text, wanted % count.max(1), &mut Some(value));
    }
    serde_json::to_vec(&text).expect("plain data")
}

/// Counts the values that hold no others, and puts `new` in the place of number `wanted`.
fn leaves(value: &mut Value, wanted: usize, new: &mut Option<Value>) -> usize {
    let mut count = 0;
    let mut each = |inner: &mut Value| count += leaves(inner, wanted.wrapping_sub(count), new);
    match value {
        Value::Array(all) => all.iter_mut().for_each(&mut each),
        Value::Object(all) => all.values_mut().for_each(&mut each),
        leaf => {
            if wanted == 0 {
                *leaf = new.take().unwrap_or_else(|| leaf.clone());
            }
            return 1;
        }
    }
    count
}
