//! [`Exchange`]: records on their way to vertices that are on storage. They wait until the interval
//! of their vertex comes into memory (vertex passing, Seraph, FAST'24, section 3.3): a
//! [`RecordLog`] whose parts are intervals of the grid or windows of several of them.
//!
//! Memory: that of the log.

use std::{
    ops::{Deref, DerefMut},
    sync::{Arc, atomic::Ordering::Relaxed},
};

use outercore_storage::{LogShape, Record, RecordLog, Sender};

use crate::{
    job::Job,
    plan::Planner,
    session::{Counters, Session},
    state::Scratch,
};
use outercore_graph::Result;

/// Records on their way to vertices, by interval.
pub struct Exchange<R: Record> {
    pub(super) log: RecordLog<R>,
    pub(super) counters: Arc<Counters>,
}

impl<R: Record> Deref for Exchange<R> {
    type Target = RecordLog<R>;

    fn deref(&self) -> &RecordLog<R> {
        &self.log
    }
}

impl<R: Record> DerefMut for Exchange<R> {
    fn deref_mut(&mut self) -> &mut RecordLog<R> {
        &mut self.log
    }
}

impl<R: Record> Exchange<R> {
    /// States what an exchange takes between intervals of the grid or at most so many windows of
    /// them, while values are on storage. Returns the memory.
    pub(crate) fn declare(planner: &mut Planner, most: usize, records: u64) -> Result<u64> {
        let Job { graph, config, .. } = planner.job;
        let parts = graph.grid()?.intervals.len().min(most);
        let shape = LogShape { threads: config.threads, parts, widest: 0 };
        let bytes = RecordLog::<R>::bytes(shape, 0);
        planner.memory("logs", [0, bytes]);
        planner.scratch(records * R::BYTES as u64);
        Ok(bytes)
    }

    /// An exchange between the intervals with these bounds, with `more` memory than the least; its
    /// log is in the graph's scratch folder.
    pub(crate) fn new(session: &Session, bounds: &[u64], more: u64) -> Result<Self> {
        let Scratch { disk, folder, counters } = Scratch::of(session);
        let (how, of) = ((&disk, session.config.io), (session.workers.count(), more));
        Ok(Self { log: RecordLog::create(how, &folder, bounds, of)?, counters })
    }

    /// Takes what the senders still have. Returns the first error since the last call.
    pub(crate) fn collect(&self, senders: impl IntoIterator<Item = Sender<R>>) -> Result<()> {
        Ok(self.log.collect(senders)?)
    }

    /// Hands out the records of an interval, which then wait no more: vertex and record. Returns
    /// how many there were. `take` may send records that do not merge.
    pub(crate) fn drain(&self, interval: usize, take: impl FnMut(u64, R)) -> Result<u64> {
        Ok(self.counters.passed(self.log.drain(interval, take)?))
    }

    /// Shows the records of an interval, which stay: vertex and record.
    pub(crate) fn replay(
        &self,
        interval: usize,
        show: impl FnMut(u64, R),
    ) -> outercore_storage::Result<()> {
        self.counters.useful_bytes.fetch_add(self.log.replay(interval, show)?, Relaxed);
        Ok(())
    }
}
