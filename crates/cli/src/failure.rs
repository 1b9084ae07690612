//! Errors as exit codes and messages.

use std::io::Write;

use outercore::{GraphError, StorageError};

use crate::{output, signals};

/// The exit code of a fault of ours.
pub const BUG: i32 = 1;

/// Says what happened on standard error; returns the exit code.
pub fn report(error: &GraphError) -> i32 {
    let code = code(error);
    // Whoever closed standard output has what they wanted; nothing is wrong.
    if output::is_closed(error) {
        return 0;
    }
    // Standard error may be gone too; then there is nobody to tell.
    let _ = match code {
        129 | 130 | 143 => {
            writeln!(std::io::stderr(), "outercore: interrupted; nothing is left behind")
        }
        _ => writeln!(std::io::stderr(), "outercore: {}", output::one_line(&error.to_string())),
    };
    code
}

/// The exit code of an error.
fn code(error: &GraphError) -> i32 {
    match error {
        GraphError::Storage(error) => storage_code(error),
        GraphError::Input(_) => 3,
        GraphError::Corrupt { .. }
        | GraphError::Selection { .. }
        | GraphError::Newer { .. }
        | GraphError::NotAGraph { .. }
        | GraphError::StripeMissing { .. } => 4,
        GraphError::Disk { .. } => 6,
        GraphError::Memory { .. } => 7,
        GraphError::Exists { .. } | GraphError::Usage(_) => 2,
        GraphError::Cancelled => signals::exit_code(),
        _ => BUG,
    }
}

fn storage_code(error: &StorageError) -> i32 {
    match error {
        StorageError::Checksum { .. } | StorageError::Truncated { .. } => 4,
        // What the system refuses: a device's fault, or a limit of the user's.
        StorageError::Io { .. }
        | StorageError::Interrupted
        | StorageError::Memory { .. }
        | StorageError::Thread { .. } => 5,
        StorageError::Full { .. } => 6,
        StorageError::Locked { .. } => 8,
        _ => BUG,
    }
}

#[cfg(test)]
mod tests {
    use std::{io, path::Path};

    use super::*;

    #[test]
    fn every_error_has_its_code() {
        let path = Path::new("x");
        let os = io::Error::from_raw_os_error;
        let storage = |error: StorageError| code(&error.into());
        assert_eq!(storage(StorageError::io("read", path, 0, os(libc::EIO))), 5);
        assert_eq!(storage(StorageError::write("write", path, 0, 0, os(libc::ENOSPC))), 6);
        assert_eq!(storage(StorageError::Checksum { path: path.into(), page: 1 }), 4);
        assert_eq!(storage(StorageError::truncated(path, 0, 1)), 4);
        assert_eq!(storage(StorageError::Memory { bytes: 1, source: os(libc::ENOMEM) }), 5);
        assert_eq!(storage(StorageError::Thread { source: os(libc::EAGAIN) }), 5);
        assert_eq!(storage(StorageError::Locked { path: path.into() }), 8);
        let graph = |error: GraphError| code(&error);
        assert_eq!(graph(GraphError::NotAGraph { path: path.into(), why: String::new() }), 4);
        assert_eq!(graph(GraphError::StripeMissing { path: path.into(), stripe: path.into() }), 4);
        assert_eq!(graph(GraphError::Exists { path: path.into() }), 2);
        let what = String::new();
        assert_eq!(graph(GraphError::Selection { path: path.into(), what }), 4);
        assert_eq!(graph(GraphError::Disk { needed: 2, allowed: 1 }), 6);
        assert_eq!(graph(GraphError::Memory { needed: 2, budget: 1, what: String::new() }), 7);
        assert_eq!(code(&GraphError::Usage(String::new())), 2);
        assert_eq!(code(&GraphError::Memory { needed: 2, budget: 1, what: String::new() }), 7);
    }
}
