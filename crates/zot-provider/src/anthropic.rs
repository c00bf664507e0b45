//! Anthropic's Messages API.

mod error;
mod request;
mod stream;

use std::sync::{Arc, Mutex, PoisonError};

use http::{HeaderName, HeaderValue};
use zot_conversation::{Model, ModelError, ModelRequest, ModelStream};

use crate::call::{Answer, Call};
use crate::declaration::{Declarations, Restoring};
use crate::endpoint::{Endpoint, Target};
use crate::http::HttpClient;
use request::RequestCache;
use stream::AnthropicDecoder;

/// Where requests are sent to.
pub(crate) const TARGET: Target<'static> = Target::new("/v1", "/messages");

const API_VERSION: &str = "2023-06-01";

/// A client of one Anthropic-compatible endpoint.
pub struct AnthropicClient {
    http: HttpClient,
    endpoint: Arc<Endpoint>,
    cache: Mutex<RequestCache>,
}

impl AnthropicClient {
    /// `endpoint.base_url` is the address before `/v1/messages`, or before `/messages`.
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
        let mut headers = self
            .endpoint
            .headers_with_key(HeaderName::from_static("x-api-key"), "")?;
        headers.insert("anthropic-version", HeaderValue::from_static(API_VERSION));
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let body = cache.body(provider, self.http.delivery(), request);
        Call::new(&self.http, &self.endpoint, TARGET, headers, body)
    }
}

impl Model for AnthropicClient {
    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> ModelStream<'a> {
        let declarations = self.declare(&request);
        let decoder = AnthropicDecoder::new(Arc::clone(&self.endpoint));
        let decoder = Restoring::new(decoder, &declarations);
        Box::pin(Answer::new(
            &self.endpoint,
            &self.http,
            decoder,
            move || self.call(&request),
        ))
    }
}
