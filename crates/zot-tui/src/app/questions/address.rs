//! The address of a page that a server wants the user to open.

#[cfg(test)]
mod tests;

/// An address, and what the user must know before opening it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// The whole address.
    pub(super) url: String,
    /// Where it leads, if it is a page on the web.
    pub(super) host: Option<String>,
    /// Why it may not be what it seems, or cannot be opened.
    pub(super) warnings: Vec<&'static str>,
}

impl Address {
    pub(super) fn new(url: String) -> Self {
        let url = url.trim().to_owned();
        let mut warnings = Vec::new();
        let lower = url.to_ascii_lowercase();
        let is_private = lower.starts_with("https://");
        let rest = match is_private || lower.starts_with("http://") {
            true => url.split_once("://").map(|(_, rest)| rest),
            false => None,
        };
        // Browsers read a backslash as a slash.
        let authority = rest.and_then(|rest| rest.split(['/', '?', '#', '\\']).next());
        let host = authority.map(|authority| match authority.rsplit_once('@') {
            Some((_, host)) => host.to_owned(),
            None => authority.to_owned(),
        });
        let host = host.filter(|host| !host.is_empty() && !url.contains(char::is_whitespace));
        match &host {
            None => warnings.push("this is not the address of a web page, so zot does not open it"),
            Some(host) => {
                if authority.is_some_and(|authority| authority.contains('@')) {
                    warnings.push("what comes before the @ is not where it leads");
                }
                let is_disguised = host.split('.').any(|part| part.starts_with("xn--"));
                if !host.is_ascii() || is_disguised {
                    warnings.push("the host has letters that may look like others");
                }
                if !is_private && !is_local(host) {
                    warnings.push("the connection is not encrypted");
                }
            }
        }
        Self {
            url,
            host,
            warnings,
        }
    }
}

/// Returns whether a host is this machine.
fn is_local(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(inner) => inner.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    matches!(name, "localhost" | "127.0.0.1" | "::1")
}
