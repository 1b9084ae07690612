//! Which files of a crate use which, and circles of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::sources::{code, identifiers, product};

/// The files of a crate by path, each with those that it uses. Doors (`lib.rs`, `main.rs`, `mod.rs`
/// and files with a folder of their own) are left out: to pass things on is what they are for.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// A module: its names from the root of the crate.
type Module = Vec<String>;

/// Every file that is in a circle, with the shortest one that it is in.
pub fn circles(name: &str) -> BTreeMap<String, String> {
    let uses = uses(name);
    let circle = |file: &String| Some((file.clone(), shortest(&uses, file)?.join(" -> ")));
    uses.keys().filter_map(circle).collect()
}

/// The shortest way from a file back to itself.
fn shortest(uses: &Uses, start: &String) -> Option<Vec<String>> {
    let mut seen = BTreeSet::new();
    let mut queue = VecDeque::from([vec![start.clone()]]);
    while let Some(way) = queue.pop_front() {
        for next in uses.get(&way[way.len() - 1]).into_iter().flatten() {
            if next == start || seen.insert(next) {
                let longer = [way.as_slice(), std::slice::from_ref(next)].concat();
                if next == start {
                    return Some(longer);
                }
                queue.push_back(longer);
            }
        }
    }
    None
}

/// What each file uses.
fn uses(name: &str) -> Uses {
    let sources = product(name);
    let root = format!("{name}/src/");
    let modules: BTreeMap<Module, (String, String)> = sources
        .into_iter()
        .map(|source| {
            (module(&source.path[root.len()..]), (source.path, code(&source.text, false)))
        })
        .collect();
    let has_folder = |file: &str| {
        let folder = format!("{}/", file.trim_end_matches(".rs"));
        modules.values().any(|(other, _)| other.starts_with(&folder))
    };
    let is_door = |file: &str| {
        let name = file.rsplit('/').next();
        matches!(name, Some("lib.rs" | "main.rs" | "mod.rs")) || has_folder(file)
    };
    let mut all = Uses::new();
    for (me, (file, text)) in modules.iter().filter(|(_, (file, _))| !is_door(file)) {
        let targets = paths(text).into_iter().filter_map(|path| target(&modules, me, &path));
        let files = targets.map(|target| modules[&target].0.clone());
        all.insert(file.clone(), files.filter(|other| other != file && !is_door(other)).collect());
    }
    all
}

/// The module that a file of `src` is.
fn module(file: &str) -> Module {
    let mut names: Module = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if names.last().is_some_and(|name| ["mod", "lib", "main"].contains(&name.as_str())) {
        names.pop();
    }
    names
}

/// The module of the crate that a path leads to, seen from `me`.
fn target(
    modules: &BTreeMap<Module, (String, String)>,
    me: &Module,
    path: &[String],
) -> Option<Module> {
    let mut at = me.clone();
    let mut path = path;
    match path.first()?.as_str() {
        "crate" => (at, path) = (Vec::new(), &path[1..]),
        "self" => path = &path[1..],
        "super" => {
            while path.first().is_some_and(|name| name == "super") {
                at.pop();
                path = &path[1..];
            }
        }
        _ => {
            let child = [me.as_slice(), &path[..1]].concat();
            modules.get(&child)?;
        }
    }
    let mut found = None;
    for length in 0..=path.len() {
        let longer = [at.as_slice(), &path[..length]].concat();
        if !longer.is_empty() && modules.contains_key(&longer) {
            found = Some(longer);
        }
    }
    found
}

/// Every path of a `use`, groups taken apart, and every one in the code that begins with `crate` or
/// `super`.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    let mut plain = String::new();
    let mut rest = code;
    while let Some(start) = next_use(rest) {
        plain += &rest[..start];
        let end = rest[start..].find(';').map_or(rest.len(), |end| start + end);
        let body: String = rest[start..end].split_whitespace().collect::<Vec<_>>().join(" ");
        let body = body.split_once("use ").map_or("", |(_, body)| body);
        spread(&[], body, &mut all);
        rest = &rest[end..];
    }
    plain += rest;
    for root in ["crate::", "super::"] {
        for (at, _) in plain.match_indices(root) {
            let before = plain[..at].chars().next_back();
            if before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':') {
                let path =
                    plain[at..].split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
                let names = identifiers(path.take(1).next().unwrap_or_default());
                all.push(names.map(str::to_owned).collect());
            }
        }
    }
    all
}

/// Where the next `use` begins that is an item.
fn next_use(code: &str) -> Option<usize> {
    let mut at = 0;
    for line in code.split_inclusive('\n') {
        let mut rest = line.trim_start();
        if let Some(public) = rest.strip_prefix("pub") {
            rest = match public.strip_prefix('(').and_then(|inside| inside.split_once(')')) {
                Some((_, behind)) => behind.trim_start(),
                None => public.trim_start(),
            };
        }
        if rest.starts_with("use ") {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// The paths of what stands behind `use`, which may be a group.
fn spread(prefix: &[String], body: &str, all: &mut Vec<Vec<String>>) {
    let (mut depth, mut part) = (0, String::new());
    for c in body.chars().chain([',']) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if c == ',' && depth == 0 {
            one(prefix, part.trim(), all);
            part.clear();
        } else {
            part.push(c);
        }
    }
}

/// One path, or one group behind a path.
fn one(prefix: &[String], item: &str, all: &mut Vec<Vec<String>>) {
    let (path, group) = match item.split_once('{') {
        Some((path, group)) => (path, group.strip_suffix('}')),
        None => (item.split(" as ").next().unwrap_or(item), None),
    };
    let names = path.split("::").map(str::trim).filter(|name| !name.is_empty());
    let path: Vec<String> = prefix.iter().cloned().chain(names.map(str::to_owned)).collect();
    match group {
        Some(group) => spread(&path, group, all),
        None if !item.is_empty() => all.push(path),
        None => {}
    }
}

#[test]
fn paths_are_taken_apart() {
    let found =
        paths("use crate::{a::{b, c as d}, e};\npub(crate) use super::f;\nlet x = crate::g::H;");
    let found: Vec<String> = found.iter().map(|path| path.join("::")).collect();
    assert_eq!(found, ["crate::a::b", "crate::a::c", "crate::e", "super::f", "crate::g::H"]);
}

#[test]
fn paths_lead_to_modules() {
    let names = |path: &str| path.split("::").map(str::to_owned).collect::<Vec<_>>();
    let modules: BTreeMap<Module, (String, String)> =
        ["a", "a::b", "c"].iter().map(|path| (names(path), Default::default())).collect();
    let lead = |me: &str, path: &str| target(&modules, &names(me), &names(path));
    assert_eq!(lead("c", "crate::a::b::Type"), Some(names("a::b")));
    assert_eq!(lead("c", "super::a::Type"), Some(names("a")));
    assert_eq!(lead("a::b", "super::Type"), Some(names("a")));
    assert_eq!(lead("a", "b::Type"), Some(names("a::b")));
    assert_eq!(lead("a", "std::fmt"), None);
}

#[test]
fn circles_are_found() {
    let pairs = [("a", "b"), ("b", "c"), ("c", "b"), ("d", "a")];
    let mut uses = Uses::new();
    for (from, to) in pairs {
        uses.entry(from.to_owned()).or_default().insert(to.to_owned());
    }
    let circle = |file: &str| shortest(&uses, &file.to_owned()).map(|way| way.join(" "));
    assert_eq!(circle("b").as_deref(), Some("b c b"));
    assert_eq!((circle("a"), circle("d")), (None, None));
}
