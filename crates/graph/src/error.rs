//! What can go wrong with a graph at rest, as values: each names what, where, and what to do.

use std::path::PathBuf;

use outercore_storage::{Shown, StorageError};

/// A fault in the user's edge list: where it is and how to mend it.
#[derive(Debug)]
pub struct InputError {
    /// The input file; `-` for standard input.
    pub path: PathBuf,
    /// The line, from 1, in text formats.
    pub line: Option<u64>,
    /// The byte offset, in binary formats.
    pub offset: Option<u64>,
    /// What is wrong.
    pub what: String,
    /// What the user can do; may be empty.
    pub advice: String,
}

impl std::fmt::Display for InputError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", Shown(&self.path))?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(offset) = self.offset {
            write!(f, ", byte {offset}")?;
        }
        write!(f, ": {}", self.what)?;
        if !self.advice.is_empty() {
            write!(f, "; {}", self.advice)?;
        }
        Ok(())
    }
}

impl std::error::Error for InputError {}

/// Everything that building, opening, checking or reading a graph, and planning or running on it,
/// can end with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// The device or file system failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The edge list is at fault.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A file of the graph holds something impossible.
    #[error(
        "{path} is corrupt: {what}; rebuild the graph, or restore it from a copy",
        path = Shown(.path)
    )]
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// A saved selection of lists holds something impossible. The graph is as it was.
    #[error(
        "{path} is no sound selection of lists: {what}; make it again with `outercore cache`, or \
         leave out --static-cache",
        path = Shown(.path)
    )]
    Selection {
        /// The damaged file.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// The graph was written by a newer Outercore.
    #[error(
        "{path} has format version {version}, and this Outercore reads up to {known}; \
         upgrade Outercore",
        path = Shown(.path)
    )]
    Newer {
        /// The graph.
        path: PathBuf,
        /// Its version.
        version: u32,
        /// The newest version known here.
        known: u32,
    },
    /// The folder is no graph.
    #[error(
        "{path} is not a graph: {why}; make one with `outercore build EDGES -o {path}`",
        path = Shown(.path)
    )]
    NotAGraph {
        /// The folder.
        path: PathBuf,
        /// What is missing.
        why: String,
    },
    /// A stripe directory is not there, or holds nothing of this graph.
    #[error(
        "a part of {path} is missing: {stripe}; mount its device or put the folder back, or build \
         the graph again",
        path = Shown(.path),
        stripe = Shown(.stripe)
    )]
    StripeMissing {
        /// The graph.
        path: PathBuf,
        /// The folder with its part of the sections.
        stripe: PathBuf,
    },
    /// The memory budget cannot hold what is needed.
    #[error(
        "the memory budget of {budget} bytes is too small for {what}: at least {needed} bytes are \
         needed; give --memory {mib}M or more",
        mib = .needed.div_ceil(1 << 20)
    )]
    Memory {
        /// The smallest budget that works, in bytes.
        needed: u64,
        /// The budget, in bytes.
        budget: u64,
        /// What needs it.
        what: String,
    },
    /// The disk budget cannot hold the scratch or the result.
    #[error(
        "the disk budget of {allowed} bytes is too small: {needed} bytes are needed; give a \
         larger --disk or free some space"
    )]
    Disk {
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        allowed: u64,
    },
    /// The output exists.
    #[error(
        "{path} exists already; give another name, or --force to replace it",
        path = Shown(.path)
    )]
    Exists {
        /// The output.
        path: PathBuf,
    },
    /// The user interrupted.
    #[error("interrupted")]
    Cancelled,
    /// A run in small numbers met one that they do not hold: there is a run in larger ones.
    #[error("a number is too large for this run")]
    Beyond,
    /// The graph does not suit what was asked.
    #[error("{0}")]
    Usage(String),
}

/// The result of a graph operation.
pub type Result<T> = std::result::Result<T, GraphError>;

/// The error of a user's mistake.
pub fn refuse<T>(what: impl Into<String>) -> Result<T> {
    Err(GraphError::Usage(what.into()))
}

/// The error of a budget of `budget` bytes that is too small for `what`.
pub fn too_small<T>(needed: u64, budget: u64, what: impl Into<String>) -> Result<T> {
    Err(GraphError::Memory { needed, budget, what: what.into() })
}

impl GraphError {
    /// What this refusal of a budget is, once others were tried: what more memory would allow needs
    /// that much memory, and what is refused in any budget is said before what this one lacks.
    pub fn in_other_budgets(self, budget: u64, with: impl Fn(u64) -> Result<()>) -> Self {
        let (refusal, least) = match self {
            Self::Memory { needed, .. } => match with(needed) {
                Ok(()) | Err(Self::Memory { .. }) => return self,
                Err(error) => (error, needed),
            },
            error => (error, budget),
        };
        let Self::Usage(what) = refusal else { return refusal };
        match smallest_above(least, |memory| with(memory).is_ok()) {
            Some(needed) => Self::Memory { needed, budget, what: format!("this run ({what})") },
            None => Self::Usage(what),
        }
    }
}

/// The smallest budget above this one that `fits`, in whole MiB; `None`: 2 PiB do not.
pub fn smallest_above(budget: u64, fits: impl Fn(u64) -> bool) -> Option<u64> {
    const STEP: u64 = 1 << 20;
    let (mut refused, mut needed) = (budget, budget.saturating_add(STEP));
    while !fits(needed) {
        (refused, needed) = (needed, needed.checked_mul(2).filter(|&needed| needed <= 1 << 51)?);
    }
    while needed - refused > STEP {
        let middle = refused + (needed - refused) / 2;
        *if fits(middle) { &mut needed } else { &mut refused } = middle;
    }
    Some(needed.next_multiple_of(STEP))
}

/// What all workers of a step end with: an error that one of them met, rather than that the others
/// were told to stop because of it.
pub fn all<T>(results: Vec<Result<T>>) -> Result<Vec<T>> {
    let (mut values, mut failed) = (Vec::with_capacity(results.len()), None);
    for result in results {
        match result {
            Ok(value) => values.push(value),
            Err(error) if matches!(failed, None | Some(GraphError::Cancelled)) => {
                failed = Some(error)
            }
            Err(_) => {}
        }
    }
    failed.map_or(Ok(values), Err)
}

/// The error of opening or measuring a file of a graph: where it is not what it was built as, the
/// graph is damaged, and the device is not.
pub(crate) fn of_part(error: StorageError) -> GraphError {
    let (path, what) = match error {
        StorageError::Io { operation: "open", path, source, .. }
            if let Some(what) = oddity(&source) =>
        {
            (path, what.to_owned())
        }
        // Longer than what it is can be.
        StorageError::Io { operation: "read", path, source, .. }
            if source.kind() == std::io::ErrorKind::InvalidData =>
        {
            (path, source.to_string())
        }
        StorageError::Truncated { path, offset, wanted } => {
            (path, format!("it has {offset} bytes instead of {}", offset + wanted))
        }
        other => return other.into(),
    };
    GraphError::Corrupt { path, what }
}

/// Whether opening failed because a name does not stand for a file.
pub(crate) fn is_odd(error: &StorageError) -> bool {
    matches!(error, StorageError::Io { operation: "open", source, .. } if oddity(source).is_some())
}

/// What a name stands for that is no file, by the error of opening it.
fn oddity(error: &std::io::Error) -> Option<&'static str> {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound => Some("it is missing"),
        ErrorKind::IsADirectory => Some("it is a folder"),
        ErrorKind::NotADirectory => Some("its folder is a file"),
        ErrorKind::InvalidInput => Some("it is not a regular file"),
        _ => match error.raw_os_error() {
            Some(libc::ENXIO) => Some("it is not a regular file"),
            Some(libc::ELOOP) => Some("it is a link to itself"),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_wins_over_its_consequences() {
        let cause = || refuse("cause");
        for results in [
            vec![Err(GraphError::Cancelled), cause(), Ok(1)],
            vec![cause(), Err(GraphError::Cancelled)],
        ] {
            assert!(matches!(all(results), Err(GraphError::Usage(_))));
        }
        assert!(matches!(
            all::<u8>(vec![Ok(1), Err(GraphError::Cancelled)]),
            Err(GraphError::Cancelled)
        ));
        assert_eq!(all(vec![Ok(1), Ok(2)]).unwrap(), [1, 2]);
    }
}
