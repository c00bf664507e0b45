//! The context of every request: system prompt, tools, templates, mentioned files.

use std::time::Duration;

use tokio::time::timeout;
use zot_extension_host::Notice;

use crate::assembly::AssemblyError;
use crate::config::{Config, ModelChoice, Recording, ToolChoice};
use crate::runtime::Runtime;

pub use crate::runtime::{ContextPart, Mentioning};
pub use crate::system_prompt::ContextKind;
pub use zot_context::{
    Attached, Mention, MentionedResource, Outcome, Part, Problem, ProblemCause, attached_parts,
    mentions,
};

/// How long a measurement waits for MCP servers to start.
///
/// Limit: the tools of servers that have not started by then are not counted, which is said.
const SERVER_WAIT: Duration = Duration::from_secs(15);

/// The context that every request of an agent begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextReport {
    /// The parts, in the order in which they are sent.
    pub parts: Vec<ContextPart>,
    /// Problems with the configuration or with extensions.
    pub warnings: Vec<String>,
}

/// The parts of a prompt as the user entered them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptDraft {
    /// The text that the user typed. May name a template and mention files.
    pub typed: String,
    /// Piped data. It may come from someone else, so mentions in it are ignored.
    pub piped: Option<String>,
    /// The text that the user typed after the data. May mention files.
    pub typed_after: String,
}

/// A prompt that is ready to be sent.
#[derive(Debug, Clone)]
pub struct PreparedPrompt {
    /// The text of the prompt, with attached files.
    pub message: Mentioning,
    /// Why mentioned files could not be attached, and which template does not exist.
    pub problems: Vec<String>,
}

/// Measures the context of an agent with this `config`.
///
/// No model is called, so no key is needed. Extensions and MCP servers are started, because their tools are
/// part of it.
pub async fn measure(config: Config) -> Result<ContextReport, AssemblyError> {
    let runtime = Runtime::new(without_model(config))?;
    runtime.commands().await;
    let _ = timeout(SERVER_WAIT, runtime.mcp_settled()).await;
    let parts = runtime.context();
    let mut warnings = runtime.warnings().to_vec();
    while let Some(notice) = runtime.take_notice() {
        if let Notice::Problem(warning) = notice {
            warnings.push(warning);
        }
    }
    warnings.extend(runtime.servers.missing());
    runtime.close().await;
    Ok(ContextReport { parts, warnings })
}

impl ContextReport {
    /// Returns the size of all parts.
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// Returns the estimated number of tokens of all parts.
    pub fn tokens(&self) -> u64 {
        self.parts.iter().map(|part| part.tokens).sum()
    }
}

impl Runtime {
    /// Expands the template, or the prompt of an MCP server, that a prompt names, and attaches the files
    /// it mentions.
    pub async fn prepare_prompt(&self, draft: PromptDraft) -> Result<PreparedPrompt, Problem> {
        let PromptDraft {
            typed,
            piped,
            typed_after,
        } = draft;
        let attached = self.attach_mentions([typed.as_str(), &typed_after].join("\n").trim());
        let missing = attached.missing.iter();
        let mut problems: Vec<String> = missing
            .map(|name| format!("@{name}: no such file or directory; sent as text"))
            .chain(attached.problems.iter().map(ToString::to_string))
            .collect();
        let mut expanded = self.expand_template(&typed)?;
        if expanded.is_none() {
            match self.expand_server_prompt(&typed).await {
                Some(Ok(text)) => expanded = Some(text),
                Some(Err(problem)) => problems.push(format!("{problem}; sent as text")),
                None => problems.extend(self.missing_template(&typed)),
            }
        }
        let parts = [
            Some(expanded.unwrap_or(typed)),
            piped,
            Some(typed_after),
            Some(attached.text),
        ];
        let parts = parts.into_iter().flatten();
        let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
        Ok(PreparedPrompt {
            message: Mentioning {
                text: parts.join("\n\n"),
                images: attached.images,
                resources: attached.resources,
            },
            problems,
        })
    }

    /// Expands a text whose first line is `/server__prompt arguments`.
    async fn expand_server_prompt(&self, text: &str) -> Option<Result<String, String>> {
        let line = text.strip_prefix('/')?;
        let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        self.fill_prompt(name, arguments.trim()).await
    }
}

/// Chooses the stand-in, which needs no key: the context is the same for all models.
fn without_model(config: Config) -> Config {
    Config {
        model: ModelChoice {
            provider: Some("offline".to_owned()),
            model: None,
            api_key: None,
            base_url: None,
            wire: None,
            ..config.model
        },
        tools: ToolChoice {
            dialect: None,
            ..config.tools
        },
        recording: Recording {
            record: None,
            replay: None,
            ..config.recording
        },
        ..config
    }
}
