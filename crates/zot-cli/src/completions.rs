//! `zot completions` and `zot man`, generated from the definitions of the commands.

use std::io::Write as _;

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, Parser};
use clap_complete::Shell;
use zot_sdk::credentials::Credentials;
use zot_sdk::{VERSION, models};

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
    let names = Names::load();
    let mut script = Vec::new();
    let mut program = names.add_to(without_words(&subcommands::definition()));
    clap_complete::generate(shell, &mut program, "zot", &mut script);
    if shell == Shell::Fish {
        script = names.complete_for_fish(&String::from_utf8_lossy(&script));
    }
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

/// Returns the definition without free words: zsh would complete them in place of subcommands and
/// providers.
fn without_words(program: &Command) -> Command {
    let is_words = |argument: &Arg| ["words", "surplus"].contains(&argument.get_id().as_str());
    let copied = |name: &'static str, command: &Command| {
        let arguments = || command.get_arguments();
        Command::new(name)
            .about(command.get_about().cloned().unwrap_or_default())
            .disable_help_flag(arguments().any(|argument| argument.get_id() == "help"))
            .disable_version_flag(true)
            .version(VERSION)
            .args(arguments().filter(|argument| !is_words(argument)).cloned())
    };
    let subcommands = subcommands::NAMES.iter().filter_map(|name| {
        let command = program.find_subcommand(name)?;
        Some(match command.get_arguments().any(is_words) {
            true => copied(name, command),
            false => command.clone(),
        })
    });
    copied("zot", program)
        .disable_help_subcommand(true)
        .subcommands(subcommands)
}

/// The names of providers and models.
struct Names {
    providers: Vec<&'static str>,
    models: Vec<&'static str>,
}

impl Names {
    fn load() -> Self {
        // If the files cannot be read, everything else can still be completed.
        let Ok(credentials) = Credentials::open(None) else {
            return Self {
                providers: Vec::new(),
                models: Vec::new(),
            };
        };
        let mut providers = credentials.providers();
        providers.extend(["offline", "replay"].map(str::to_owned));
        let mut models: Vec<String> = models::list(&credentials, None)
            .map(|list| {
                let models = list.models.into_iter();
                models.map(|model| model.id.into_owned()).collect()
            })
            .unwrap_or_default();
        models.sort();
        models.dedup();
        // Clap wants names that live forever; the process ends as soon as they are printed.
        let leaked = |names: Vec<String>| names.into_iter().map(|name| &*name.leak()).collect();
        Self {
            providers: leaked(providers),
            models: leaked(models),
        }
    }

    /// Adds the names as values of arguments.
    fn add_to(&self, program: Command) -> Command {
        let values = |names: &Vec<&'static str>| PossibleValuesParser::new(names.iter().copied());
        let with_values = |argument: Arg| match argument.get_id().as_str() {
            "provider" | "fallback" => argument.value_parser(values(&self.providers)),
            "model" => argument.value_parser(values(&self.models)),
            _ => argument,
        };
        program
            .mut_args(with_values)
            .mut_subcommands(|subcommand| subcommand.mut_args(with_values))
    }

    /// Adds what clap's script for fish lacks: values of options before a subcommand, and of
    /// arguments.
    fn complete_for_fish(&self, script: &str) -> Vec<u8> {
        // The option whose value is being completed lacks it, so parsing fails.
        let script = script.replacen("2>/dev/null\n    or return\n", "2>/dev/null\n", 1);
        let providers = self.providers.join(" ");
        let arguments = ["login", "logout"].map(|name| {
            format!(
                "complete -c zot -n \"__fish_zot_using_subcommand {name}\" -f -a \"{providers}\"\n"
            )
        });
        (script + &arguments.concat()).into_bytes()
    }
}
