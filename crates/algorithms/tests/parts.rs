//! Unit tests of parts, which lie in their files. The library has no tests of its own: for them all
//! of it would be compiled twice.

#![allow(dead_code, unused_imports)]

mod algorithm {
    pub use outercore_algorithms::{Algorithm, Source};
}
#[path = "../src/common.rs"]
mod common;
#[path = "../src/label_propagation.rs"]
mod label_propagation;
