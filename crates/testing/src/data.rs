//! The shared data: real graphs and what others computed on them. A test that needs a file which is
//! not there says so and passes.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A file of the shared data. Where it is absent, says so.
pub fn path(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("SKIPPED {name}: there is no {}", path.display());
    None
}

/// The content of a file, decompressed if its name ends in `.zst` or `.gz`.
pub fn bytes(name: &str) -> Option<Vec<u8>> {
    let file = std::fs::File::open(path(name)?).unwrap();
    let mut content = Vec::new();
    match name.rsplit('.').next() {
        Some("zst") => zstd::Decoder::new(file).unwrap().read_to_end(&mut content),
        Some("gz") => flate2::read::MultiGzDecoder::new(file).read_to_end(&mut content),
        _ => std::io::BufReader::new(file).read_to_end(&mut content),
    }
    .unwrap();
    Some(content)
}

/// The files of a tar archive, by name without a leading `./`.
pub fn archive(name: &str) -> Option<BTreeMap<String, Vec<u8>>> {
    let bytes = bytes(name)?;
    let mut files = BTreeMap::new();
    let mut at = 0;
    while at + 512 <= bytes.len() && bytes[at] != 0 {
        let header = &bytes[at..at + 512];
        let field = |range: std::ops::Range<usize>| {
            String::from_utf8_lossy(&header[range]).trim_end_matches(['\0', ' ']).to_owned()
        };
        let size = usize::from_str_radix(&field(124..136), 8).unwrap();
        if matches!(header[156], b'0' | 0) {
            files.insert(
                field(0..100).trim_start_matches("./").to_owned(),
                bytes[at + 512..at + 512 + size].to_vec(),
            );
        }
        at += 512 + size.next_multiple_of(512);
    }
    assert!(!files.is_empty(), "{name} holds no files");
    Some(files)
}

/// A one-dimensional NumPy array of little-endian numbers, as doubles.
pub fn numpy(name: &str) -> Option<Vec<f64>> {
    let bytes = bytes(name)?;
    assert_eq!(bytes[..8], *b"\x93NUMPY\x01\x00", "{name} is not a NumPy array of version 1");
    let data = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = String::from_utf8_lossy(&bytes[10..data]).into_owned();
    let kind = header
        .split("'descr': '")
        .nth(1)
        .and_then(|rest| rest.split('\'').next())
        .unwrap()
        .to_owned();
    let eight = |chunk: &[u8]| <[u8; 8]>::try_from(chunk).unwrap();
    let values = &bytes[data..];
    Some(match kind.as_str() {
        "<f8" => values.chunks_exact(8).map(|chunk| f64::from_le_bytes(eight(chunk))).collect(),
        "<i8" => {
            values.chunks_exact(8).map(|chunk| i64::from_le_bytes(eight(chunk)) as f64).collect()
        }
        "<i4" => values
            .chunks_exact(4)
            .map(|chunk| f64::from(i32::from_le_bytes(chunk.try_into().unwrap())))
            .collect(),
        _ => panic!("{name} holds {kind}"),
    })
}

/// Lines of an id and a value.
pub fn pairs(text: &[u8]) -> BTreeMap<u64, String> {
    let text = std::str::from_utf8(text).unwrap();
    let pair = |line: &str| {
        let (id, value) =
            line.split_once([' ', '\t']).unwrap_or_else(|| panic!("{line:?} is no pair"));
        (id.parse().unwrap(), value.trim().to_owned())
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(pair).collect()
}
