//! What `--help` shows: of the program, and of the subcommands that take the options of a run.

use clap::error::ErrorKind;
use clap::{Arg, Command, CommandFactory as _};

use super::{Arguments, Shown, arguments, heading};
use crate::subcommands;

const EXIT_CODES: &str = "Exit codes: 0 done, 1 model or provider error, 2 usage, 129 hang-up, 130 interrupted, 143 terminated.";

/// The options in the help of `zot doctor` besides its own: they determine provider and model.
const OPTIONS_OF_DOCTOR: [&str; 8] = [
    "json", "provider", "model", "cwd", "api_key", "base_url", "wire", "fallback",
];

/// The options in the help of `zot context`: they change what every request begins with.
const OPTIONS_OF_CONTEXT: [&str; 15] = [
    "json",
    "cwd",
    "no_tools",
    "tools",
    "tool_dialect",
    "system_prompt",
    "append_system_prompt",
    "with_skills",
    "no_skill",
    "no_context_files",
    "ext",
    "no_ext",
    "mcp_config",
    "project_mcp",
    "no_mcp",
];

/// The options that `zot rpc` ignores, refuses or implies.
const NOT_FOR_RPC: [&str; 7] = [
    "words",
    "print",
    "json",
    "rpc",
    "no_stdin",
    "list_models",
    "refresh",
];

impl Arguments {
    /// Returns the definition for the help of the program itself.
    pub(crate) fn program() -> Command {
        let after = format!(
            "A first word that looks like a mistyped command is not sent: quote the sentence, or write it \
              after --: zot -- WORD …\n\n\
             Without a key: zot -p --provider offline \"list the files here\"\n\
             {EXIT_CODES}"
        );
        Self::command()
            .disable_help_subcommand(true)
            .subcommand_value_name("COMMAND")
            .mut_args(|argument| {
                hide_unless(argument, |argument| !is_under(argument, heading::DOCTOR))
            })
            .after_help(after)
    }

    fn subcommand() -> Command {
        Self::command().mut_arg("help", |help| help.help("Print help"))
    }

    pub(crate) fn rpc() -> Command {
        let is_shown = |argument: &Arg| {
            !NOT_FOR_RPC.contains(&argument.get_id().as_str())
                && !is_under(argument, heading::DOCTOR)
        };
        Self::subcommand()
            .about("Serve another program over standard input and output")
            .override_usage("zot rpc [OPTIONS]")
            .mut_args(|argument| hide_unless(argument, is_shown))
            .after_help(format!(
                "One JSON object per line, in both directions: docs/rpc.md. Without --continue, --resume or \
                 --session no session file is written. ZOTCORE_RPC_TOKEN sets a secret that the client has to send.\n\n\
                 Try it: echo '{{\"id\":\"1\",\"type\":\"prompt\",\"message\":\"hello\"}}' | zot rpc --provider offline\n\
                 {EXIT_CODES}"
            ))
    }

    pub(crate) fn doctor() -> Command {
        let is_shown = |argument: &Arg| {
            OPTIONS_OF_DOCTOR.contains(&argument.get_id().as_str())
                || is_under(argument, heading::DOCTOR)
        };
        Self::subcommand()
            .about("Check the installation and suggest fixes")
            .override_usage("zot doctor [OPTIONS]")
            .mut_args(|argument| hide_unless(argument, is_shown))
            .mut_arg("json", |json| json.help("Print JSON").display_order(3))
            .mut_arg("network", |network| network.help_heading(heading::COMMON).display_order(1))
            .mut_arg("probe", |probe| probe.help_heading(heading::COMMON).display_order(2))
            .after_help(
                "Checks what a run with the same options would use; all options of `zot` are accepted.\n\
                 Exit codes: 0 no problem, 1 a problem, 2 usage.",
            )
    }

    pub(crate) fn context() -> Command {
        let is_shown = |argument: &Arg| OPTIONS_OF_CONTEXT.contains(&argument.get_id().as_str());
        Self::subcommand()
            .about("Show what every request begins with, and how many tokens that takes")
            .override_usage("zot context [OPTIONS]")
            .mut_args(|argument| hide_unless(argument, is_shown))
            .mut_arg("json", |json| json.help("Print JSON"))
            .after_help(
                "Calls no model and needs no key; all options of `zot` are accepted.\n\
                 Exit codes: 0 done, 2 usage.",
            )
    }
}

/// Returns the help that was asked for; `found` is what the parser of a run shows.
pub(super) fn help(found: clap::Error) -> Shown {
    let mut definition = subcommands::definition();
    if !arguments().any(|argument| argument == "--help") {
        definition = definition
            .mut_args(|argument| {
                hide_unless(argument, |argument| is_under(argument, heading::COMMON))
            })
            .after_help("zot --help shows all options, zot COMMAND --help those of a command.");
    }
    match definition.try_get_matches_from(arguments()) {
        Err(help) if help.kind() == ErrorKind::DisplayHelp => Shown(help),
        _ => Shown(found),
    }
}

fn is_under(argument: &Arg, heading: &str) -> bool {
    argument.get_help_heading() == Some(heading)
}

/// Hides an argument, unless it is to be shown; everything under "Other" always is.
fn hide_unless(argument: Arg, is_shown: impl Fn(&Arg) -> bool) -> Arg {
    match is_under(&argument, heading::OTHER) || is_shown(&argument) {
        true => argument,
        false => argument.hide(true),
    }
}
