//! JSON-RPC 2.0: the frames of both eras.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The method does not exist.
pub const METHOD_NOT_FOUND: i64 = -32601;
pub const INVALID_PARAMS: i64 = -32602;
pub const INTERNAL_ERROR: i64 = -32603;
/// Headers and body of an HTTP request do not match.
pub const HEADER_MISMATCH: i64 = -32020;
pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// Names a request until its response has come.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RequestId {
    Number(i64),
    Text(String),
}

/// An error response.
#[derive(Debug, Clone, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    pub code: i64,
    #[serde(deserialize_with = "short")]
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

/// Errors are shown to people and to models.
///
/// Limit: the message is cut.
const MAX_ERROR_MESSAGE_BYTES: usize = 4 * 1024;

fn short<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    String::deserialize(deserializer).map(cut_message)
}

/// Cuts a text that explains an error.
pub(crate) fn cut_message(mut message: String) -> String {
    message.truncate(message.floor_char_boundary(MAX_ERROR_MESSAGE_BYTES));
    message
}

impl RpcError {
    /// Reads an error that came in a message. Whatever it looks like, it is an answer, and the request
    /// that waits for it must end.
    fn read(error: &RawValue) -> Self {
        if let Ok(error) = serde_json::from_str(error.get()) {
            return error;
        }
        let fields: LooseError<'_> = serde_json::from_str(error.get()).unwrap_or_default();
        let code = fields.code.and_then(|code| {
            let digits = code.get().trim_matches('"');
            digits.strip_suffix(".0").unwrap_or(digits).parse().ok()
        });
        let message = match fields.message {
            Some(message) => match serde_json::from_str(message.get()) {
                Ok(text) => text,
                Err(_) => message.get().to_owned(),
            },
            None => format!("an error without a message: {}", error.get()),
        };
        Self {
            code: code.unwrap_or(INTERNAL_ERROR),
            message: cut_message(message),
            data: fields.data.map(ToOwned::to_owned),
        }
    }
}

/// An error whose fields are not what they should be.
#[derive(Default, Deserialize)]
struct LooseError<'a> {
    #[serde(borrow)]
    code: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

/// A message from the other side.
#[derive(Debug)]
pub enum Incoming {
    Response {
        id: RequestId,
        result: Result<Box<RawValue>, RpcError>,
    },
    /// An error that does not say which request it is about: its sender could not read that far.
    Refusal(RpcError),
    Request {
        id: RequestId,
        method: String,
        params: Option<Box<RawValue>>,
    },
    Notification {
        method: String,
        params: Option<Box<RawValue>>,
    },
}

/// A frame that is none of JSON-RPC 2.0.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("expected a JSON-RPC message: {0}")]
    Json(#[from] serde_json::Error),
    #[error(
        "expected a request, a response or a notification, got an object with none of their fields"
    )]
    Shape,
}

#[derive(Deserialize)]
struct Frame {
    id: Option<RequestId>,
    method: Option<String>,
    params: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "even_null")]
    result: Option<Box<RawValue>>,
    error: Option<Box<RawValue>>,
}

/// A result of `null` is a result, which ends the wait.
fn even_null<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

/// Decodes a message, or several in an array, which revision 2025-03-26 allows. One that is wrong does not
/// spoil the others.
pub fn decode_batch(bytes: &[u8]) -> Vec<Result<Incoming, FrameError>> {
    if bytes.trim_ascii_start().first() != Some(&b'[') {
        return vec![Incoming::decode(bytes)];
    }
    match serde_json::from_slice::<Vec<&RawValue>>(bytes) {
        Ok(messages) => messages
            .into_iter()
            .map(|message| Incoming::decode(message.get().as_bytes()))
            .collect(),
        Err(error) => vec![Err(error.into())],
    }
}

impl Incoming {
    pub fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let frame: Frame = serde_json::from_slice(bytes)?;
        match (frame.method, frame.id, frame.result, frame.error) {
            (Some(method), Some(id), _, _) => Ok(Self::Request {
                id,
                method,
                params: frame.params,
            }),
            (Some(method), None, _, _) => Ok(Self::Notification {
                method,
                params: frame.params,
            }),
            (None, Some(id), _, Some(error)) => Ok(Self::Response {
                id,
                result: Err(RpcError::read(&error)),
            }),
            (None, None, None, Some(error)) => Ok(Self::Refusal(RpcError::read(&error))),
            (None, Some(id), Some(result), None) => Ok(Self::Response {
                id,
                result: Ok(result),
            }),
            _ => Err(FrameError::Shape),
        }
    }
}

#[derive(Serialize)]
struct Call<'a> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RequestId>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a RpcError>,
}

/// Encodes a request, or a notification if there is no `id`.
pub fn encode_call(
    id: Option<&RequestId>,
    method: &str,
    params: Option<&RawValue>,
) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&Call {
        jsonrpc: "2.0",
        id,
        method,
        params,
    })
}

/// Encodes a response.
pub fn encode_response(
    id: &RequestId,
    result: Result<&RawValue, &RpcError>,
) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&Answer {
        jsonrpc: "2.0",
        id,
        result: result.ok(),
        error: result.err(),
    })
}
