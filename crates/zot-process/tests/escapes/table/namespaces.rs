//! Namespaces, new ones and those of others.

use crate::attempt::{Attempt, Category, attempt};

pub(crate) const NAMESPACES: Category = Category {
    name: "namespaces",
    source: include_str!("../attempts/namespaces.py"),
    attempts: ATTEMPTS,
};

const ATTEMPTS: &[Attempt] = &[
    attempt("user_by_unshare"),
    attempt("user_by_clone"),
    attempt("user_by_clone3"),
    attempt("user_and_all_others"),
    attempt("user_within_user"),
    attempt("mount_in_new_user"),
    attempt("bind_in_new_user"),
    attempt("trace_from_new_user").unproved("the kernel refuses it"),
    attempt("network_in_new_user").unproved("the kernel refuses it"),
    attempt("device_in_new_user").unproved("the kernel refuses it"),
    attempt("keys_in_new_user"),
    attempt("enter_first_process")
        .reported_alone()
        .unproved("it depends on the machine"),
    attempt("enter_bystander").works_for_root(),
    attempt("enter_zot").works_for_root(),
    attempt("enter_parent").reported_alone(),
    attempt("enter_owner").unproved("there is none above"),
    attempt("enter_ancestor").unproved("there is none above"),
    attempt("enter_by_handle").works_for_root(),
    attempt("next_mount_namespace").works_if_kernel_has_it(),
    attempt("list_namespaces").works_if_kernel_has_it(),
];
