//! What a request asks of the proxy, and what the server gets of it.

#[cfg(test)]
mod tests;

use thiserror::Error;

use super::body::Body;
use super::head::{BadHead, Field, RequestHead};
use crate::sandbox::host::{BadHost, Target};

/// Fields that concern one connection only, beside those that begin with `Proxy-` and those that
/// `Connection` names. The last three are written anew.
const NOT_FORWARDED: [&str; 9] = [
    "Connection",
    "Keep-Alive",
    "TE",
    "Trailer",
    "Upgrade",
    "HTTP2-Settings",
    "Host",
    "Content-Length",
    "Transfer-Encoding",
];

/// What a request asks for.
#[derive(Debug)]
pub(super) enum Request {
    /// A tunnel.
    Connect(Target),
    /// A plain request.
    Forward(Forward),
}

/// A request in the form in which the server gets it.
#[derive(Debug)]
pub(super) struct Forward {
    pub(super) target: Target,
    pub(super) head: Vec<u8>,
    pub(super) body: Body,
}

/// Why a request is refused whatever the rules are.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum BadRequest {
    #[error(transparent)]
    Head(#[from] BadHead),
    #[error(transparent)]
    Host(#[from] BadHost),
    #[error("this is a proxy: expected \"CONNECT host:port\" or a URL that begins with http://")]
    NotForProxy,
    #[error("https needs a tunnel: expected \"CONNECT host:port\"")]
    Https,
    #[error("its URL has a fragment")]
    Fragment,
    #[error("the Host header names another host than the URL")]
    OtherHost,
    #[error("it has several {0} headers")]
    Repeated(&'static str),
    #[error("its Content-Length is not a number")]
    Length,
    #[error("only \"Transfer-Encoding: chunked\" is understood, in HTTP/1.1")]
    Coding,
    #[error("it has both Content-Length and Transfer-Encoding")]
    TwoLengths,
    #[error("CONNECT has no body")]
    TunnelBody,
    #[error("Connection names a header that every server needs")]
    Connection,
    #[error("its chunked body is malformed, or has extensions or trailers")]
    Chunk,
}

impl Request {
    /// Reads the head of a request.
    pub(super) fn parse(head: &[u8]) -> Result<Self, BadRequest> {
        let head = RequestHead::parse(head)?;
        let host = only(&head.fields, "Host")?;
        let body = body(&head)?;
        if head.method == "CONNECT" {
            let target = Target::parse(head.target, None)?;
            return match body.is_complete() {
                true => Ok(Self::Connect(target)),
                false => Err(BadRequest::TunnelBody),
            };
        }
        let (target, path) = absolute(head.target)?;
        if let Some(host) = host {
            let host = str::from_utf8(host.value).map_err(|_| BadRequest::OtherHost)?;
            if Target::parse(host, Some(target.port))?.host != target.host {
                return Err(BadRequest::OtherHost);
            }
        }
        let head = rewritten(&head, &target, path, &body)?;
        Ok(Self::Forward(Forward { target, head, body }))
    }
}

/// Separates the URL of a request into its server, and its path and query.
fn absolute(url: &str) -> Result<(Target, &str), BadRequest> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err(BadRequest::NotForProxy);
    };
    if scheme.eq_ignore_ascii_case("https") {
        return Err(BadRequest::Https);
    }
    if !scheme.eq_ignore_ascii_case("http") {
        return Err(BadRequest::NotForProxy);
    }
    if rest.contains('#') {
        return Err(BadRequest::Fragment);
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    Ok((Target::parse(authority, Some(80))?, path))
}

/// Returns how long the body is. Nothing is guessed: two answers to that question are a way to hide a
/// second request in the body of the first.
fn body(head: &RequestHead<'_>) -> Result<Body, BadRequest> {
    let length = only(&head.fields, "Content-Length")?;
    let coding = only(&head.fields, "Transfer-Encoding")?;
    match (length, coding) {
        (None, None) => Ok(Body::Complete),
        (Some(_), Some(_)) => Err(BadRequest::TwoLengths),
        (Some(length), None) => {
            let is_number = length.value.iter().all(u8::is_ascii_digit);
            let number = str::from_utf8(length.value).ok();
            match number.and_then(|number| number.parse().ok()) {
                Some(length) if is_number => Ok(Body::Bytes(length)),
                _ => Err(BadRequest::Length),
            }
        }
        (None, Some(coding)) => {
            let is_known = coding.value.eq_ignore_ascii_case(b"chunked");
            match is_known && head.version == "HTTP/1.1" {
                true => Ok(Body::chunked()),
                false => Err(BadRequest::Coding),
            }
        }
    }
}

fn rewritten(
    head: &RequestHead<'_>,
    target: &Target,
    path: &str,
    body: &Body,
) -> Result<Vec<u8>, BadRequest> {
    let mut text = format!("{} ", head.method);
    match path {
        "" if head.method == "OPTIONS" => text.push('*'),
        path if path.starts_with('/') => text.push_str(path),
        path => {
            text.push('/');
            text.push_str(path);
        }
    }
    text.push_str(&format!(" {}\r\nHost: {}", head.version, target.host));
    if target.port != 80 {
        text.push_str(&format!(":{}", target.port));
    }
    text.push_str("\r\n");
    let named = named_by_connection(&head.fields)?;
    let mut bytes = text.into_bytes();
    for field in &head.fields {
        let is_named = || named.iter().any(|name| field.is(name));
        if !NOT_FORWARDED.iter().any(|name| field.is(name)) && !is_proxys(field) && !is_named() {
            push(&mut bytes, field);
        }
    }
    bytes.extend_from_slice(body.header().as_bytes());
    bytes.extend_from_slice(b"Connection: close\r\n\r\n");
    Ok(bytes)
}

/// Returns the names of further fields that concern one connection only.
fn named_by_connection<'a>(fields: &'a [Field<'_>]) -> Result<Vec<&'a str>, BadRequest> {
    let mut names = Vec::new();
    let lists = fields
        .iter()
        .filter(|field| field.is("Connection") || field.is("Proxy-Connection"));
    for item in lists.flat_map(Field::items) {
        let name = str::from_utf8(item).map_err(|_| BadRequest::Connection)?;
        let needed = ["Host", "Content-Length", "Transfer-Encoding"];
        if needed
            .iter()
            .any(|needed| needed.eq_ignore_ascii_case(name))
        {
            return Err(BadRequest::Connection);
        }
        names.push(name);
    }
    Ok(names)
}

fn only<'a>(
    fields: &'a [Field<'a>],
    name: &'static str,
) -> Result<Option<&'a Field<'a>>, BadRequest> {
    let mut found = fields.iter().filter(|field| field.is(name));
    match (found.next(), found.next()) {
        (field, None) => Ok(field),
        _ => Err(BadRequest::Repeated(name)),
    }
}

/// Returns whether a field is meant for a proxy, as `Proxy-Authorization` is.
pub(super) fn is_proxys(field: &Field<'_>) -> bool {
    let prefix = field.name.as_bytes().get(..6);
    prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(b"Proxy-"))
}

pub(super) fn push(bytes: &mut Vec<u8>, field: &Field<'_>) {
    bytes.extend_from_slice(field.name.as_bytes());
    bytes.extend_from_slice(b": ");
    bytes.extend_from_slice(field.value);
    bytes.extend_from_slice(b"\r\n");
}
