//! Graphs whose checksums are made to fit other content.

use std::path::Path;

use outercore_graph::format::MANIFEST;
use serde_json::{Value, json};

use super::decode::{Decoded, crc32c};

/// Writes a manifest with a seal that fits it.
pub fn seal(folder: &Path, manifest: &Value) {
    let json = serde_json::to_string_pretty(manifest).unwrap();
    std::fs::write(
        folder.join(MANIFEST),
        format!("{json}\n# crc32c {:08x}\n", crc32c(json.as_bytes())),
    )
    .unwrap();
}

/// Replaces the bytes of a section, and everything that seals them.
pub fn forge(graph: &Decoded, folder: &Path, name: &str, mut bytes: Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4096), 0);
    std::fs::write(folder.join(name), &bytes).unwrap();
    let sums: Vec<u8> = bytes.chunks(4096).flat_map(|page| crc32c(page).to_le_bytes()).collect();
    std::fs::write(folder.join(format!("{name}.crc")), &sums).unwrap();
    let mut manifest = graph.manifest.clone();
    let sections = manifest["sections"].as_array_mut().unwrap();
    let entry = sections.iter_mut().find(|section| section["name"] == name).unwrap();
    entry["sums_crc"] = json!(crc32c(&sums));
    seal(folder, &manifest);
}
