//! What the user asks for on the command line, and how it becomes a prompt.

use zot_sdk::{Image, Runtime};

use crate::failure::Failure;
use crate::warn;

/// A prompt as it was given.
#[derive(Default)]
pub(crate) struct PromptInput {
    /// What the user wrote: the words of the command line or, without any, what was piped in. May
    /// name a template and mention files.
    pub(crate) typed: String,
    /// What was piped in beside that. It is data, often somebody else's, so it can mention nothing.
    pub(crate) piped: Option<String>,
}

impl PromptInput {
    /// Expands the template and attaches what is mentioned.
    pub(crate) fn prepare(self, runtime: &Runtime) -> Result<(String, Vec<Image>), Failure> {
        let attached = runtime.attach_mentions(&self.typed);
        warn(&attached.problems);
        let expanded = runtime
            .expand_template(&self.typed)
            .map_err(|problem| Failure::Usage(problem.to_string()))?;
        let mut text = expanded.unwrap_or(self.typed);
        let attachments = Some(attached.text).filter(|text| !text.is_empty());
        for addition in self.piped.into_iter().chain(attachments) {
            text.push_str("\n\n");
            text.push_str(&addition);
        }
        Ok((text, attached.images))
    }
}
