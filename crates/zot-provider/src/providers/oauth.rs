//! How to log in at a provider, from the user's `providers.json`; none is built in.

use std::collections::BTreeMap;

use serde::Deserialize;

/// How to log in at a provider.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OAuthEntry {
    pub client_id: String,
    pub client_secret: Option<String>,
    /// The address that a browser opens.
    pub authorize_url: Option<String>,
    pub token_url: String,
    /// The address for logging in with a code on another device.
    pub device_url: Option<String>,
    #[serde(default)]
    pub scopes: Vec<String>,
    /// Further parameters of the browser's address.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// The port that the provider requires; otherwise any free one.
    #[serde(default)]
    pub redirect_port: u16,
    #[serde(default = "default_redirect_path")]
    pub redirect_path: String,
}

fn default_redirect_path() -> String {
    "/callback".to_owned()
}

impl OAuthEntry {
    /// Returns what is wrong with the entry, if anything.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let urls = [&self.authorize_url, &self.device_url];
        let mut urls = urls.into_iter().flatten().chain([&self.token_url]);
        if self.client_id.is_empty() {
            Some("needs a \"clientId\" of your own")
        } else if self.authorize_url.is_none() && self.device_url.is_none() {
            Some("needs an \"authorizeUrl\", a \"deviceUrl\", or both")
        } else if !urls.all(|url| is_safe(url)) {
            Some(
                "has an address that is not https:// (http:// is for 127.0.0.1 and localhost only)",
            )
        } else if !self.redirect_path.starts_with('/') {
            Some("has a \"redirectPath\" that does not start with /")
        } else {
            None
        }
    }
}

/// Tokens must not be sent where others can read them.
fn is_safe(url: &str) -> bool {
    if url.starts_with("https://") {
        return true;
    }
    let Some(rest) = url.strip_prefix("http://") else {
        return false;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority
        .rsplit_once(':')
        .map_or(authority, |(host, _)| host);
    ["127.0.0.1", "localhost", "[::1]"].contains(&host)
}
