//! One database of PostgreSQL, which any number of processes may use at the same time.
//!
//! Every request is one statement, which is one transaction: what has to happen together happens in
//! functions of the database (`001.sql` and so on). Nothing depends on a connection.

mod connection;
mod effort;
mod escape;
mod pool;
mod schema;
mod target;
mod tls;
mod trouble;

pub(crate) use connection::{
    Connection, Parameter, boolean, byte_strings, bytes, integer, integers, seconds, text, texts,
};
pub(crate) use effort::{Effort, Efforts, Repeat};
pub(crate) use escape::{escaped, unescaped};
pub(crate) use pool::Pool;
pub(crate) use schema::{check, migrate};
pub(crate) use target::Target;
#[cfg(test)]
pub(crate) use target::parse;
pub(crate) use trouble::Refusal;

pub use schema::Migrated;
pub use target::TargetError;
pub use trouble::{Trouble, Unavailable};
