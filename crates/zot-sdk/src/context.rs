//! What every request begins with, and what prompts can refer to.

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

/// What every request of an agent begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextReport {
    pub parts: Vec<ContextPart>,
    pub warnings: Vec<String>,
}

/// A prompt in the parts in which a user gave it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptDraft {
    /// What the user wrote. May name a template and mention files.
    pub typed: String,
    /// Data that came with it. It is often somebody else's, so it can mention nothing.
    pub piped: Option<String>,
    /// What the user wrote after the data. May mention files.
    pub typed_after: String,
}

/// A prompt that is ready to be sent.
#[derive(Debug, Clone)]
pub struct PreparedPrompt {
    pub text: String,
    pub images: Vec<Image>,
    /// What was mentioned and could not be attached, and the template that does not exist.
    pub problems: Vec<String>,
}

/// Measures what every request of an agent made from `config` begins with.
///
/// No model is asked, so no key is needed. Extensions are started, because their tools count.
pub async fn measure(config: Config) -> Result<ContextReport, AssemblyError> {
    let runtime = Runtime::new(without_model(config))?;
    // Waits for extensions.
    runtime.commands().await;
    let parts = runtime.context();
    let mut warnings = runtime.warnings().to_vec();
    while let Some(notice) = runtime.take_notice() {
        if let Notice::Problem(warning) = notice {
            warnings.push(warning);
        }
    }
    runtime.close().await;
    Ok(ContextReport { parts, warnings })
}

impl ContextReport {
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    pub fn tokens(&self) -> u64 {
        self.parts.iter().map(|part| part.tokens).sum()
    }
}

impl Runtime {
    /// Attaches the files that a message mentions: their text behind it, their images to `images`.
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

/// The context is the same for all models, so the one that needs no key will do.
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
