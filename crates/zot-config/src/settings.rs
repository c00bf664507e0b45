//! The typed settings.

use std::borrow::Cow;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use zot_conversation::ReasoningEffort;

/// The content of a `config.json`. Everything is optional; unknown entries are ignored.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(title = "zot configuration")]
pub struct Settings {
    /// The provider, as --provider
    pub provider: Option<String>,
    /// The model's id, as --model
    pub model: Option<String>,
    /// Where to go on when the provider fails, each as provider/model; as --fallback
    pub fallback: Option<Vec<String>>,
    /// Which of OpenAI's two wires is used whatever the model, as --wire
    pub wire: Option<WireName>,
    /// How hard a reasoning model thinks, as --reasoning
    #[serde(deserialize_with = "effort")]
    #[schemars(with = "Option<Effort>")]
    pub reasoning: Option<ReasoningEffort>,
    /// The most model calls for one prompt, as --max-steps
    #[schemars(range(min = 1))]
    pub max_steps: Option<u32>,
    /// The most model calls a process may make, as --max-process-steps
    pub max_process_steps: Option<u64>,
    /// The most money a process may spend, as --max-cost-usd
    #[schemars(range(min = 0))]
    pub max_cost_usd: Option<f64>,
    /// The most tokens a process may use, as --max-tokens
    pub max_tokens: Option<u64>,
    /// The longest a process may work, as --timeout-ms
    pub timeout_ms: Option<u64>,
    /// The built-in tools the model is given, as --tools; an empty list gives it none. Tools of extensions
    /// stay unless they are named with a leading `-`
    pub tools: Option<Vec<String>>,
    /// How the model makes tool calls, as --tool-dialect
    pub tool_dialect: Option<Dialect>,
    /// Whether read, write, edit and bash are confined to the working directory, as --jail
    pub jail: Option<bool>,
    /// What read, write, edit and bash may do, as --sandbox
    pub sandbox: Option<SandboxLevel>,
    /// What can be read besides in the sandbox, as --sandbox-read (the user's file only)
    pub sandbox_read: Option<Vec<PathBuf>>,
    /// What can be changed besides in the sandbox, as --sandbox-write (the user's file only)
    pub sandbox_write: Option<Vec<PathBuf>>,
    /// The only programs that can be started in the sandbox, as --sandbox-run (the user's file only)
    pub sandbox_run: Option<Vec<PathBuf>>,
    /// The hosts that can be connected to from the sandbox, each as host:port; * means all, as
    /// --sandbox-connect (the user's file only)
    pub sandbox_connect: Option<Vec<String>>,
    /// The Unix sockets that can be connected to from the sandbox, as --sandbox-unix-socket (the user's
    /// file only)
    pub sandbox_unix_sockets: Option<Vec<PathBuf>>,
    /// The variables that commands get although the sandbox withholds them, as --sandbox-env (the user's
    /// file only)
    pub sandbox_environment: Option<Vec<String>>,
    /// The most memory of each process of a command, in MiB
    #[schemars(range(min = 1))]
    pub sandbox_memory_mib: Option<u64>,
    /// The most processes and threads of a command at a time
    #[schemars(range(min = 1))]
    pub sandbox_processes: Option<u64>,
    /// The most processor time of each process of a command, in seconds
    #[schemars(range(min = 1))]
    pub sandbox_processor_seconds: Option<u64>,
    /// The most open files of each process of a command
    #[schemars(range(min = 16))]
    pub sandbox_open_files: Option<u64>,
    /// The least that extensions are confined to, beside what the permissions in their manifests allow
    pub sandbox_extensions: Option<SandboxLevel>,
    /// The least that programs of MCP servers are confined to, beside what the permissions in their
    /// entries allow
    pub sandbox_mcp: Option<SandboxLevel>,
    /// Whether installed extensions are started; false is --no-ext (the user's file only)
    pub extensions: Option<bool>,
    /// Directories of extensions to start besides, as --ext (the user's file only)
    pub extension_paths: Option<Vec<PathBuf>>,
    /// Whether sessions are written; false is --no-session (the user's file only)
    pub session: Option<bool>,
    /// Whether sessions are made to survive a power cut, as --durable (the user's file only)
    pub durable: Option<bool>,
    /// Whether providers are asked for their models in the background (the user's file only)
    pub live_models: Option<bool>,
    /// The colours of the chat: auto, light, dark or the name of a file in themes (the user's file only)
    pub theme: Option<String>,
    /// Whether the chat leaves the terminal's scrollback alone when its width changes (the user's
    /// file only)
    pub keep_scrollback: Option<bool>,
    /// Whether the chat draws images where the terminal can; false only describes them (the user's
    /// file only)
    pub inline_images_enabled: Option<bool>,
}

/// The JSON Schema of a reasoning effort.
struct Effort;

impl JsonSchema for Effort {
    fn schema_name() -> Cow<'static, str> {
        "Effort".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "How hard a reasoning model thinks.",
            "type": "string",
            "enum": ReasoningEffort::ALL.map(ReasoningEffort::as_str),
        })
    }
}

fn effort<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ReasoningEffort>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    name.map(|name| name.parse())
        .transpose()
        .map_err(D::Error::custom)
}

/// One of OpenAI's two wires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum WireName {
    #[serde(rename = "openai")]
    OpenAi,
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
}

/// How much the built-in tools may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxLevel {
    Off,
    Workspace,
    ReadOnly,
}

/// How a model makes tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    Native,
    Hermes,
}
