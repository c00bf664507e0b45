//! The command line.

use std::env::{self, VarError};
use std::io::{self, IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{ArgAction, Parser};
use zot_rpc::stdio::stdin_speaks_within;
use zot_sdk::cassette::{ReplayMode, ReplayPace};
use zot_sdk::{
    ApprovalPolicy, ApprovalScope, Budget, Config, ContextSearch, Durability, ExtensionSearch,
    Persistence, ReasoningEffort, Replay, Resumption, SessionOptions, SkillSearch, ToolDialect,
    ToolSelection,
};

use crate::doctor::Depth;
use crate::failure::Failure;
use crate::prompt_input::PromptInput;
use crate::sessions_command;

/// The longest prompt that is read from a pipe.
const MAX_PIPED_PROMPT: u64 = 16 * 1024 * 1024;

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

/// How long to wait for something to be piped in when there is a prompt already: a program that
/// starts zot often leaves standard input open without ever writing to it.
const PIPED_PROMPT_PATIENCE: Duration = Duration::from_secs(1);

/// An agent that people embed, extend and watch.
#[derive(Parser)]
#[command(
    name = "zot",
    version,
    override_usage = "zot [OPTIONS] [PROMPT…]\n       zot -p [OPTIONS] PROMPT…\n       zot --json [OPTIONS] PROMPT…\n       zot rpc [OPTIONS]\n       zot ext list|install|remove|enable|disable|logs|new|test|dev …\n       zot sessions list|show|search|export|import|fork|tree|undo|delete|stats …\n       zot cassette show|verify|redact|trim FILE\n       zot skills list|show|new …\n       zot login [PROVIDER] | logout [PROVIDER | --all] | auth status\n       zot config list|get|set|unset|path …\n       zot completions bash|zsh|fish | man [COMMAND]\n       zot context [--json] [OPTIONS]\n       zot doctor [--network | --probe] [--json] [OPTIONS]",
    after_help = "Without a key: zot -p --provider offline \"list the files here\"\n\
                  Exit codes: 0 done, 1 model or provider error, 2 usage, 129 hang-up, 130 interrupted, 143 terminated."
)]
pub(crate) struct Arguments {
    /// Print the final answer only
    #[arg(short, long, conflicts_with_all = ["json", "rpc"])]
    print: bool,
    /// Print one event per line as JSON
    #[arg(long, conflicts_with = "rpc")]
    json: bool,
    /// Serve the rpc protocol on standard input and output (same as `zot rpc`)
    #[arg(long)]
    rpc: bool,
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
    #[arg(long, value_name = "KEY")]
    api_key: Option<String>,
    /// A compatible server instead of the provider's own
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Where to work
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Replace the system prompt
    #[arg(long, value_name = "TEXT")]
    system_prompt: Option<String>,
    /// Add to the system prompt (repeatable)
    #[arg(long, value_name = "TEXT")]
    append_system_prompt: Vec<String>,
    /// How hard a reasoning model thinks
    #[arg(long, value_name = "EFFORT", value_parser = PossibleValuesParser::new(efforts()))]
    reasoning: Option<String>,
    /// The most model calls for one prompt
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_steps: Option<u32>,
    /// Give the model no built-in tools; those of extensions stay (--no-ext)
    #[arg(long, conflicts_with = "tools")]
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
    /// Ask before a tool runs, all tools or those named (rpc only: `tool_confirm` and `confirm`)
    #[arg(
        long,
        value_name = "A,B",
        value_delimiter = ',',
        num_args = 0..,
        require_equals = true
    )]
    confirm: Option<Vec<String>>,
    /// The same as --confirm for all tools
    #[arg(long, conflicts_with = "confirm")]
    no_yolo: bool,
    /// How long to wait for a confirmation before it counts as no
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    confirm_timeout: u64,
    /// The most model calls this process may make
    #[arg(long, value_name = "N")]
    max_process_steps: Option<u64>,
    /// The most money this process may spend
    #[arg(long, value_name = "USD", value_parser = dollars)]
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
    /// Write no session file (rpc writes one only if asked to)
    #[arg(long, conflicts_with_all = ["continue_newest", "resume", "session", "fork", "durable"])]
    no_session: bool,
    /// Go on with the newest session of this directory
    #[arg(short, long = "continue", conflicts_with_all = ["resume", "session"])]
    continue_newest: bool,
    /// Go on with this session; the beginning of its id is enough. Without one: show which there are
    #[arg(long, value_name = "ID|PATH", num_args = 0..=1, conflicts_with = "session")]
    resume: Option<Option<String>>,
    /// Keep the conversation in this file: go on with what is in it, or make it
    #[arg(long, value_name = "PATH")]
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
    #[arg(short, long, value_name = "DIR")]
    ext: Vec<PathBuf>,
    /// Load no extensions but those of --ext
    #[arg(long, action = ArgAction::SetTrue)]
    no_ext: bool,
    /// Offer the skills of the project and the user, too, not only the built-in ones
    #[arg(long)]
    with_skills: bool,
    /// Offer no skills and no `skill` tool
    #[arg(long, conflicts_with = "with_skills")]
    no_skill: bool,
    /// Do not read AGENTS.md, CLAUDE.md and .zot/instructions.md
    #[arg(long)]
    no_context_files: bool,

    /// What to do: @PATH attaches a file or folder, /NAME at the beginning is a prompt template;
    /// text piped in is added
    #[arg(value_name = "PROMPT")]
    words: Vec<String>,
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
        prompt: PromptInput,
    },
    Json {
        prompt: PromptInput,
    },
    Context,
    ListModels,
    Doctor(Depth),
}

/// Something clap has to say: help, the version, or what is wrong.
pub(crate) struct Shown(pub(crate) clap::Error);

impl Shown {
    pub(crate) fn exit(self) -> ExitCode {
        let _ = self.0.print();
        ExitCode::from(u8::try_from(self.0.exit_code()).unwrap_or(2))
    }
}

impl Arguments {
    pub(crate) fn read() -> Result<Self, Shown> {
        Self::try_parse().map_err(Shown)
    }

    pub(crate) fn mode(&self) -> Result<Mode, Failure> {
        let at_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
        // In the chat it is picked from a list.
        let picks = at_terminal && !(self.print || self.json || self.rpc || !self.words.is_empty());
        if self.resume == Some(None) && !picks {
            sessions_command::offer(self.cwd.as_deref());
            return Err(Failure::Usage(
                "which session? Name it with --resume ID (the beginning is enough), or take the \
                 newest of this directory with --continue"
                    .to_owned(),
            ));
        }
        let taken_up = self.continue_newest || self.resume.is_some() || self.session.is_some();
        if self.fork && !taken_up {
            return Err(Failure::Usage(
                "--fork needs a session to copy: add --continue, --resume ID or --session PATH"
                    .to_owned(),
            ));
        }
        if self.list_models {
            return Ok(Mode::ListModels);
        }
        // As the first argument the word is a command, not a prompt that someone pays for.
        let command = env::args()
            .nth(1)
            .filter(|word| COMMANDS.contains(&word.as_str()));
        if command.as_deref() == Some("context") && !self.print {
            return match self.words.get(1) {
                None => Ok(Mode::Context),
                Some(word) => Err(Failure::Usage(format!(
                    "context takes no prompt ({word:?}): it shows what comes before one"
                ))),
            };
        }
        let is_doctor = command.as_deref() == Some("doctor");
        if let (Some(command), true) = (command, self.print || self.json && !is_doctor) {
            return Err(Failure::Usage(format!(
                "{command} cannot be combined with -p or --json"
            )));
        }
        if (self.json || self.print) && (self.confirm.is_some() || self.no_yolo) {
            return Err(Failure::Usage(
                "--confirm needs someone who answers: use it with rpc".to_owned(),
            ));
        }
        if self.json && !is_doctor {
            let prompt = self.prompt()?;
            return Ok(Mode::Json { prompt });
        }
        if self.print {
            let prompt = self.prompt()?;
            return Ok(Mode::Print { prompt });
        }
        match self.words.as_slice() {
            [] if self.rpc => Ok(Mode::Rpc),
            [word] if word == "rpc" => Ok(Mode::Rpc),
            [word] if word == "doctor" => Ok(Mode::Doctor(match (self.network, self.probe) {
                (_, true) => Depth::Probe,
                (true, false) => Depth::Network,
                (false, false) => Depth::Configuration,
            })),
            [first, second, ..] if first == "rpc" || self.rpc => Err(Failure::Usage(format!(
                "rpc takes no prompt on the command line ({second:?}): send it as a prompt command"
            ))),
            words if at_terminal => Ok(Mode::Chat {
                prompt: (!words.is_empty()).then(|| words.join(" ")),
                picks_session: self.resume == Some(None),
            }),
            [word, ..] => Err(Failure::Usage(format!(
                "{word:?} is not a command ({}); to run a prompt use -p PROMPT for the answer or \
                 --json PROMPT for events (the chat needs a terminal)",
                COMMANDS.join(", ")
            ))),
            [] => Err(Failure::Usage(
                "the chat needs a terminal: use -p PROMPT for the answer, --json PROMPT for events, \
                 or rpc; see --help"
                    .to_owned(),
            )),
        }
    }

    /// The words of the command line, then what is piped in.
    fn prompt(&self) -> Result<PromptInput, Failure> {
        let prompt = self.words.join(" ");
        let mut input = PromptInput::default();
        let stdin = io::stdin();
        let expect_more = !stdin.is_terminal()
            && (prompt.is_empty() || stdin_speaks_within(PIPED_PROMPT_PATIENCE)?);
        if expect_more {
            let mut piped = Vec::new();
            stdin
                .lock()
                .take(MAX_PIPED_PROMPT + 1)
                .read_to_end(&mut piped)?;
            if piped.len() as u64 > MAX_PIPED_PROMPT {
                return Err(Failure::Usage(format!(
                    "more than {MAX_PIPED_PROMPT} bytes were piped in: give the agent a file to \
                     read instead"
                )));
            }
            let piped = String::from_utf8(piped).map_err(|error| {
                let position = error.utf8_error().valid_up_to();
                Failure::Usage(format!("what was piped in is not UTF-8 at byte {position}"))
            })?;
            input.piped = Some(piped).filter(|piped| !piped.trim().is_empty());
        }
        input.typed = match prompt.trim().is_empty() {
            false => prompt,
            true => input.piped.take().unwrap_or_default(),
        };
        if input.typed.is_empty() {
            return Err(Failure::Usage(
                "no prompt: give it as an argument or pipe it in".to_owned(),
            ));
        }
        Ok(input)
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
            cwd: self.cwd,
            system_prompt: self.system_prompt,
            append_system_prompt: self.append_system_prompt,
            reasoning: self.reasoning.as_deref().and_then(effort),
            max_steps: self.max_steps,
            approval: ApprovalPolicy {
                scope: match self.confirm {
                    _ if self.no_yolo => ApprovalScope::AllTools,
                    None => ApprovalScope::Nothing,
                    Some(names) if names.is_empty() => ApprovalScope::AllTools,
                    Some(names) => ApprovalScope::Tools(names),
                },
                timeout: Duration::from_secs(self.confirm_timeout),
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
            persistence: match (self.session, self.resume.flatten()) {
                _ if self.no_session => Persistence::Never,
                (Some(path), _) => Persistence::File(path),
                (None, Some(wanted)) => Persistence::Resume(wanted),
                (None, None) if self.continue_newest => Persistence::Continue,
                (None, None) => persistence,
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

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    pub(crate) fn refresh(&self) -> bool {
        self.refresh
    }

    pub(crate) fn provider(&self) -> Option<&str> {
        self.provider.as_deref()
    }
}

/// An amount that a budget can mean: `nan` would never be reached.
fn dollars(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(amount) if amount.is_finite() && amount >= 0.0 => Ok(amount),
        _ => Err("give an amount in US dollars, such as 0.50".to_owned()),
    }
}

fn efforts() -> Vec<&'static str> {
    ReasoningEffort::ALL
        .iter()
        .map(|effort| effort.as_str())
        .collect()
}

fn effort(name: &str) -> Option<ReasoningEffort> {
    ReasoningEffort::ALL
        .into_iter()
        .find(|effort| effort.as_str() == name)
}

/// The shared secret of the pipe. One that no client could show must not mean that none is asked for.
pub(crate) fn rpc_token() -> Result<Option<String>, Failure> {
    match env::var("ZOTCORE_RPC_TOKEN") {
        Ok(token) => Ok(Some(token).filter(|token| !token.is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(Failure::Usage(
            "ZOTCORE_RPC_TOKEN is not UTF-8: no client could send it".to_owned(),
        )),
    }
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
