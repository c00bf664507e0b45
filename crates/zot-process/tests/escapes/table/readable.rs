//! What may be read, and nothing else.

use crate::attempt::{Attempt, Category, attempt};

pub(crate) const READABLE: Category = Category {
    name: "readable",
    source: include_str!("../attempts/readable.py"),
    attempts: ATTEMPTS,
};

const ATTEMPTS: &[Attempt] = &[
    attempt("write_content"),
    attempt("write_through_descriptor"),
    attempt("write_through_mapping"),
    attempt("lease"),
    attempt("truncate"),
    attempt("remove"),
    attempt("rename"),
    attempt("rename_into_workspace"),
    attempt("create"),
    attempt("replace"),
    attempt("link_into_workspace"),
    attempt("link_by_descriptor"),
    attempt("link_through_proc"),
    attempt("change_mode"),
    attempt("change_mode_by_descriptor"),
    attempt("change_mode_without_following"),
    attempt("change_owner"),
    attempt("change_times"),
    attempt("change_times_by_descriptor"),
    attempt("change_extended_attribute"),
    attempt("change_flags"),
    attempt("change_directory_mode"),
    attempt("replace_program"),
    attempt("write_toolchain"),
    attempt("write_toolchain_through_home"),
    attempt("replace_toolchain_through_home"),
    attempt("read_hidden_directory").weaker_alone("zot's own directory inside of a readable one"),
    attempt("list_hidden_directory").weaker_alone("zot's own directory inside of a readable one"),
    attempt("read_hidden_directory_by_descriptor")
        .weaker_alone("zot's own directory inside of a readable one"),
    attempt("write_hidden_directory"),
];
