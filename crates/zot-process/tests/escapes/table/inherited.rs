//! What a child could get by being a child.

use crate::attempt::{Attempt, Category, attempt};

pub(crate) const INHERITED: Category = Category {
    name: "inherited",
    source: include_str!("../attempts/inherited.py"),
    attempts: ATTEMPTS,
};

const ATTEMPTS: &[Attempt] = &[
    attempt("descriptors").works_for_plain_child(),
    attempt("further_descriptors").works_for_plain_child(),
    attempt("named_descriptors").works_for_plain_child(),
    attempt("descriptors_of_parent").works_for_plain_child_of_root(),
    attempt("provider_key").works_for_plain_child(),
    attempt("every_variable"),
    attempt("token_of_the_pipe").works_for_plain_child(),
    attempt("unlisted_variable"),
    attempt("library_variables"),
    attempt("variables_of_shell"),
    attempt("initial_environment"),
    attempt("environment_of_parent").works_for_root(),
    attempt("memory_of_parent").works_for_root(),
    attempt("own_memory"),
];
