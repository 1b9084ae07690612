//! Matrix Market, coordinate format: entry (i, j) is an edge from i to j. Square matrices only; ids
//! from 1.

use super::{
    DeclaredVertices, IdKind, InputOptions, SourceInfo, WeightKind,
    fields::{self, Comments, Separator, show},
    head::{head_lines, refuse_binary},
    line::NumberLines,
    options::{join, present, weight_name},
    reader::{Reader, describe, stored},
    record::{Cut, Part},
    source::{ENOUGH_LINES, Source},
};
use crate::error::{GraphError, InputError, Result};

/// How a Matrix Market file begins.
pub(super) const BANNER: &[u8] = b"%%MatrixMarket";
/// The shortest entry, `1 1` and a newline.
const SHORTEST_ENTRY: u64 = 4;

/// What the first lines say.
struct Header {
    symmetric: bool,
    /// Whether entries have values.
    valued: bool,
    weights: Option<WeightKind>,
    vertices: u64,
    entries: u64,
    begin: u64,
    lines: u64,
}

/// Matrices from these sources.
pub(super) fn plan(mut sources: Vec<Source>, options: &InputOptions) -> Result<Reader> {
    if options.ids == Some(IdKind::Names) {
        return Err(GraphError::Usage(
            "--ids string does not fit the format mtx: its ids are numbers".to_owned(),
        ));
    }
    let headers =
        sources.iter_mut().map(|source| source.with_head(header)).collect::<Result<Vec<_>>>()?;
    let found =
        headers.iter().map(|header| header.weights).reduce(|a, b| Some(join(a?, b?))).flatten();
    if let (Some(kind), None) = (options.weights.filter(|kind| *kind != WeightKind::None), found) {
        let name = weight_name(kind);
        return Err(GraphError::Usage(format!(
            "--weights {name} does not fit: the matrix is a pattern, without values"
        )));
    }
    let weights = options.weights_of(found);
    let symmetric = headers.iter().all(|header| header.symmetric);
    if !symmetric && headers.iter().any(|header| header.symmetric) {
        return Err(super::fault(
            &sources[0].path,
            "some of the matrices are symmetric and others are not",
            "build them apart",
        ));
    }
    let count = headers.iter().map(|header| header.vertices).max().unwrap_or(0);
    let shape = if symmetric { "symmetric" } else { "general" };
    let info = SourceInfo {
        format: "mtx",
        description: describe(format!("Matrix Market, {shape}"), &sources, &values(weights, found)),
        directed: Some(!symmetric),
        ids: options.ids.unwrap_or(IdKind::Numbers),
        weights: present(weights),
        bytes: stored(&sources),
        declared_vertices: Some(DeclaredVertices::Range { first: 1, count }),
    };
    // An entry of a symmetric matrix stands for two edges if edges are to have a direction.
    let mirrored = symmetric && options.directed == Some(true);
    let parts = sources
        .into_iter()
        .zip(&headers)
        .map(|(source, header)| part(source, header, weights, mirrored))
        .collect();
    Ok(Reader { info, parts })
}

fn values(weights: WeightKind, found: Option<WeightKind>) -> String {
    match (weights, found) {
        (WeightKind::None, None) => "pattern".to_owned(),
        (WeightKind::None, Some(_)) => "values ignored".to_owned(),
        (kind, _) => format!("{} weights", weight_name(kind)),
    }
}

fn part(source: Source, header: &Header, weights: WeightKind, mirrored: bool) -> Part {
    let decoder = NumberLines {
        separator: Separator::Blank,
        comments: Comments::Percent,
        tag: None,
        first: 1,
        span: header.vertices.saturating_sub(1),
        weights,
        mirrored,
        columns: if header.valued { 3 } else { 2 },
    };
    let (begin, lines, expected) = (header.begin, header.lines, Some(header.entries));
    Part { source, begin, lines, cut: Cut::Lines, decoder: Box::new(decoder), expected }
}

fn header(source: &Source) -> Result<Header> {
    refuse_binary(source)?;
    let fault = |line: u64, what: String, advice: &str| -> GraphError {
        InputError {
            path: source.path.clone(),
            line: Some(line),
            offset: None,
            what,
            advice: advice.to_owned(),
        }
        .into()
    };
    let mut lines = head_lines(source).zip(1..);
    let ((banner, _), _) = lines.next().unwrap_or(((b"", 0), 1));
    let words: Vec<String> =
        banner.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).map(lower).collect();
    let [banner, object, form, field, symmetry] =
        words.iter().map(String::as_str).collect::<Vec<_>>()[..]
    else {
        let advice =
            "the first line must be like `%%MatrixMarket matrix coordinate pattern general`";
        return Err(fault(
            1,
            "this is not the first line of a Matrix Market file".to_owned(),
            advice,
        ));
    };
    if banner.as_bytes() != BANNER.to_ascii_lowercase()
        || object != "matrix"
        || form != "coordinate"
    {
        let what = format!("\"{banner} {object} {form}\" is not supported");
        return Err(fault(1, what, "a graph is a `%%MatrixMarket matrix coordinate`"));
    }
    let symmetric = match symmetry {
        "general" => false,
        "symmetric" => true,
        _ => {
            return Err(fault(
                1,
                format!("{symmetry} matrices are not supported"),
                "use a general or a symmetric one",
            ));
        }
    };
    let (valued, real) = match field {
        "pattern" => (false, false),
        "integer" | "unsigned-integer" => (true, false),
        "real" | "double" => (true, true),
        _ => {
            return Err(fault(
                1,
                format!("{field} values are not supported"),
                "use pattern, integer or real values",
            ));
        }
    };
    let Some(((size, begin), number)) =
        lines.find(|((line, _), _)| !line.is_empty() && !Comments::Percent.has(line))
    else {
        return Err(fault(
            1,
            "the line with the numbers of rows, columns and entries is missing".to_owned(),
            "the file is cut short",
        ));
    };
    let numbers: Vec<Option<u64>> = fields::columns(size, Separator::Blank)
        .map(|column| fields::number(&column.ok()?))
        .collect();
    let [Some(rows), Some(columns), Some(entries)] = numbers[..] else {
        return Err(fault(
            number,
            format!("expected the numbers of rows, columns and entries, found {}", show(size)),
            "",
        ));
    };
    if rows != columns {
        let what = format!(
            "the matrix has {rows} rows and {columns} columns: it is not the matrix of a graph"
        );
        return Err(fault(
            number,
            what,
            "rows and columns must be the same vertices; write a bipartite graph as an edge list",
        ));
    }
    check_room(source, entries, begin)
        .map_err(|what| fault(number, what, "the file is cut short, or the line is wrong"))?;
    let kind =
        if real || has_other_values(source, number) { WeightKind::F64 } else { WeightKind::U32 };
    Ok(Header {
        symmetric,
        valued,
        weights: valued.then_some(kind),
        vertices: rows,
        entries,
        begin,
        lines: number,
    })
}

/// Complains of more entries than the file has room for, before anybody believes it.
fn check_room(source: &Source, entries: u64, begin: u64) -> std::result::Result<(), String> {
    let room = match source.stored {
        Some(bytes) if source.compression.name().is_empty() => {
            (bytes + 1).saturating_sub(begin) / SHORTEST_ENTRY
        }
        _ => return Ok(()),
    };
    if entries <= room {
        Ok(())
    } else {
        Err(format!("the file declares {entries} entries and has room for {room} at most"))
    }
}

/// Whether some of the first values are not unsigned integers below 2^32.
fn has_other_values(source: &Source, after: u64) -> bool {
    let entries = head_lines(source).skip(after as usize).map(|(line, _)| line);
    let entries =
        entries.filter(|line| !line.is_empty() && !Comments::Percent.has(line)).take(ENOUGH_LINES);
    let value =
        |line| fields::columns(line, Separator::Blank).nth(2).and_then(std::result::Result::ok);
    let values = entries.filter_map(value).collect::<Vec<_>>();
    values.iter().any(|value| fields::weight(value, WeightKind::U32).is_err())
}

fn lower(word: &[u8]) -> String {
    String::from_utf8_lossy(word).to_ascii_lowercase()
}
