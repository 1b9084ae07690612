//! One reading of edges serves more than one iteration (GraphSD, ICPP'22, section 4.2).
//!
//! - [`fciu`]: passes over the grid: full cross-iteration update.
//! - [`settled`]: which intervals of a pass others may count on.
//! - [`sciu`]: lists of active vertices: selective cross-iteration update.

pub(crate) mod fciu;
pub(crate) mod sciu;
pub(crate) mod settled;
