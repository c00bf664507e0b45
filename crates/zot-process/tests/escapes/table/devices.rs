//! Device nodes.

use crate::attempt::{Attempt, Category, attempt};

pub(crate) const DEVICES: Category = Category {
    name: "devices",
    source: include_str!("../attempts/devices.py"),
    attempts: ATTEMPTS,
};

const ATTEMPTS: &[Attempt] = &[
    attempt("make_block_device").works_for_root(),
    attempt("make_memory_device").works_for_root(),
    attempt("make_kernel_log").works_for_root(),
    attempt("make_terminal_device").works_for_root(),
    attempt("make_device_in_temporary_directory").works_for_root(),
    attempt("make_device_in_home").works_for_root(),
    attempt("make_whiteout"),
    attempt("disks").works_for_root(),
    attempt("memory").works_if_kernel_has_it(),
    attempt("kernel_log").works_for_root(),
    attempt("virtualisation").works_for_root(),
    attempt("file_systems").works_for_root(),
    attempt("input_devices").works_if_kernel_has_it(),
    attempt("faults").works_for_root(),
    attempt("processor").works_for_root(),
    attempt("tunnels").works_for_root(),
    attempt("terminal_of_the_bystander"),
    attempt("new_terminals"),
    attempt("other_devices"),
    attempt("write_to_dev").works_for_root(),
];
