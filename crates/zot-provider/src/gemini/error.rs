//! Errors inside a response.

use serde::Deserialize;
use zot_conversation::ModelError;

use crate::endpoint::Endpoint;
use crate::error::event_error;
use crate::lenient;

/// The `error` member of a chunk.
#[derive(Debug, Deserialize)]
pub(super) struct ErrorObject {
    #[serde(default, deserialize_with = "lenient::count")]
    code: Option<u64>,
    /// The name of the code, for example `UNAVAILABLE`.
    status: Option<String>,
    message: Option<String>,
}

impl ErrorObject {
    /// Reads what follows `"error":`; gateways that send a bare string mean its text.
    pub(super) fn parse(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_else(|_| Self {
            code: None,
            status: None,
            message: serde_json::from_str(json).ok(),
        })
    }

    pub(super) fn into_error(self, endpoint: &Endpoint) -> ModelError {
        let code = self.code.map(|code| code.to_string());
        event_error(
            &endpoint.provider,
            &[self.status.as_deref(), code.as_deref()],
            self.message
                .as_deref()
                .unwrap_or("the provider gave no reason"),
            endpoint.secret().as_deref(),
        )
    }
}
