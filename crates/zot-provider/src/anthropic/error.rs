//! Error events inside a response.

use serde::Deserialize;
use zot_conversation::ModelError;

use crate::endpoint::Endpoint;
use crate::error::event_error;

/// The `error` object of an `error` event.
#[derive(Debug, Deserialize)]
pub(super) struct ErrorObject {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    message: String,
}

impl ErrorObject {
    /// Reads what follows `"error":`; gateways that send a bare string mean its text.
    pub(super) fn parse(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_else(|_| Self {
            kind: None,
            message: serde_json::from_str(json).unwrap_or_else(|_| json.to_owned()),
        })
    }

    pub(super) fn into_error(self, endpoint: &Endpoint) -> ModelError {
        event_error(
            &endpoint.provider,
            &[self.kind.as_deref()],
            &self.message,
            endpoint.secret().as_deref(),
        )
    }
}
