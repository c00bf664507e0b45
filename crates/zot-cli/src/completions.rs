//! `zot completions` and `zot man`, generated from the definitions of the commands.

use std::io::Write as _;

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, Parser};
use clap_complete::Shell;
use zot_sdk::credentials::Credentials;
use zot_sdk::models;

use crate::failure::Failure;
use crate::subcommands;

/// Print a completion script for a shell
#[derive(Parser)]
#[command(
    name = "zot completions",
    bin_name = "zot completions",
    after_help = "bash: zot completions bash > ~/.local/share/bash-completion/completions/zot\n\
                  zsh:  zot completions zsh > \"${fpath[1]}/_zot\"\n\
                  fish: zot completions fish > ~/.config/fish/completions/zot.fish\n\n\
                  The script completes today's providers and models: run it again after an update, or when \
                  providers.json or models.json has changed."
)]
pub(crate) struct CompletionArguments {
    /// The shell
    #[arg(value_parser = PossibleValuesParser::new(["bash", "zsh", "fish"]))]
    shell: String,
}

/// Print a manual page
#[derive(Parser)]
#[command(
    name = "zot man",
    bin_name = "zot man",
    after_help = "To read it: zot man | man -l -"
)]
pub(crate) struct ManArguments {
    /// Print the page of this command [default: that of zot]
    command: Option<String>,
}

pub(crate) fn completions(arguments: CompletionArguments) -> Result<(), Failure> {
    let shell = match arguments.shell.as_str() {
        "zsh" => Shell::Zsh,
        "fish" => Shell::Fish,
        _ => Shell::Bash,
    };
    let mut script = Vec::new();
    clap_complete::generate(
        shell,
        &mut with_names(subcommands::definition()),
        "zot",
        &mut script,
    );
    zot_terminal::stdout()
        .write_all(&script)
        .map_err(Failure::output)
}

pub(crate) fn manual(arguments: ManArguments) -> Result<(), Failure> {
    let program = subcommands::definition();
    let mut title = "zot".to_owned();
    let page = match &arguments.command {
        None => program,
        Some(name) => {
            let found = program.find_subcommand(name).ok_or_else(|| {
                Failure::usage(format!(
                    "unknown command {name:?}, expected one of {}",
                    subcommands::NAMES.join(", ")
                ))
            })?;
            title = format!("zot-{name}");
            found.clone().display_name(&title)
        }
    };
    let mut roff = Vec::new();
    clap_mangen::Man::new(page).title(title).render(&mut roff)?;
    zot_terminal::stdout()
        .write_all(&roff)
        .map_err(Failure::output)
}

/// Returns the definition with the names of providers and models as values.
fn with_names(program: Command) -> Command {
    // If the files cannot be read, everything else can still be completed.
    let Ok(credentials) = Credentials::open(None) else {
        return program;
    };
    let mut providers = credentials.providers();
    providers.extend(["offline", "replay"].map(str::to_owned));
    let mut models: Vec<String> = models::list(&credentials, None)
        .map(|list| {
            list.models
                .into_iter()
                .map(|model| model.id.into_owned())
                .collect()
        })
        .unwrap_or_default();
    models.sort();
    models.dedup();
    // Clap wants names that live forever; the process ends as soon as they are printed.
    let values =
        |names: Vec<String>| PossibleValuesParser::new(names.into_iter().map(|name| &*name.leak()));
    let (providers, models) = (values(providers), values(models));
    let with_values = |argument: Arg| match argument.get_id().as_str() {
        "provider" | "fallback" => argument.value_parser(providers.clone()),
        "model" => argument.value_parser(models.clone()),
        _ => argument,
    };
    program
        .mut_args(with_values)
        .mut_subcommands(|subcommand| subcommand.mut_args(with_values))
}
