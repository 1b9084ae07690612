//! Vertex files: one id in each line. Whatever follows the id is ignored, as is a header.

use super::{
    DeclaredVertices, IdKind, InputOptions,
    emit::Emitter,
    fields::{self, Separator, complaint, show},
    head::{Lines, refuse_binary},
    names,
    reader::{Reader, stored},
    record::{Cut, Decoder, Part, RecordChunk, Stop},
    source::InputBytes,
};
use crate::error::{Result, refuse};

/// How vertex files are to be read.
struct VertexLines {
    separator: Separator,
    names: bool,
    /// Whether numbers may have zeros in front.
    padded: bool,
}

impl Decoder for VertexLines {
    fn decode(
        &self,
        chunk: &RecordChunk<'_>,
        out: &mut Emitter<'_>,
    ) -> std::result::Result<u64, Stop> {
        names::each_line(chunk, |content| {
            let column = fields::columns(content, self.separator).next().transpose();
            let id = column.map_err(|what| complaint(what.to_owned(), ""))?.unwrap_or_default();
            if self.names {
                names::check(&id)?;
                return Ok(out.named_vertex(&id)?);
            }
            let number = fields::number(&id).ok_or_else(|| {
                let what =
                    format!("the vertex id {} is not an unsigned integer below 2^64", show(&id));
                complaint(what, "give --ids string if ids are names")
            })?;
            if !self.padded && fields::is_padded(&id) {
                return Err(fields::padded(&id).into());
            }
            Ok(out.vertex(number)?)
        })
    }
}

/// Adds vertex files to an input of edges.
pub(super) fn add(
    mut reader: Reader,
    sources: Vec<InputBytes>,
    options: &InputOptions,
) -> Result<Reader> {
    if sources.is_empty() {
        return Ok(reader);
    }
    let info = &mut reader.info;
    if let Some(DeclaredVertices::Range { .. }) = info.declared_vertices {
        return refuse(format!(
            "a vertex file does not fit the format {}, which declares its vertices itself",
            info.format
        ));
    }
    info.declared_vertices = Some(DeclaredVertices::Listed);
    info.bytes = info.bytes.zip(stored(&sources)).map(|(edges, vertices)| edges + vertices);
    for source in sources {
        reader.parts.push(part(source, reader.info.ids, options.ids.is_some())?);
    }
    Ok(reader)
}

/// A vertex file as a part of an input with ids of the kind.
fn part(mut source: InputBytes, ids: IdKind, padded: bool) -> Result<Part> {
    let lines = Lines::of(&source, 1);
    let names = ids == IdKind::Names;
    let header = lines.has_header(&[0]);
    // A name may have spaces in it where nothing else stands in its line.
    let separator =
        if names && lines.separator == Separator::Blank { Separator::Tab } else { lines.separator };
    let decoder = VertexLines { separator, names, padded };
    let (begin, before) = lines.begin(header);
    refuse_binary(&source)?;
    source.forget_head();
    Ok(Part {
        source,
        begin,
        lines: before,
        cut: Cut::Lines,
        decoder: Box::new(decoder),
        expected: None,
    })
}
