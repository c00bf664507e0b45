//! Which wire a model uses.

use std::sync::Arc;

use zot_conversation::Model;

use super::{ProviderEntry, Wire};
use crate::catalog::{AcceptedThinking, ModelInfo, OpenAiWire};
use crate::endpoint::Endpoint;
use crate::http::HttpClient;
use crate::openai::{EitherClient, OpenAiQuirks};

/// What decides which of OpenAI's two wires a model uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireChoice {
    /// The catalog's entry of the model, for OpenAI itself.
    Model,
    /// The provider's wire, unless models.json names another for a model.
    Provider,
}

/// The wire, or wires, for one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Only this wire.
    Fixed(Wire),
    /// `first`, until the server refuses the model there and names the other one.
    Either {
        first: OpenAiWire,
        quirks: OpenAiQuirks,
    },
}

impl ProviderEntry {
    /// Returns the wires for `model`; `forced` is the user's choice, which overrides the tables.
    pub fn route(&self, model: &ModelInfo, forced: Option<OpenAiWire>) -> Route {
        let quirks = match self.wire {
            Wire::OpenAiChat(quirks) => quirks,
            Wire::OpenAiResponses => OpenAiQuirks::COMPATIBLE,
            Wire::Anthropic | Wire::Gemini => return Route::Fixed(self.wire),
        };
        // The catalog has a wire for every model of OpenAI, which does not apply to other
        // providers, nor where the user has chosen one for all models.
        let configured = model
            .wire
            .filter(|_| model.provider == self.name && self.name != "openai");
        match (forced.or(configured), self.wire_choice) {
            (Some(wire), _) => Route::Fixed(wire.with(quirks)),
            (None, WireChoice::Provider) => Route::Fixed(self.wire),
            (None, WireChoice::Model) => Route::Either {
                first: model.wire.unwrap_or(OpenAiWire::Chat),
                quirks,
            },
        }
    }
}

impl OpenAiWire {
    fn with(self, quirks: OpenAiQuirks) -> Wire {
        match self {
            Self::Chat => Wire::OpenAiChat(quirks),
            Self::Responses => Wire::OpenAiResponses,
        }
    }
}

impl Route {
    /// Returns the wire that is tried first.
    pub fn wire(self) -> Wire {
        match self {
            Self::Fixed(wire) => wire,
            Self::Either { first, quirks } => first.with(quirks),
        }
    }

    /// Tries chat completions first, for a server that is only known to support those.
    pub fn chat_first(self) -> Self {
        match self {
            Self::Either { quirks, .. } => Self::Either {
                first: OpenAiWire::Chat,
                quirks,
            },
            fixed @ Self::Fixed(_) => fixed,
        }
    }

    /// Uses a single wire if `base_url` already ends in its operation.
    pub fn to(self, base_url: &str) -> Self {
        let Self::Either { quirks, .. } = self else {
            return self;
        };
        let path = base_url.split(['?', '#']).next().unwrap_or_default();
        let path = path.trim_end_matches('/');
        if path.ends_with("/chat/completions") {
            Self::Fixed(Wire::OpenAiChat(quirks))
        } else if path.ends_with("/responses") {
            Self::Fixed(Wire::OpenAiResponses)
        } else {
            self
        }
    }

    /// Creates a client of `endpoint` whose models accept what `accepted` describes.
    pub fn client(
        self,
        http: HttpClient,
        endpoint: Endpoint,
        accepted: AcceptedThinking,
    ) -> Arc<dyn Model> {
        match self {
            Self::Fixed(wire) => wire.client_with(http, endpoint, accepted),
            Self::Either { first, quirks } => {
                Arc::new(EitherClient::new(http, endpoint, quirks, first, accepted))
            }
        }
    }
}
