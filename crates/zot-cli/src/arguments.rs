//! The command line: a group of flags for each group of [`Config`].

mod budget;
mod context;
mod extensions;
mod mode;
mod model;
mod recording;
mod resume;
mod session;
mod system_prompt;
mod tools;
mod values;

use std::env;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgAction, CommandFactory as _, FromArgMatches as _, Parser};
use zot_sdk::{Config, Persistence, StepLimit};

use crate::failure::Failure;

use budget::BudgetArguments;
use context::ContextArguments;
use extensions::ExtensionArguments;
pub(crate) use mode::Mode;
use mode::{DoctorArguments, ModeArguments};
use model::ModelArguments;
use recording::RecordingArguments;
use resume::Positions;
use session::SessionArguments;
use system_prompt::SystemPromptArguments;
use tools::ToolArguments;

/// An agent that people embed, extend and watch.
#[derive(Parser)]
#[command(
    name = "zot",
    version = env!("ZOT_BUILD_VERSION"),
    disable_version_flag = true,
    // Scripts and aliases add flags to a command line that may have them already.
    args_override_self = true,
    override_usage = "zot [OPTIONS] [PROMPT…]\n       zot -p [OPTIONS] PROMPT…\n       zot --json [OPTIONS] PROMPT…\n       zot rpc [OPTIONS]\n       zot ext list|install|remove|enable|disable|logs|new|test|dev …\n       zot sessions list|show|search|export|import|fork|tree|undo|delete|stats …\n       zot cassette show|verify|redact|trim FILE\n       zot skills list|show|new …\n       zot login [PROVIDER] | logout [PROVIDER | --all] | auth status\n       zot config list|get|set|unset|path …\n       zot completions bash|zsh|fish | man [COMMAND]\n       zot context [--json] [OPTIONS]\n       zot doctor [--network | --probe] [--json] [OPTIONS]",
    after_help = "Without a key: zot -p --provider offline \"list the files here\"\n\
                  Exit codes: 0 done, 1 model or provider error, 2 usage, 129 hang-up, 130 interrupted, 143 terminated."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    mode: ModeArguments,
    #[command(flatten)]
    model: ModelArguments,
    /// The working directory
    #[arg(long, value_name = "DIR", value_parser = values::path())]
    cwd: Option<PathBuf>,
    #[command(flatten)]
    system_prompt: SystemPromptArguments,
    /// How hard a reasoning model thinks
    #[arg(long, value_name = "EFFORT", ignore_case = true, value_parser = values::efforts())]
    reasoning: Option<String>,
    /// The most model calls for one prompt
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_steps: Option<u32>,
    #[command(flatten)]
    tools: ToolArguments,
    #[command(flatten)]
    budget: BudgetArguments,
    #[command(flatten)]
    doctor: DoctorArguments,
    #[command(flatten)]
    session: SessionArguments,
    #[command(flatten)]
    recording: RecordingArguments,
    #[command(flatten)]
    extensions: ExtensionArguments,
    #[command(flatten)]
    context: ContextArguments,
    /// Accepted for old scripts
    #[arg(long, hide = true)]
    experimental_oauth: bool,
    /// Print the version
    #[arg(short = 'v', long, visible_short_alias = 'V', action = ArgAction::Version)]
    version: Option<bool>,

    /// What to do: @PATH attaches a file or directory, /NAME at the start is a prompt template; piped
    /// text is added. A word - stands for standard input and waits for its end
    #[arg(value_name = "PROMPT")]
    words: Vec<String>,

    /// The value of `ZOTCORE_RPC_TOKEN`.
    #[arg(skip)]
    rpc_token: Option<OsString>,
    #[arg(skip)]
    positions: Positions,
    /// Values of --resume that are words of the prompt.
    #[arg(skip)]
    resumed_words: Vec<String>,
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
        // The words of the command line are repeated in it, and may be names of files.
        let _ = match self.0.use_stderr() {
            true => zot_terminal::stderr().write_all(text.as_bytes()),
            false => zot_terminal::stdout().write_all(text.as_bytes()),
        };
        ExitCode::from(u8::try_from(self.0.exit_code()).unwrap_or(2))
    }
}

impl Arguments {
    pub(crate) fn read() -> Result<Self, Shown> {
        // First, in every mode: neither child processes nor anyone inspecting this one may see it.
        let rpc_token = zot_process::take_secret("ZOTCORE_RPC_TOKEN");
        let matches = Self::command().try_get_matches_from(arguments())?;
        let mut arguments = Self::from_arg_matches(&matches)?;
        arguments.rpc_token = rpc_token;
        arguments.unset_empty();
        arguments.note_positions(&matches);
        Ok(arguments)
    }

    /// As in the original, an empty value means not given.
    fn unset_empty(&mut self) {
        self.model.unset_empty();
        values::unset_empty_path(&mut self.cwd);
        self.system_prompt.unset_empty();
        values::unset_empty(&mut self.reasoning);
        self.tools.unset_empty();
        self.session.unset_empty();
        self.extensions.unset_empty();
    }

    /// Returns what the command line asks for; `persistence` applies where no flag is about sessions.
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
            context: self.context.into(),
            ..Config::default()
        }
    }

    /// Returns whether the wait for confirmations was given.
    pub(crate) fn has_confirm_timeout(&self) -> bool {
        self.tools.confirm_timeout.is_some()
    }

    pub(crate) fn is_json(&self) -> bool {
        self.mode.json
    }

    /// Takes the shared secret of the pipe. One that no client could send is an error, not the same as
    /// none.
    pub(crate) fn take_rpc_token(&mut self) -> Result<Option<String>, Failure> {
        let Some(token) = self.rpc_token.take().filter(|token| !token.is_empty()) else {
            return Ok(None);
        };
        token.into_string().map(Some).map_err(|_| {
            Failure::usage("ZOTCORE_RPC_TOKEN is not UTF-8: no client could send it".to_owned())
        })
    }

    pub(crate) fn refresh(&self) -> bool {
        self.mode.refresh
    }

    pub(crate) fn provider(&self) -> Option<&str> {
        self.model.provider.as_deref()
    }
}

/// What follows the name of the program.
fn arguments() -> impl Iterator<Item = OsString> {
    env::args_os().map(|argument| match argument.to_str() {
        // The original's short form. Taken apart it would mean --no-stdin --continue.
        Some("-nc") => "--no-context-files".into(),
        _ => argument,
    })
}
