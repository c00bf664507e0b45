//! The file system seen differently.

use crate::attempt::{Attempt, Category, attempt};

pub(crate) const MOUNTS: Category = Category {
    name: "mounts",
    source: include_str!("../attempts/mounts.py"),
    attempts: ATTEMPTS,
};

const ATTEMPTS: &[Attempt] = &[
    attempt("mount_temporary").works_for_root(),
    attempt("mount_over_system").works_for_root(),
    attempt("bind_outside").works_for_root(),
    attempt("bind_root").works_for_root(),
    attempt("remount_root").works_for_root(),
    attempt("remount_readable").works_for_root(),
    attempt("remount_protected")
        .works_for_root()
        .reported_alone(),
    attempt("unmount_protected").works_for_root(),
    attempt("unmount_workspace").works_for_root(),
    attempt("unmount_proc").works_for_root(),
    attempt("unmount_root").works_for_root(),
    attempt("unmount_home").works_for_root(),
    attempt("move_over_protected").works_for_root(),
    attempt("set_attributes").works_for_root(),
    attempt("clone_tree").works_for_root(),
    attempt("move_tree").works_for_root(),
    attempt("new_file_system").works_for_root(),
    attempt("pick_file_system").works_for_root(),
    attempt("pivot").works_for_root(),
    attempt("change_root").works_for_root(),
    attempt("change_root_to_others").works_for_root(),
    attempt("mount_proc").works_for_root(),
    attempt("mount_devices").works_for_root(),
    attempt("mount_disk").unproved("the disk is in use"),
    attempt("overlay").works_for_root(),
    attempt("share_propagation").works_for_root(),
    attempt("user_file_system").unproved("it depends on the machine"),
];
