//! What a bug says of itself: one message, whichever thread it was on.

use std::{
    io::Write,
    sync::{Mutex, PoisonError},
};

use crate::heap;

/// What the first panic said, and where.
static FIRST: Mutex<Option<String>> = Mutex::new(None);

/// Keeps what the first panic says for [`report`]: the graph may be at fault.
pub fn install() {
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
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| format!("{place}: {text}"));
    }));
}

/// Tells of the first panic, which is nobody else's fault.
pub fn report() {
    let first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
    let version = env!("CARGO_PKG_VERSION");
    // Standard error may be gone; then there is nobody to tell.
    let _ = writeln!(
        std::io::stderr(),
        "outercore: internal error at {}\n\
         This is a bug in outercore {version}, not a fault of yours. Please report \
         it {}, with this message and the command that you ran.",
        first.as_deref().unwrap_or("an unknown place"),
        report_to()
    );
}

/// Where bugs are reported.
fn report_to() -> String {
    match env!("CARGO_PKG_REPOSITORY") {
        "" => "where you got Outercore from".to_owned(),
        repository => format!("at {repository}/issues"),
    }
}
