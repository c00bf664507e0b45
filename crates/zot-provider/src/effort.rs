//! The reasoning effort requested on OpenAI's wires.

use std::sync::{Mutex, PoisonError};

use zot_conversation::{ModelError, ModelErrorKind, ModelStream, ReasoningEffort};

use crate::catalog::{AcceptedThinking, ModelInfo};
use crate::second_chance::SecondChance;

/// The most models of one server that are remembered as accepting no effort.
///
/// Limit: the oldest model that refused an effort is asked with one again.
const MAX_REFUSED_EFFORTS: usize = 64;

/// What the models of one endpoint accept.
#[derive(Default)]
pub(crate) struct EffortRules {
    accepted: AcceptedThinking,
    /// Models that refused the requested effort.
    without: Mutex<Vec<String>>,
}

impl EffortRules {
    pub(crate) fn new(accepted: AcceptedThinking) -> Self {
        Self {
            accepted,
            without: Mutex::default(),
        }
    }

    /// Returns the accepted effort nearest to the user's.
    fn nearest(&self, model: &str, wanted: Option<ReasoningEffort>) -> Option<ReasoningEffort> {
        let wanted = wanted?;
        if self.refuses_efforts(model) {
            return None;
        }
        self.accepted.of(model).efforts.nearest(wanted)
    }

    /// Makes an attempt with the accepted effort nearest to `wanted`, and another without one if
    /// the server refuses that effort.
    pub(crate) fn stream<'a>(
        &'a self,
        model: &'a str,
        wanted: Option<ReasoningEffort>,
        attempt: impl Fn(Option<ReasoningEffort>) -> ModelStream<'a> + Send + 'a,
    ) -> ModelStream<'a> {
        let effort = self.nearest(model, wanted);
        Box::pin(SecondChance::new(attempt(effort), move |refusal| {
            let is_refused = self.learn(model, effort, refusal);
            is_refused.then(|| attempt(self.nearest(model, wanted)))
        }))
    }

    fn refuses_efforts(&self, model: &str) -> bool {
        let without = self.without.lock().unwrap_or_else(PoisonError::into_inner);
        without.iter().any(|known| known == model)
    }

    /// Returns whether the request should be sent again without an effort, because the effort is
    /// not supported according to `error`. Remembers that for later requests.
    ///
    /// OpenAI: "Unsupported value: 'reasoning.effort' does not support 'x' with this model.", "Unsupported
    /// parameter: 'reasoning_effort' …", "Unrecognized request argument supplied: reasoning_effort".
    /// Groq: "`reasoning_effort` must be one of `none` or `default`".
    fn learn(&self, model: &str, requested: Option<ReasoningEffort>, error: &ModelError) -> bool {
        let names_effort = || {
            let message = error.message.to_ascii_lowercase();
            // Such a refusal is about the wire, not the effort.
            let is_about_wire = message.contains("v1/responses");
            !is_about_wire && (message.contains("effort") || message.contains("'reasoning'"))
        };
        let applies = requested.is_some()
            && error.kind == ModelErrorKind::Invalid
            && names_effort()
            && !self.refuses_efforts(model);
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

/// Returns a note for the user if `model` is not sent the effort they chose.
pub fn effort_note(model: &ModelInfo, wanted: ReasoningEffort) -> Option<String> {
    let id = &model.id;
    match model.efforts.nearest(wanted) {
        Some(effort) if effort == wanted => None,
        None if wanted == ReasoningEffort::None => None,
        None => Some(format!(
            "the reasoning effort {:?} is not sent: {id} takes none",
            wanted.as_str()
        )),
        Some(effort) => {
            let known: Vec<&str> = model.efforts.iter().map(ReasoningEffort::as_str).collect();
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
