//! The level `read-only`.

use crate::attempt::{Attempt, Category, Rights, attempt};

pub(crate) const LEVEL: Category = Category {
    name: "level",
    source: include_str!("../attempts/level.py"),
    attempts: ATTEMPTS,
};

const ATTEMPTS: &[Attempt] = &[
    attempt("write_file").rights(Rights::ReadOnly),
    attempt("create_file").rights(Rights::ReadOnly),
    attempt("append_file").rights(Rights::ReadOnly),
    attempt("truncate_file").rights(Rights::ReadOnly),
    attempt("remove_file").rights(Rights::ReadOnly),
    attempt("rename_file").rights(Rights::ReadOnly),
    attempt("make_directory").rights(Rights::ReadOnly),
    attempt("make_link").rights(Rights::ReadOnly),
    attempt("make_hard_link").rights(Rights::ReadOnly),
    attempt("change_mode").rights(Rights::ReadOnly),
    attempt("change_times").rights(Rights::ReadOnly),
    attempt("change_attribute").rights(Rights::ReadOnly),
    attempt("map_file").rights(Rights::ReadOnly),
    attempt("write_through_proc").rights(Rights::ReadOnly),
    attempt("write_unnamed_file").rights(Rights::ReadOnly),
    attempt("write_by_git").rights(Rights::ReadOnly),
    attempt("remount").rights(Rights::ReadOnly).works_for_root(),
];
