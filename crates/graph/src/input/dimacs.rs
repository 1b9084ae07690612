//! DIMACS. Ids begin with 1.
//!
//! - Road networks of the 9th challenge: `p sp n m`, `a u v w`; directed, weighted.
//! - Graphs of the 2nd challenge: `p edge n m` or `p col n m`, `e u v`; undirected.

use super::{
    DeclaredVertices, IdKind, InputOptions, Picked, SourceInfo, WeightKind,
    fields::{self, Comments, Separator, show},
    head::{head_lines, refuse_binary},
    line::NumberLines,
    line_fault,
    options::{present, weight_name},
    reader::{Reader, describe, stored},
    record::{Cut, Part},
    source::InputBytes,
};
use crate::error::{Result, refuse};

/// What the problem line says.
struct Problem {
    /// `sp`: arcs with weights; else edges without.
    arcs: bool,
    vertices: u64,
    edges: u64,
    begin: u64,
    lines: u64,
}

/// Whether the first lines are comments and a problem line.
pub(super) fn recognize(source: &InputBytes) -> bool {
    let mut lines = head_lines(source).map(|(line, _)| line);
    lines.find(|line| !line.is_empty() && !Comments::Dimacs.has(line)).is_some_and(|line| {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        words.next() == Some(b"p")
            && words.next().is_some_and(|word| word.iter().all(u8::is_ascii_alphabetic))
            && words.count() >= 2
    })
}

/// Graphs from these sources.
pub(super) fn plan(mut sources: Vec<InputBytes>, options: &InputOptions) -> Result<Reader> {
    if options.ids == Some(IdKind::Names) {
        return refuse("--ids string does not fit the format dimacs: its ids are numbers");
    }
    let problems =
        sources.iter_mut().map(|source| source.with_head(problem)).collect::<Result<Vec<_>>>()?;
    let arcs = problems.iter().all(|problem| problem.arcs);
    if !arcs && problems.iter().any(|problem| problem.arcs) {
        return Err(super::fault(
            &sources[0].path,
            "some of the files have arcs and others have edges",
            "build them apart",
        ));
    }
    if let Some(kind) = options.weights.filter(|kind| !arcs && *kind != WeightKind::None) {
        let name = weight_name(kind);
        return refuse(format!(
            "--weights {name} does not fit: edges of `p edge` and `p col` graphs have no weights"
        ));
    }
    let weights = options.weights_of(arcs.then_some(WeightKind::U32));
    let details = match (arcs, weights) {
        (false, _) => "edges".to_owned(),
        (true, WeightKind::None) => "arcs, weights ignored".to_owned(),
        (true, kind) => format!("arcs, {} weights", weight_name(kind)),
    };
    let count = problems.iter().map(|problem| problem.vertices).max().unwrap_or(0);
    let info = SourceInfo {
        format: "dimacs",
        description: describe("DIMACS".to_owned(), &sources, &details),
        directed: Some(arcs),
        ids: options.ids.unwrap_or(IdKind::Numbers),
        weights: present(weights),
        bytes: stored(&sources),
        declared_vertices: Some(DeclaredVertices::Range { first: 1, count }),
    };
    let parts = sources
        .into_iter()
        .zip(&problems)
        .map(|(source, problem)| part(source, problem, weights))
        .collect();
    Ok(Reader { info, parts })
}

fn part(source: InputBytes, problem: &Problem, weights: WeightKind) -> Part {
    let decoder = NumberLines {
        separator: Separator::Blank,
        comments: Comments::Dimacs,
        tag: Some(if problem.arcs { b'a' } else { b'e' }),
        first: 1,
        span: problem.vertices.saturating_sub(1),
        weights,
        mirrored: false,
        columns: if problem.arcs { 3 } else { 2 },
        picked: Picked::IN_ORDER,
        // The format says that ids are numbers.
        padded: true,
    };
    let (begin, lines, expected) = (problem.begin, problem.lines, Some(problem.edges));
    Part { source, begin, lines, cut: Cut::Lines, decoder: Box::new(decoder), expected }
}

fn problem(source: &InputBytes) -> Result<Problem> {
    refuse_binary(source)?;
    let advice = "a DIMACS graph begins with comments `c ...` and a line `p sp VERTICES ARCS`, \
                  `p edge VERTICES EDGES` or `p col ...`";
    let fault = |line, what: String| Err(line_fault(&source.path, line, what, advice));
    let mut lines = head_lines(source).zip(1..);
    let Some(((line, begin), number)) =
        lines.find(|((line, _), _)| !line.is_empty() && !Comments::Dimacs.has(line))
    else {
        return fault(1, "there is no problem line".to_owned());
    };
    let words: Vec<_> =
        fields::columns(line, Separator::Blank).map_while(std::result::Result::ok).collect();
    let [p, kind, vertices, edges] = words.iter().map(AsRef::as_ref).collect::<Vec<&[u8]>>()[..]
    else {
        return fault(number, format!("expected a problem line, found {}", show(line)));
    };
    let arcs = match (p, kind) {
        (b"p", b"sp") => true,
        (b"p", b"edge" | b"col") => false,
        _ => {
            let found = show(line);
            return fault(number, format!("expected a problem line of a graph, found {found}"));
        }
    };
    let (Some(vertices), Some(edges)) = (fields::number(vertices), fields::number(edges)) else {
        let found = show(line);
        return fault(number, format!("the numbers of vertices and edges are no numbers: {found}"));
    };
    Ok(Problem { arcs, vertices, edges, begin, lines: number })
}
