//! Text on its way to a terminal. Whatever comes from a model, a tool, a server, an extension or a
//! file passes through here, so that it can be read but cannot command the terminal.
//!
//! [`stdout`] and [`stderr`] decide by themselves, each for its own stream: at a terminal, text is
//! filtered; everywhere else bytes stay as they are. [`Filter`] is the rule for programs that draw
//! the screen themselves.

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
