//! Error events inside a response.

use serde::Deserialize;
use zot_conversation::ModelError;

use crate::endpoint::Endpoint;
use crate::error::event_error;

/// The `error` member of a chunk. Servers disagree on its shape.
#[derive(Debug, Deserialize)]
pub(super) struct ErrorObject {
    #[serde(rename = "type")]
    kind: Option<String>,
    /// A string or a number.
    code: Option<serde_json::Value>,
    #[serde(default)]
    message: String,
}

impl ErrorObject {
    /// Reads what follows `"error":`; servers that send a bare string mean its text.
    pub(super) fn parse(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_else(|_| Self {
            kind: None,
            code: None,
            message: serde_json::from_str(json).unwrap_or_else(|_| json.to_owned()),
        })
    }

    pub(super) fn into_error(self, endpoint: &Endpoint) -> ModelError {
        let code = self.code.map(|code| match code {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        });
        let given = |name: Option<String>| name.filter(|name| name != "null");
        let (kind, code) = (given(self.kind), given(code));
        event_error(
            &endpoint.provider,
            &[kind.as_deref(), code.as_deref()],
            &self.message,
            endpoint.secret().as_deref(),
        )
    }
}
