//! Repository checks, and the properties that fuzz targets and ordinary tests both check.
//!
//! A check looks at plain data and returns what is wrong as sentences; an empty list means that
//! all is well. The tests of this crate run every check on this repository.

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
