//! Where threads share something, under the model checker: every interleaving of a few threads.
//! `make model`.
//!
//! What is modelled is the very code: its files are compiled here with the checker's primitives.
//! Each model has a twin with a planted bug, which the checker must find; it ends the process then,
//! so that twin runs in a process of its own.
#![cfg(outercore_model)]

#[path = "../../../visit/src/mail.rs"]
mod mail;
#[path = "../../../interchange/src/edges/room.rs"]
mod room;
#[path = "../../../graph/src/build/turns.rs"]
mod turns;

mod intervals;
mod memory;
mod monitor;
mod peeling;
mod shares;
mod visitors;
mod writers;

use std::process::Command;

/// What the files above have from their crates.
mod error {
    pub use outercore_graph::{GraphError, Result};
}

/// Runs the model `name`, which has a planted bug, in a process of its own; the checker must say
/// `what` of it.
fn is_found(name: &str, what: &str, model: fn()) {
    const PLANTED: &str = "OUTERCORE_PLANTED";
    if std::env::var_os(PLANTED).is_some_and(|planted| planted == name) {
        return model();
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--nocapture", "--exact", name])
        .env(PLANTED, name)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stderr);
    assert!(!child.status.success() && said.contains(what), "{name}: {said}");
}
