//! What the clients of OpenAI's two wires share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::header::AUTHORIZATION;
use zot_conversation::{ModelRequest, ModelStream, ReasoningEffort, ToolDefinition};

use crate::body::RequestBody;
use crate::call::{Call, Decoder, ResponseStream};
use crate::catalog::AcceptedThinking;
use crate::declaration::{Declarations, Restoring};
use crate::effort::EffortRules;
use crate::endpoint::{Endpoint, Target};
use crate::http::HttpClient;

/// What a wire keeps of earlier requests, and how it writes the next one.
pub(crate) trait RequestWriter: Default + Send {
    /// Where a wire differs between servers.
    type Quirks: Copy + Send + Sync;

    /// Where requests are sent.
    const TARGET: Target<'static>;

    fn declare(&mut self, provider: &str, tools: &[Arc<ToolDefinition>]) -> Arc<Declarations>;

    fn body(
        &mut self,
        client: &OpenAiWireClient<Self>,
        request: &ModelRequest<'_>,
        effort: Option<ReasoningEffort>,
    ) -> RequestBody;
}

/// A client of one endpoint on one of the wires.
pub(crate) struct OpenAiWireClient<W: RequestWriter> {
    pub(crate) http: HttpClient,
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) quirks: W::Quirks,
    efforts: EffortRules,
    writer: Mutex<W>,
}

impl<W: RequestWriter> OpenAiWireClient<W> {
    pub(crate) fn new(http: HttpClient, endpoint: Endpoint, quirks: W::Quirks) -> Self {
        Self {
            http,
            endpoint: Arc::new(endpoint),
            quirks,
            efforts: EffortRules::default(),
            writer: Mutex::default(),
        }
    }

    pub(crate) fn with_accepted(self, accepted: AcceptedThinking) -> Self {
        Self {
            efforts: EffortRules::new(accepted),
            ..self
        }
    }

    /// Streams the response to `request`, which `decoder` decodes.
    pub(crate) fn stream<'a, D: Decoder + 'a>(
        &'a self,
        request: ModelRequest<'a>,
        effort: Option<ReasoningEffort>,
        decoder: impl Fn(Arc<Endpoint>) -> D + Send + 'a,
    ) -> ModelStream<'a> {
        self.efforts.stream(request.model, effort, move |effort| {
            self.attempt(request, effort, decoder(Arc::clone(&self.endpoint)))
        })
    }

    fn attempt<'a, D: Decoder + 'a>(
        &'a self,
        request: ModelRequest<'a>,
        effort: Option<ReasoningEffort>,
        decoder: D,
    ) -> ModelStream<'a> {
        let declarations = self
            .writer()
            .declare(&self.endpoint.provider, request.tools);
        let decoder = Restoring::new(decoder, &declarations);
        Box::pin(ResponseStream::new(
            &self.endpoint,
            &self.http,
            decoder,
            move || {
                let headers = self.endpoint.headers_with_key(AUTHORIZATION, "Bearer ")?;
                let body = self.writer().body(self, &request, effort);
                Call::new(&self.http, &self.endpoint, W::TARGET, headers, body)
            },
        ))
    }

    fn writer(&self) -> MutexGuard<'_, W> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
