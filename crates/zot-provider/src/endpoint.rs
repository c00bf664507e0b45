//! Where a provider is and how it is asked.

use std::fmt;
use std::sync::Arc;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use zot_conversation::{ModelError, ModelErrorKind};

use crate::api_key::ApiKey;

/// One provider's address and credential.
#[derive(Clone)]
pub struct Endpoint {
    /// The name used in error texts and in reasoning blocks.
    pub provider: String,
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
    /// The base URL without slashes at its end, and its query, which some gateways want. A fragment
    /// is never sent.
    pub(crate) fn base(&self) -> (&str, &str) {
        let base = self.base_url.trim();
        let base = base.split_once('#').map_or(base, |(base, _)| base);
        let query = base.find('?').unwrap_or(base.len());
        let (base, query) = base.split_at(query);
        (base.trim_end_matches('/'), query)
    }

    /// The address of `path`, or why there is none.
    pub(crate) fn uri(&self, path: &str) -> Result<Uri, String> {
        let (base, query) = self.base();
        let uri: Uri = format!("{base}{path}{query}")
            .parse()
            .map_err(|error| format!("{error}"))?;
        match uri.scheme_str() {
            Some("http" | "https") if uri.authority().is_some() => Ok(uri),
            _ => Err("it must start with http:// or https://".to_owned()),
        }
    }

    /// `uri` as it may be shown: without user information and query, which can hold secrets.
    pub(crate) fn shown_url(&self, uri: &Uri) -> String {
        let scheme = uri.scheme_str().unwrap_or_default();
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let host = authority.rsplit('@').next().unwrap_or_default();
        format!("{scheme}://{host}{}", uri.path())
    }

    /// The secret of the moment, which must not appear in any text.
    pub(crate) fn secret(&self) -> Option<Arc<str>> {
        self.api_key.as_ref().map(ApiKey::secret)
    }

    /// The headers every wire sends.
    pub(crate) fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let user_agent = concat!("zot/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(user_agent));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers
    }

    /// [`Self::headers`] with the key, if there is one, as `name: <prefix><key>`.
    pub(crate) fn headers_with_key(
        &self,
        name: HeaderName,
        prefix: &str,
    ) -> Result<HeaderMap, ModelError> {
        let mut headers = self.headers();
        if let Some(key) = &self.api_key {
            let (name, prefix) = match key.is_token() {
                true => (AUTHORIZATION, "Bearer "),
                false => (name, prefix),
            };
            let value = secret_header(&format!("{prefix}{}", key.secret())).map_err(|reason| {
                ModelError::new(
                    ModelErrorKind::Unauthorized,
                    format!("{}: {reason}", self.provider),
                )
            })?;
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

/// A header value that is kept out of debug output.
fn secret_header(value: &str) -> Result<HeaderValue, &'static str> {
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| "the API key has characters that a header cannot carry")?;
    value.set_sensitive(true);
    Ok(value)
}
