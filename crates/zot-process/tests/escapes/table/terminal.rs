//! The terminal of zot.

use crate::attempt::{Attempt, Category, attempt, machine};

pub(crate) const TERMINAL: Category = Category {
    name: "terminal",
    source: include_str!("../attempts/terminal.py"),
    attempts: ATTEMPTS,
};

const ATTEMPTS: &[Attempt] = &[
    attempt("open_controlling_terminal"),
    attempt("write_to_controlling_terminal"),
    attempt("type_into_controlling_terminal").works_if(machine::can_type),
    attempt("type_into_standard_input").works_if(machine::can_type),
    attempt("paste_into_standard_input").unproved("it takes a virtual console"),
    attempt("redirect_console").unproved("messages of the machine would go elsewhere"),
    attempt("take_standard_input_as_terminal").unproved("the kernel refuses it"),
    attempt("steal_standard_input_as_terminal").unproved("the test would lose its terminal"),
    attempt("type_into_other_terminal").works_if(machine::can_type_as_root),
    attempt("write_to_other_terminal"),
    attempt("reopen_standard_input"),
    attempt("become_foreground"),
    attempt("controlling_terminal"),
];
