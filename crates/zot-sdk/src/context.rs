//! The context of every request: system prompt, tools, templates, mentioned files.

use std::time::Duration;

use tokio::time::timeout;
use zot_conversation::Image;
use zot_extension_host::Notice;

use crate::assembly::AssemblyError;
use crate::config::{Config, ModelChoice, Recording, ToolChoice};
use crate::runtime::Runtime;

pub use crate::runtime::ContextPart;
pub use crate::system_prompt::ContextKind;
pub use zot_context::{
    Attached, Mention, Outcome, Part, Problem, ProblemCause, attached_parts, mentions,
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
    pub text: String,
    /// The images of attached files.
    pub images: Vec<Image>,
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
    /// Appends the text of mentioned files to `message` and their images to `images`.
    pub fn with_mentions(
        &self,
        mut message: String,
        mut images: Vec<Image>,
    ) -> (String, Vec<Image>) {
        let attached = self.attach_mentions(&message);
        if !attached.text.is_empty() {
            message.push_str("\n\n");
            message.push_str(&attached.text);
        }
        images.extend(attached.images);
        (message, images)
    }

    /// Expands the template that a prompt names and attaches the files it mentions.
    pub fn prepare_prompt(&self, draft: PromptDraft) -> Result<PreparedPrompt, Problem> {
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
        problems.extend(self.missing_template(&typed));
        let expanded = self.expand_template(&typed)?;
        let parts = [
            Some(expanded.unwrap_or(typed)),
            piped,
            Some(typed_after),
            Some(attached.text),
        ];
        let parts = parts.into_iter().flatten();
        let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
        Ok(PreparedPrompt {
            text: parts.join("\n\n"),
            images: attached.images,
            problems,
        })
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
