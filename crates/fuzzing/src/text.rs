//! Any bytes as a text in any format: they are edges or a complaint, and the same ones when they
//! come compressed, as a stream that is cut elsewhere, or in lines that only the slow reader takes.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use outercore::{
    EdgeFormat, Named, WeightKind,
    input::{EdgeColumns, Format, IdKind, InputOptions},
};

use crate::{
    choices::Choices,
    reading::{ALONE, NARROW, Read, Refused, file, place, read},
};

/// Divides the parts of a Graphalytics graph.
const DIVIDER: u8 = 0xff;

pub fn run(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let format = choices.of(Format::ALL);
    let options = options(&mut choices);
    let (place, format) = (place(), EdgeFormat::Plain(format));
    let mut content = choices.0;
    if format == EdgeFormat::Plain(Format::Graphalytics) {
        let mut parts = content.split(|&byte| byte == DIVIDER);
        content = parts.next().unwrap_or_default();
        for (name, part) in ["e.v", "e.properties"].iter().zip(parts) {
            file(&place, name, part);
        }
    }
    let plain = file(&place, "e.e", content);
    let found = read(&plain, format, &options, ALONE);
    let same = |other: Result<Read, Refused>, how: &str| match (&found, other) {
        (Ok(found), Ok(other)) => assert_eq!(*found, other, "{how}"),
        (Err(found), Err(other)) => {
            // Who knows the size of the file may complain earlier.
            let told = found.line.is_some() && other.line.is_some();
            assert!(!told || found.line <= other.line, "{how}: {found:?} {other:?}");
        }
        (found, other) => panic!("{how}: {found:?} {other:?}"),
    };
    same(read(&plain, format, &options, NARROW), "three threads");
    if !looks_compressed(content) {
        // Beside the parts of a Graphalytics graph the name stays.
        same(read(&file(&place, "e.e", &gzip(content)), format, &options, NARROW), "gzip");
        let packed = zstd::encode_all(content, 1).expect("memory");
        same(read(&file(&place, "e.e", &packed), format, &options, ALONE), "zstd");
    }
    let EdgeFormat::Plain(format) = format else { return };
    if matches!(format, Format::Text | Format::Csv | Format::Dimacs) {
        let slow = blanks_before_ends(content);
        let options = InputOptions { format, ..options };
        same(
            read(&file(&place, "e.e", &slow), EdgeFormat::Plain(format), &options, ALONE),
            "blanks",
        );
    }
}

/// What a user may say of an input.
fn options(choices: &mut Choices) -> InputOptions {
    InputOptions {
        ids: choices.of(&[None, Some(IdKind::Dense), Some(IdKind::Numbers), Some(IdKind::Names)]),
        weights: choices.of(&[
            None,
            Some(WeightKind::None),
            Some(WeightKind::U32),
            Some(WeightKind::F32),
            Some(WeightKind::F64),
        ]),
        directed: choices.of(&[None, Some(true), Some(false)]),
        columns: choices.of(&[None, None, Some("2")]).map(|source| EdgeColumns {
            source: source.to_owned(),
            target: "1".to_owned(),
            weight: Some("3".to_owned()),
        }),
        ..InputOptions::default()
    }
}

/// Whether it begins as something that is not a text.
pub fn looks_compressed(content: &[u8]) -> bool {
    let names: [&[u8]; 3] = [b"BZ", b"PK", b"7z"];
    let printed = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    !content.first().is_none_or(printed)
        || content.starts_with(b"(\xb5")
        || names.iter().any(|name| content.starts_with(name))
        || content.get(1..4) == Some(b"*M\x18")
}

pub fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).expect("memory");
    encoder.finish().expect("memory")
}

/// The lines with a blank at the end of each, which the quick reader leaves to the slow one.
fn blanks_before_ends(content: &[u8]) -> Vec<u8> {
    let lines = content.split_inclusive(|&byte| byte == b'\n');
    lines
        .flat_map(|line| match line.strip_suffix(b"\n") {
            Some(line) => [line, b" \n"].concat(),
            None => line.to_vec(),
        })
        .collect()
}
