//! Which rights are asked for.

use super::metadata::{AuthorizationServer, ProtectedResource};

/// The right to renew a login.
pub(super) const OFFLINE_ACCESS: &str = "offline_access";

/// Splits a list of scopes.
pub(super) fn split(scope: &str) -> Vec<String> {
    scope.split_ascii_whitespace().map(str::to_owned).collect()
}

/// Adds what `more` has and `scopes` has not, in order.
pub(super) fn add(scopes: &mut Vec<String>, more: &[String]) {
    for scope in more {
        if !scopes.contains(scope) {
            scopes.push(scope.clone());
        }
    }
}

/// Where scopes may come from.
pub(super) struct Sources<'a> {
    /// What the server's last refusal named.
    pub(super) challenged: Option<&'a str>,
    /// What was asked for before: rights are not lost by asking for more.
    pub(super) before: &'a [String],
    /// Of the entry.
    pub(super) configured: &'a [String],
    pub(super) resource: &'a ProtectedResource,
    pub(super) server: &'a AuthorizationServer,
}

/// Returns what to ask for: what the server named, else what the entry says, else all that the server
/// knows. Empty means to leave it to the authorisation server.
pub(super) fn choose(sources: &Sources<'_>) -> Vec<String> {
    let mut scopes = sources.before.to_vec();
    match sources.challenged {
        Some(challenged) => add(&mut scopes, &split(challenged)),
        None if scopes.is_empty() && sources.configured.is_empty() => {
            let supported = sources.resource.scopes_supported.as_deref();
            add(&mut scopes, supported.unwrap_or_default());
        }
        None => {}
    }
    add(&mut scopes, sources.configured);
    let supported = sources.server.scopes_supported.as_deref();
    let is_renewable = supported
        .unwrap_or_default()
        .iter()
        .any(|scope| scope == OFFLINE_ACCESS);
    // Alone it would replace the rights that come without asking.
    if is_renewable && !scopes.is_empty() {
        add(&mut scopes, &[OFFLINE_ACCESS.to_owned()]);
    }
    scopes
}

#[cfg(test)]
mod tests;
