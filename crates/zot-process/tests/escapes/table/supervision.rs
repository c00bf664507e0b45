//! Processes that want to live on.

use crate::attempt::{After, Attempt, Category, attempt};

pub(crate) const SUPERVISION: Category = Category {
    name: "supervision",
    source: include_str!("../attempts/supervision.py"),
    attempts: ATTEMPTS,
};

const ATTEMPTS: &[Attempt] = &[
    attempt("child").works_for_plain_child(),
    attempt("session").works_for_plain_child(),
    attempt("fork_twice").works_for_plain_child(),
    attempt("fork_many_times").works_for_plain_child(),
    attempt("without_death_signal").works_for_plain_child(),
    attempt("subreaper").works_for_plain_child(),
    attempt("other_group").works_for_plain_child(),
    attempt("while_output_is_open").works_for_plain_child(),
    attempt("stop_supervisor").works_for_plain_child(),
    attempt("kill_supervisor").works_for_plain_child(),
    attempt("trace_supervisor").works_for_plain_child(),
    attempt("close_pipes_of_supervisor").works_for_plain_child(),
    attempt("exhaust_supervisor").works_for_plain_child(),
    attempt("fork_while_being_killed")
        .works_for_plain_child()
        .then(After::Waits),
    attempt("fork_in_pairs_while_being_killed")
        .works_for_plain_child()
        .then(After::Waits),
    attempt("daemon_by_program").works_for_plain_child(),
    attempt("in_new_namespace").works_for_plain_child(),
    attempt("freeze_in_control_group").unproved("it would leave control groups behind"),
    attempt("on_time_out")
        .works_for_plain_child()
        .then(After::TimesOut)
        .may_die(),
];
