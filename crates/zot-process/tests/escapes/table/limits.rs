//! Limits of the policy.

use crate::attempt::{Attempt, Category, Rights, attempt};

pub(crate) const LIMITS: Category = Category {
    name: "limits",
    source: include_str!("../attempts/limits.py"),
    attempts: ATTEMPTS,
};

const ATTEMPTS: &[Attempt] = &[
    attempt("use_memory").rights(Rights::Limited),
    attempt("raise_memory_limit").rights(Rights::Limited),
    attempt("raise_process_limit").rights(Rights::Limited),
    attempt("raise_processor_limit").rights(Rights::Limited),
    attempt("ignore_processor_limit")
        .rights(Rights::Limited)
        .may_die(),
    attempt("use_processes").rights(Rights::Limited).user_only(),
    attempt("dump_core")
        .rights(Rights::Limited)
        .user_only()
        .unproved("it would leave a dump behind"),
];
