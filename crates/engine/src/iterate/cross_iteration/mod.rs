//! One reading of edges serves more than one iteration (GraphSD, ICPP'22, section 4.2).
//!
//! - [`fciu`]: passes over the grid: full cross-iteration update.
//! - [`sciu`]: lists of active vertices: selective cross-iteration update.

pub(crate) mod fciu;
pub(crate) mod sciu;
