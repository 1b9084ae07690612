//! Lines of names: ids are strings.

use super::{
    WeightKind,
    emit::Emitter,
    fields::{self, Comments, Separator, complaint, show},
    record::{Chunk, Decoder, Fault, Stop},
};

/// How lines of names are to be read.
#[derive(Clone, Debug)]
pub(super) struct NameLines {
    pub(super) separator: Separator,
    pub(super) weights: WeightKind,
}

impl Decoder for NameLines {
    fn decode(&self, chunk: &Chunk<'_>, out: &mut Emitter<'_>) -> Result<u64, Stop> {
        each_line(chunk, |content| self.edge(content, out))
    }
}

impl NameLines {
    fn edge(&self, content: &[u8], out: &mut Emitter<'_>) -> Result<(), Stop> {
        let mut columns = fields::columns(content, self.separator);
        let mut column = || {
            columns
                .next()
                .transpose()
                .map_err(|what| complaint(what.to_owned(), "quote names as in CSV: \"a\"\"b\""))
        };
        let source = column()?.unwrap_or_default();
        let Some(target) = column()? else {
            let what = format!("two ids are needed, and there is one column: {}", show(content));
            let advice = format!(
                "the file was taken to be {}-separated, by its first lines",
                self.separator.name()
            );
            return Err(complaint(what, &advice).into());
        };
        check(&source)?;
        check(&target)?;
        let mut weight = None;
        if self.weights != WeightKind::None {
            let advice = "give every edge a weight, or --weights none";
            let given = column()?
                .ok_or_else(|| complaint("the weight (column 3) is missing".to_owned(), advice))?;
            weight = Some(fields::weight(&given, self.weights)?);
        }
        Ok(out.named(&source, &target, weight)?)
    }
}

/// Complains about names that cannot be.
pub(super) fn check(name: &[u8]) -> Result<(), Fault> {
    if name.is_empty() {
        return Err(complaint("an id is empty".to_owned(), "every line needs two ids"));
    }
    Ok(())
}

/// Calls `visit` with each trimmed line that has data, and returns the number of lines. All are
/// UTF-8.
pub(super) fn each_line(
    chunk: &Chunk<'_>,
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
            Stop::Fault(fault) => Stop::Fault(Fault { line: fault.line.map(|_| lines), ..fault }),
            other => other,
        })?;
        lines += 1;
        at = end + 1;
    }
    Ok(lines)
}

fn trimmed(line: &[u8], is_utf8: bool, offset: u64) -> Result<&[u8], Fault> {
    let content = fields::trim(line)
        .map_err(|fault| Fault { offset: fault.offset.map(|at| offset + at), ..fault })?;
    if !is_utf8 && std::str::from_utf8(content).is_err() {
        let advice = "names must be UTF-8; convert the file: `iconv -f LATIN1 -t UTF-8 FILE`";
        return Err(complaint(format!("the line is not UTF-8: {}", show(content)), advice));
    }
    Ok(content)
}
