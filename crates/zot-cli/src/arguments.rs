//! The command line.

mod resume;
mod values;

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{ArgAction, CommandFactory as _, FromArgMatches as _, Parser};
use zot_sdk::context::PromptDraft;
use zot_sdk::doctor::Depth;
use zot_sdk::recordings::{ReplayMode, ReplayPace};
use zot_sdk::{
    ApprovalPolicy, ApprovalScope, Budget, Config, ContextSearch, Durability, ExtensionSearch,
    OpenAiWire, Persistence, Replay, Resumption, SessionOptions, SkillSearch, ToolDialect,
    ToolSelection,
};

use crate::failure::Failure;
use crate::prompt_input::{self, StandardInput};
use crate::warn;

use resume::{Positions, Resume};

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

/// An agent that people embed, extend and watch.
#[derive(Parser)]
#[command(
    name = "zot",
    version,
    disable_version_flag = true,
    // Scripts and aliases add flags to a command line that may have them already.
    args_override_self = true,
    override_usage = "zot [OPTIONS] [PROMPT…]\n       zot -p [OPTIONS] PROMPT…\n       zot --json [OPTIONS] PROMPT…\n       zot rpc [OPTIONS]\n       zot ext list|install|remove|enable|disable|logs|new|test|dev …\n       zot sessions list|show|search|export|import|fork|tree|undo|delete|stats …\n       zot cassette show|verify|redact|trim FILE\n       zot skills list|show|new …\n       zot login [PROVIDER] | logout [PROVIDER | --all] | auth status\n       zot config list|get|set|unset|path …\n       zot completions bash|zsh|fish | man [COMMAND]\n       zot context [--json] [OPTIONS]\n       zot doctor [--network | --probe] [--json] [OPTIONS]",
    after_help = "Without a key: zot -p --provider offline \"list the files here\"\n\
                  Exit codes: 0 done, 1 model or provider error, 2 usage, 129 hang-up, 130 interrupted, 143 terminated."
)]
pub(crate) struct Arguments {
    /// Print the final answer only (of -p, --json and --rpc the last one counts)
    #[arg(short, long, overrides_with_all = ["json", "rpc"])]
    print: bool,
    /// Print one event per line as JSON
    #[arg(long, overrides_with_all = ["print", "rpc"])]
    json: bool,
    /// Serve the rpc protocol on standard input and output (same as `zot rpc`)
    #[arg(long, overrides_with_all = ["print", "json"])]
    rpc: bool,
    /// Leave standard input alone: for -p and --json in `while read` loops and cron jobs
    #[arg(short, long)]
    no_stdin: bool,
    /// List the known models and their prices
    #[arg(long)]
    list_models: bool,
    /// With --list-models: ask the providers first which they have
    #[arg(long, requires = "list_models")]
    refresh: bool,

    /// anthropic, openai, openai-responses, gemini, deepseek, kimi, ollama, openrouter, groq, xai,
    /// mistral, together, fireworks, cerebras, lmstudio, vllm, offline, replay, or one of
    /// providers.json
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// The model's id; see --list-models
    #[arg(long, value_name = "ID")]
    model: Option<String>,
    /// Who goes on when the provider fails: provider/model, or a provider for its default model
    #[arg(long, value_name = "A/M,B", value_delimiter = ',')]
    fallback: Vec<String>,
    /// The provider's key, visible to all processes (better: its variable, or `zot login`)
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    api_key: Option<String>,
    /// A compatible server instead of the provider's own
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Which of OpenAI's two wires to use; without it, the one that the model needs
    #[arg(long, value_name = "WIRE", value_parser = PossibleValuesParser::new(OpenAiWire::NAMES))]
    wire: Option<String>,
    /// Where to work
    #[arg(long, value_name = "DIR", value_parser = values::path())]
    cwd: Option<PathBuf>,
    /// Replace the system prompt
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    system_prompt: Option<String>,
    /// Add to the system prompt (repeatable)
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    append_system_prompt: Vec<String>,
    /// How hard a reasoning model thinks
    #[arg(long, value_name = "EFFORT", ignore_case = true, value_parser = values::efforts())]
    reasoning: Option<String>,
    /// The most model calls for one prompt
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_steps: Option<u32>,
    /// Give the model no built-in tools, whatever --tools says; those of extensions stay (--no-ext)
    #[arg(long)]
    no_tools: bool,
    /// Give the model these built-in tools only; -NAME takes a tool away, also one of an extension
    #[arg(long, value_name = "A,-B", value_delimiter = ',', allow_hyphen_values = true, value_parser = tool_name)]
    tools: Option<Vec<String>>,
    /// How the model makes tool calls: its own way, or <tool_call> blocks in its text
    #[arg(long, value_name = "DIALECT", value_parser = PossibleValuesParser::new(["native", "hermes"]))]
    tool_dialect: Option<String>,
    /// Confine read, write, edit and bash to the working directory
    #[arg(long)]
    jail: bool,
    /// Ask before a tool runs, all tools or those named. With -p and --json nobody can be asked:
    /// these tools are refused
    #[arg(
        long,
        value_name = "A,B",
        value_delimiter = ',',
        num_args = 0..,
        require_equals = true
    )]
    confirm: Option<Vec<String>>,
    /// The same as --confirm for all tools
    #[arg(long)]
    no_yolo: bool,
    /// How long to wait for a confirmation before it counts as no [default: 300; 60 for an rpc client
    /// that has not said that it gives any]
    #[arg(long, value_name = "SECONDS")]
    confirm_timeout: Option<u64>,
    /// The most model calls this process may make
    #[arg(long, value_name = "N")]
    max_process_steps: Option<u64>,
    /// The most money this process may spend
    #[arg(long, value_name = "USD", value_parser = values::dollars)]
    max_cost_usd: Option<f64>,
    /// The most tokens this process may use
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    /// The longest this process may work
    #[arg(long, value_name = "MS")]
    timeout_ms: Option<u64>,
    /// With `zot doctor`: show which hosts would be contacted
    #[arg(long)]
    network: bool,
    /// With `zot doctor`: try to reach them, without sending a request
    #[arg(long)]
    probe: bool,
    /// Neither read nor write a session file, whatever else is said about sessions (rpc writes one
    /// only if asked to)
    #[arg(long, conflicts_with_all = ["fork", "durable"])]
    no_session: bool,
    /// Go on with the newest session of this directory
    #[arg(short, long = "continue")]
    continue_newest: bool,
    /// Go on with this session; the beginning of its id is enough. Without one: pick it from a list.
    /// What can be neither an id nor a path begins the prompt
    #[arg(short, long, value_name = "ID|PATH", num_args = 0..=1, action = ArgAction::Append)]
    resume: Option<Vec<String>>,
    /// Keep the conversation in this file: go on with what is in it, or make it. Comes before
    /// --continue, and that before --resume
    #[arg(long, value_name = "PATH", value_parser = values::path())]
    session: Option<PathBuf>,
    /// With --continue, --resume or --session: go on in a copy, and leave the original as it is
    #[arg(long)]
    fork: bool,
    /// Wait for the disk after every turn, so that a session survives a power failure
    #[arg(long)]
    durable: bool,
    /// Write all model exchanges to a cassette; FILE must not hold anything yet
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Answer from a cassette, without network or key (--provider replay)
    #[arg(long, value_name = "FILE")]
    cassette: Option<PathBuf>,
    /// strict: a request that differs from the recorded one fails; by-order: answer whatever is asked
    #[arg(long, value_name = "MODE", requires = "cassette", value_parser = PossibleValuesParser::new(["strict", "by-order"]))]
    replay_mode: Option<String>,
    /// Replay as fast as it was recorded, not at full speed
    #[arg(long, requires = "cassette")]
    realtime: bool,
    /// Load this extension, too (repeatable); it wins over an installed one of the same name
    #[arg(short, long, value_name = "DIR", value_parser = values::path())]
    ext: Vec<PathBuf>,
    /// Load no extensions but those of --ext
    #[arg(long, alias = "no-extensions", action = ArgAction::SetTrue)]
    no_ext: bool,
    /// Offer the skills of the project and the user, too, not only the built-in ones
    #[arg(long, alias = "with-skill")]
    with_skills: bool,
    /// Offer no skills and no `skill` tool, whatever --with-skills says
    #[arg(long, alias = "no-skills")]
    no_skill: bool,
    /// Do not read AGENTS.md, CLAUDE.md and .zot/instructions.md
    #[arg(long)]
    no_context_files: bool,
    /// Accepted for the sake of old scripts
    #[arg(long, hide = true)]
    experimental_oauth: bool,
    /// Print the version
    #[arg(short = 'v', long, visible_short_alias = 'V', action = ArgAction::Version)]
    version: Option<bool>,

    /// What to do: @PATH attaches a file or directory, /NAME at the beginning is a prompt template;
    /// text piped in is added. A word - waits for the end of standard input and stands for it
    #[arg(value_name = "PROMPT")]
    words: Vec<String>,

    /// What `ZOTCORE_RPC_TOKEN` said.
    #[arg(skip)]
    rpc_token: Option<OsString>,
    /// Which session to go on with, once that is settled.
    #[arg(skip)]
    resumes: Resume,
    #[arg(skip)]
    positions: Positions,
    /// Values of --resume that are words of the prompt.
    #[arg(skip)]
    resumed_words: Vec<String>,
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

/// Something clap has to say: help, the version, or what is wrong.
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
        // First of all, and in every mode: nothing that is started may see it, and nobody who looks
        // at the process.
        let rpc_token = zot_process::take_secret("ZOTCORE_RPC_TOKEN");
        let matches = Self::command().try_get_matches_from(arguments())?;
        let mut arguments = Self::from_arg_matches(&matches)?;
        arguments.rpc_token = rpc_token;
        arguments.unset_empty();
        arguments.note_positions(&matches);
        Ok(arguments)
    }

    pub(crate) fn mode(&mut self) -> Result<Mode, Failure> {
        if self.experimental_oauth {
            warn(&["--experimental-oauth changes nothing: `zot login` needs no flag"]);
        }
        if let Some(cwd) = &self.cwd {
            values::check_directory(cwd)?;
        }
        if self.list_models {
            return Ok(Mode::ListModels);
        }
        self.settle_resumption()?;
        let mode = self.wanted_mode()?;
        if self.no_stdin && matches!(mode, Mode::Rpc) {
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
        if command.as_deref() == Some("context") && !self.print {
            return match self.words.get(1) {
                None => Ok(Mode::Context),
                Some(word) => Err(Failure::usage(format!(
                    "context takes no prompt ({word:?}): it shows what comes before one"
                ))),
            };
        }
        let is_doctor = command.as_deref() == Some("doctor");
        if let (Some(command), true) = (command, self.print || self.json && !is_doctor) {
            return Err(Failure::usage(format!(
                "{command} cannot be combined with -p or --json"
            )));
        }
        if self.json && !is_doctor {
            self.pick_session()?;
            let prompt = self.prompt()?;
            return Ok(Mode::Json { prompt });
        }
        if self.print {
            self.pick_session()?;
            let prompt = self.prompt()?;
            return Ok(Mode::Print { prompt });
        }
        let is_rpc = self.rpc || self.words.first().is_some_and(|word| word == "rpc");
        if self.resumes == Resume::Pick && (is_rpc || !at_terminal) {
            return Err(self.unnamed_session());
        }
        match self.words.as_slice() {
            [] if self.rpc => Ok(Mode::Rpc),
            [word] if word == "rpc" => Ok(Mode::Rpc),
            [word] if word == "doctor" => Ok(Mode::Doctor(match (self.network, self.probe) {
                (_, true) => Depth::Probe,
                (true, false) => Depth::Network,
                (false, false) => Depth::Configuration,
            })),
            [first, second, ..] if first == "rpc" || self.rpc => Err(Failure::usage(format!(
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
                picks_session: self.resumes == Resume::Pick,
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
        let stdin = match self.no_stdin {
            true => StandardInput::LeaveAlone,
            false => StandardInput::Read,
        };
        prompt_input::read(&self.words, stdin)
    }

    /// As in the original, an empty value means not given.
    fn unset_empty(&mut self) {
        for value in [
            &mut self.provider,
            &mut self.model,
            &mut self.api_key,
            &mut self.base_url,
            &mut self.system_prompt,
            &mut self.reasoning,
        ] {
            value.take_if(|value| value.is_empty());
        }
        for value in [&mut self.cwd, &mut self.session] {
            value.take_if(|value| value.as_os_str().is_empty());
        }
        self.append_system_prompt.retain(|text| !text.is_empty());
        self.ext.retain(|path| !path.as_os_str().is_empty());
        values::trim_names(&mut self.fallback);
        if let Some(names) = &mut self.confirm {
            values::trim_names(names);
        }
        if let Some(names) = &mut self.tools {
            values::trim_names(names);
        }
        self.tools.take_if(|names| names.is_empty());
    }

    pub(crate) fn wants_json(&self) -> bool {
        self.json
    }

    pub(crate) fn config(self, persistence: Persistence) -> Config {
        let mut names = self.tools.unwrap_or_default();
        // An empty value means that it is not given.
        names.retain(|name| !name.is_empty());
        let tools = match names.is_empty() {
            _ if self.no_tools => ToolSelection::None,
            false => ToolSelection::Only(names),
            true => ToolSelection::All,
        };
        Config {
            provider: self.provider,
            model: self.model,
            fallback: self.fallback,
            api_key: self.api_key,
            base_url: self.base_url,
            wire: self.wire.as_deref().and_then(OpenAiWire::named),
            cwd: self.cwd,
            system_prompt: self.system_prompt,
            append_system_prompt: self.append_system_prompt,
            reasoning: self.reasoning.as_deref().and_then(values::effort),
            max_steps: self.max_steps,
            approval: ApprovalPolicy {
                scope: match self.confirm {
                    _ if self.no_yolo => ApprovalScope::AllTools,
                    None => ApprovalScope::Nothing,
                    Some(names) if names.is_empty() => ApprovalScope::AllTools,
                    Some(names) => ApprovalScope::Tools(names),
                },
                timeout: self
                    .confirm_timeout
                    .map_or(ApprovalPolicy::default().timeout, Duration::from_secs),
            },
            budget: Budget {
                max_steps: self.max_process_steps,
                max_cost_usd: self.max_cost_usd,
                max_tokens: self.max_tokens,
                timeout: self.timeout_ms.map(Duration::from_millis),
            },
            tools,
            jail: self.jail,
            tool_dialect: self.tool_dialect.as_deref().map(|name| match name {
                "hermes" => ToolDialect::Hermes,
                _ => ToolDialect::Native,
            }),
            persistence: match (self.session, self.resumes) {
                _ if self.no_session => Persistence::Never,
                (Some(path), _) => Persistence::File(path),
                (None, _) if self.continue_newest => Persistence::Continue,
                (None, Resume::Session(wanted)) => Persistence::Resume(wanted),
                (None, Resume::New | Resume::Pick) => persistence,
            },
            session: SessionOptions {
                durability: match self.durable {
                    true => Durability::PowerLoss,
                    false => Durability::ProcessEnd,
                },
                resumption: match self.fork {
                    true => Resumption::Fork,
                    false => Resumption::Append,
                },
            },
            extensions: ExtensionSearch {
                discover: !self.no_ext,
                paths: self.ext,
            },
            context: ContextSearch {
                instructions: !self.no_context_files,
                templates: true,
                skills: match (self.no_skill, self.with_skills) {
                    (true, _) => SkillSearch::None,
                    (false, true) => SkillSearch::All,
                    (false, false) => SkillSearch::BuiltIn,
                },
            },
            record: self.record,
            replay: self.cassette.map(|cassette| Replay {
                cassette,
                mode: match self.replay_mode.as_deref() {
                    Some("by-order") => ReplayMode::ByOrder,
                    _ => ReplayMode::Strict,
                },
                pace: match self.realtime {
                    true => ReplayPace::RealTime,
                    false => ReplayPace::FullSpeed,
                },
            }),
            live_models: true,
            ..Config::default()
        }
    }

    /// Whether it was said how long to wait for confirmations.
    pub(crate) fn has_confirm_timeout(&self) -> bool {
        self.confirm_timeout.is_some()
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// The shared secret of the pipe. One that no client could show must not mean that none is asked
    /// for.
    pub(crate) fn take_rpc_token(&mut self) -> Result<Option<String>, Failure> {
        let Some(token) = self.rpc_token.take().filter(|token| !token.is_empty()) else {
            return Ok(None);
        };
        token.into_string().map(Some).map_err(|_| {
            Failure::usage("ZOTCORE_RPC_TOKEN is not UTF-8: no client could send it".to_owned())
        })
    }

    pub(crate) fn refresh(&self) -> bool {
        self.refresh
    }

    pub(crate) fn provider(&self) -> Option<&str> {
        self.provider.as_deref()
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

/// A name for `--tools`, which takes values that begin with `-` but must not swallow the next flag.
fn tool_name(value: &str) -> Result<String, String> {
    match value.strip_prefix('-').unwrap_or(value) {
        "" if value == "-" => Err("expected the name of a tool after -".to_owned()),
        name if name.starts_with('-') => {
            Err(format!("expected the name of a tool, got the flag {value}"))
        }
        _ => Ok(value.to_owned()),
    }
}
