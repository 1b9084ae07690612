//! A folder to run the command in.

// Not every test uses everything.
#![allow(dead_code)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

/// The command's program.
pub fn outercore() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_outercore"))
}

/// The command.
pub fn command() -> Command {
    Command::new(outercore())
}

/// A library that is loaded before the C library, by its file in `tests/place`. It is compiled
/// here: the command must not contain it.
pub fn library(folder: &Path, source: &str) -> PathBuf {
    let library = folder.join(source).with_extension("so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/place").join(source);
    let mut compiler = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
    compiler.args(["--edition", "2024", "--crate-type", "cdylib", "-O", "-o"]);
    assert!(compiler.arg(&library).arg(source).status().unwrap().success());
    library
}

/// A folder to work in.
pub struct Place(pub tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    /// A program that stands for the command: a script, which calls the true one `$oc`.
    pub fn stand_in(&self, script: &str) -> PathBuf {
        let head = format!("#!/bin/sh\noc='{}'\n", outercore().display());
        let script = self.file("stand-in.sh", format!("{head}{script}\n"));
        // Another process writes it: one that a thread forks at this moment would keep a file that
        // this one writes open, and what is open to be written cannot be run.
        let path = self.path("stand-in");
        let mut install = Command::new("install");
        assert!(install.args(["-m", "755"]).args([&script, &path]).status().unwrap().success());
        path
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        command().args(arguments).current_dir(self.0.path()).output().unwrap()
    }

    /// Runs it; it must end with this code. Returns standard output and standard error.
    pub fn ends(&self, code: i32, arguments: &[&str]) -> (String, String) {
        let output = self.run(arguments);
        let (out, err) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{out}\n{err}");
        (out, err)
    }

    pub fn json(&self, arguments: &[&str]) -> Value {
        let (out, _) = self.ends(0, &[arguments, &["--json"]].concat());
        assert_eq!(out.lines().count(), 1, "{out}");
        serde_json::from_str(&out).unwrap()
    }

    /// The graph 1 -> 2 -> 3, 3 -> 1, 4 -> 5 as `g.oc`.
    pub fn graph(&self) {
        self.file("g.txt", "1 2\n2 3\n3 1\n4 5\n");
        self.ends(0, &["build", "g.txt", "-o", "g.oc"]);
    }

    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}
