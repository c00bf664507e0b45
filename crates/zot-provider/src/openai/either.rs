//! A client of both OpenAI wires that uses the right one for each model.

use std::sync::{Mutex, PoisonError};

use zot_conversation::{Model, ModelError, ModelErrorKind, ModelRequest, ModelStream, ToolImages};

use super::{OpenAiClient, OpenAiQuirks};
use crate::catalog::{AcceptedThinking, OpenAiWire};
use crate::endpoint::Endpoint;
use crate::http::HttpClient;
use crate::responses::ResponsesClient;
use crate::second_chance::SecondChance;

/// The most models of one server whose wire is remembered; others are tried again each time.
///
/// Limit: for further models of a server, each request finds out the wire again.
const MAX_MOVED_MODELS: usize = 64;

/// A client of one endpoint that switches to the other wire when the server refuses a model on the
/// first.
///
/// OpenAI responds with 400 "… Please use /v1/responses instead." or 404 "This model is only
/// supported in v1/responses and not in v1/chat/completions." Compatible servers may have no
/// `/responses` at all.
pub(crate) struct EitherClient {
    chat: OpenAiClient,
    responses: ResponsesClient,
    first: OpenAiWire,
    /// The models that the server refused on `first`.
    moved: Mutex<Vec<String>>,
}

impl EitherClient {
    /// `first` is the wire that is tried first.
    pub(crate) fn new(
        http: HttpClient,
        endpoint: Endpoint,
        quirks: OpenAiQuirks,
        first: OpenAiWire,
        accepted: AcceptedThinking,
    ) -> Self {
        Self {
            chat: OpenAiClient::new(http.clone(), endpoint.clone(), quirks)
                .with_accepted(accepted.clone()),
            responses: ResponsesClient::new(http, endpoint).with_accepted(accepted),
            first,
            moved: Mutex::default(),
        }
    }

    fn wire_of(&self, model: &str) -> OpenAiWire {
        let moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        match moved.iter().any(|moved| moved == model) {
            true => self.first.other(),
            false => self.first,
        }
    }

    fn move_to(&self, model: &str, wire: OpenAiWire) {
        let mut moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        moved.retain(|moved| moved != model);
        if wire != self.first && moved.len() < MAX_MOVED_MODELS {
            moved.push(model.to_owned());
        }
    }

    fn on(&self, wire: OpenAiWire) -> &dyn Model {
        match wire {
            OpenAiWire::Chat => &self.chat,
            OpenAiWire::Responses => &self.responses,
        }
    }

    /// Returns whether the server expects the request on the other wire.
    fn belongs_on_other_wire(wire: OpenAiWire, error: &ModelError) -> bool {
        if error.kind != ModelErrorKind::Invalid {
            return false;
        }
        let message = error.message.to_ascii_lowercase();
        let other = match wire {
            OpenAiWire::Chat => "v1/responses",
            OpenAiWire::Responses => "chat/completions",
        };
        if message.contains(other) {
            return true;
        }
        // The server lacks this path; a server that lacks the model mentions the model.
        let has_no_path = matches!(error.status, Some(404 | 405));
        wire == OpenAiWire::Responses && has_no_path && !message.contains("model")
    }
}

impl Model for EitherClient {
    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> ModelStream<'a> {
        let wire = self.wire_of(request.model);
        let attempt = move |wire| self.on(wire).stream(request);
        Box::pin(SecondChance::new(attempt(wire), move |refusal| {
            Self::belongs_on_other_wire(wire, refusal).then(|| {
                let wire = wire.other();
                self.move_to(request.model, wire);
                attempt(wire)
            })
        }))
    }

    fn tool_images(&self) -> ToolImages {
        let moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        // Sending an image twice on one wire is better than losing it on the other.
        match moved.is_empty() {
            true => self.on(self.first).tool_images(),
            false => ToolImages::NeedMirror,
        }
    }
}
