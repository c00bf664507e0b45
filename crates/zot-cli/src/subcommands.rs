//! The subcommands: their names, and one definition of them all.

use clap::{Command, CommandFactory as _};

use crate::arguments::Arguments;
use crate::completions::{CompletionArguments, ManArguments};
use crate::login_command::{LoginArguments, LogoutArguments};
use crate::{
    auth_command, cassette_command, config_command, ext_command, mcp_command, sandbox_command,
    sessions_command, skills_command,
};

/// The words that are subcommands when they come first.
pub(crate) const NAMES: [&str; 15] = [
    "rpc",
    "sessions",
    "login",
    "logout",
    "auth",
    "config",
    "context",
    "doctor",
    "ext",
    "mcp",
    "sandbox",
    "skills",
    "cassette",
    "completions",
    "man",
];

pub(crate) fn is_known(word: &str) -> bool {
    NAMES.contains(&word)
}

/// Returns all subcommands as one definition: for help, completions and manual pages. When a
/// subcommand runs, it has a parser of its own, so that none pays for the others.
pub(crate) fn definition() -> Command {
    Arguments::program()
        .subcommands(NAMES.map(|name| subcommand(name).name(name).bin_name(format!("zot {name}"))))
}

fn subcommand(name: &str) -> Command {
    match name {
        "sessions" => sessions_command::Arguments::command(),
        "login" => LoginArguments::command(),
        "logout" => LogoutArguments::command(),
        "auth" => auth_command::Arguments::command(),
        "config" => config_command::Arguments::command(),
        "ext" => ext_command::Arguments::command(),
        "mcp" => mcp_command::Arguments::command(),
        "sandbox" => sandbox_command::Arguments::command(),
        "skills" => skills_command::Arguments::command(),
        "cassette" => cassette_command::Arguments::command(),
        "completions" => CompletionArguments::command(),
        "man" => ManArguments::command(),
        "context" => Arguments::context(),
        "doctor" => Arguments::doctor(),
        _ => Arguments::rpc(),
    }
}
