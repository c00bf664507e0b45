//! Text on its way to a terminal. Everything from a model, a tool, a server, an extension or a file
//! passes through here, so that people can read it and it cannot control the terminal.
//!
//! [`stdout`] and [`stderr`] filter text if their stream is a terminal and pass bytes through
//! otherwise. [`Filter`] is for programs that draw the screen themselves.

mod characters;
mod filter;
mod print;
mod status_line;
mod utf8;

pub use characters::{is_deceptive, is_obeyed};
pub use filter::{Filter, Layout, clean};
pub use print::{
    Buffered, Content, Print, Printer, buffered_stdout, escape_json, json_stdout, stderr, stdout,
};
pub use status_line::StatusLine;
