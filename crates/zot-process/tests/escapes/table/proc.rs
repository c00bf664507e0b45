//! `/proc` and `/sys`.

use crate::attempt::{Attempt, Category, attempt, machine};

pub(crate) const PROC: Category = Category {
    name: "proc",
    source: include_str!("../attempts/proc.py"),
    attempts: ATTEMPTS,
};

const ATTEMPTS: &[Attempt] = &[
    attempt("own_root"),
    attempt("thread_root"),
    attempt("root_of_others"),
    attempt("directory_of_others"),
    attempt("environment_of_others"),
    attempt("memory_of_others"),
    attempt("write_memory_of_others"),
    attempt("layout_of_others"),
    attempt("descriptors_of_others"),
    attempt("descriptor_details_of_others"),
    attempt("mapped_files_of_others"),
    attempt("kernel_stack_of_others"),
    attempt("threads_of_others"),
    attempt("badness_of_others"),
    attempt("dump_filter_of_others"),
    attempt("references_of_others"),
    attempt("command_lines_of_others").weaker_alone("command lines are readable"),
    attempt("list_of_processes").weaker_alone("command lines are readable"),
    attempt("mounts_of_others").weaker_alone("command lines are readable"),
    attempt("identity_maps_of_others"),
    attempt("kernel_switches").works_for_root(),
    attempt("system_request").works_if(machine::has_system_requests),
    attempt("kernel_memory").works_for_root(),
    attempt("hardware_switches").works_for_root(),
    attempt("keys").weaker_alone("names of the kernel's keys (`/proc/keys`)"),
    attempt("use_of_pages")
        .root_only()
        .works_if(machine::has_page_monitor)
        .weaker_alone("for root the use of memory (`/proc/kpagecount`)"),
    attempt("sys_switches").works_for_root(),
    attempt("sys_tracing").works_if(machine::has_tracing),
    attempt("sys_changes_of_mode").works_for_root(),
    attempt("leave_control_group").works_for_root(),
    attempt("move_others_between_control_groups").works_for_root(),
    attempt("create_control_group").works_for_root(),
    attempt("release_agent").works_for_root(),
    attempt("control_group_limits").works_for_root(),
    attempt("mount_control_groups"),
    attempt("connections_of_the_machine").weaker_alone("connections of the machine (`/proc/net`)"),
    attempt("sockets_of_the_machine").weaker_alone("connections of the machine (`/proc/net`)"),
];
