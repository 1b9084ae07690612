//! Sessions of tests.

use outercore_graph::{Graph, Result};

use super::{OpenSection, Session};
use crate::{
    config::{MemoryModel, RunConfig},
    job::Job,
    plan::Decision,
    progress::RunProgress,
};

impl<'a> Session<'a> {
    /// Opens `sections` without a plan. Returns them in the same order.
    pub(crate) fn open(
        graph: &'a Graph,
        config: &'a RunConfig,
        progress: &'a dyn RunProgress,
        sections: &[&str],
    ) -> Result<(Self, Vec<OpenSection>)> {
        let names: Vec<String> = sections.iter().map(|&name| name.to_owned()).collect();
        let model = MemoryModel::SemiExternal;
        let (in_passes, ample, begins) = Default::default();
        let decision = Decision { model, room: 0, in_passes, shares: 0, ample, begins };
        let session = Self::of(Job { graph, config, progress }, decision, None, &names)?;
        let sections = session.sections.clone();
        Ok((session, sections))
    }
}
