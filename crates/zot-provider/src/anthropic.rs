//! Anthropic's Messages API.

mod error;
mod prefix;
mod request;
mod stream;
mod thinking;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{HeaderName, HeaderValue};
use zot_conversation::{Model, ModelError, ModelErrorKind, ModelRequest, ModelStream};

use crate::call::{Call, ResponseStream};
use crate::catalog::AcceptedThinking;
use crate::declaration::{Declarations, Restoring};
use crate::endpoint::{Endpoint, Target};
use crate::http::HttpClient;
use prefix::{Replayed, is_about_replayed_thinking};
use request::RequestCache;
use stream::{AnthropicDecoder, PrefixCell};
use thinking::{Form, ThinkingForm};

/// Where requests are sent.
pub(crate) const TARGET: Target<'static> = Target::new("/v1", "/messages");

const API_VERSION: &str = "2023-06-01";

/// A client of one Anthropic-compatible endpoint.
pub struct AnthropicClient {
    http: HttpClient,
    endpoint: Arc<Endpoint>,
    accepted: AcceptedThinking,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    cache: RequestCache,
    /// The form of thinking request to use for models that refused the catalog's, by id. Grows only
    /// with the models the user chooses in this process.
    learned: HashMap<String, Form>,
}

/// What may still be changed about a request that was refused.
#[derive(Default)]
struct Attempts {
    /// The form in which it requested thinking, if it did.
    form: Option<Form>,
    changed_form: bool,
    /// The thinking of earlier responses that it replays.
    replayed: Option<Replayed>,
    changed_replay: bool,
    /// The digest of the prefix that the response follows.
    prefix: PrefixCell,
}

impl AnthropicClient {
    /// `endpoint.base_url` is the address before `/v1/messages`, or before `/messages`.
    pub fn new(http: HttpClient, endpoint: Endpoint) -> Self {
        Self {
            http,
            endpoint: Arc::new(endpoint),
            accepted: AcceptedThinking::default(),
            state: Mutex::default(),
        }
    }

    /// Adds what the catalog knows about the models of this provider.
    #[must_use]
    pub fn with_accepted(self, accepted: AcceptedThinking) -> Self {
        Self { accepted, ..self }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn declare(&self, request: &ModelRequest<'_>) -> Arc<Declarations> {
        let provider = &self.endpoint.provider;
        self.state().cache.declare(provider, request.tools)
    }

    fn call(
        &self,
        request: &ModelRequest<'_>,
        attempts: &mut Attempts,
    ) -> Result<Call, ModelError> {
        let provider = &self.endpoint.provider;
        let mut headers = self
            .endpoint
            .headers_with_key(HeaderName::from_static("x-api-key"), "")?;
        headers.insert("anthropic-version", HeaderValue::from_static(API_VERSION));
        let accepted = self.accepted.of(request.model);
        let mut state = self.state();
        let learned = state.learned.get(request.model).copied();
        let thinking_form = ThinkingForm::new(accepted.thinking, accepted.efforts, learned);
        let delivery = self.http.delivery();
        let prepared = state.cache.body(provider, delivery, request, thinking_form);
        attempts.form = prepared.asks_to_think.then_some(thinking_form.form);
        attempts.replayed = prepared.replayed;
        *lock(&attempts.prefix) = Some(prepared.prefix);
        Call::new(&self.http, &self.endpoint, TARGET, headers, prepared.body)
    }

    /// Returns the request in another form if `refusal` is about its form.
    fn amended(
        &self,
        request: &ModelRequest<'_>,
        attempts: &mut Attempts,
        refusal: &ModelError,
    ) -> Option<Result<Call, ModelError>> {
        if refusal.kind != ModelErrorKind::Invalid {
            return None;
        }
        if is_about_replayed_thinking(&refusal.message) {
            let replayed = attempts
                .replayed
                .take()
                .filter(|_| !attempts.changed_replay)?;
            attempts.changed_replay = true;
            self.state().cache.refuse(&replayed);
            return Some(self.call(request, attempts));
        }
        if attempts.changed_form {
            // The other form was refused too: keep what the catalog says.
            self.state().learned.remove(request.model);
            return None;
        }
        let form = attempts.form?.instead(&refusal.message)?;
        attempts.changed_form = true;
        let model = request.model.to_owned();
        self.state().learned.insert(model, form);
        Some(self.call(request, attempts))
    }
}

impl Model for AnthropicClient {
    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> ModelStream<'a> {
        let declarations = self.declare(&request);
        let prefix = PrefixCell::default();
        let decoder = AnthropicDecoder::new(Arc::clone(&self.endpoint), Arc::clone(&prefix));
        let decoder = Restoring::new(decoder, &declarations);
        let attempts = Arc::new(Mutex::new(Attempts {
            prefix,
            ..Attempts::default()
        }));
        let first = Arc::clone(&attempts);
        let response = ResponseStream::new(&self.endpoint, &self.http, decoder, move || {
            self.call(&request, &mut lock(&first))
        });
        Box::pin(
            response.amending(move |refusal| self.amended(&request, &mut lock(&attempts), refusal)),
        )
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
