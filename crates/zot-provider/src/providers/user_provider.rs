//! Providers that `models.json` describes.

use std::borrow::Cow;

use super::{KeyRequirement, OpenAiQuirks, ProviderEntry, Wire, WireChoice};
use crate::catalog::UserProvider;

/// Creates the entry of a provider that only this file defines; without an address it cannot be
/// used.
pub(super) fn entry(user: &UserProvider) -> Option<ProviderEntry> {
    let name: Cow<'static, str> = Cow::Owned(user.name.clone());
    Some(ProviderEntry {
        aliases: Vec::new(),
        base_url: Cow::Owned(user.base_url.clone()?),
        wire: user
            .wire
            .unwrap_or(Wire::OpenAiChat(OpenAiQuirks::COMPATIBLE)),
        wire_choice: WireChoice::Provider,
        key_variables: vec![Cow::Owned(key_variable(&user.name))],
        // A user's own server often needs no key.
        key: match user.keyless {
            true => KeyRequirement::Unused,
            false => KeyRequirement::Optional,
        },
        default_model: Cow::Owned(user.first_model.clone().unwrap_or_default()),
        catalog: name.clone(),
        oauth: None,
        name,
    })
}

/// Changes the entry of a known provider.
pub(super) fn change(entry: &mut ProviderEntry, user: &UserProvider) {
    if let Some(base_url) = user.base_url.as_ref().filter(|_| user.is_for_all) {
        entry.base_url = Cow::Owned(base_url.clone());
        entry.key = KeyRequirement::Optional;
        if user.keyless {
            entry.key = KeyRequirement::Unused;
        }
    }
    if user.wire.is_some() {
        entry.wire_choice = WireChoice::Provider;
    }
    match (user.wire, entry.wire) {
        // Naming the wire that it already has keeps its quirks.
        (Some(Wire::OpenAiChat(_)), Wire::OpenAiChat(_)) | (None, _) => {}
        (Some(wire), _) => entry.wire = wire,
    }
}

/// Returns the variable for the key: `MY_COMPANY_API_KEY` for `my-company`.
fn key_variable(name: &str) -> String {
    let mut variable: String = name
        .chars()
        .map(|c| match c.is_ascii_alphanumeric() {
            true => c.to_ascii_uppercase(),
            false => '_',
        })
        .collect();
    variable.push_str("_API_KEY");
    variable
}
