//! The header fields of a request: the user's, the protocol's, and values that a header cannot hold.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING,
    USER_AGENT,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use zot_process::Secret;

pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// How a parameter is repeated in a header.
pub(super) const PARAMETER_PREFIX: &str = "mcp-param-";

const ENCODED_START: &str = "=?base64?";
const ENCODED_END: &str = "?=";

/// The fields that belong to the connection.
const RESERVED: [HeaderName; 4] = [HOST, CONTENT_LENGTH, CONNECTION, TRANSFER_ENCODING];

/// A header of an entry that cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the header {0:?} cannot be sent: check its name and value in the server's entry")]
pub struct InvalidHeader(pub String);

/// Checks the headers of an entry. Their values count as secrets.
pub(crate) fn own_headers(headers: &BTreeMap<String, String>) -> Result<HeaderMap, InvalidHeader> {
    let mut checked = HeaderMap::new();
    for (name, value) in headers {
        let invalid = || InvalidHeader(name.clone());
        let field = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
        if RESERVED.contains(&field) {
            return Err(invalid());
        }
        let mut value = HeaderValue::from_str(value.trim()).map_err(|_| invalid())?;
        value.set_sensitive(true);
        checked.insert(field, value);
    }
    Ok(checked)
}

/// Adds what every request has.
pub(crate) fn add_common(headers: &mut HeaderMap, accept: &'static str) {
    let user_agent = concat!("zot/", env!("CARGO_PKG_VERSION"));
    headers
        .entry(USER_AGENT)
        .or_insert(HeaderValue::from_static(user_agent));
    headers.insert(ACCEPT, HeaderValue::from_static(accept));
}

/// Adds the type of the body of a message.
pub(crate) fn add_json(headers: &mut HeaderMap) {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
}

/// Adds a token. One that a header cannot hold is not sent, and then refused as missing.
pub(crate) fn add_token(headers: &mut HeaderMap, token: &Secret) {
    if let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {}", &**token)) {
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
}

/// Adds what the modern era repeats of a request's body.
pub(super) fn add_modern(
    headers: &mut HeaderMap,
    method: &str,
    name: Option<&str>,
    parameters: &[(String, String)],
) {
    headers.insert(METHOD, encoded(method));
    if let Some(name) = name {
        headers.insert(NAME, encoded(name));
    }
    for (parameter, value) in parameters {
        let field = format!("{PARAMETER_PREFIX}{parameter}");
        if let Ok(field) = HeaderName::from_bytes(field.as_bytes()) {
            headers.insert(field, encoded(value));
        }
    }
}

/// Writes a value as it is if a header can hold it, else in Base64 between markers.
fn encoded(value: &str) -> HeaderValue {
    let is_plain = value.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && value.trim() == value
        && !(value.starts_with(ENCODED_START) && value.ends_with(ENCODED_END));
    if is_plain && let Ok(value) = HeaderValue::from_str(value) {
        return value;
    }
    let text = format!("{ENCODED_START}{}{ENCODED_END}", STANDARD.encode(value));
    // Base64 and the markers are plain.
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests;
