//! The source files of the workspace, and what is code in them.

use std::path::{Path, PathBuf};

/// A Rust file.
pub struct Source {
    /// Its path from the folder of crates.
    pub path: String,
    /// All of it.
    pub text: String,
}

/// The folder of crates.
pub fn crates() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("the crate lies in the folder of crates").to_owned()
}

/// The names of the folders of all crates.
pub fn every_crate() -> Vec<String> {
    let entries = std::fs::read_dir(crates()).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = entries
        .filter(|path| path.join("Cargo.toml").exists())
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Every Rust file of a crate below these folders of it.
pub fn sources(name: &str, parts: &[&str]) -> Vec<Source> {
    let mut folders: Vec<PathBuf> =
        parts.iter().map(|part| crates().join(name).join(part)).collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let path = path.strip_prefix(crates()).unwrap().to_string_lossy().into_owned();
                files.push(Source { path, text });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// What a crate is made of, without its tests.
pub fn product(name: &str) -> Vec<Source> {
    let mut files = sources(name, &["src"]);
    files.retain(|source| {
        let tests = source.path.split('/').any(|part| part.trim_end_matches(".rs") == "tests");
        !tests && !source.path.ends_with("_tests.rs")
    });
    for source in &mut files {
        if let Some(start) = source.text.find("\n#[cfg(test)]\nmod tests {") {
            source.text.truncate(start + 1);
        }
    }
    files
}

/// The text without comments and, if `strings` is false, without what is in quotes.
pub fn code(text: &str, strings: bool) -> String {
    let mut kept = String::with_capacity(text.len());
    for line in text.lines() {
        let mut quoted = false;
        let mut before = ' ';
        let mut characters = line.chars().peekable();
        while let Some(c) = characters.next() {
            if !quoted && c == '/' && characters.peek() == Some(&'/') {
                break;
            }
            let quote = c == '"' && before != '\\' && before != '\'';
            before = if before == '\\' && c == '\\' { ' ' } else { c };
            quoted ^= quote;
            if strings || !(quoted || quote) {
                kept.push(c);
            }
        }
        kept.push('\n');
    }
    kept
}

/// The words of an identifier, in lower case: `read_pages` and `ReadPages` are `read`, `pages`; the
/// whole is one of them too.
pub fn words(identifier: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut last = ' ';
    for c in identifier.chars() {
        if c == '_' || (c.is_uppercase() && last.is_lowercase()) {
            words.push(String::new());
        }
        if c != '_' {
            words.last_mut().expect("there is one").extend(c.to_lowercase());
        }
        last = c;
    }
    words.push(identifier.to_lowercase().replace('_', ""));
    words
}

/// The names in a line of code, as they are written.
pub fn identifiers(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty())
}

/// Whether a line of code has a phrase that neither begins nor ends in the middle of a name.
pub fn mentions(line: &str, phrase: &str) -> bool {
    let named = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(phrase).any(|(at, _)| {
        let (before, behind) = (&line[..at], &line[at + phrase.len()..]);
        let begins = !named(phrase.chars().next()) || !named(before.chars().next_back());
        let ends = !named(phrase.chars().next_back()) || !named(behind.chars().next());
        begins && ends
    })
}

/// The functions of a file that is formatted: name, first line from 1, and number of lines.
pub fn functions(text: &str) -> Vec<(String, usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let Some(name) = function(line.trim_start()) else { continue };
        let closes = |line: &&str| {
            let rest = line.get(indent..).filter(|_| line[..indent].trim().is_empty());
            rest.is_some_and(|rest| {
                rest.starts_with('}') || rest.starts_with(')') && rest.ends_with(';')
            })
        };
        let end = match line.chars().next_back() {
            Some(';' | '}') => index,
            _ => lines[index + 1..].iter().position(closes).map_or(index, |at| index + 1 + at),
        };
        found.push((name.to_owned(), index + 1, end - index + 1));
    }
    found
}

/// The name of the function that begins on this line.
fn function(line: &str) -> Option<&str> {
    let mut rest = line;
    loop {
        let (word, behind) = rest.split_once(' ')?;
        match word {
            "fn" => return identifiers(behind).next(),
            "pub" | "const" | "unsafe" | "async" | "extern" => rest = behind,
            _ if word.starts_with("pub(") || word.starts_with('"') => rest = behind,
            _ => return None,
        }
    }
}
