//! OpenAI's Responses API.
//!
//! Nothing is stored on the server: each request carries the whole conversation, reasoning items
//! with their encrypted content included.

mod error;
mod event;
mod request;
mod stream;

use std::sync::{Arc, Mutex, PoisonError};

use http::header::AUTHORIZATION;
use serde::{Deserialize, Serialize};
use zot_conversation::{Model, ModelError, ModelRequest, ModelStream, ReasoningEffort};

use crate::call::{Call, ResponseStream};
use crate::catalog::AcceptedThinking;
use crate::declaration::{Declarations, Restoring};
use crate::effort::EffortRules;
use crate::endpoint::{Endpoint, Target};
use crate::http::HttpClient;
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
pub struct ResponsesClient {
    http: HttpClient,
    endpoint: Arc<Endpoint>,
    efforts: EffortRules,
    cache: Mutex<RequestCache>,
}

impl ResponsesClient {
    /// `endpoint.base_url` is the address before `/v1/responses`, or before `/responses`.
    pub fn new(http: HttpClient, endpoint: Endpoint) -> Self {
        Self {
            http,
            endpoint: Arc::new(endpoint),
            efforts: EffortRules::default(),
            cache: Mutex::default(),
        }
    }

    /// Adds what the catalog knows about the models of this provider.
    #[must_use]
    pub fn with_accepted(self, accepted: AcceptedThinking) -> Self {
        Self {
            efforts: EffortRules::new(accepted),
            ..self
        }
    }

    fn declare(&self, request: &ModelRequest<'_>) -> Arc<Declarations> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.declare(&self.endpoint.provider, request.tools)
    }

    fn call(
        &self,
        request: &ModelRequest<'_>,
        effort: Option<ReasoningEffort>,
    ) -> Result<Call, ModelError> {
        let provider = &self.endpoint.provider;
        let headers = self.endpoint.headers_with_key(AUTHORIZATION, "Bearer ")?;
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let body = cache.body(provider, self.http.delivery(), request, effort);
        Call::new(&self.http, &self.endpoint, TARGET, headers, body)
    }

    fn attempt<'a>(
        &'a self,
        request: ModelRequest<'a>,
        effort: Option<ReasoningEffort>,
    ) -> ModelStream<'a> {
        let declarations = self.declare(&request);
        let decoder = ResponsesDecoder::new(Arc::clone(&self.endpoint));
        let decoder = Restoring::new(decoder, &declarations);
        Box::pin(ResponseStream::new(
            &self.endpoint,
            &self.http,
            decoder,
            move || self.call(&request, effort),
        ))
    }
}

impl Model for ResponsesClient {
    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> ModelStream<'a> {
        self.efforts
            .stream(request.model, request.reasoning, move |effort| {
                self.attempt(request, effort)
            })
    }
}
