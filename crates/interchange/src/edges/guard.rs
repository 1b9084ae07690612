//! Parsers of other projects see hostile bytes. Where one panics, the file is at fault. A reporter
//! of panics can tell by [`is_parsing`].

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
};

thread_local! {
    static PARSING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside a parser whose panic will be reported as a fault of the input.
pub fn is_parsing() -> bool {
    PARSING.get()
}

/// Runs a parser; `None` if it panicked.
pub(super) fn guarded<T>(parse: impl FnOnce() -> T) -> Option<T> {
    PARSING.set(true);
    // What the parser held is dropped by the callers, which end in an error.
    let done = catch_unwind(AssertUnwindSafe(parse));
    PARSING.set(false);
    done.ok()
}
