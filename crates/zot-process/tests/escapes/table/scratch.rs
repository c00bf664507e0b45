//! The private directories of sandboxes.

use crate::attempt::{After, Attempt, Category, attempt};

pub(crate) const SCRATCH: Category = Category {
    name: "scratch",
    source: include_str!("../attempts/scratch.py"),
    attempts: ATTEMPTS,
};

const ATTEMPTS: &[Attempt] = &[
    attempt("read_files_of_other_command"),
    attempt("write_files_of_other_command"),
    attempt("list_files_of_other_command"),
    attempt("read_home_of_other_command"),
    attempt("list_temporary_directory"),
    attempt("read_by_temporary_path"),
    attempt("change_scratch_directory").then(After::AnotherCommand),
    attempt("replace_own_directories").then(After::AnotherCommand),
    attempt("plant_links_for_next_command").then(After::AnotherCommand),
    attempt("fill_shared_directory"),
    attempt("masked_files")
        .root_only()
        .weaker_alone("secrets in `/etc`, for root"),
];
