//! A provider's address and credentials.

use std::borrow::Cow;
use std::fmt;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use zot_conversation::{ModelError, ModelErrorKind};
use zot_process::Secret;

use crate::api_key::{ApiKey, CurrentSecret};

/// The operations that requests are sent to. A base URL ends in one of them if the user gave the
/// whole address.
const OPERATIONS: [&str; 3] = ["/chat/completions", "/responses", "/messages"];

/// What a wire adds to a base URL.
#[derive(Debug, Clone)]
pub(crate) struct Target<'a> {
    /// The version to add where the base URL names none, for example `/v1`.
    pub(crate) version: &'static str,
    /// For example `/chat/completions`; may have a query.
    pub(crate) operation: Cow<'a, str>,
}

impl Target<'static> {
    pub(crate) const fn new(version: &'static str, operation: &'static str) -> Self {
        Self {
            version,
            operation: Cow::Borrowed(operation),
        }
    }
}

/// A parsed base URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Base<'a> {
    /// Scheme, host and path, without slashes at the end.
    pub(crate) path: &'a str,
    /// The query without its question mark; some gateways require one in every request.
    pub(crate) query: &'a str,
    /// Whether no version may be added: the URL ends in `#` or in what requests are sent to, or its
    /// query names the version.
    pub(crate) exact: bool,
}

impl Base<'_> {
    /// Returns the version that goes between the base URL and the operation, if any.
    pub(crate) fn added_version(&self, target: &Target<'_>) -> Option<&'static str> {
        let after_scheme = self
            .path
            .split_once("://")
            .map_or(self.path, |(_, rest)| rest);
        // Without a slash there is only a host.
        let last = after_scheme.rsplit_once('/').map_or("", |(_, last)| last);
        (!self.exact && !is_version(last)).then_some(target.version)
    }
}

/// Returns whether a segment of a path is a version: `v1`, `v4`, `v1beta`, `v1beta2`, `v1.1`.
fn is_version(segment: &str) -> bool {
    let Some(rest) = segment.strip_prefix(['v', 'V']) else {
        return false;
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    if digits.len() == rest.len() {
        return false;
    }
    if let Some(minor) = digits.strip_prefix('.') {
        return is_number(minor);
    }
    let stage = ["alpha", "beta", "preview"];
    let after = stage.iter().find_map(|stage| digits.strip_prefix(stage));
    digits.is_empty() || after.is_some_and(|number| number.is_empty() || is_number(number))
}

/// Marks `base_url` so that no version is added to it, whatever its path.
///
/// For programs whose users enter the same address as in other clients of the server.
pub fn exact_base_url(base_url: &str) -> String {
    let base = base_url.trim();
    let base = base.split_once('#').map_or(base, |(base, _)| base);
    format!("{base}#")
}

/// One provider's address and credential.
#[derive(Clone)]
pub struct Endpoint {
    /// The name used in error texts and in reasoning blocks.
    pub provider: String,
    /// The part before `/v1/messages` and the like; see `docs/providers.md` for what is added.
    pub base_url: String,
    /// Without a key no authorisation is sent.
    pub api_key: Option<ApiKey>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Endpoint")
            .field("provider", &self.provider)
            .field("base_url", &self.base_url)
            .field("api_key", &self.api_key)
            .finish()
    }
}

impl Endpoint {
    /// Parses the base URL.
    pub(crate) fn base(&self) -> Base<'_> {
        let text = self.base_url.trim();
        let (text, mut exact) = match text.split_once('#') {
            // A fragment with text has no meaning here and is never sent.
            Some((text, fragment)) => (text, fragment.is_empty()),
            None => (text, false),
        };
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        let mut path = path.trim_end_matches('/');
        // Azure: the version is in the query, and the path is that of a deployment.
        exact |= query
            .split('&')
            .any(|field| field.starts_with("api-version="));
        if let Some(root) = OPERATIONS.iter().find_map(|name| path.strip_suffix(name)) {
            path = root.trim_end_matches('/');
            exact = true;
        }
        Base { path, query, exact }
    }

    /// Returns the address of `target`, or why the base URL is invalid.
    pub(crate) fn uri(&self, target: &Target<'_>) -> Result<Uri, String> {
        let base = self.base();
        let version = base.added_version(target).unwrap_or_default();
        self.address(&base, &format!("{version}{}", target.operation))
    }

    /// Returns the base URL itself, without what a wire adds.
    pub(crate) fn base_uri(&self) -> Result<Uri, String> {
        self.address(&self.base(), "")
    }

    fn address(&self, base: &Base<'_>, suffix: &str) -> Result<Uri, String> {
        let (suffix, own_query) = suffix.split_once('?').unwrap_or((suffix, ""));
        let queries = [own_query, base.query].into_iter();
        let query =
            queries
                .filter(|query| !query.is_empty())
                .fold(String::new(), |joined, query| match joined.is_empty() {
                    true => format!("?{query}"),
                    false => format!("{joined}&{query}"),
                });
        let uri: Uri = format!("{}{suffix}{query}", base.path)
            .parse()
            .map_err(|error| format!("{error}"))?;
        match uri.scheme_str() {
            Some("http" | "https") if uri.authority().is_some() => Ok(uri),
            _ => Err("it must start with http:// or https://".to_owned()),
        }
    }

    /// Returns `uri` without user information and query, which can hold secrets.
    pub(crate) fn shown_url(&self, uri: &Uri) -> String {
        let scheme = uri.scheme_str().unwrap_or_default();
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let host = authority.rsplit('@').next().unwrap_or_default();
        format!("{scheme}://{host}{}", uri.path())
    }

    fn is_azure(&self) -> bool {
        let host = self.base_uri().ok();
        let host = host.as_ref().and_then(Uri::host).unwrap_or_default();
        host.to_ascii_lowercase().ends_with(".azure.com")
    }

    /// Returns the current secret, which must not appear in any message.
    pub(crate) fn secret(&self) -> Option<CurrentSecret> {
        self.api_key.as_ref().map(ApiKey::secret)
    }

    /// Returns the headers that every wire sends.
    pub(crate) fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let user_agent = concat!("zot/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(user_agent));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers
    }

    /// Returns [`Self::headers`] with the key, if any, as `name: <prefix><key>`.
    pub(crate) fn headers_with_key(
        &self,
        name: HeaderName,
        prefix: &str,
    ) -> Result<HeaderMap, ModelError> {
        let mut headers = self.headers();
        if let Some(key) = &self.api_key {
            let (name, prefix) = match key.is_token() {
                true => (AUTHORIZATION, "Bearer "),
                // On Azure a bearer is a token of Entra ID, and a key has its own header.
                false if name == AUTHORIZATION && self.is_azure() => {
                    (HeaderName::from_static("api-key"), "")
                }
                false => (name, prefix),
            };
            let shown = Secret::from(format!("{prefix}{}", &*key.secret()));
            let value = secret_header(&shown).map_err(|reason| {
                ModelError::new(ModelErrorKind::Unauthorized, reason).with_provider(&self.provider)
            })?;
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

/// Returns a header value that is kept out of debug output.
fn secret_header(value: &str) -> Result<HeaderValue, &'static str> {
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| "the API key has characters that a header cannot carry")?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests;
