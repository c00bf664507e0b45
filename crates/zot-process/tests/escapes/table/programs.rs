//! Programs that a policy does not list.

use crate::attempt::{Attempt, Category, Rights, attempt};

pub(crate) const PROGRAMS: Category = Category {
    name: "programs",
    source: include_str!("../attempts/programs.py"),
    attempts: ATTEMPTS,
};

const ATTEMPTS: &[Attempt] = &[
    attempt("by_path").rights(Rights::OneProgram),
    attempt("by_name").rights(Rights::OneProgram),
    attempt("by_shell").rights(Rights::OneProgram),
    attempt("by_script").rights(Rights::OneProgram),
    attempt("copied").rights(Rights::OneProgram),
    attempt("copied_to_temporary_directory").rights(Rights::OneProgram),
    attempt("linked").rights(Rights::OneProgram),
    attempt("hard_linked")
        .rights(Rights::OneProgram)
        .works_for_root(),
    attempt("from_memory").rights(Rights::OneProgram),
    attempt("from_memory_by_descriptor").rights(Rights::OneProgram),
    attempt("from_unnamed_file").rights(Rights::OneProgram),
    attempt("from_secret_memory").rights(Rights::OneProgram),
    attempt("by_descriptor").rights(Rights::OneProgram),
    attempt("from_workspace").rights(Rights::OneProgram),
];
