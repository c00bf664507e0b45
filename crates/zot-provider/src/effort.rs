//! How hard a model of OpenAI's wires is asked to think, and what is said when it cannot be asked so.

use std::sync::{Mutex, PoisonError};

use zot_conversation::{ModelError, ModelErrorKind, ReasoningEffort};

use crate::catalog::{AcceptedThinking, Effort};

/// The most models of one server that are remembered to take no effort.
const MAX_LEARNED: usize = 64;

/// What the models of one endpoint accept.
#[derive(Default)]
pub(crate) struct EffortRules {
    accepted: AcceptedThinking,
    /// Models that refused the effort they were asked for.
    without: Mutex<Vec<String>>,
}

/// What is sent, and what the user should know about it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct AskedEffort {
    pub(crate) effort: Option<Effort>,
    pub(crate) notice: Option<String>,
}

impl EffortRules {
    pub(crate) fn new(accepted: AcceptedThinking) -> Self {
        Self {
            accepted,
            without: Mutex::default(),
        }
    }

    /// The accepted effort that is nearest to what the user wants.
    pub(crate) fn asked(&self, model: &str, wanted: Option<ReasoningEffort>) -> AskedEffort {
        let Some(wanted) = wanted.map(Effort::from) else {
            return AskedEffort::default();
        };
        let refused = |reason: &str| AskedEffort {
            effort: None,
            notice: (wanted != Effort::None).then(|| {
                let wanted = wanted.as_str();
                format!("the reasoning effort {wanted:?} is not sent: {model} {reason}")
            }),
        };
        if self.takes_none(model) {
            return refused("refused it");
        }
        let efforts = self.accepted.of(model).efforts;
        match efforts.nearest(wanted) {
            None => refused("takes none"),
            Some(effort) if effort == wanted => AskedEffort {
                effort: Some(effort),
                notice: None,
            },
            Some(effort) => {
                let known: Vec<&str> = efforts.iter().map(Effort::as_str).collect();
                let notice = format!(
                    "{model} does not know the reasoning effort {:?} (it knows {}): {:?} is sent",
                    wanted.as_str(),
                    known.join(", "),
                    effort.as_str()
                );
                AskedEffort {
                    effort: Some(effort),
                    notice: Some(notice),
                }
            }
        }
    }

    fn takes_none(&self, model: &str) -> bool {
        let without = self.without.lock().unwrap_or_else(PoisonError::into_inner);
        without.iter().any(|known| known == model)
    }

    /// Whether the request should be sent once more, without an effort, because `error` says that the
    /// one it had is not supported.
    ///
    /// OpenAI: "Unsupported value: 'reasoning.effort' does not support 'x' with this model.", "Unsupported
    /// parameter: 'reasoning_effort' …", "Unrecognized request argument supplied: reasoning_effort".
    /// Groq: "`reasoning_effort` must be one of `none` or `default`".
    pub(crate) fn learn(&self, model: &str, asked: &AskedEffort, error: &ModelError) -> bool {
        let names_effort = || {
            let message = error.message.to_ascii_lowercase();
            // That one is about the wire.
            let is_about_wire = message.contains("v1/responses");
            !is_about_wire && (message.contains("effort") || message.contains("'reasoning'"))
        };
        let applies = asked.effort.is_some()
            && error.kind == ModelErrorKind::Invalid
            && names_effort()
            && !self.takes_none(model);
        if applies {
            let mut without = self.without.lock().unwrap_or_else(PoisonError::into_inner);
            if without.len() >= MAX_LEARNED {
                without.remove(0);
            }
            without.push(model.to_owned());
        }
        applies
    }
}

#[cfg(test)]
mod tests;
