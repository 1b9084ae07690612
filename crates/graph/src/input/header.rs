//! What a text says of its columns: whether the first line names them, and which are the ends and
//! the weight. Columns that nothing names are not guessed.

use super::{
    EdgeColumns, Format, InputOptions, Picked, WeightKind, fault, fields::show, head::Lines,
    source::InputBytes,
};
use crate::error::{Result, refuse};

/// The most columns that a complaint lists.
const SHOWN: usize = 12;
const FIRST_TWO: [usize; 2] = [0, 1];

/// What is known of the columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// Whether the first line names them.
    pub(super) present: bool,
    pub(super) picked: Picked,
    /// Whether the column of the weights was named, by the user or by the first line.
    pub(super) names_weight: bool,
    /// The most columns that a line may have: where nothing names them, those of the first lines.
    pub(super) most: usize,
}

/// Finds the columns of the edges.
pub(super) fn find(
    source: &InputBytes,
    lines: &Lines<'_>,
    options: &InputOptions,
) -> Result<Header> {
    if lines.matrix_header().is_some() {
        return Ok(Header {
            present: true,
            picked: Picked::IN_ORDER,
            names_weight: false,
            most: usize::MAX,
        });
    }
    let names = lines.first_columns();
    if let Some(asked) = &options.columns {
        return asked_for(source, lines, options, asked, &names);
    }
    if let Some(picked) = Picked::by_name(&names).filter(|picked| lines.is_header(picked)) {
        return named(source, lines, options, picked, &names);
    }
    if lines.has_header(&FIRST_TWO) {
        let what =
            format!("the first line names columns, and not which are the edges: {}", list(&names));
        let advice = "call them source, target and perhaps weight in the first line, or give \
                      --columns source=NAME,target=NAME, with names or numbers";
        return Err(fault(&source.path, what, advice));
    }
    let count = lines.most_columns();
    let is_said = options.weights.is_some() || options.format == Format::Graphalytics;
    if count > 3 && !is_said && !lines.konect {
        let what = format!("there are {count} columns, and no line names them: {}", list(&names));
        let advice = "give --columns source=1,target=2,weight=3, with the numbers of the columns; \
                      or --weights none if the first two are the edges";
        return Err(fault(&source.path, what, advice));
    }
    let most = if is_said || lines.konect { usize::MAX } else { count.max(2) };
    Ok(Header { present: false, picked: Picked::IN_ORDER, names_weight: false, most })
}

/// The columns that the user names.
fn asked_for(
    source: &InputBytes,
    lines: &Lines<'_>,
    options: &InputOptions,
    asked: &EdgeColumns,
    names: &[String],
) -> Result<Header> {
    if asked.weight.is_none() && options.weights.is_some_and(|kind| kind != WeightKind::None) {
        let what = "--weights needs to know the column: add weight=NAME to --columns";
        return refuse(what);
    }
    let count = lines.most_columns();
    let missing = |name: String| {
        let what = format!(
            "there is no column {}; the columns are {}",
            show(name.as_bytes()),
            list(names)
        );
        fault(&source.path, what, "give --columns names of the first line, or numbers from 1")
    };
    // Digits in the first line of a text are an id, and in what is asked for a column's number.
    let is_word = |name: &&String| name.parse::<usize>().is_err();
    let words: Vec<String> =
        names.iter().map(|name| Some(name).filter(is_word).cloned().unwrap_or_default()).collect();
    let picked = match Picked::asked(asked, &words, count) {
        Ok(picked) => picked,
        // A text without a line has no columns, and no edges.
        Err(_) if count == 0 => Picked::IN_ORDER,
        Err(name) => return Err(missing(name)),
    };
    let all = [Some(&asked.source), Some(&asked.target), asked.weight.as_ref()];
    let by_number = |name: &String| name.parse::<usize>().is_ok();
    let present = !all.into_iter().flatten().all(by_number)
        || Picked::by_name(names).is_some()
        || lines.has_header(&[picked.source, picked.target])
        || picked.weight.is_some_and(|weight| lines.becomes_number(weight));
    Ok(Header { present, picked, names_weight: picked.weight.is_some(), most: usize::MAX })
}

/// The columns that the first line names.
fn named(
    source: &InputBytes,
    lines: &Lines<'_>,
    options: &InputOptions,
    picked: Picked,
    names: &[String],
) -> Result<Header> {
    let header =
        |picked, names_weight| Ok(Header { present: true, picked, names_weight, most: usize::MAX });
    if picked.weight.is_some() || options.weights == Some(WeightKind::None) {
        return header(picked, picked.weight.is_some());
    }
    let in_order = picked.is_in_order();
    // A third column of numbers may be the weight, and may be a time or the number of the line.
    if options.weights.is_some() && in_order && names.len() == 3 {
        return header(Picked::IN_ORDER, false);
    }
    if options.weights.is_some() || (in_order && lines.has_numbers(2)) {
        let what = format!("no column is called weight; the columns are {}", list(names));
        let advice = "give --weights none if edges have no weights, or --columns \
                      source=NAME,target=NAME,weight=NAME";
        return Err(fault(&source.path, what, advice));
    }
    header(picked, false)
}

/// The columns, for a complaint.
fn list(names: &[String]) -> String {
    let mut shown: Vec<String> =
        names.iter().take(SHOWN).map(|name| show(name.as_bytes())).collect();
    if names.len() > SHOWN {
        shown.push(format!("and {} more", names.len() - SHOWN));
    }
    shown.join(", ")
}
