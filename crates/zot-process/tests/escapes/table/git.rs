//! What git and shells run later, outside.

use crate::attempt::{After, Attempt, Category, Workspace, attempt};

pub(crate) const GIT: Category = Category {
    name: "git",
    source: include_str!("../attempts/git.py"),
    attempts: ATTEMPTS,
};

const ATTEMPTS: &[Attempt] = &[
    attempt("hook").then(After::Git).reported_alone(),
    attempt("hook_from_sample")
        .then(After::Git)
        .reported_alone(),
    attempt("hooks_directory").then(After::Git).reported_alone(),
    attempt("hooks_link").then(After::Git).reported_alone(),
    attempt("configuration").then(After::Git).reported_alone(),
    attempt("configuration_by_git").then(After::Git),
    attempt("configuration_by_rename")
        .then(After::Git)
        .reported_alone(),
    attempt("configuration_of_worktree").then(After::Git),
    attempt("hooks_path_by_git").then(After::Git),
    attempt("directory_renamed")
        .then(After::Git)
        .reported_alone(),
    attempt("directory_exchanged")
        .then(After::Git)
        .reported_alone(),
    attempt("directory_replaced_by_file")
        .then(After::Git)
        .reported_alone(),
    attempt("directory_replaced_by_link")
        .then(After::Git)
        .reported_alone(),
    attempt("directory_removed")
        .then(After::Git)
        .reported_alone(),
    attempt("common_directory").then(After::Git),
    attempt("file_of_worktree")
        .then(After::Git)
        .with(Workspace::Worktree)
        .reported_alone(),
    attempt("file_of_worktree_replaced")
        .then(After::Git)
        .with(Workspace::Worktree)
        .reported_alone(),
    attempt("directory_created")
        .then(After::Git)
        .with(Workspace::NothingProtected),
    attempt("file_created")
        .then(After::Git)
        .with(Workspace::NothingProtected),
    attempt("link_created")
        .then(After::Git)
        .with(Workspace::NothingProtected),
    attempt("bare_repository")
        .then(After::Git)
        .with(Workspace::NothingProtected),
    attempt("submodule")
        .then(After::Git)
        .not_held("Repositories further down"),
    attempt("submodule_directory").then(After::Git),
    attempt("global_configuration").then(After::Git),
    attempt("shell_start_up").then(After::Shell),
    attempt("program_in_path").then(After::Shell),
    attempt("preloaded_library").then(After::Shell),
];
