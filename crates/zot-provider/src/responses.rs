//! OpenAI's Responses API.
//!
//! Nothing is stored on the server: each request carries the whole conversation, reasoning items
//! with their encrypted content included.

mod error;
mod event;
mod request;
mod stream;

use serde::{Deserialize, Serialize};
use zot_conversation::{Model, ModelRequest, ModelStream};

use crate::catalog::AcceptedThinking;
use crate::endpoint::{Endpoint, Target};
use crate::http::HttpClient;
use crate::openai_wires::OpenAiWireClient;
use request::RequestCache;
use stream::ResponsesDecoder;

/// Where requests are sent.
pub(crate) const TARGET: Target<'static> = Target::new("/v1", "/responses");

/// What is kept of a message in addition to its text, in the block right after it.
#[derive(Serialize, Deserialize)]
struct MessageDetails {
    #[serde(rename = "type")]
    kind: MessageKind,
    /// `commentary` or `final_answer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    phase: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum MessageKind {
    Message,
}

impl MessageDetails {
    fn new(phase: Option<String>) -> Self {
        Self {
            kind: MessageKind::Message,
            phase,
        }
    }
}

/// A client of one endpoint of the Responses API.
pub struct ResponsesClient(OpenAiWireClient<RequestCache>);

impl ResponsesClient {
    /// `endpoint.base_url` is the address before `/v1/responses`, or before `/responses`.
    pub fn new(http: HttpClient, endpoint: Endpoint) -> Self {
        Self(OpenAiWireClient::new(http, endpoint, ()))
    }

    /// Adds what the catalog knows about the models of this provider.
    #[must_use]
    pub fn with_accepted(self, accepted: AcceptedThinking) -> Self {
        Self(self.0.with_accepted(accepted))
    }
}

impl Model for ResponsesClient {
    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> ModelStream<'a> {
        self.0
            .stream(request, request.reasoning, ResponsesDecoder::new)
    }
}
