//! System calls that no filter sees.

use crate::attempt::{Attempt, Category, attempt};

pub(crate) const URING: Category = Category {
    name: "uring",
    source: include_str!("../attempts/uring.py"),
    attempts: ATTEMPTS,
};

const ATTEMPTS: &[Attempt] = &[
    attempt("set_up"),
    attempt("read_file"),
    attempt("write_file"),
    attempt("remove_file"),
    attempt("rename_file"),
    attempt("make_directory"),
    attempt("write_protected"),
    attempt("connection"),
    attempt("unix_connection"),
    attempt("by_registering"),
];
