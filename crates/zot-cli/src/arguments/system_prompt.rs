//! The flags about the system prompt.

use clap::Args;
use zot_sdk::SystemPrompt;

use super::heading;
use super::values::unset_empty;

#[derive(Args)]
#[command(next_help_heading = heading::CONTEXT)]
pub(super) struct SystemPromptArguments {
    /// Replace the system prompt
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    system_prompt: Option<String>,
    /// Add to the system prompt (repeatable)
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    append_system_prompt: Vec<String>,
}

impl SystemPromptArguments {
    pub(super) fn unset_empty(&mut self) {
        unset_empty(&mut self.system_prompt);
        self.append_system_prompt.retain(|text| !text.is_empty());
    }
}

impl From<SystemPromptArguments> for SystemPrompt {
    fn from(arguments: SystemPromptArguments) -> Self {
        Self {
            replacement: arguments.system_prompt,
            additions: arguments.append_system_prompt,
        }
    }
}
