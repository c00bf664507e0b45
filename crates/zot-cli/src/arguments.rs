//! The command line: a group of flags for each group of [`Config`].

mod budget;
mod context;
mod extensions;
mod first_word;
mod heading;
mod help;
mod mcp;
mod mode;
mod model;
mod recording;
mod resume;
mod sandbox;
mod serving;
mod session;
mod system_prompt;
mod tools;
mod values;

use std::env;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgAction, CommandFactory as _, FromArgMatches as _, Parser};
use zot_sdk::{Config, Persistence, StepLimit};

use crate::failure::Failure;

use budget::BudgetArguments;
use context::ContextArguments;
use extensions::ExtensionArguments;
use mcp::McpArguments;
pub(crate) use mode::Mode;
use mode::{DoctorArguments, ModeArguments, RunCommand, StreamArguments};
use model::ModelArguments;
use recording::RecordingArguments;
use resume::Positions;
pub(crate) use sandbox::SandboxArguments;
pub(crate) use serving::ServingArguments;
use session::SessionArguments;
use system_prompt::SystemPromptArguments;
use tools::ToolArguments;
pub(crate) use values::check_directory;

/// An agent for the terminal, for scripts and for other programs.
#[derive(Parser)]
#[command(
    name = "zot",
    version = env!("ZOT_BUILD_VERSION"),
    disable_version_flag = true,
    disable_help_flag = true,
    // A script may append an option that an alias has set already: the last one counts.
    args_override_self = true,
    override_usage = "zot [OPTIONS] [PROMPT…]\n       zot COMMAND …"
)]
pub(crate) struct Arguments {
    /// What to do. @PATH attaches a file or directory, /NAME at the start is a prompt template, piped
    /// text is added at the end or in place of the word -
    #[arg(value_name = "PROMPT")]
    words: Vec<String>,
    // The order of the headings in the help.
    #[command(flatten)]
    mode: ModeArguments,
    #[command(flatten)]
    model: ModelArguments,
    /// How hard a reasoning model thinks
    #[arg(long, value_name = "EFFORT", ignore_case = true, value_parser = values::efforts(), help_heading = heading::COMMON, display_order = 7)]
    reasoning: Option<String>,
    /// Work in this directory [default: the current one]
    #[arg(long, value_name = "DIR", value_parser = values::path(), help_heading = heading::COMMON, display_order = 8)]
    cwd: Option<PathBuf>,
    #[command(flatten)]
    tools: ToolArguments,
    #[command(flatten)]
    system_prompt: SystemPromptArguments,
    #[command(flatten)]
    context: ContextArguments,
    #[command(flatten)]
    session: SessionArguments,
    #[command(flatten)]
    streams: StreamArguments,
    /// The most model calls for one prompt
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = heading::LIMITS)]
    max_steps: Option<u32>,
    #[command(flatten)]
    budget: BudgetArguments,
    #[command(flatten)]
    extensions: ExtensionArguments,
    #[command(flatten)]
    mcp: McpArguments,
    #[command(flatten)]
    recording: RecordingArguments,
    #[command(flatten)]
    doctor: DoctorArguments,
    /// Accepted for old scripts
    #[arg(long, hide = true)]
    experimental_oauth: bool,
    /// Print help: -h the common options, --help all
    #[arg(short, long, action = ArgAction::Help, help_heading = heading::OTHER)]
    help: Option<bool>,
    /// Print the version
    #[arg(short = 'v', long, visible_short_alias = 'V', action = ArgAction::Version, help_heading = heading::OTHER)]
    version: Option<bool>,
    /// The value of `ZOTCORE_RPC_TOKEN`.
    #[arg(skip)]
    rpc_token: Option<OsString>,
    #[arg(skip)]
    positions: Positions,
    /// Values of `--resume` that are words of the prompt.
    #[arg(skip)]
    resumed_words: Vec<String>,
    /// Whether all words follow `--`, so that none is a subcommand.
    #[arg(skip)]
    is_marked_prompt: bool,
}

/// Output of clap: help, the version, or an error.
pub(crate) struct Shown(pub(crate) clap::Error);

impl From<clap::Error> for Shown {
    fn from(error: clap::Error) -> Self {
        Self(error)
    }
}

impl Shown {
    pub(crate) fn exit(self) -> ExitCode {
        let text = self.0.render().to_string();
        // It repeats words of the command line, which may be file names with control characters.
        let _ = match self.0.use_stderr() {
            true => zot_terminal::stderr().write_all(text.as_bytes()),
            false => zot_terminal::stdout().write_all(text.as_bytes()),
        };
        ExitCode::from(u8::try_from(self.0.exit_code()).unwrap_or(2))
    }
}

impl Arguments {
    pub(crate) fn read() -> Result<Self, Shown> {
        // First, in every mode: neither child processes nor other programs may see it.
        let rpc_token = zot_process::take_secret("ZOTCORE_RPC_TOKEN");
        let mut command = Self::command();
        if let Some(subcommand) = RunCommand::of_first_argument() {
            command = command.override_usage(format!("zot {} [OPTIONS]", subcommand.name()));
        }
        let matches = match command.try_get_matches_from(arguments()) {
            Err(shown) if shown.kind() == ErrorKind::DisplayHelp => return Err(help::help(shown)),
            parsed => parsed?,
        };
        let mut arguments = Self::from_arg_matches(&matches)?;
        arguments.rpc_token = rpc_token;
        arguments.unset_empty();
        arguments.note_positions(&matches);
        arguments.is_marked_prompt = is_marked_prompt(arguments.words.len());
        Ok(arguments)
    }

    /// Unsets empty values, which mean "not given", as in the original.
    fn unset_empty(&mut self) {
        self.model.unset_empty();
        values::unset_empty_path(&mut self.cwd);
        self.system_prompt.unset_empty();
        values::unset_empty(&mut self.reasoning);
        self.tools.unset_empty();
        self.session.unset_empty();
        self.extensions.unset_empty();
        self.mcp.unset_empty();
    }

    /// Returns the configuration of the command line; `persistence` applies if no flag names a
    /// session.
    pub(crate) fn config(self, persistence: Persistence) -> Config {
        Config {
            model: self.model.into(),
            cwd: self.cwd,
            system_prompt: self.system_prompt.into(),
            reasoning: self.reasoning.as_deref().and_then(|name| name.parse().ok()),
            steps: StepLimit {
                max_steps: self.max_steps,
                ..StepLimit::default()
            },
            tools: self.tools.into(),
            budget: self.budget.into(),
            session: self.session.choice(persistence),
            recording: self.recording.into(),
            extensions: self.extensions.into(),
            mcp: self.mcp.into(),
            context: self.context.into(),
            ..Config::default()
        }
    }

    /// Returns whether the command line sets the time to wait for a confirmation.
    pub(crate) fn has_confirm_timeout(&self) -> bool {
        self.tools.permissions.confirm_timeout.is_some()
    }

    pub(crate) fn is_json(&self) -> bool {
        self.mode.json
    }

    /// Takes the shared secret of the pipe. A secret that no client could send is an error.
    pub(crate) fn take_rpc_token(&mut self) -> Result<Option<String>, Failure> {
        let Some(token) = self.rpc_token.take().filter(|token| !token.is_empty()) else {
            return Ok(None);
        };
        token.into_string().map(Some).map_err(|_| {
            Failure::usage("ZOTCORE_RPC_TOKEN is not UTF-8, so no client could send it")
        })
    }

    pub(crate) fn refresh(&self) -> bool {
        self.mode.refresh
    }

    pub(crate) fn provider(&self) -> Option<&str> {
        self.model.provider.as_deref()
    }
}

/// Returns whether as many words as there are follow `--`.
fn is_marked_prompt(words: usize) -> bool {
    let arguments: Vec<OsString> = arguments().collect();
    let mark = arguments.iter().position(|argument| argument == "--");
    mark.is_some_and(|mark| arguments.len() - mark - 1 == words)
}

/// Returns the command line, with the name of the program first.
fn arguments() -> impl Iterator<Item = OsString> {
    env::args_os().map(|argument| match argument.to_str() {
        // The original's short form, which clap would take for --no-stdin --continue.
        Some("-nc") => "--no-context-files".into(),
        _ => argument,
    })
}
