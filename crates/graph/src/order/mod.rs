//! The orders that vertices can have on disk.
//!
//! A vertex without edges comes after all others in every order, if it is set apart.

use serde::{Deserialize, Serialize};

/// The order of the vertices on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Descending total degree, ties by original id.
    #[default]
    Degree,
    /// Ascending original id.
    Original,
}

impl Order {
    /// Whether total degrees descend with internal ids: the vertex 0 has the largest.
    pub fn is_by_degree(self) -> bool {
        match self {
            Order::Degree => true,
            Order::Original => false,
        }
    }
}
