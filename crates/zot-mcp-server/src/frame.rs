//! JSON-RPC messages as a server reads and writes them.

#[cfg(test)]
mod tests;

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use zot_mcp::json_rpc::{RequestId, RpcError};

pub(crate) const PARSE_ERROR: i64 = -32700;
pub(crate) const INVALID_REQUEST: i64 = -32600;

/// An encoded message.
pub(crate) type Frame = Box<RawValue>;

/// A message of the client.
#[derive(Debug)]
pub(crate) enum ClientMessage {
    Request {
        id: RequestId,
        method: String,
        params: Map<String, Value>,
    },
    Notification {
        method: String,
        params: Map<String, Value>,
    },
    /// The response to a request of ours (legacy).
    Response {
        id: RequestId,
        result: Result<Value, RpcError>,
    },
}

/// A message that cannot be understood, and the error to send back.
#[derive(Debug)]
pub(crate) struct Malformed {
    pub(crate) id: Option<RequestId>,
    pub(crate) error: RpcError,
}

/// Returns an error without data.
pub(crate) fn error(code: i64, message: impl Into<String>) -> RpcError {
    RpcError {
        code,
        message: message.into(),
        data: None,
    }
}

/// Returns an error with data.
pub(crate) fn error_with(code: i64, message: impl Into<String>, data: &Value) -> RpcError {
    RpcError {
        data: to_raw_value(data).ok(),
        ..error(code, message)
    }
}

pub(crate) fn decode(bytes: &[u8]) -> Result<ClientMessage, Malformed> {
    let value: Value = serde_json::from_slice(bytes).map_err(|parse| Malformed {
        id: None,
        error: error(PARSE_ERROR, format!("expected a JSON-RPC message: {parse}")),
    })?;
    let Value::Object(mut fields) = value else {
        let what = match value {
            Value::Array(_) => "batches are not supported: send one message at a time",
            _ => "expected a JSON object",
        };
        return Err(Malformed {
            id: None,
            error: error(INVALID_REQUEST, what),
        });
    };
    let id = match fields.remove("id") {
        None => None,
        Some(id) => match serde_json::from_value::<RequestId>(id) {
            Ok(id) => Some(id),
            Err(_) => {
                return Err(Malformed {
                    id: None,
                    error: error(INVALID_REQUEST, "id: expected a string or an integer"),
                });
            }
        },
    };
    message(id.clone(), fields).map_err(|error| Malformed { id, error })
}

fn message(
    id: Option<RequestId>,
    mut fields: Map<String, Value>,
) -> Result<ClientMessage, RpcError> {
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(error(INVALID_REQUEST, "jsonrpc: expected \"2.0\""));
    }
    let Some(method) = fields.remove("method") else {
        return response(id, fields);
    };
    let Value::String(method) = method else {
        return Err(error(INVALID_REQUEST, "method: expected a string"));
    };
    let params = match fields.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => {
            return Err(error(
                zot_mcp::json_rpc::INVALID_PARAMS,
                "params: expected an object",
            ));
        }
    };
    Ok(match id {
        Some(id) => ClientMessage::Request { id, method, params },
        None => ClientMessage::Notification { method, params },
    })
}

fn response(
    id: Option<RequestId>,
    mut fields: Map<String, Value>,
) -> Result<ClientMessage, RpcError> {
    let result = match (fields.remove("result"), fields.remove("error")) {
        (Some(result), None) => Ok(result),
        (None, Some(failure)) => Err(serde_json::from_value(failure)
            .map_err(|_| error(INVALID_REQUEST, "error: expected a code and a message"))?),
        _ => {
            return Err(error(
                INVALID_REQUEST,
                "expected a method, a result or an error",
            ));
        }
    };
    match id {
        Some(id) => Ok(ClientMessage::Response { id, result }),
        None => Err(error(INVALID_REQUEST, "a response needs an id")),
    }
}

pub(crate) fn response_frame(id: &RequestId, result: Result<Value, RpcError>) -> Frame {
    encode(&match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
    })
}

/// Encodes an error about a message whose id may be unknown.
pub(crate) fn error_frame(id: Option<&RequestId>, error: &RpcError) -> Frame {
    encode(&match id {
        Some(id) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
        None => json!({"jsonrpc": "2.0", "error": error}),
    })
}

pub(crate) fn notification_frame(method: &str, params: Value) -> Frame {
    encode(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

pub(crate) fn request_frame(id: i64, method: &str, params: Value) -> Frame {
    encode(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

fn encode(message: &Value) -> Frame {
    // A JSON value always has a text.
    to_raw_value(message).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
