//! Reads the parts of a request.

use http::header::HOST;
use http::{HeaderMap, HeaderName, Request};

/// Returns a value of the query, undecoded; `None` if the name occurs twice.
pub(super) fn query<'a, B>(request: &'a Request<B>, name: &str) -> Option<&'a str> {
    let pairs = request.uri().query().unwrap_or_default().split('&');
    let mut values = pairs
        .filter_map(|pair| pair.split_once('='))
        .filter(|(key, _)| *key == name);
    let value = values.next().map(|(_, value)| value);
    if values.next().is_some() { None } else { value }
}

/// Returns the value of a header; `None` if it occurs twice.
pub(super) fn header(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => std::str::from_utf8(value.as_bytes()).ok(),
        _ => None,
    }
}

/// Returns the host that a request names, without its port.
pub(super) fn host<B>(request: &Request<B>) -> Option<&str> {
    header(request.headers(), HOST).and_then(host_name)
}

fn host_name(host: &str) -> Option<&str> {
    let (name, rest) = match host.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => match host.find(':') {
            Some(colon) => host.split_at(colon),
            None => (host, ""),
        },
    };
    let port = rest.strip_prefix(':').unwrap_or(rest);
    let whole = port.len() == rest.len() && port.is_empty()
        || port.len() < rest.len() && port.parse::<u16>().is_ok();
    (whole && !name.is_empty()).then_some(name)
}
