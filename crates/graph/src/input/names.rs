//! Lines of names: ids are strings.

use super::{
    Picked, WeightKind,
    emit::Emitter,
    fields::{self, Comments, Separator, complaint, show},
    record::{Decoder, RecordChunk, RecordFault, Stop},
};

/// How lines of names are to be read.
#[derive(Clone, Debug)]
pub(super) struct NameLines {
    pub(super) separator: Separator,
    pub(super) weights: WeightKind,
    /// Which columns are the edge.
    pub(super) picked: Picked,
    /// The most columns that a line may have.
    pub(super) most: usize,
}

impl Decoder for NameLines {
    fn decode(&self, chunk: &RecordChunk<'_>, out: &mut Emitter<'_>) -> Result<u64, Stop> {
        each_line(chunk, |content| self.edge(content, out))
    }
}

impl NameLines {
    fn edge(&self, content: &[u8], out: &mut Emitter<'_>) -> Result<(), Stop> {
        let weighted = self.weights != WeightKind::None;
        let [source, target, weight] =
            fields::pick(content, self.separator, &self.picked, weighted)
                .map_err(|what| complaint(what.to_owned(), "quote names as in CSV: \"a\"\"b\""))?;
        let (Some(source), Some(target)) = (source, target) else {
            return Err(self.lonely(content).into());
        };
        fields::check_columns(content, self.separator, self.most, fields::MORE)?;
        check(&source)?;
        check(&target)?;
        let weight = match weight {
            Some(given) => Some(fields::weight(&given, self.weights)?),
            None if weighted => return Err(fields::no_weight(&self.picked).into()),
            None => None,
        };
        Ok(out.named(&source, &target, weight)?)
    }
}

impl NameLines {
    fn lonely(&self, content: &[u8]) -> RecordFault {
        if !self.picked.is_in_order() {
            return fields::too_short(&self.picked, content);
        }
        let what = format!("two ids are needed, and there is one column: {}", show(content));
        let name = self.separator.name();
        let advice = format!("the file was taken to be {name}-separated, by its first lines");
        complaint(what, &advice)
    }
}

/// Complains about names that cannot be.
pub(super) fn check(name: &[u8]) -> Result<(), RecordFault> {
    if name.is_empty() {
        return Err(complaint("an id is empty".to_owned(), "every line needs two ids"));
    }
    match fields::long_name(name.len()) {
        Some((what, advice)) => Err(complaint(what, advice)),
        None => Ok(()),
    }
}

/// Calls `visit` with each trimmed line that has data, and returns the number of lines. All are
/// UTF-8.
pub(super) fn each_line(
    chunk: &RecordChunk<'_>,
    mut visit: impl FnMut(&[u8]) -> Result<(), Stop>,
) -> Result<u64, Stop> {
    let bytes = &chunk.bytes[..chunk.end];
    // Checked at once, because that is faster; the lines before the first bad one are still good.
    let good = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let (mut at, mut lines) = (0, 0);
    while at < bytes.len() {
        let end = at + memchr::memchr(b'\n', &bytes[at..]).unwrap_or(bytes.len() - at);
        let result = trimmed(&bytes[at..end], good >= end, chunk.offset + at as u64)
            .map_err(Stop::from)
            .and_then(|content| {
                if content.is_empty() || Comments::Text.has(content) {
                    Ok(())
                } else {
                    visit(content)
                }
            });
        result.map_err(|stop| match stop {
            Stop::RecordFault(fault) => {
                Stop::RecordFault(RecordFault { line: fault.line.map(|_| lines), ..fault })
            }
            other => other,
        })?;
        lines += 1;
        at = end + 1;
    }
    Ok(lines)
}

fn trimmed(line: &[u8], is_utf8: bool, offset: u64) -> Result<&[u8], RecordFault> {
    let content = fields::trim(line)
        .map_err(|fault| RecordFault { offset: fault.offset.map(|at| offset + at), ..fault })?;
    if !is_utf8 && std::str::from_utf8(content).is_err() {
        let advice = "names must be UTF-8; convert the file: `iconv -f LATIN1 -t UTF-8 FILE`";
        return Err(complaint(format!("the line is not UTF-8: {}", show(content)), advice));
    }
    Ok(content)
}
