//! gzip and zstd: a compressed text is read as what their libraries' own readers make of it, and
//! refused where those refuse it.

use std::io::{Read as _, Write};

use flate2::{Compression, write::GzEncoder};
use outercore::{
    EdgeFormat, WeightKind,
    input::{Format, IdKind, InputOptions},
};

use crate::{
    choices::Choices,
    reading::{ALONE, Means, NARROW, file, place, read},
    text::looks_compressed,
};

/// The most that is unpacked here.
const MOST: u64 = 4 << 20;

pub fn run(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let packed = match choices.below(6) {
        0 => [b"\x1f\x8b\x08", choices.0].concat(),
        1 => [b"(\xb5/\xfd", choices.0].concat(),
        2 | 3 => members(choices, gzip),
        _ => members(choices, |part, level| zstd::encode_all(part, level.into()).expect("memory")),
    };
    let naive = if packed.starts_with(b"\x1f\x8b") { gunzipped(&packed) } else { unzstd(&packed) };
    if naive.as_ref().is_ok_and(|text| text.len() as u64 >= MOST || looks_compressed(text)) {
        return;
    }
    let place = place();
    let options = InputOptions {
        ids: Some(IdKind::Numbers),
        weights: Some(WeightKind::None),
        ..InputOptions::default()
    };
    let format = EdgeFormat::Plain(Format::Text);
    let path = file(&place, "e", &packed);
    let found =
        [Means { threads: 1, ..NARROW }, NARROW].map(|means| read(&path, format, &options, means));
    let plain =
        naive.as_ref().map(|text| read(&file(&place, "plain", text), format, &options, ALONE));
    for found in found {
        match (found, &plain) {
            (Ok(found), Ok(Ok(plain))) => assert_eq!(found, *plain),
            (Err(found), Ok(Err(plain))) => {
                let both = found.line.is_some() && plain.line.is_some();
                assert!(!both || found.line == plain.line, "{found:?} {plain:?}");
            }
            (Err(_), Err(_)) => {}
            (found, plain) => panic!("{found:?} {plain:?}"),
        }
    }
}

/// Text in several members or frames, of which some bytes were changed.
fn members(mut choices: Choices, pack: impl Fn(&[u8], u8) -> Vec<u8>) -> Vec<u8> {
    let (count, level) = (1 + choices.below(3), 1 + choices.byte() % 9);
    let flips: Vec<(u16, u8)> =
        (0..choices.below(4)).map(|_| (choices.short(), choices.byte())).collect();
    let (padding, cut) = (choices.below(3), choices.below(8));
    let len = choices.0.len().div_ceil(count).max(1);
    let mut packed: Vec<u8> = choices.0.chunks(len).flat_map(|part| pack(part, level)).collect();
    if packed.is_empty() {
        packed = pack(b"", level);
    }
    packed.extend(std::iter::repeat_n(0, if padding == 1 { 512 } else { 0 }));
    for (at, bits) in flips {
        let at = usize::from(at) % packed.len();
        // The magic bytes stay.
        packed[at] ^= if at < 4 { 0 } else { bits };
    }
    packed.truncate(packed.len() - if cut == 1 { packed.len() / 3 } else { 0 });
    packed
}

fn gzip(part: &[u8], level: u8) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level.into()));
    encoder.write_all(part).expect("memory");
    encoder.finish().expect("memory")
}

/// One member after the other, and then nothing but zeros.
fn gunzipped(mut packed: &[u8]) -> Result<Vec<u8>, ()> {
    let mut text = Vec::new();
    while packed.first().is_some_and(|&byte| byte != 0) {
        let mut decoder = flate2::bufread::GzDecoder::new(packed);
        decoder.by_ref().take(MOST).read_to_end(&mut text).map_err(drop)?;
        packed = decoder.into_inner();
    }
    if packed.iter().all(|&byte| byte == 0) { Ok(text) } else { Err(()) }
}

/// Frames, with a window of at most three quarters of the memory for reading.
fn unzstd(packed: &[u8]) -> Result<Vec<u8>, ()> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(packed).map_err(drop)?;
    decoder.window_log_max(19).map_err(drop)?;
    let mut text = Vec::new();
    decoder.take(MOST).read_to_end(&mut text).map_err(drop)?;
    Ok(text)
}
