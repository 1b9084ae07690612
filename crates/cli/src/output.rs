//! Standard output: it may be closed (the reader has enough) or full (a file on a full disk), and
//! both are said in order.

use std::{
    io::{self, Write},
    path::Path,
};

use outercore::{GraphError, Result, Shown, StorageError, is_standard_output};
use serde::Serialize;

/// Prints `text` and a line end.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    let done = out
        .write_all(text.as_bytes())
        .and_then(|()| out.write_all(b"\n"))
        .and_then(|()| out.flush());
    done.map_err(|error| StorageError::standard_output(error).into())
}

/// Prints one JSON object on one line.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(value).map_err(|error| {
        GraphError::Usage(format!("the result cannot be shown as JSON: {error}"))
    })?;
    print(&text)
}

/// Says something on standard error.
pub fn note(text: &str) {
    // A closed standard error is no reason to end a run.
    let _ = writeln!(io::stderr(), "{}", one_line(text));
}

/// Prints what was done: on standard error where standard output has the data themselves.
pub fn print_beside(data: &Path, text: &str) -> Result<()> {
    if is_standard_output(data) {
        // A closed standard error is no reason to end a run.
        let _ = writeln!(io::stderr(), "{text}");
        return Ok(());
    }
    print(text)
}

/// Refuses to write both the data and the report to standard output.
pub fn check_data(path: &Path, json: bool) -> Result<()> {
    match json && is_standard_output(path) {
        true => Err(GraphError::Usage(
            "-o - and --json would both write to standard output: give -o the name of a file, or \
             leave --json out"
                .to_owned(),
        )),
        false => Ok(()),
    }
}

/// Whether an error says that nobody reads standard output any more.
pub fn is_closed(error: &GraphError) -> bool {
    matches!(error, GraphError::Storage(error) if error.is_closed_output())
}

/// Text whose control characters (in file names, in original ids) cannot reach the terminal.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && c != '\n' { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

/// The same on one line: a line feed in a file's name must not make a message of its own.
pub fn one_line(text: &str) -> String {
    printable(text).replace('\n', "\\n")
}

/// A path for a person, on one line.
pub fn shown(path: &Path) -> String {
    Shown(path).to_string()
}

/// `1234567` -> `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A real number with as many digits as one reads: `0.0000123`, `5.1`, `186686642878`.
pub fn real(number: f64) -> String {
    match number.abs() {
        size if size == 0.0 || (1e15..).contains(&size) || size < 1e-4 => format!("{number:e}"),
        size if size >= 1000.0 && number.fract() == 0.0 => format!("{number}"),
        size => format!(
            "{number:.*}",
            (5 - size.log10().floor().clamp(-4.0, 5.0) as i32).max(0) as usize
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [0.0, 1.0, 0.001_234_56, 1e-9, 186_686_642_878.0, 12.5].map(real),
            ["0e0", "1.00000", "0.00123456", "1e-9", "186686642878", "12.5000"]
        );
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\x1b[31m\nb"), "a\\u{1b}[31m\nb");
        assert_eq!(one_line("a\nb"), "a\\nb");
    }
}
