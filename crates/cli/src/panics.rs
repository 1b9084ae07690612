//! What a bug says of itself: one message, once, whichever thread it was on.

use std::{
    io::Write,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use crate::heap;

/// Replaces the standard message by one that says where to report it.
pub fn install() {
    static TOLD: AtomicBool = AtomicBool::new(false);
    let standard = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // A parser that stumbles over a damaged input: the error that follows names the input.
        if outercore::is_parsing() {
            return;
        }
        let payload = panic.payload();
        let text = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        // A thread that cannot have a stack for its signals panics before it begins.
        if text.ends_with("Cannot allocate memory (os error 12)") {
            heap::refuse();
        }
        if std::env::var_os("RUST_BACKTRACE").is_some() {
            standard(panic);
        }
        if TOLD.swap(true, Relaxed) {
            return;
        }
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let version = env!("CARGO_PKG_VERSION");
        // Standard error may be gone; then there is nobody to tell.
        let _ = writeln!(
            std::io::stderr(),
            "outercore: internal error at {place}: {text}\n\
             This is a bug in outercore {version}, not a fault of yours. Please report \
             it {}, with this message and the command that you ran.",
            report_to()
        );
    }));
}

/// Where bugs are reported.
fn report_to() -> String {
    match env!("CARGO_PKG_REPOSITORY") {
        "" => "where you got Outercore from".to_owned(),
        repository => format!("at {repository}/issues"),
    }
}
