//! Decides what the command line starts: a subcommand, one prompt or the chat.

use std::env;
use std::io::{self, IsTerminal as _};

use clap::Args;

use super::first_word::intended_command;
use super::resume::Resume;
use super::{Arguments, heading, values};
use zot_sdk::context::PromptDraft;
use zot_sdk::doctor::Depth;

use crate::failure::Failure;
use crate::prompt_input::{self, StandardInput};
use crate::{subcommands, warn};

#[derive(Args)]
#[command(next_help_heading = heading::MODEL)]
pub(super) struct ModeArguments {
    /// Print the answer to a prompt and exit
    #[arg(short, long, overrides_with_all = ["json", "rpc"], help_heading = heading::COMMON, display_order = 1)]
    print: bool,
    /// Like -p, but print every event as a line of JSON
    #[arg(long, overrides_with_all = ["print", "rpc"], help_heading = heading::COMMON, display_order = 2)]
    pub(super) json: bool,
    /// List the known models with their prices
    #[arg(long)]
    list_models: bool,
    /// With --list-models: first ask the providers which models they have
    #[arg(long, requires = "list_models")]
    pub(super) refresh: bool,
}

#[derive(Args)]
#[command(next_help_heading = heading::STREAMS)]
pub(super) struct StreamArguments {
    /// Do not read standard input: for -p and --json in `while read` loops and cron jobs
    #[arg(short, long)]
    pub(super) no_stdin: bool,
    /// The same as `zot rpc`
    #[arg(long, overrides_with_all = ["print", "json"])]
    rpc: bool,
}

/// The options of `zot doctor`.
#[derive(Args)]
#[command(next_help_heading = heading::DOCTOR)]
pub(super) struct DoctorArguments {
    /// Also show which hosts a run would contact, and which ones commands in a sandbox asked for
    #[arg(long)]
    network: bool,
    /// Also try to reach these hosts, without sending a request
    #[arg(long)]
    probe: bool,
}

/// What `zot` was started for.
pub(crate) enum Mode {
    Rpc,
    /// In the terminal.
    Chat {
        prompt: Option<String>,
        /// Whether the user first picks the session to continue.
        picks_session: bool,
    },
    Print {
        prompt: PromptDraft,
    },
    Json {
        prompt: PromptDraft,
    },
    Context,
    ListModels,
    Doctor(Depth),
}

/// A subcommand that takes the options of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RunCommand {
    Rpc,
    Context,
    Doctor,
}

impl RunCommand {
    fn named(word: &str) -> Option<Self> {
        match word {
            "rpc" => Some(Self::Rpc),
            "context" => Some(Self::Context),
            "doctor" => Some(Self::Doctor),
            _ => None,
        }
    }

    pub(super) fn of_first_argument() -> Option<Self> {
        let first = env::args_os().nth(1)?;
        Self::named(first.to_str()?)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Rpc => "rpc",
            Self::Context => "context",
            Self::Doctor => "doctor",
        }
    }
}

impl Arguments {
    pub(crate) fn mode(&mut self) -> Result<Mode, Failure> {
        if self.experimental_oauth {
            warn(&["--experimental-oauth has no effect: `zot login` needs no flag"]);
        }
        if let Some(cwd) = &self.cwd {
            values::check_directory(cwd)?;
        }
        if self.mode.list_models {
            return Ok(Mode::ListModels);
        }
        self.resolve_resume()?;
        if let Some(command) = self.run_command() {
            let words = self.words.get(1..).unwrap_or_default();
            return self.command_mode(command, words);
        }
        if self.streams.rpc {
            return self.command_mode(RunCommand::Rpc, &self.words);
        }
        if self.mode.json || self.mode.print {
            self.pick_session()?;
            let prompt = self.prompt()?;
            return Ok(match self.mode.json {
                true => Mode::Json { prompt },
                false => Mode::Print { prompt },
            });
        }
        self.chat_mode()
    }

    /// Returns the subcommand: the first argument, or the first word of a command line that does
    /// not ask for the answer to a prompt.
    fn run_command(&self) -> Option<RunCommand> {
        let takes_prompt = self.mode.print || self.mode.json || self.is_marked_prompt;
        RunCommand::of_first_argument().or_else(|| match self.words.first() {
            Some(word) if !takes_prompt => RunCommand::named(word),
            _ => None,
        })
    }

    /// Returns the mode of a subcommand; `words` follow its name.
    fn command_mode(&self, command: RunCommand, words: &[String]) -> Result<Mode, Failure> {
        let name = command.name();
        if self.mode.print || self.mode.json && command == RunCommand::Rpc {
            return Err(Failure::usage(format!(
                "{name} cannot be combined with -p or --json"
            )));
        }
        if let Some(word) = words.first() {
            let hint = match command {
                RunCommand::Rpc => ": send a prompt as a command on standard input",
                RunCommand::Context | RunCommand::Doctor => "",
            };
            return Err(Failure::usage(format!(
                "unexpected argument {word:?}: zot {name} takes only options{hint}"
            )));
        }
        match command {
            RunCommand::Context => Ok(Mode::Context),
            RunCommand::Doctor => Ok(Mode::Doctor(
                match (self.doctor.network, self.doctor.probe) {
                    (_, true) => Depth::Probe,
                    (true, false) => Depth::Network,
                    (false, false) => Depth::Configuration,
                },
            )),
            RunCommand::Rpc if self.session.resumes == Resume::Pick => Err(self.unnamed_session()),
            RunCommand::Rpc if self.streams.no_stdin => Err(Failure::usage(
                "--no-stdin cannot be combined with rpc, which reads commands from standard input",
            )),
            RunCommand::Rpc => Ok(Mode::Rpc),
        }
    }

    fn chat_mode(&self) -> Result<Mode, Failure> {
        let at_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
        let picks_session = self.session.resumes == Resume::Pick;
        if picks_session && !at_terminal {
            return Err(self.unnamed_session());
        }
        if !self.is_marked_prompt {
            let prefix = if at_terminal { "zot --" } else { "zot -p" };
            self.check_first_word(prefix)?;
        }
        match self.words.as_slice() {
            words if at_terminal && words.iter().any(|word| word == "-") => Err(Failure::usage(
                "the word - stands for standard input, which is the keyboard here: use it with -p or \
                 --json",
            )),
            words if at_terminal => Ok(Mode::Chat {
                prompt: (!words.is_empty()).then(|| words.join(" ")),
                picks_session,
            }),
            [word, ..] => Err(Failure::usage(format!(
                "{word:?} is not a command ({}); to run a prompt, use -p PROMPT for the answer or \
                 --json PROMPT for events (the chat needs a terminal)",
                subcommands::NAMES.join(", ")
            ))),
            [] => Err(Failure::usage(
                "the chat needs a terminal: use -p PROMPT for the answer, --json PROMPT for events, \
                 or rpc; see zot --help",
            )),
        }
    }

    /// Fails if the prompt is probably meant as a subcommand; after `prefix` it would be sent.
    fn check_first_word(&self, prefix: &str) -> Result<(), Failure> {
        let (Some(command), Some(word)) = (intended_command(&self.words), self.words.first())
        else {
            return Ok(());
        };
        let problem = match subcommands::is_known(word) {
            true => format!("the command must come before the options: try `{command}`"),
            false => format!("{word:?} is not a command: try `{command}`"),
        };
        let prompt = self.words.join(" ");
        Err(Failure::usage(format!(
            "{problem}, or `{prefix} {prompt}` to send it as a prompt"
        )))
    }

    /// Returns the words of the command line and what is piped in.
    fn prompt(&self) -> Result<PromptDraft, Failure> {
        let stdin = match self.streams.no_stdin {
            true => StandardInput::Ignore,
            false => StandardInput::Read,
        };
        prompt_input::read(&self.words, stdin)
    }
}
