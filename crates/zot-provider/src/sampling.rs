//! Which models accept a temperature.

use zot_conversation::{ModelRequest, ReasoningEffort, Sampling};

use crate::catalog::rules;

/// Returns the sampling options for a request with `effort` on one of OpenAI's wires: models that
/// reason refuse them.
pub(crate) fn openai(request: &ModelRequest<'_>, effort: Option<ReasoningEffort>) -> Sampling {
    match effort.is_some() || rules::refuses_sampling(request.model) {
        true => Sampling::default(),
        false => request.sampling,
    }
}

#[cfg(test)]
mod tests;
