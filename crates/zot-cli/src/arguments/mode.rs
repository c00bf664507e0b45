//! What `zot` is started for.

use std::env;
use std::io::{self, IsTerminal as _};

use clap::Args;

use super::Arguments;
use super::resume::Resume;
use super::values;
use zot_sdk::context::PromptDraft;
use zot_sdk::doctor::Depth;

use crate::failure::Failure;
use crate::prompt_input::{self, StandardInput};
use crate::warn;

/// The words that are commands when they come first.
const COMMANDS: [&str; 13] = [
    "rpc",
    "doctor",
    "ext",
    "cassette",
    "config",
    "login",
    "logout",
    "auth",
    "completions",
    "man",
    "context",
    "skills",
    "sessions",
];

#[derive(Args)]
pub(super) struct ModeArguments {
    /// Print the final answer only (of -p, --json and --rpc the last one counts)
    #[arg(short, long, overrides_with_all = ["json", "rpc"])]
    print: bool,
    /// Print one event per line as JSON
    #[arg(long, overrides_with_all = ["print", "rpc"])]
    pub(super) json: bool,
    /// Serve the rpc protocol on standard input and output (same as `zot rpc`)
    #[arg(long, overrides_with_all = ["print", "json"])]
    rpc: bool,
    /// Do not read standard input: for -p and --json in `while read` loops and cron jobs
    #[arg(short, long)]
    pub(super) no_stdin: bool,
    /// List the known models and their prices
    #[arg(long)]
    list_models: bool,
    /// With --list-models: ask the providers for their models first
    #[arg(long, requires = "list_models")]
    pub(super) refresh: bool,
}

#[derive(Args)]
pub(super) struct DoctorArguments {
    /// With `zot doctor`: show which hosts would be contacted
    #[arg(long)]
    network: bool,
    /// With `zot doctor`: try to reach them, without sending a request
    #[arg(long)]
    probe: bool,
}

/// What `zot` was started for.
pub(crate) enum Mode {
    Rpc,
    /// In the terminal.
    Chat {
        prompt: Option<String>,
        /// Which conversation to go on with is to be picked first.
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

impl Arguments {
    pub(crate) fn mode(&mut self) -> Result<Mode, Failure> {
        if self.experimental_oauth {
            warn(&["--experimental-oauth changes nothing: `zot login` needs no flag"]);
        }
        if let Some(cwd) = &self.cwd {
            values::check_directory(cwd)?;
        }
        if self.mode.list_models {
            return Ok(Mode::ListModels);
        }
        self.settle_resumption()?;
        let mode = self.wanted_mode()?;
        if self.mode.no_stdin && matches!(mode, Mode::Rpc) {
            return Err(Failure::usage(
                "--no-stdin leaves standard input alone, but rpc reads its commands from it"
                    .to_owned(),
            ));
        }
        Ok(mode)
    }

    fn wanted_mode(&mut self) -> Result<Mode, Failure> {
        let at_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
        // As the first argument the word is a command, not a prompt that someone pays for.
        let command = env::args()
            .nth(1)
            .filter(|word| COMMANDS.contains(&word.as_str()));
        if command.as_deref() == Some("context") && !self.mode.print {
            return match self.words.get(1) {
                None => Ok(Mode::Context),
                Some(word) => Err(Failure::usage(format!(
                    "context takes no prompt ({word:?}): it shows what comes before one"
                ))),
            };
        }
        let is_doctor = command.as_deref() == Some("doctor");
        if let (Some(command), true) = (command, self.mode.print || self.mode.json && !is_doctor) {
            return Err(Failure::usage(format!(
                "{command} cannot be combined with -p or --json"
            )));
        }
        if self.mode.json && !is_doctor {
            self.pick_session()?;
            let prompt = self.prompt()?;
            return Ok(Mode::Json { prompt });
        }
        if self.mode.print {
            self.pick_session()?;
            let prompt = self.prompt()?;
            return Ok(Mode::Print { prompt });
        }
        let is_rpc = self.mode.rpc || self.words.first().is_some_and(|word| word == "rpc");
        if self.session.resumes == Resume::Pick && (is_rpc || !at_terminal) {
            return Err(self.unnamed_session());
        }
        match self.words.as_slice() {
            [] if self.mode.rpc => Ok(Mode::Rpc),
            [word] if word == "rpc" => Ok(Mode::Rpc),
            [word] if word == "doctor" => Ok(Mode::Doctor(match (self.doctor.network, self.doctor.probe) {
                (_, true) => Depth::Probe,
                (true, false) => Depth::Network,
                (false, false) => Depth::Configuration,
            })),
            [first, second, ..] if first == "rpc" || self.mode.rpc => Err(Failure::usage(format!(
                "rpc takes no prompt on the command line ({second:?}): send it as a prompt command"
            ))),
            words if at_terminal && words.iter().any(|word| word == "-") => {
                Err(Failure::usage(
                    "the word - stands for standard input, which is the chat's keyboard: use it \
                     with -p or --json"
                        .to_owned(),
                ))
            }
            words if at_terminal => Ok(Mode::Chat {
                prompt: (!words.is_empty()).then(|| words.join(" ")),
                picks_session: self.session.resumes == Resume::Pick,
            }),
            [word, ..] => Err(Failure::usage(format!(
                "{word:?} is not a command ({}); to run a prompt use -p PROMPT for the answer or \
                 --json PROMPT for events (the chat needs a terminal)",
                COMMANDS.join(", ")
            ))),
            [] => Err(Failure::usage(
                "the chat needs a terminal: use -p PROMPT for the answer, --json PROMPT for events, \
                 or rpc; see --help"
                    .to_owned(),
            )),
        }
    }

    /// The words of the command line and what is piped in.
    fn prompt(&self) -> Result<PromptDraft, Failure> {
        let stdin = match self.mode.no_stdin {
            true => StandardInput::LeaveAlone,
            false => StandardInput::Read,
        };
        prompt_input::read(&self.words, stdin)
    }
}
