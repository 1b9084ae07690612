//! What fuzzers and tests throw at Outercore: each [`Target`] takes any bytes and panics where
//! Outercore is wrong about them. The folder `fuzz` runs the targets under libFuzzer; the test
//! `corpus` runs them on the files of `corpus`, and on mutations of those.
//!
//! Most targets compare with a decoder that is naive: it follows the letter of the documentation
//! and shares no code with what it checks.
//!
//! - `text`: a text in any format is the same compressed, in pieces, and read the slow way.
//! - `lines`: lines whose dialect is known, against a parser of one line at a time.
//! - `streams`: gzip and zstd, sound and damaged, against their libraries' own readers.
//! - `tables`: Parquet files and Arrow batches, against the arrays that they were made of.
//! - `manifest`: manifests, the seal of which is made right.
//! - `tiles`, `rows`, `ids`: sections of a graph, all seals right, against naive decoders.

mod choices;
mod forged;
mod ids;
mod lines;
mod manifest;
mod reading;
mod rows;
mod streams;
mod tables;
mod text;
mod tiles;

use std::cell::Cell;

/// A function that takes any bytes and panics where Outercore is wrong about them.
pub struct Target {
    /// Its name, also that of its folder in `corpus` and of its file in `fuzz`.
    pub name: &'static str,
    /// The function.
    pub run: fn(&[u8]),
}

/// All of them.
pub const TARGETS: [Target; 8] = [
    Target { name: "text", run: text::run },
    Target { name: "lines", run: lines::run },
    Target { name: "streams", run: streams::run },
    Target { name: "tables", run: tables::run },
    Target { name: "manifest", run: manifest::run },
    Target { name: "tiles", run: tiles::run },
    Target { name: "rows", run: rows::run },
    Target { name: "ids", run: ids::run },
];

/// Runs the target of that name.
///
/// # Panics
/// If there is none, or Outercore is wrong about the bytes.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target");
    (target.run)(bytes);
}

thread_local! {
    static PLANTED: Cell<bool> = const { Cell::new(false) };
}

/// Does `work` as if Outercore had a fault: the targets must find it.
pub fn with_planted_fault<T>(work: impl FnOnce() -> T) -> T {
    struct Restored;
    impl Drop for Restored {
        fn drop(&mut self) {
            PLANTED.set(false);
        }
    }
    PLANTED.set(true);
    let _restored = Restored;
    work()
}

fn is_planted() -> bool {
    PLANTED.get()
}
