//! Which models take a temperature.

use zot_conversation::{ModelRequest, Sampling};

#[cfg(test)]
mod tests;

/// What may be asked of a model behind one of OpenAI's wires: those that reason refuse it.
pub(crate) fn openai(request: &ModelRequest<'_>) -> Sampling {
    match request.reasoning.is_some() || always_reasons(request.model) {
        true => Sampling::default(),
        false => request.sampling,
    }
}

/// OpenAI's models that reason without being asked to.
fn always_reasons(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or_default();
    let numbered = |rest: &str| rest.starts_with(|character: char| character.is_ascii_digit());
    let o_series = name.strip_prefix('o').is_some_and(numbered);
    o_series || (name.starts_with("gpt-5") && !name.contains("-chat"))
}
