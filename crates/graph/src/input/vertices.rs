//! Vertex files: one id in each line. Whatever follows the id is ignored, as is a header.

use super::{
    IdKind,
    chunks::{Chunk, Decoder, Stop},
    emit::Emitter,
    fields::{self, Separator, complaint, show},
    names, text,
};
use crate::{
    error::Result,
    input::{chunks::Cut, reader::Part, source::Source},
};

/// How vertex files are to be read.
struct VertexLines {
    separator: Separator,
    names: bool,
}

impl Decoder for VertexLines {
    fn decode(&self, chunk: &Chunk<'_>, out: &mut Emitter<'_>) -> std::result::Result<u64, Stop> {
        names::each_line(chunk, |content| {
            let column = fields::columns(content, self.separator).next().transpose();
            let id = column.map_err(|what| complaint(what.to_owned(), ""))?.unwrap_or_default();
            if self.names {
                names::check(&id)?;
                return out.named_vertex(&id);
            }
            let number = fields::number(&id).ok_or_else(|| {
                let what =
                    format!("the vertex id {} is not an unsigned integer below 2^64", show(&id));
                complaint(what, "give --ids string if ids are names")
            })?;
            out.vertex(number)
        })
    }
}

/// Whether all ids of the head are numbers.
pub(super) fn are_numbers(source: &Source) -> bool {
    text::Lines::of(source, 1).is_numeric(1)
}

/// A vertex file as a part of an input with ids of the kind.
pub(super) fn part(mut source: Source, ids: IdKind) -> Result<Part> {
    let lines = text::Lines::of(&source, 1);
    let names = ids == IdKind::Names;
    let header = lines.has_header(1);
    // A name may have spaces in it where nothing else stands in its line.
    let separator =
        if names && lines.separator == Separator::Blank { Separator::Tab } else { lines.separator };
    let decoder = VertexLines { separator, names };
    let (begin, before) = lines.begin(header);
    text::refuse_binary(&source)?;
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
