//! `zot completions` and `zot man`: generated from the definitions of the flags.

use std::io::Write as _;

use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory as _, Parser};
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::{
    auth_command, cassette_command, config_command, ext_command, login_command, sessions_command,
    skills_command,
};

/// Prints a completion script for a shell.
#[derive(Parser)]
#[command(
    name = "zot completions",
    bin_name = "zot completions",
    after_help = "bash: zot completions bash > ~/.local/share/bash-completion/completions/zot\n\
                  zsh:  zot completions zsh > \"${fpath[1]}/_zot\"\n\
                  fish: zot completions fish > ~/.config/fish/completions/zot.fish"
)]
pub(crate) struct CompletionArguments {
    /// The shell
    #[arg(value_parser = PossibleValuesParser::new(["bash", "zsh", "fish"]))]
    shell: String,
}

/// Prints a manual page in roff format.
#[derive(Parser)]
#[command(
    name = "zot man",
    bin_name = "zot man",
    after_help = "zot man | man -l -"
)]
pub(crate) struct ManArguments {
    /// Print the page of this command
    command: Option<String>,
}

pub(crate) fn completions(arguments: CompletionArguments) -> Result<(), Failure> {
    let shell = match arguments.shell.as_str() {
        "zsh" => Shell::Zsh,
        "fish" => Shell::Fish,
        _ => Shell::Bash,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut tree(), "zot", &mut script);
    zot_terminal::stdout()
        .write_all(&script)
        .map_err(Failure::output)
}

pub(crate) fn manual(arguments: ManArguments) -> Result<(), Failure> {
    let tree = tree();
    let mut title = "zot".to_owned();
    let page = match &arguments.command {
        None => tree,
        Some(name) => {
            let found = tree.find_subcommand(name).ok_or_else(|| {
                Failure::usage(format!("{name:?} is not a command: see zot --help"))
            })?;
            title = format!("zot-{name}");
            found.clone().display_name(&title)
        }
    };
    let mut roff = Vec::new();
    let page = page.disable_help_subcommand(true);
    clap_mangen::Man::new(page).title(title).render(&mut roff)?;
    zot_terminal::stdout()
        .write_all(&roff)
        .map_err(Failure::output)
}

/// All commands as one. At run time each has a parser of its own, so that none pays for the others.
fn tree() -> Command {
    // These take the flags of every run.
    let run = |name: &'static str, about: &'static str| {
        let flags = Arguments::command().mut_arg("words", |words| words.hide(true));
        named(flags.override_usage(format!("zot {name} [OPTIONS]")), name).about(about)
    };
    Arguments::command().subcommands([
        run("rpc", "Serve the rpc protocol on standard input and output"),
        run("doctor", "Check the installation and suggest fixes"),
        named(ext_command::Arguments::command(), "ext"),
        named(cassette_command::Arguments::command(), "cassette"),
        run(
            "context",
            "Show what every request begins with, and what it costs",
        ),
        named(skills_command::Arguments::command(), "skills"),
        named(sessions_command::Arguments::command(), "sessions"),
        named(config_command::Arguments::command(), "config"),
        named(login_command::LoginArguments::command(), "login"),
        named(login_command::LogoutArguments::command(), "logout"),
        named(auth_command::Arguments::command(), "auth"),
        named(CompletionArguments::command(), "completions"),
        named(ManArguments::command(), "man"),
    ])
}

fn named(command: Command, name: &'static str) -> Command {
    command.name(name).bin_name(format!("zot {name}"))
}
