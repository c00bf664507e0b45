//! Google's Gemini API.

mod error;
mod request;
mod stream;

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderName;
use zot_conversation::{Model, ModelError, ModelRequest, ModelStream, ToolImages};

use crate::call::{Call, ResponseStream};
use crate::declaration::{Declarations, Restoring};
use crate::endpoint::{Endpoint, Target};
use crate::http::{Delivery, HttpClient};
use request::RequestCache;
use stream::GeminiDecoder;

/// The version used unless the base URL names another.
pub(crate) const VERSION: &str = "/v1beta";

/// Marks ids that the server assigned, which it expects back; an id without the mark is ours or
/// another provider's, and is not sent.
const SERVER_ID_MARK: &str = "gemini_";

/// A client of one Gemini endpoint.
pub struct GeminiClient {
    http: HttpClient,
    endpoint: Arc<Endpoint>,
    cache: Mutex<RequestCache>,
}

impl GeminiClient {
    /// `endpoint.base_url` is the address before `/v1beta/models`.
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
        let key_header = HeaderName::from_static("x-goog-api-key");
        let headers = self.endpoint.headers_with_key(key_header, "")?;
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let body = cache.body(provider, request);
        Call::new(
            &self.http,
            &self.endpoint,
            target(request.model, self.http.delivery()),
            headers,
            body,
        )
    }
}

impl Model for GeminiClient {
    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> ModelStream<'a> {
        let declarations = self.declare(&request);
        let decoder = GeminiDecoder::new(Arc::clone(&self.endpoint));
        let decoder = Restoring::new(decoder, &declarations);
        Box::pin(ResponseStream::new(
            &self.endpoint,
            &self.http,
            decoder,
            move || self.call(&request),
        ))
    }

    /// Only the newest models accept images in a function's response.
    fn tool_images(&self) -> ToolImages {
        ToolImages::NeedMirror
    }
}

/// Returns where requests for `model` are sent.
pub(crate) fn target(model: &str, delivery: Delivery) -> Target<'static> {
    let mut path = String::from("/");
    if !model.contains('/') {
        path.push_str("models/");
    }
    for byte in model.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                path.push(char::from(byte));
            }
            // Writing to a string cannot fail.
            _ => drop(write!(path, "%{byte:02X}")),
        }
    }
    path.push_str(match delivery {
        Delivery::Streamed => ":streamGenerateContent?alt=sse",
        Delivery::Whole => ":generateContent",
    });
    Target {
        version: VERSION,
        operation: path.into(),
    }
}

#[cfg(test)]
mod tests;
