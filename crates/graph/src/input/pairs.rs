//! Binary pairs: source and target as little-endian u32 or u64, nothing else.

use super::{
    Format, IdKind, InputOptions, SourceInfo, WeightKind,
    emit::Emitter,
    options::weight_name,
    reader::{Reader, describe, stored},
    record::{Cut, Decoder, Part, RecordChunk, Stop},
    source::InputBytes,
};
use crate::error::{Result, refuse};

/// Bytes of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    U32,
    U64,
}

impl Width {
    fn record(self) -> usize {
        match self {
            Width::U32 => 8,
            Width::U64 => 16,
        }
    }

    fn format(self) -> Format {
        match self {
            Width::U32 => Format::PairsU32,
            Width::U64 => Format::PairsU64,
        }
    }
}

/// Pairs from these sources.
pub(super) fn plan(
    sources: Vec<InputBytes>,
    options: &InputOptions,
    width: Width,
) -> Result<Reader> {
    let format = width.format().name();
    if options.ids == Some(IdKind::Names) {
        return refuse(format!(
            "--ids string does not fit the format {format}: its ids are numbers"
        ));
    }
    if let Some(kind) = options.weights.filter(|kind| *kind != WeightKind::None) {
        return refuse(format!(
            "--weights {} does not fit the format {format}, which has no weights",
            weight_name(kind)
        ));
    }
    let what = if width == Width::U32 {
        "pairs of little-endian u32"
    } else {
        "pairs of little-endian u64"
    };
    let info = SourceInfo {
        format,
        description: describe(what.to_owned(), &sources, ""),
        directed: None,
        ids: options.ids.unwrap_or(IdKind::Numbers),
        weights: None,
        bytes: stored(&sources),
        declared_vertices: None,
    };
    let part = |mut source: InputBytes| {
        source.forget_head();
        Part {
            source,
            begin: 0,
            lines: 0,
            cut: Cut::Records(width.record()),
            decoder: Box::new(Pairs(width)),
            expected: None,
        }
    };
    let parts = sources.into_iter().map(part).collect();
    Ok(Reader { info, parts })
}

struct Pairs(Width);

impl Decoder for Pairs {
    fn decode(
        &self,
        chunk: &RecordChunk<'_>,
        out: &mut Emitter<'_>,
    ) -> std::result::Result<u64, Stop> {
        let record = self.0.record();
        for bytes in chunk.bytes[..chunk.end].chunks(out.limit() * record) {
            let pairs = match self.0 {
                Width::U32 => bytes
                    .chunks_exact(8)
                    .map(|pair| halves(pair, |id: [u8; 4]| u32::from_le_bytes(id).into()))
                    .collect(),
                Width::U64 => {
                    bytes.chunks_exact(16).map(|pair| halves(pair, u64::from_le_bytes)).collect()
                }
            };
            out.batch(pairs)?;
        }
        Ok(0)
    }
}

#[inline(always)]
fn halves<const N: usize>(pair: &[u8], id: impl Fn([u8; N]) -> u64) -> [u64; 2] {
    [id(pair[..N].try_into().expect("half a pair")), id(pair[N..].try_into().expect("half a pair"))]
}
