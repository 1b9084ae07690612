//! A plan that runs: what a run needs is declared once, priced, opened and handed over.
//!
//! - [`resources`]: [`Resource`], something that a run needs: its price, its sections and how it is
//!   opened, side by side; [`Planner`], which collects resources; [`Prepared`], a plan that runs.
//! - [`budget`]: which memory model the budget allows, and what is left for caches.
//! - [`explain`]: [`Plan`], the decision in words and figures.

mod budget;
mod explain;
mod resources;

pub(crate) use budget::Passes;
pub use explain::{Plan, PlanItem};
pub use resources::{Decided, Decision, Planner, Prepared, Resource};
