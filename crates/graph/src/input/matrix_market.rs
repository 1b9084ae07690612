//! Matrix Market, coordinate format: entry (i, j) is an edge from i to j. Square matrices only; ids
//! from 1.

use super::{
    DeclaredVertices, IdKind, InputOptions, Picked, SourceInfo, WeightKind,
    fields::{self, Comments, Separator, show},
    head::{head_lines, refuse_binary},
    line::NumberLines,
    line_fault,
    options::{join, present, weight_name},
    reader::{Reader, describe, stored},
    record::{Cut, Part},
    source::{ENOUGH_LINES, InputBytes},
};
use crate::error::{Result, refuse};

/// How a Matrix Market file begins.
pub(super) const BANNER: &[u8] = b"%%MatrixMarket";
/// The shortest entry, `1 1` and a newline.
const SHORTEST_ENTRY: u64 = 4;

/// What the first lines say.
struct MatrixHeader {
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
pub(super) fn plan(mut sources: Vec<InputBytes>, options: &InputOptions) -> Result<Reader> {
    if options.ids == Some(IdKind::Names) {
        return refuse("--ids string does not fit the format mtx: its ids are numbers");
    }
    let headers =
        sources.iter_mut().map(|source| source.with_head(header)).collect::<Result<Vec<_>>>()?;
    let found =
        headers.iter().map(|header| header.weights).reduce(|a, b| Some(join(a?, b?))).flatten();
    if let (Some(kind), None) = (options.weights.filter(|kind| *kind != WeightKind::None), found) {
        let name = weight_name(kind);
        return refuse(format!(
            "--weights {name} does not fit: the matrix is a pattern, without values"
        ));
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

fn part(source: InputBytes, header: &MatrixHeader, weights: WeightKind, mirrored: bool) -> Part {
    let decoder = NumberLines {
        separator: Separator::Blank,
        comments: Comments::Percent,
        tag: None,
        first: 1,
        span: header.vertices.saturating_sub(1),
        weights,
        mirrored,
        columns: if header.valued { 3 } else { 2 },
        picked: Picked::IN_ORDER,
        // The format says that ids are numbers.
        padded: true,
    };
    let (begin, lines, expected) = (header.begin, header.lines, Some(header.entries));
    Part { source, begin, lines, cut: Cut::Lines, decoder: Box::new(decoder), expected }
}

/// What is wrong with a line, and what the user can do.
type Wrong = (String, &'static str);

/// What the first line says.
struct Banner {
    symmetric: bool,
    /// Whether entries have values.
    valued: bool,
    /// Whether values may be other than whole numbers.
    real: bool,
}

fn header(source: &InputBytes) -> Result<MatrixHeader> {
    refuse_binary(source)?;
    let fault = |line, (what, advice): Wrong| line_fault(&source.path, line, what, advice);
    let mut lines = head_lines(source).zip(1..);
    let ((first, _), _) = lines.next().unwrap_or(((b"", 0), 1));
    let Banner { symmetric, valued, real } = banner(first).map_err(|wrong| fault(1, wrong))?;
    let Some(((line, begin), number)) =
        lines.find(|((line, _), _)| !line.is_empty() && !Comments::Percent.has(line))
    else {
        let what = "the line with the numbers of rows, columns and entries is missing";
        return Err(fault(1, (what.to_owned(), "the file is cut short")));
    };
    let (vertices, entries) = size(line).map_err(|wrong| fault(number, wrong))?;
    check_room(source, entries, begin)
        .map_err(|what| fault(number, (what, "the file is cut short, or the line is wrong")))?;
    let kind =
        if real || has_other_values(source, number) { WeightKind::F64 } else { WeightKind::U32 };
    let weights = valued.then_some(kind);
    Ok(MatrixHeader { symmetric, valued, weights, vertices, entries, begin, lines: number })
}

fn banner(line: &[u8]) -> std::result::Result<Banner, Wrong> {
    let words: Vec<String> =
        line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).map(lower).collect();
    let [banner, object, form, field, symmetry] =
        words.iter().map(String::as_str).collect::<Vec<_>>()[..]
    else {
        return Err((
            "this is not the first line of a Matrix Market file".to_owned(),
            "the first line must be like `%%MatrixMarket matrix coordinate pattern general`",
        ));
    };
    if banner.as_bytes() != BANNER.to_ascii_lowercase()
        || object != "matrix"
        || form != "coordinate"
    {
        let what = format!("\"{banner} {object} {form}\" is not supported");
        return Err((what, "a graph is a `%%MatrixMarket matrix coordinate`"));
    }
    let symmetric = match symmetry {
        "general" => false,
        "symmetric" => true,
        _ => {
            let what = format!("{symmetry} matrices are not supported");
            return Err((what, "use a general or a symmetric one"));
        }
    };
    let (valued, real) = match field {
        "pattern" => (false, false),
        "integer" | "unsigned-integer" => (true, false),
        "real" | "double" => (true, true),
        _ => {
            let what = format!("{field} values are not supported");
            return Err((what, "use pattern, integer or real values"));
        }
    };
    Ok(Banner { symmetric, valued, real })
}

/// The numbers of vertices and of entries.
fn size(line: &[u8]) -> std::result::Result<(u64, u64), Wrong> {
    let numbers: Vec<Option<u64>> = fields::columns(line, Separator::Blank)
        .map(|column| fields::number(&column.ok()?))
        .collect();
    let [Some(rows), Some(columns), Some(entries)] = numbers[..] else {
        let found = show(line);
        let what = format!("expected the numbers of rows, columns and entries, found {found}");
        return Err((what, ""));
    };
    if rows != columns {
        let what = format!(
            "the matrix has {rows} rows and {columns} columns: it is not the matrix of a graph"
        );
        return Err((
            what,
            "rows and columns must be the same vertices; write a bipartite graph as an edge list",
        ));
    }
    Ok((rows, entries))
}

/// Complains of more entries than the file has room for, before any memory is taken for them.
fn check_room(source: &InputBytes, entries: u64, begin: u64) -> std::result::Result<(), String> {
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
fn has_other_values(source: &InputBytes, after: u64) -> bool {
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
