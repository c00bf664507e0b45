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
use zot_conversation::{Model, ModelError, ModelRequest, ModelStream};

use crate::call::{Answer, Call};
use crate::declaration::{Declarations, Restoring};
use crate::endpoint::{Endpoint, Target};
use crate::http::HttpClient;
use request::RequestCache;
use stream::ResponsesDecoder;

/// Where requests are sent to.
pub(crate) const TARGET: Target<'static> = Target::new("/v1", "/responses");

/// A client of one endpoint that speaks the Responses API.
pub struct ResponsesClient {
    http: HttpClient,
    endpoint: Arc<Endpoint>,
    cache: Mutex<RequestCache>,
}

impl ResponsesClient {
    /// `endpoint.base_url` is the address before `/v1/responses`, or before `/responses`.
    pub fn new(http: HttpClient, endpoint: Endpoint) -> Self {
        Self {
            http,
            endpoint: Arc::new(endpoint),
            cache: Mutex::default(),
        }
    }

    fn declare(&self, request: &ModelRequest<'_>) -> Arc<Declarations> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.declare(&self.endpoint.provider, request.tools)
    }

    fn call(&self, request: &ModelRequest<'_>) -> Result<Call, ModelError> {
        let provider = &self.endpoint.provider;
        let headers = self.endpoint.headers_with_key(AUTHORIZATION, "Bearer ")?;
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let body = cache.body(provider, self.http.delivery(), request);
        Call::new(&self.http, &self.endpoint, TARGET, headers, body)
    }
}

impl Model for ResponsesClient {
    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> ModelStream<'a> {
        let declarations = self.declare(&request);
        let decoder = ResponsesDecoder::new(Arc::clone(&self.endpoint));
        let decoder = Restoring::new(decoder, &declarations);
        Box::pin(Answer::new(
            &self.endpoint,
            &self.http,
            decoder,
            move || self.call(&request),
        ))
    }
}
