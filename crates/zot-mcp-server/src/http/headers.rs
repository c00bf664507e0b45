//! Headers that say what is in the body, which has to agree.

#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use zot_http_server::Body;
use zot_http_server::http::header::{ACCEPT, CONTENT_TYPE};
use zot_http_server::http::{HeaderMap, HeaderName, HeaderValue, Response};
use zot_mcp::json_rpc::{HEADER_MISMATCH, RpcError};
use zot_mcp::version::LEGACY_VERSIONS;

use super::access::single;
use crate::frame::error;
use crate::request::{stated_version, unsupported_version};

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// A header that occurs twice or is not text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ambiguous;

/// Returns the version in the headers.
pub(super) fn version_header(headers: &HeaderMap) -> Result<Option<&str>, Ambiguous> {
    match headers.contains_key(VERSION) {
        false => Ok(None),
        true => single(headers, VERSION).map(Some).ok_or(Ambiguous),
    }
}

/// Checks that a legacy request names a version we speak, if it names one.
pub(super) fn check_legacy(headers: &HeaderMap) -> Result<(), RpcError> {
    match version_header(headers) {
        Ok(None) => Ok(()),
        Ok(Some(version)) if LEGACY_VERSIONS.contains(&version) => Ok(()),
        Ok(Some(version)) => Err(unsupported_version(version)),
        Err(Ambiguous) => Err(mismatch("MCP-Protocol-Version: expected one version")),
    }
}

/// Checks that the headers of a modern request say what its body says.
pub(super) fn check_modern(
    headers: &HeaderMap,
    method: &str,
    params: &Map<String, Value>,
) -> Result<(), RpcError> {
    let version = stated_version(params).and_then(Value::as_str);
    // Without a version in the body, that is what is missing first.
    if let Some(version) = version {
        expect(headers, VERSION, "MCP-Protocol-Version", version)?;
    }
    expect(headers, METHOD, "Mcp-Method", method)?;
    let name = match method {
        "tools/call" | "prompts/get" => params.get("name"),
        "resources/read" => params.get("uri"),
        _ => None,
    };
    match name.and_then(Value::as_str) {
        Some(name) => expect(headers, NAME, "Mcp-Name", name),
        None => Ok(()),
    }
}

fn expect(
    headers: &HeaderMap,
    name: HeaderName,
    shown: &str,
    expected: &str,
) -> Result<(), RpcError> {
    let Some(found) = single(headers, name.clone()) else {
        return Err(mismatch(format!(
            "{shown}: expected one header with {expected:?}"
        )));
    };
    // Only names may have characters that headers cannot.
    let found = match name == NAME {
        true => decoded(found).ok_or_else(|| {
            mismatch(format!("{shown}: expected base64 between =?base64? and ?="))
        })?,
        false => found.to_owned(),
    };
    match found == expected {
        true => Ok(()),
        false => Err(mismatch(format!(
            "{shown}: the header has {found:?}, the body {expected:?}"
        ))),
    }
}

fn decoded(value: &str) -> Option<String> {
    let encoded = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
    match encoded {
        None => Some(value.to_owned()),
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
    }
}

fn mismatch(problem: impl Into<String>) -> RpcError {
    error(HEADER_MISMATCH, problem)
}

/// Returns whether the body is said to be JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = single(headers, CONTENT_TYPE).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

/// Returns whether the client can read a stream of events.
pub(super) fn accepts_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter();
    accepted
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|kind| kind.split(';').next().unwrap_or_default().trim())
        .any(|kind| kind.eq_ignore_ascii_case("text/event-stream"))
}

pub(super) fn set_session(response: &mut Response<Body>, session: &str) {
    if let Ok(value) = HeaderValue::from_str(session) {
        response.headers_mut().insert(SESSION, value);
    }
}
