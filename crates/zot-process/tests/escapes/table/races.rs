//! Names that change between a check and its use.

use crate::attempt::{Attempt, Category, attempt};

pub(crate) const RACES: Category = Category {
    name: "races",
    source: include_str!("../attempts/races.py"),
    attempts: ATTEMPTS,
};

const ATTEMPTS: &[Attempt] = &[
    attempt("read_while_swapping"),
    attempt("write_while_swapping"),
    attempt("create_while_swapping"),
    attempt("rename_while_swapping"),
    attempt("remove_while_swapping"),
    attempt("change_mode_while_swapping"),
    attempt("swap_file_with_link"),
    attempt("swap_git_directory").reported_alone(),
    attempt("move_directory_while_inside"),
    attempt("swap_temporary_directory"),
];
