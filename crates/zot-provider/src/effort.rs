//! How hard a model of OpenAI's wires is asked to think.

use std::sync::{Mutex, PoisonError};

use zot_conversation::{ModelError, ModelErrorKind, ReasoningEffort};

use crate::catalog::{AcceptedThinking, Effort, ModelInfo};

/// The most models of one server that are remembered to take no effort.
///
/// Limit: the oldest model that refused an effort is asked with one again.
const MAX_REFUSED_EFFORTS: usize = 64;

/// What the models of one endpoint accept.
#[derive(Default)]
pub(crate) struct EffortRules {
    accepted: AcceptedThinking,
    /// Models that refused the effort they were asked for.
    without: Mutex<Vec<String>>,
}

impl EffortRules {
    pub(crate) fn new(accepted: AcceptedThinking) -> Self {
        Self {
            accepted,
            without: Mutex::default(),
        }
    }

    /// The accepted effort that is nearest to what the user wants.
    pub(crate) fn asked(&self, model: &str, wanted: Option<ReasoningEffort>) -> Option<Effort> {
        let wanted = wanted?;
        if self.takes_none(model) {
            return None;
        }
        self.accepted.of(model).efforts.nearest(wanted.into())
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
    pub(crate) fn learn(&self, model: &str, asked: Option<Effort>, error: &ModelError) -> bool {
        let names_effort = || {
            let message = error.message.to_ascii_lowercase();
            // That one is about the wire.
            let is_about_wire = message.contains("v1/responses");
            !is_about_wire && (message.contains("effort") || message.contains("'reasoning'"))
        };
        let applies = asked.is_some()
            && error.kind == ModelErrorKind::Invalid
            && names_effort()
            && !self.takes_none(model);
        if applies {
            let mut without = self.without.lock().unwrap_or_else(PoisonError::into_inner);
            if without.len() >= MAX_REFUSED_EFFORTS {
                without.remove(0);
            }
            without.push(model.to_owned());
        }
        applies
    }
}

/// What the user should know when `model` is not asked for the effort that is wanted.
pub fn effort_note(model: &ModelInfo, wanted: ReasoningEffort) -> Option<String> {
    let (wanted, id) = (Effort::from(wanted), &model.id);
    match model.efforts.nearest(wanted) {
        Some(effort) if effort == wanted => None,
        None if wanted == Effort::None => None,
        None => Some(format!(
            "the reasoning effort {:?} is not sent: {id} takes none",
            wanted.as_str()
        )),
        Some(effort) => {
            let known: Vec<&str> = model.efforts.iter().map(Effort::as_str).collect();
            Some(format!(
                "{id} does not know the reasoning effort {:?} (it knows {}): {:?} is sent",
                wanted.as_str(),
                known.join(", "),
                effort.as_str()
            ))
        }
    }
}

#[cfg(test)]
mod tests;
