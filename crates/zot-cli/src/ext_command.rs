//! `zot ext`: installs, lists, tests and creates extensions.

mod dev;
mod install;
mod list;
mod logs;
pub(crate) mod permissions;
mod test;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use zot_sdk::Workspace;
use zot_sdk::extensions::store::{OnConflict, Store, Switch, Switched};
use zot_sdk::extensions::{self, Foundation, Starting};

use crate::command::interruptible;
use crate::consent::Consent;
use crate::failure::Failure;
use crate::output::{Format, print_line};

/// Install, list, create and test extensions
#[derive(Parser)]
#[command(
    name = "zot ext",
    bin_name = "zot ext",
    after_help = "Without a command: list.\n\
                  An extension is a program that adds tools and commands, or watches and intercepts events.\n\
                  Extensions are found in ./.zot/extensions (project) and $ZOT_HOME/extensions (global); if two have \
                  the same name, the project's wins.\n\n\
                  To write one:    zot ext new hello --lang python && zot ext dev hello\n\
                  To check it:     zot ext test hello\n\
                  To use it:       zot ext install hello\n\n\
                  Exit codes: 0 done, 1 failed, 2 usage, 129 hang-up, 130 interrupted, 143 terminated."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand)]
enum Action {
    /// List the extensions found from here, with their state, permissions, commands and tools
    List {
        /// Do not start enabled extensions to learn their commands and tools
        #[arg(long)]
        no_start: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Install an extension from a directory or a git remote into $ZOT_HOME/extensions
    Install {
        /// A directory with an extension.json, or a URL: https://host/name.git, git@host:name.git@v1.2
        #[arg(value_name = "PATH | GIT-URL[@REF]")]
        origin: String,
        /// Accept the requested permissions without asking (without a terminal, zot never asks)
        #[arg(long, short)]
        yes: bool,
        /// Replace an installed extension of the same name
        #[arg(long)]
        force: bool,
    },
    /// Delete an installed extension
    #[command(alias = "rm")]
    Remove {
        /// The name of the extension
        name: String,
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
    /// Enable an installed extension, so that it starts with zot
    Enable {
        /// The name of the extension
        name: String,
    },
    /// Disable an installed extension without removing it
    Disable {
        /// The name of the extension
        name: String,
    },
    /// Show what an extension wrote to standard error
    Logs {
        /// The name of the extension
        name: String,
        /// Keep printing new lines until Ctrl-C
        #[arg(long, short)]
        follow: bool,
        /// Show only the last N lines
        #[arg(long, short = 'n', value_name = "N")]
        lines: Option<usize>,
    },
    /// Create a working extension with a test
    New {
        /// The name of the extension
        name: String,
        /// The language to write it in
        #[arg(long)]
        lang: Language,
        /// Leave out zot's SDK, which Python and TypeScript extensions otherwise get a copy of
        #[arg(long)]
        plain: bool,
        /// The directory to create instead of ./NAME
        #[arg(long, value_name = "PATH")]
        dir: Option<PathBuf>,
    },
    /// Test everything an extension registers
    Test {
        /// The extension's directory
        path: PathBuf,
        /// How long a tool may take
        #[arg(long, value_name = "SECONDS", default_value_t = 60)]
        timeout: u64,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Run an extension, restart it when its files change, and send it input by hand
    #[command(
        after_help = "Lines of standard input:\n  /command args       invokes a command\n  \
                            tool NAME {\"a\": 1}   calls a tool; NAME is optional if there is only one\n  \
                            panel KEY           sends a key to the open panel (up, down, enter, esc, a letter …)"
    )]
    Dev {
        /// The extension's directory
        path: PathBuf,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Language {
    Rust,
    Python,
    Typescript,
    Shell,
}

impl Language {
    fn of_sdk(self) -> extensions::Language {
        match self {
            Self::Rust => extensions::Language::Rust,
            Self::Python => extensions::Language::Python,
            Self::Typescript => extensions::Language::TypeScript,
            Self::Shell => extensions::Language::Shell,
        }
    }
}

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let workspace = &Workspace::of_process();
    let withheld = zot_sdk::withheld_variables(&workspace.zot_home);
    let store = Store::new(&workspace.zot_home).withholding(withheld);
    let action = arguments.action.unwrap_or(Action::List {
        no_start: false,
        json: false,
    });
    match action {
        Action::List { no_start, json } => {
            let starting = match no_start {
                true => Starting::Skip,
                false => Starting::Enabled,
            };
            interruptible(|| list::run(workspace, starting, Format::of(json)))
        }
        Action::Install { origin, yes, force } => {
            let on_conflict = match force {
                true => OnConflict::Replace,
                false => OnConflict::Refuse,
            };
            interruptible(|| install::run(&store, &origin, Consent::of(yes), on_conflict))
        }
        Action::Remove { name, yes } => interruptible(|| remove(&store, name, Consent::of(yes))),
        Action::Enable { name } => switch(&store, &name, Switch::On),
        Action::Disable { name } => switch(&store, &name, Switch::Off),
        Action::Logs {
            name,
            follow,
            lines,
        } => {
            let until = match follow {
                true => logs::Until::Interrupted,
                false => logs::Until::End,
            };
            logs::run(workspace, &name, until, lines)
        }
        Action::New {
            name,
            lang,
            plain,
            dir,
        } => {
            let foundation = match plain {
                true => Foundation::Protocol,
                false => Foundation::Sdk,
            };
            let directory = dir.unwrap_or_else(|| PathBuf::from(&name));
            create(&name, lang, foundation, &directory)
        }
        Action::Test {
            path,
            timeout,
            json,
        } => interruptible(|| test::run(&path, Duration::from_secs(timeout), Format::of(json))),
        Action::Dev { path } => interruptible(|| dev::run(workspace, &path)),
    }
}

fn create(
    name: &str,
    language: Language,
    foundation: Foundation,
    directory: &Path,
) -> Result<ExitCode, Failure> {
    let made = extensions::create(name, language.of_sdk(), foundation, directory)?;
    print_line(format_args!(
        "{name} is in {}. Next:",
        made.directory.display()
    ))?;
    for step in &made.next_steps {
        print_line(format_args!("  {step}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn remove(store: &Store, name: String, consent: Consent) -> Result<ExitCode, Failure> {
    let directory = store.directory_of(&name)?;
    let question = format!("remove {name} from {}?", directory.display());
    consent.obtain(&question, "not removed").await?;
    let directory = store.remove(&name)?;
    print_line(format_args!("{name} removed from {}", directory.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn switch(store: &Store, name: &str, switch: Switch) -> Result<ExitCode, Failure> {
    let state = match switch {
        Switch::On => "enabled",
        Switch::Off => "disabled",
    };
    match store.switch(name, switch)? {
        Switched::Changed => print_line(format_args!("{name} is {state}"))?,
        Switched::Already => print_line(format_args!("{name} is already {state}"))?,
        Switched::Forgotten(error) => print_line(format_args!(
            "{name} could not be loaded ({error}); prompts no longer wait for it"
        ))?,
    }
    Ok(ExitCode::SUCCESS)
}
