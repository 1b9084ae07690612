//! Ascending original id.

use super::take;

/// The next id.
#[derive(Default)]
pub(super) struct ByOriginalId(u64);

impl ByOriginalId {
    /// The internal id of the next connected vertex.
    #[inline(always)]
    pub(super) fn next(&mut self) -> u64 {
        take(&mut self.0)
    }
}
