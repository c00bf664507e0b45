//! Repository checks, and the properties that fuzz targets and ordinary tests both check.
//!
//! A check examines plain data and returns the problems as sentences. The tests of this crate run every
//! check on this repository.

pub mod dependencies;
pub mod functions;
pub mod fuzz_checks;
pub mod layers;
pub mod limits;
pub mod links;
pub mod protocol;
pub mod repository;
pub mod schema;
pub mod sources;
