//! Links to what lies outside.

use crate::attempt::{Attempt, Category, attempt};

pub(crate) const LINKS: Category = Category {
    name: "links",
    source: include_str!("../attempts/links.py"),
    attempts: ATTEMPTS,
};

const ATTEMPTS: &[Attempt] = &[
    attempt("read_symbolic_link"),
    attempt("write_symbolic_link"),
    attempt("create_through_dangling_link"),
    attempt("read_relative_link"),
    attempt("read_link_to_directory"),
    attempt("list_link_to_directory"),
    attempt("read_link_chain"),
    attempt("read_link_to_root"),
    attempt("read_link_through_proc"),
    attempt("read_link_through_proc_cwd"),
    attempt("read_link_in_temporary_directory"),
    attempt("read_link_in_home"),
    attempt("read_planted_link"),
    attempt("write_planted_link"),
    attempt("hard_link_to_read"),
    attempt("hard_link_to_write"),
    attempt("hard_link_out"),
    attempt("hard_link_by_descriptor"),
    attempt("hard_link_through_proc"),
    attempt("symbolic_link_outside"),
    attempt("copy_with_links"),
    attempt("unpack_archive"),
];
