//! Pipes and terminals, whose next byte may never come: waiting for it can be ended.

use std::{
    fs::File,
    io::{self, Read},
    os::{
        fd::{AsFd, AsRawFd},
        unix::fs::OpenOptionsExt,
    },
    path::Path,
};

/// Milliseconds between two questions whether to go on.
const PATIENCE: i32 = 200;

/// What is asked whether the user wants to stop.
pub type Stopped = fn() -> bool;

/// A pipe, a terminal or another device that is read as a stream.
pub(super) struct Pipe {
    file: File,
    stopped: Option<Stopped>,
}

impl Pipe {
    /// Standard input.
    pub(super) fn standard_input(stopped: Option<Stopped>) -> io::Result<Self> {
        Ok(Self { file: io::stdin().as_fd().try_clone_to_owned()?.into(), stopped })
    }

    /// A pipe by its name. It does not wait for a writer.
    pub(super) fn open(path: &Path, stopped: Option<Stopped>) -> io::Result<Self> {
        let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
        Ok(Self { file, stopped })
    }

    /// Waits until there is something to read, or the end.
    fn wait(&self) -> io::Result<()> {
        loop {
            if self.stopped.is_some_and(|stopped| stopped()) {
                return Err(io::Error::other(Interrupted));
            }
            let mut asked =
                libc::pollfd { fd: self.file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: the pointer is to one live entry, and the descriptor is open.
            match unsafe { libc::poll(&raw mut asked, 1, PATIENCE) } {
                0 => {}
                1.. => return Ok(()),
                _ => match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::Interrupted => {}
                    error => return Err(error),
                },
            }
        }
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.wait()?;
            match self.file.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
        }
    }
}

/// The user wanted to stop while nothing came.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
struct Interrupted;

/// Whether an error of reading says that the user wanted to stop.
pub(super) fn is_interrupted(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Interrupted>())
}
