//! Processes of their own, for what is counted by process: the peak of memory never falls, and the
//! kernel's count of bytes is that of all threads.

use std::process::Command;

/// What a process of its own said.
pub struct Said {
    /// The first word of its line.
    pub word: String,
    /// The numbers behind it.
    pub numbers: Vec<u64>,
    /// What it wrote to standard error.
    pub stderr: String,
}

/// Runs the test `child` of the test file that asks, as a process of its own, with `task` in the
/// environment variable `variable`. That test says what came of it: a line of standard output that
/// begins with one of `words`.
pub fn in_a_child(variable: &str, task: &str, words: &[&str]) -> Said {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "child", "--nocapture", "--test-threads", "1"]).env(variable, task);
    let output = command.output().expect("this program runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{task}: {text}{stderr}");
    let said = |line: &&str| words.iter().any(|&word| line.split(' ').next() == Some(word));
    let line = text.lines().find(said).unwrap_or_else(|| panic!("{task}: {text}{stderr}"));
    let mut parts = line.split(' ').map(str::to_owned);
    let word = parts.next().expect("a line has a word");
    let number = |part: String| part.parse().unwrap_or_else(|_| panic!("{task}: {line}"));
    Said { word, numbers: parts.map(number).collect(), stderr }
}
