//! One reading of edges serves more than one iteration (GraphSD, ICPP'22, section 4.2).
//!
//! - [`fciu`]: passes over the grid: full cross-iteration update.
//! - [`settled`]: which intervals of a pass others may count on.
//! - Lists of active vertices (selective cross-iteration update) are kept by
//!   [`RetainedLists`](outercore_caches::RetainedLists).

pub(crate) mod fciu;
pub(crate) mod settled;
