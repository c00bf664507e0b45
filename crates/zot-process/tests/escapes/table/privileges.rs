//! More rights than a command starts with.

use crate::attempt::{Attempt, Category, attempt};

pub(crate) const PRIVILEGES: Category = Category {
    name: "privileges",
    source: include_str!("../attempts/privileges.py"),
    attempts: ATTEMPTS,
};

const ATTEMPTS: &[Attempt] = &[
    attempt("setuid_program").user_only(),
    attempt("setgid_program").user_only(),
    attempt("file_capabilities").user_only(),
    attempt("setuid_of_other_user").root_only(),
    attempt("leave_setuid_program"),
    attempt("leave_setgid_program"),
    attempt("leave_setuid_program_by_descriptor"),
    attempt("create_setuid_program"),
    attempt("create_setuid_program_with_openat2"),
    attempt("make_setuid_node"),
    attempt("su").user_only().unproved("it takes a password"),
    attempt("sudo").unproved("it depends on the machine"),
    attempt("new_privileges"),
    attempt("effective_capabilities").works_for_root(),
    attempt("bounding_capabilities").root_only(),
    attempt("raise_capabilities").works_for_root(),
    attempt("ambient_capabilities").works_for_root(),
    attempt("keep_capabilities_over_user_change").root_only(),
    attempt("become_root")
        .user_only()
        .unproved("an ordinary user cannot"),
    attempt("supplementary_groups")
        .user_only()
        .unproved("an ordinary user cannot"),
    attempt("remove_call_filter").works_for_root(),
    attempt("add_file_rules"),
    attempt("change_personality"),
    attempt("in_thread"),
    attempt("in_new_program"),
    attempt("in_new_session"),
    attempt("through_scheduler_services").unproved("it would leave jobs behind"),
];
