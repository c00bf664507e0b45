//! Errors inside an answer.

use serde::Deserialize;
use zot_conversation::ModelError;

use crate::endpoint::Endpoint;
use crate::error::event_error;

/// The `error` member of a chunk.
#[derive(Debug, Deserialize)]
pub(super) struct ErrorObject {
    code: Option<u16>,
    /// The name of the code, for example `UNAVAILABLE`.
    status: Option<String>,
    message: Option<String>,
}

impl ErrorObject {
    pub(super) fn into_error(self, endpoint: &Endpoint) -> ModelError {
        let name = self.status.or(self.code.map(|code| code.to_string()));
        event_error(
            &endpoint.provider,
            name.as_deref(),
            self.message
                .as_deref()
                .unwrap_or("the provider gave no reason"),
            endpoint.secret().as_deref(),
        )
    }
}
