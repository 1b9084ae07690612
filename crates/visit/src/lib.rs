//! Traversals without iterations, by prioritized visitors (Pearce, Gokhale and Amato, SC'10).
//!
//! A visitor brings a label to a vertex. If it is better than the vertex's own, the vertex takes
//! it, and once its turn comes it sends visitors along all its edges. The best labels come first,
//! but no worker waits for them: a vertex whose label falls again sends again (label-correcting). A
//! visitor that comes too late is dropped before any edge is read.
//!
//! Every vertex belongs to one worker, which alone changes it. All labels are minima, so they do
//! not depend on the order of events.
//!
//! It stands on the engine, which knows nothing of it: plans, sessions, vertex arrays and lists on
//! request are the engine's.
//!
//! - [`Visitor`]: what an author writes. [`visit`]: runs it alone.
//! - [`Executing`]: what was asked of the executor.
//! - `visits`: traversals as resources of plans. `switch`: searches that go over to visitors.
//! - `course`: a traversal that is under way. `owner`: what a
//!   worker does. `queue`: its visitors by priority. `mail`: visitors for other workers, and how
//!   all learn that none is left. `ahead`: what a worker does while another one is alone.
//! - [`hops`], [`lengths`], [`smallest`]: visitors. `steps`: which lengths have the same priority.

mod ahead;
mod course;
mod executing;
pub mod hops;
pub mod lengths;
mod mail;
mod owner;
mod queue;
pub mod smallest;
mod steps;
mod switch;
mod visitor;
mod visits;

pub use executing::{Executing, Executor, Ownership};
pub use switch::{SmallSteps, declare_switch, labels, or_plain};
pub use visitor::Visitor;
pub use visits::{prepared, switch, visit};
