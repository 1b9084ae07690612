//! [`Scratch`]: where arrays go that do not stay in memory.

use std::{path::PathBuf, sync::Arc};

use outercore_storage::{Disk, ScratchFile};

use crate::session::{Counters, Session};
use outercore_graph::Result;

/// Where the scratch files of a run are made, and where useful bytes of them are counted.
#[derive(Clone)]
pub struct Scratch {
    pub(crate) disk: Disk,
    pub(crate) folder: PathBuf,
    pub(crate) counters: Arc<Counters>,
}

impl Scratch {
    /// Files in `folder`.
    pub(crate) fn new(disk: &Disk, folder: PathBuf, counters: Arc<Counters>) -> Self {
        Self { disk: disk.clone(), folder, counters }
    }

    /// Files beside the session's graph.
    pub(crate) fn of(session: &Session) -> Self {
        Self::new(&session.disk, session.graph.scratch_folder(), Arc::clone(&session.counters))
    }

    /// A file for the intervals with these bounds, of items of `bytes` bytes.
    pub(super) fn file(&self, bounds: &[u64], bytes: usize) -> Result<Arc<ScratchFile>> {
        Ok(Arc::new(ScratchFile::create(&self.disk, &self.folder, bounds, bytes)?))
    }
}
