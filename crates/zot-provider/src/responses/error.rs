//! Errors inside a response.

use serde::Deserialize;
use zot_conversation::ModelError;

use crate::endpoint::Endpoint;
use crate::error::event_error;

/// The `error` of a failed response, or an `error` event, which has the same fields.
#[derive(Debug, Deserialize)]
pub(super) struct ErrorObject {
    /// A string or a number.
    code: Option<serde_json::Value>,
    #[serde(rename = "type")]
    kind: Option<String>,
    message: Option<String>,
    /// Some servers wrap the error event's fields.
    error: Option<Box<ErrorObject>>,
}

impl ErrorObject {
    pub(super) fn into_error(self, endpoint: &Endpoint) -> ModelError {
        if let Some(inner) = self.error {
            return inner.into_error(endpoint);
        }
        let code = self.code.and_then(|code| match code {
            serde_json::Value::String(text) => Some(text),
            serde_json::Value::Null => None,
            other => Some(other.to_string()),
        });
        // The type of an error event is `error`, which is of no use.
        let kind = self.kind.filter(|kind| kind != "error");
        event_error(
            &endpoint.provider,
            &[code.as_deref(), kind.as_deref()],
            self.message
                .as_deref()
                .unwrap_or("the provider gave no reason"),
            endpoint.secret().as_deref(),
        )
    }
}
