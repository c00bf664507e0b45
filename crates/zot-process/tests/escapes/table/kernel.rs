//! Calls that change the machine.

use crate::attempt::{Attempt, Category, attempt};

pub(crate) const KERNEL: Category = Category {
    name: "kernel",
    source: include_str!("../attempts/kernel.py"),
    attempts: ATTEMPTS,
};

const ATTEMPTS: &[Attempt] = &[
    attempt("load_module").works_if_kernel_has_it(),
    attempt("load_module_from_file").works_if_kernel_has_it(),
    attempt("unload_module").works_if_kernel_has_it(),
    attempt("replace_kernel").works_if_kernel_has_it(),
    attempt("replace_kernel_from_file").works_if_kernel_has_it(),
    attempt("extended_filter").works_for_root(),
    attempt("load_extended_filter").works_for_root(),
    attempt("performance_of_the_machine").works_for_root(),
    attempt("performance_of_oneself"),
    attempt("page_faults").works_for_root(),
    attempt("page_faults_of_user"),
    attempt("reboot").works_for_root(),
    attempt("set_clock").works_for_root(),
    attempt("set_frequency_of_clock").works_for_root(),
    attempt("set_host_name").works_for_root(),
    attempt("set_domain_name").works_for_root(),
    attempt("swap_on").works_for_root(),
    attempt("swap_off").works_for_root(),
    attempt("quotas").works_for_root(),
    attempt("accounting").works_for_root(),
    attempt("ports").works_if_kernel_has_it(),
    attempt("port_range").works_if_kernel_has_it(),
    attempt("kernel_log").works_for_root(),
    attempt("clear_kernel_log").works_for_root(),
    attempt("watch_all_files").works_for_root(),
    attempt("watch_files_outside"),
    attempt("watch_names_outside").weaker_alone("names of changing files (inotify)"),
    attempt("search_key"),
    attempt("read_key_by_number"),
    attempt("search_key_of_session"),
    attempt("request_key"),
    attempt("add_key"),
    attempt("change_key"),
    attempt("join_session_keyring"),
];
