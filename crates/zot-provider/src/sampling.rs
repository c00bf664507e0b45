//! Which models take a temperature.

use zot_conversation::{ModelRequest, ReasoningEffort, Sampling};

use crate::catalog::rules;

/// What may be asked of a model behind one of OpenAI's wires that is asked to think with `effort`:
/// those that reason refuse it.
pub(crate) fn openai(request: &ModelRequest<'_>, effort: Option<ReasoningEffort>) -> Sampling {
    match effort.is_some() || rules::refuses_sampling(request.model) {
        true => Sampling::default(),
        false => request.sampling,
    }
}

#[cfg(test)]
mod tests;
