//! Who may use the server: clients on this machine that know the token, and no web page.

#[cfg(test)]
mod tests;

use std::net::IpAddr;

use zot_http_server::http::header::{AUTHORIZATION, HOST, ORIGIN, WWW_AUTHENTICATE};
use zot_http_server::http::{
    HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Uri,
};
use zot_http_server::{Body, Bytes};

use super::stream::failure;
use super::token::Token;

pub(super) struct Access {
    token: Token,
}

impl Access {
    pub(super) fn new(token: Token) -> Self {
        Self { token }
    }

    /// Returns the response to a request that is not allowed. Without the token a client learns nothing.
    pub(super) fn refusal(&self, request: &Request<Bytes>) -> Option<Response<Body>> {
        let headers = request.headers();
        // A page of another site can make its own name resolve to this server.
        let host = single(headers, HOST).and_then(|host| host.parse::<Uri>().ok());
        if !host.as_ref().and_then(Uri::host).is_some_and(is_local) {
            return Some(failure(
                StatusCode::FORBIDDEN,
                "this Host is not allowed: use localhost, 127.0.0.1 or [::1]",
            ));
        }
        if headers.contains_key(ORIGIN) && !single(headers, ORIGIN).is_some_and(is_local_origin) {
            return Some(failure(
                StatusCode::FORBIDDEN,
                "this Origin is not allowed: web pages cannot use zot",
            ));
        }
        let token = single(headers, AUTHORIZATION).and_then(bearer);
        if !token.is_some_and(|token| self.token.matches(token)) {
            let mut response = failure(
                StatusCode::UNAUTHORIZED,
                "expected Authorization: Bearer TOKEN, as `zot mcp serve` has printed it",
            );
            let challenge = HeaderValue::from_static("Bearer realm=\"zot\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
            return Some(response);
        }
        None
    }
}

/// Returns the value of a header; `None` if it is missing or occurs twice.
pub(super) fn single(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim_start())
}

fn is_local_origin(origin: &str) -> bool {
    let Ok(uri) = origin.parse::<Uri>() else {
        return false;
    };
    matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(is_local)
}

fn is_local(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}
