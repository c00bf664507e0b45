//! Responses, all with headers that isolate the page.

use http::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use zot_http_server::Body;

/// Allows code, styles, images and connections only from this server, and no embedding page. The page has
/// no inline code.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Returns the headers of every response.
pub(super) fn common_headers() -> HeaderMap {
    let headers = [
        (CONTENT_SECURITY_POLICY, CONTENT_POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (CACHE_CONTROL, "no-store"),
    ];
    headers
        .into_iter()
        .map(|(name, value)| (name, HeaderValue::from_static(value)))
        .collect()
}

pub(super) fn ok(content_type: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    let value = HeaderValue::from_static(content_type);
    response.headers_mut().insert(CONTENT_TYPE, value);
    response
}

pub(super) fn failure(status: StatusCode, message: &str) -> Response<Body> {
    let mut response = ok("text/plain; charset=utf-8", format!("{message}\n"));
    *response.status_mut() = status;
    if status == StatusCode::METHOD_NOT_ALLOWED {
        let allowed = HeaderValue::from_static("GET");
        response.headers_mut().insert(ALLOW, allowed);
    }
    response
}

/// Makes the server close the connection after this response.
pub(super) fn closing(mut response: Response<Body>) -> Response<Body> {
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
    response
}
