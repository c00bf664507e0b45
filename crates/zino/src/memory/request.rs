//! The fields of requests.

use std::borrow::Cow;

use serde_json::Value;

use super::error::StoreError;
use super::index::Wanted;
use crate::lenient;
use crate::service::{HungUp, Object};

/// How many memories a search gives when it does not say.
const DEFAULT_TOP: i64 = 3;

/// Why a request is not done.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    #[error("channel_id required")]
    NoChannel,
    #[error("{0} must be {1}")]
    Wrong(&'static str, &'static str),
    #[error("messages[{index}]: {field} must be a string")]
    Message { index: usize, field: &'static str },
    #[error("messages[{0}] must be an object with role and content")]
    NoMessage(usize),
    #[error("items[{index}]: {reason}")]
    Item { index: usize, reason: String },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    HungUp(#[from] HungUp),
}

pub(super) fn channel(request: &Object) -> Result<&str, Refused> {
    match request.get("channel_id") {
        None => Err(Refused::NoChannel),
        Some(value) if !lenient::is_true(value) => Err(Refused::NoChannel),
        Some(Value::String(channel)) => Ok(channel),
        Some(_) => Err(Refused::Wrong("channel_id", "a string")),
    }
}

/// `None` for all.
pub(super) fn limit(request: &Object) -> Result<Option<usize>, Refused> {
    let limit = integer(request, "limit")?.unwrap_or(0);
    Ok(usize::try_from(limit).ok().filter(|&limit| limit > 0))
}

pub(super) fn wanted(request: &Object) -> Result<Wanted, Refused> {
    let count = integer(request, "top_k")?.unwrap_or(DEFAULT_TOP);
    let magnitude = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    Ok(if count < 0 {
        Wanted::AllBut(magnitude)
    } else {
        Wanted::Best(magnitude)
    })
}

/// A text; nothing is the empty one.
pub(super) fn text<'request>(
    request: &'request Object,
    name: &'static str,
) -> Result<&'request str, Refused> {
    match request.get(name) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(Refused::Wrong(name, "a string")),
    }
}

/// The original stores a tag of any type, and one that is not a string breaks every later search. A
/// number is stored as its text; a false value means no tag.
pub(super) fn tag(request: &Object) -> Result<Cow<'_, str>, Refused> {
    match request.get("tag") {
        Some(number @ Value::Number(_)) if lenient::is_true(number) => {
            Ok(Cow::Owned(number.to_string()))
        }
        Some(value) if !lenient::is_true(value) => Ok(Cow::Borrowed("")),
        _ => text(request, "tag").map(Cow::Borrowed),
    }
}

pub(super) fn number(request: &Object, name: &'static str) -> Result<u64, Refused> {
    let number = integer(request, name)?.and_then(|number| u64::try_from(number).ok());
    number.ok_or(Refused::Wrong(name, "a whole number"))
}

/// Messages that may be stored: each with a role and a content that are strings.
pub(super) fn messages(request: &Object) -> Result<&[Value], Refused> {
    let messages = match request.get("messages") {
        None | Some(Value::Null) => return Ok(&[]),
        Some(Value::Array(messages)) => messages,
        Some(_) => return Err(Refused::Wrong("messages", "a list")),
    };
    for (index, message) in messages.iter().enumerate() {
        let Value::Object(message) = message else {
            return Err(Refused::NoMessage(index));
        };
        for field in ["role", "content"] {
            if !message.get(field).is_some_and(Value::is_string) {
                return Err(Refused::Message { index, field });
            }
        }
    }
    Ok(messages)
}

fn integer(request: &Object, name: &'static str) -> Result<Option<i64>, Refused> {
    match request.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match lenient::integer(value) {
            Some(number) => Ok(Some(number)),
            None => Err(Refused::Wrong(name, "a whole number")),
        },
    }
}
