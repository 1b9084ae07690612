//! A simulated disk that loses what was not synced, stricter than file systems are.
//!
//! A [`Recorder`] sees every change that some work makes below a folder. From its [`Recording`]
//! come [`Crash`]es: what a power loss at any moment may leave. Of the bytes that a file has not
//! synced, any pieces of 512 bytes to 4 KiB survive. Of the names that a folder has not synced, any
//! changes survive, a later one also without an earlier one, if it is possible without that. A
//! file's name is not synced with the file. One renaming or exchange survives whole or not at all:
//! journals promise that.
//!
//! A crash is written out into the folder again, where the real code opens it.

mod recorder;
mod state;

use std::ffi::OsString;
use std::path::PathBuf;

pub use self::recorder::{Exchange, Recorder, Wiles};
pub use self::state::Crash;
use crate::Random;

/// A file or folder, under whatever names.
type Id = usize;

/// A file or folder as it was when the recording began, or when it was made.
#[derive(Clone, Debug, Default)]
struct Node {
    /// Its number in the real file system.
    inode: u64,
    /// What was in it at the beginning, durable.
    content: Vec<u8>,
    /// For a folder: what was in it at the beginning, durable.
    entries: Option<Vec<(OsString, Id)>>,
}

/// A name in a folder comes to stand for something else.
#[derive(Clone, Debug)]
struct Turn {
    folder: Id,
    name: OsString,
    before: Option<Id>,
    after: Option<Id>,
}

/// What can happen between two moments.
#[derive(Clone, Debug)]
enum Step {
    /// Names change, all at once.
    Names(Vec<Turn>),
    Write(Id, u64, Vec<u8>),
    Resize(Id, u64),
    Sync(Id),
    SyncFolder(Id),
}

/// All that happened below a folder.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    root: PathBuf,
    nodes: Vec<Node>,
    steps: Vec<Step>,
}

impl Recording {
    /// How many steps there were: a crash can come before each of them, and after all.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Crashes `count` times, at moments that are spread evenly from step `first` on, writes out
    /// what is left and asks `judge`. It is told whether all the work was done by then. Returns how
    /// many states were judged wrong, and the first reason.
    pub fn crash(
        &self,
        (first, count): (usize, usize),
        seed: u64,
        mut judge: impl FnMut(bool, usize) -> Result<(), String>,
    ) -> (usize, Option<String>) {
        let mut random = Random::new(seed);
        let (moments, mut wrong, mut why) = (self.steps() + 1 - first, 0, None);
        for state in 0..count {
            // The end is where something was promised: a tenth of the crashes come then.
            let moment = match state % 10 {
                9 => self.steps(),
                _ => first + (state * moments + random.below(moments as u64) as usize) / count,
            };
            let crash = Crash::of(self, moment, &mut random);
            crash.write_out();
            if let Err(reason) = judge(moment == self.steps(), state) {
                wrong += 1;
                why.get_or_insert_with(|| {
                    format!(
                        "seed {seed}, state {state}, after step {moment} of {}: {reason}\n{crash}",
                        self.steps()
                    )
                });
            }
        }
        (wrong, why)
    }
}
