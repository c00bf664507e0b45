//! Files of the working directory that other programs obey.

use crate::attempt::{Attempt, Category, Workspace, attempt};

pub(crate) const PROTECTED: Category = Category {
    name: "protected",
    source: include_str!("../attempts/protected.py"),
    attempts: ATTEMPTS,
};

const ATTEMPTS: &[Attempt] = &[
    attempt("write_existing")
        .with(Workspace::EverythingProtected)
        .reported_alone(),
    attempt("append_existing")
        .with(Workspace::EverythingProtected)
        .reported_alone(),
    attempt("truncate_existing")
        .with(Workspace::EverythingProtected)
        .reported_alone(),
    attempt("map_existing")
        .with(Workspace::EverythingProtected)
        .reported_alone(),
    attempt("copy_into_existing")
        .with(Workspace::EverythingProtected)
        .reported_alone(),
    attempt("send_into_existing")
        .with(Workspace::EverythingProtected)
        .reported_alone(),
    attempt("allocate_existing")
        .with(Workspace::EverythingProtected)
        .reported_alone(),
    attempt("remove_existing")
        .with(Workspace::EverythingProtected)
        .reported_alone(),
    attempt("remove_trees")
        .with(Workspace::EverythingProtected)
        .reported_alone(),
    attempt("rename_existing_away")
        .with(Workspace::EverythingProtected)
        .reported_alone(),
    attempt("rename_over_existing")
        .with(Workspace::EverythingProtected)
        .reported_alone(),
    attempt("exchange_existing")
        .with(Workspace::EverythingProtected)
        .reported_alone(),
    attempt("replace_by_link")
        .with(Workspace::EverythingProtected)
        .reported_alone(),
    attempt("write_through_symbolic_link")
        .with(Workspace::EverythingProtected)
        .reported_alone(),
    attempt("write_through_hard_link")
        .with(Workspace::EverythingProtected)
        .reported_alone(),
    attempt("write_through_directory_link")
        .with(Workspace::EverythingProtected)
        .reported_alone(),
    attempt("write_through_proc")
        .with(Workspace::EverythingProtected)
        .reported_alone(),
    attempt("reopen_for_writing")
        .with(Workspace::EverythingProtected)
        .reported_alone(),
    attempt("change_mode_of_existing").with(Workspace::EverythingProtected),
    attempt("change_times_of_existing").with(Workspace::EverythingProtected),
    attempt("create_in_existing")
        .with(Workspace::EverythingProtected)
        .reported_alone(),
    attempt("unmount_existing")
        .with(Workspace::EverythingProtected)
        .reported_alone(),
    attempt("rename_parent_of_existing")
        .with(Workspace::EverythingProtected)
        .reported_alone(),
    attempt("replace_parent_of_existing")
        .with(Workspace::EverythingProtected)
        .reported_alone(),
    attempt("exchange_parent_of_existing")
        .with(Workspace::EverythingProtected)
        .reported_alone(),
    attempt("copy_workspace_and_exchange").with(Workspace::EverythingProtected),
    attempt("create_missing").with(Workspace::NothingProtected),
    attempt("create_missing_directories").with(Workspace::NothingProtected),
    attempt("create_missing_links").with(Workspace::NothingProtected),
    attempt("create_missing_pipes").with(Workspace::NothingProtected),
    attempt("create_missing_sockets").with(Workspace::NothingProtected),
    attempt("create_missing_hard_links").with(Workspace::NothingProtected),
    attempt("create_missing_unnamed").with(Workspace::NothingProtected),
    attempt("rename_to_missing").with(Workspace::NothingProtected),
    attempt("rename_directory_to_missing").with(Workspace::NothingProtected),
    attempt("create_missing_through_parent").with(Workspace::NothingProtected),
    attempt("create_missing_through_linked_parent").with(Workspace::NothingProtected),
    attempt("link_parent_of_missing")
        .with(Workspace::RepositoryWithoutHooks)
        .unproved("nobody renames anything")
        .reported_alone(),
    attempt("create_missing_at_the_last_moment").with(Workspace::NothingProtected),
    attempt("create_missing_with_taken_names").with(Workspace::NothingProtected),
    attempt("create_missing_with_linked_names").with(Workspace::NothingProtected),
    attempt("create_missing_in_locked_directory").with(Workspace::NothingProtected),
    attempt("create_missing_without_permissions").with(Workspace::NothingProtected),
    attempt("create_missing_long_tree").with(Workspace::NothingProtected),
    attempt("create_missing_immutable").with(Workspace::NothingProtected),
    attempt("create_missing_by_other_name")
        .with(Workspace::NothingProtected)
        .unproved("only on file systems that ignore case"),
];
