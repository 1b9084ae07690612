//! Writes the edges of a synthetic graph as an edge list, in random order: input for
//! `outercore build` to be measured with.
//!
//! `edge_list SCALE text|pairs-u32 FILE`: RMAT of 2^SCALE vertices with 16 edges for each, seed 1.

use std::{
    fs::File,
    io::{BufWriter, Write},
    sync::Mutex,
};

use outercore_graph::{
    GraphError,
    generate::Rmat,
    input::{EdgeBatch, EdgeSource, Ends, Item, NoProgress},
};
use outercore_storage::StorageError;

const USAGE: &str = "usage: edge_list SCALE text|pairs-u32 FILE";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scale, format, path] = arguments.as_slice() else { return Err(USAGE.into()) };
    let put: fn(&mut Vec<u8>, [u64; 2]) -> std::io::Result<()> = match format.as_str() {
        "text" => |bytes, [source, target]| writeln!(bytes, "{source}\t{target}"),
        "pairs-u32" => |bytes, pair| {
            pair.iter().try_for_each(|&id| bytes.write_all(&(id as u32).to_le_bytes()))
        },
        _ => return Err(USAGE.into()),
    };
    let scale = scale.parse::<u32>()?;
    if !(1..=32).contains(&scale) {
        return Err("SCALE must be 1 to 32".into());
    }
    let file = Mutex::new(BufWriter::new(File::create(path)?));
    Rmat::new(scale, 1).source()?.read(
        outercore_storage::memory::cores(),
        0,
        &NoProgress,
        &|item| {
            let Item::Edges(EdgeBatch { ends: Ends::Numbers(pairs), .. }) = item else {
                return Ok(());
            };
            let mut bytes = Vec::with_capacity(pairs.len() * 20);
            let put = pairs.into_iter().try_for_each(|pair| put(&mut bytes, pair));
            let written =
                put.and_then(|()| file.lock().expect("no holder panics").write_all(&bytes));
            written.map_err(|error| {
                GraphError::from(StorageError::io("write", path.as_ref(), 0, error))
            })
        },
    )?;
    file.into_inner()?.into_inner()?.sync_all()?;
    Ok(())
}
