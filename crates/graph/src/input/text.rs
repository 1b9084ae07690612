//! Lines of text: how they are to be read is decided by the first lines of each file.

use super::{
    DeclaredVertices, Format, IdKind, InputOptions, Picked, SourceInfo, WeightKind, fault,
    fields::{Comments, Separator, has_outside_quotes},
    head::{Lines, refuse_binary},
    header::{self, Header},
    line::NumberLines,
    names::NameLines,
    options::{join, present, weight_name},
    reader::{Reader, describe, stored},
    record::{Cut, Part},
    source::InputBytes,
};
use crate::error::Result;

/// What was understood of one text.
struct Dialect {
    separator: Separator,
    header: Header,
    begin: (u64, u64),
    numeric: bool,
    weights: Option<WeightKind>,
    directed: Option<bool>,
    /// Vertices and edges that it declares.
    declared: Option<(u64, u64)>,
    /// Whether it has any line of data.
    empty: bool,
}

fn dialect(source: &InputBytes, options: &InputOptions) -> Result<Dialect> {
    refuse_binary(source)?;
    let mut lines = Lines::of(source, 2);
    if options.format == Format::Csv && lines.separator == Separator::Blank {
        let has_tab = |line: &&&[u8]| has_outside_quotes(line, b'\t');
        let tabs = lines.data.iter().filter(has_tab).count();
        lines.separator =
            if tabs * 2 > lines.data.len() { Separator::Tab } else { Separator::Comma };
    }
    let is_said = options.weights.is_some() || options.columns.is_some();
    if options.format == Format::Auto && !is_said && lines.looks_like_adjacency() {
        let advice = "adjacency lists are not supported; if columns beyond the second are to be \
                      ignored, give --weights none";
        return Err(fault(
            &source.path,
            "lines have different numbers of columns, as in adjacency lists",
            advice,
        ));
    }
    let matrix = lines.matrix_header();
    let header = header::find(source, &lines, options)?;
    let ids = [header.picked.source, header.picked.target];
    // A column that is called the weight is it: what is not a number there is a fault of its line.
    let named = (header.names_weight && lines.data.len() > 1).then_some(WeightKind::F64);
    Ok(Dialect {
        separator: lines.separator,
        header,
        begin: lines.begin(header.present),
        numeric: lines.is_numeric(&ids) || matrix.is_some(),
        weights: lines.weights(header.present, &header.picked).or(named),
        directed: matrix.map(|(.., directed)| directed).or(lines.directed),
        declared: matrix.map(|(vertices, edges, _)| (vertices, edges)),
        empty: lines.data.is_empty(),
    })
}

/// Lines from these sources. The ids of `vertices` take part in the decision what ids are.
pub(super) fn plan(
    mut sources: Vec<InputBytes>,
    options: &InputOptions,
    vertices: &[InputBytes],
) -> Result<Reader> {
    let dialects = sources
        .iter_mut()
        .map(|source| source.with_head(|source| dialect(source, options)))
        .collect::<Result<Vec<_>>>()?;
    let numeric = dialects.iter().all(|dialect| dialect.numeric)
        && vertices.iter().all(|source| Lines::of(source, 1).is_numeric(&[0]));
    let ids = options.ids.unwrap_or(if numeric { IdKind::Numbers } else { IdKind::Names });
    let weights = options.weights_of(common_weights(&sources, &dialects, options)?);
    let declared = match dialects.as_slice() {
        [Dialect { declared: Some((count, _)), .. }] if ids != IdKind::Names => {
            Some(DeclaredVertices::Range { first: 1, count: *count })
        }
        _ => None,
    };
    let info = SourceInfo {
        format: if options.format == Format::Csv { "csv" } else { "text" },
        description: description(&sources, &dialects, ids, weights),
        directed: dialects
            .iter()
            .map(|dialect| dialect.directed)
            .reduce(|a, b| if a == b { a } else { None })
            .flatten(),
        ids,
        weights: present(weights),
        bytes: stored(&sources),
        declared_vertices: declared,
    };
    let parts = sources
        .into_iter()
        .zip(&dialects)
        .map(|(source, dialect)| part(source, dialect, ids, weights, options.ids.is_some()))
        .collect();
    Ok(Reader { info, parts })
}

/// The weights that all files with data have.
fn common_weights(
    sources: &[InputBytes],
    dialects: &[Dialect],
    options: &InputOptions,
) -> Result<Option<WeightKind>> {
    if options.weights.is_some() {
        return Ok(None);
    }
    let mut found: Option<Option<WeightKind>> = None;
    for (source, dialect) in sources.iter().zip(dialects).filter(|(_, dialect)| !dialect.empty) {
        found = Some(match (found, dialect.weights) {
            (None, weights) => weights,
            (Some(None), None) => None,
            (Some(Some(a)), Some(b)) => Some(join(a, b)),
            (Some(others), _) => {
                let (this, that) = if others.is_some() {
                    ("no weights", "have some")
                } else {
                    ("weights", "have none")
                };
                let what = format!("this file has {this}, and the files before it {that}");
                return Err(fault(&source.path, what, "give --weights none to ignore weights"));
            }
        });
    }
    Ok(found.flatten())
}

fn description(
    sources: &[InputBytes],
    dialects: &[Dialect],
    ids: IdKind,
    weights: WeightKind,
) -> String {
    let separator = dialects.first().map_or("space", |dialect| dialect.separator.name());
    let mut details = format!("{} ids", ids.name());
    let picked = dialects.first().map_or(Picked::IN_ORDER, |dialect| dialect.header.picked);
    if !(Picked { weight: None, ..picked }).is_in_order() {
        details += &format!(" in columns {} and {}", picked.source + 1, picked.target + 1);
    }
    let column = picked.weight.map_or(3, |weight| weight + 1);
    if weights != WeightKind::None {
        details += &format!(", {} weights in column {column}", weight_name(weights));
    } else if dialects.iter().any(|dialect| dialect.weights.is_some()) {
        details += &format!(", weights in column {column} ignored");
    }
    if dialects.iter().any(|dialect| dialect.header.present) {
        details += ", first line is a header";
    }
    match dialects.first().and_then(|dialect| dialect.directed) {
        Some(false) => details += ", undirected by its header",
        Some(true) => details += ", directed by its header",
        None => {}
    }
    describe(format!("{separator}-separated text"), sources, &details)
}

fn part(
    source: InputBytes,
    dialect: &Dialect,
    ids: IdKind,
    weights: WeightKind,
    padded: bool,
) -> Part {
    let (separator, picked) = (dialect.separator, dialect.header.picked);
    let (begin, lines) = dialect.begin;
    if ids == IdKind::Names {
        let decoder = Box::new(NameLines { separator, weights, picked, most: dialect.header.most });
        return Part { source, begin, lines, cut: Cut::Lines, decoder, expected: None };
    }
    let (first, span) =
        dialect.declared.map_or((0, u64::MAX), |(vertices, _)| (1, vertices.saturating_sub(1)));
    let decoder = NumberLines {
        separator,
        comments: Comments::Text,
        tag: None,
        first,
        span,
        weights,
        mirrored: false,
        columns: dialect.header.most,
        picked,
        padded: padded || dialect.declared.is_some(),
    };
    let expected = dialect.declared.map(|(_, edges)| edges);
    Part { source, begin, lines, cut: Cut::Lines, decoder: Box::new(decoder), expected }
}
