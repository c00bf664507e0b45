//! How a model is asked to think.
//!
//! Older models accept a token budget, newer ones an effort, and each refuses the other form:
//! <https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking>.
//!
//! When no reasoning is requested, nothing is sent: models up to Opus 4.8 do not think then, later
//! ones decide for themselves, and `disabled` is refused by Fable, Mythos and the 5.5 models.

use serde::Serialize;
use zot_conversation::{ModelRequest, ReasoningEffort, Sampling};

use crate::catalog::{Efforts, Thinking, rules};

/// The smallest budget the provider accepts.
///
/// Limit: with less, thinking is left out.
const MIN_ANTHROPIC_THINKING_BUDGET: u64 = 1024;

/// Thinking counts against the output limit; this much is left for the response where possible.
///
/// Limit: thinking gets less, so that this many tokens remain for the response.
const ANTHROPIC_ANSWER_RESERVE: u64 = 4096;

/// The efforts of a model that accepts adaptive thinking although the catalog disagrees. Every
/// model with adaptive thinking accepts these.
const COMMON_EFFORTS: Efforts = Efforts::of(&[
    ReasoningEffort::Low,
    ReasoningEffort::Medium,
    ReasoningEffort::High,
]);

/// The form and efforts that a model is known to accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ThinkingForm {
    pub(super) form: Form,
    pub(super) efforts: Efforts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Budget,
    /// With an effort and, where the text of thinking is omitted by default, `display`.
    Adaptive,
    /// Without options that an adaptive model could refuse.
    BareAdaptive,
}

impl From<Thinking> for Form {
    fn from(thinking: Thinking) -> Self {
        match thinking {
            Thinking::Budget => Self::Budget,
            Thinking::Adaptive => Self::Adaptive,
        }
    }
}

impl Form {
    /// Returns the form to try instead when a request in this one was refused with `message`.
    pub(super) fn instead(self, message: &str) -> Option<Self> {
        let message = message.to_ascii_lowercase();
        let names = |words: &[&str]| words.iter().any(|word| message.contains(word));
        let about_form = names(&[
            "thinking.type",
            "thinking.enabled",
            "adaptive",
            "budget_tokens",
            "output_config",
            "effort",
        ]);
        // A budget above the output limit is wrong in any form.
        if !about_form || names(&["max_tokens"]) {
            return None;
        }
        match self {
            Self::Budget => Some(Self::Adaptive),
            Self::Adaptive if names(&["display", "effort level", "effort value"]) => {
                Some(Self::BareAdaptive)
            }
            Self::Adaptive | Self::BareAdaptive => Some(Self::Budget),
        }
    }
}

/// The fields of a request that control thinking and sampling.
#[derive(Serialize, Default)]
pub(super) struct ThinkingOptions {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking: Option<WireThinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum WireThinking {
    Enabled {
        budget_tokens: u64,
    },
    Adaptive {
        #[serde(skip_serializing_if = "Option::is_none")]
        display: Option<&'static str>,
    },
}

#[derive(Serialize)]
struct OutputConfig {
    effort: &'static str,
}

impl ThinkingOptions {
    /// `turn_takes_budget` returns whether thinking with a budget may be requested at this point of
    /// the conversation.
    pub(super) fn new(
        request: &ModelRequest<'_>,
        thinking_form: ThinkingForm,
        turn_takes_budget: impl FnOnce() -> bool,
    ) -> Self {
        let effort = request
            .reasoning
            .filter(|effort| *effort != ReasoningEffort::None && rules::can_think(request.model));
        let mut options = Self::default();
        match (effort, thinking_form.form) {
            (None, _) => {}
            (Some(effort), Form::Budget) => {
                options.thinking = turn_takes_budget()
                    .then(|| budget(effort, request.max_output))
                    .flatten()
                    .map(|budget_tokens| WireThinking::Enabled { budget_tokens });
            }
            (Some(effort), Form::Adaptive) => {
                let display = rules::is_claude_since_4_7(request.model).then_some("summarized");
                options.thinking = Some(WireThinking::Adaptive { display });
                let effort = thinking_form.efforts.nearest(effort);
                options.output_config = effort.map(|effort| OutputConfig {
                    effort: effort.as_str(),
                });
            }
            (Some(_), Form::BareAdaptive) => {
                options.thinking = Some(WireThinking::Adaptive { display: None });
            }
        }
        let takes_sampling =
            options.thinking.is_none() && !rules::is_claude_since_4_7(request.model);
        if takes_sampling {
            let Sampling { temperature, top_p } = request.sampling;
            options.temperature = temperature;
            // Newer models refuse both at once.
            options.top_p = top_p.filter(|_| temperature.is_none());
        }
        options
    }
}

impl ThinkingForm {
    /// Uses the catalog's form, unless the service has refused it before.
    pub(super) fn new(accepted: Thinking, efforts: Efforts, learned: Option<Form>) -> Self {
        let form = learned.unwrap_or(accepted.into());
        let efforts = match efforts.is_empty() && accepted == Thinking::Budget {
            true => COMMON_EFFORTS,
            false => efforts,
        };
        Self { form, efforts }
    }
}

/// Returns how many tokens thinking may use; `None` when the output limit leaves no room for it.
pub(super) fn budget(effort: ReasoningEffort, max_output: u64) -> Option<u64> {
    let wanted = match effort {
        ReasoningEffort::None => return None,
        ReasoningEffort::Minimal => MIN_ANTHROPIC_THINKING_BUDGET,
        ReasoningEffort::Low => 4096,
        ReasoningEffort::Medium => 10_240,
        ReasoningEffort::High => 32_768,
        ReasoningEffort::Xhigh | ReasoningEffort::Max => 65_536,
    };
    let room = max_output
        .saturating_sub(ANTHROPIC_ANSWER_RESERVE)
        .max(MIN_ANTHROPIC_THINKING_BUDGET);
    Some(wanted.min(room)).filter(|&budget| budget < max_output)
}

#[cfg(test)]
mod tests;
