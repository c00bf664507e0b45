//! The client against real programs over real pipes.

mod calls;
mod confined;

mod lifecycle;
mod lists;
mod questions;
mod remote;

mod support;
