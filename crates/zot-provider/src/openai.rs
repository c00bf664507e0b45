//! OpenAI's chat completions API and the servers compatible with it.

mod chunk;
mod details;
mod either;
mod error;
mod request;
mod shape;
mod stream;

use zot_conversation::{Model, ModelRequest, ModelStream, ToolImages};

use crate::catalog::AcceptedThinking;
use crate::endpoint::{Endpoint, Target};
use crate::http::HttpClient;
use crate::openai_wires::OpenAiWireClient;
pub(crate) use either::EitherClient;
use request::RequestCache;
use stream::OpenAiDecoder;

/// Where requests are sent.
pub(crate) const TARGET: Target<'static> = Target::new("/v1", "/chat/completions");

/// Where compatible servers differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenAiQuirks {
    pub output_limit: OutputLimitField,
    pub effort: EffortField,
    pub reasoning_replay: ReasoningReplay,
    pub usage_report: UsageReport,
    pub call_ids: CallIdForm,
}

impl OpenAiQuirks {
    /// The form that most compatible servers understand.
    pub const COMPATIBLE: Self = Self {
        output_limit: OutputLimitField::MaxTokens,
        effort: EffortField::ReasoningEffort,
        reasoning_replay: ReasoningReplay::Never,
        usage_report: UsageReport::OnRequest,
        call_ids: CallIdForm::ByModel,
    };
}

/// The field that limits the length of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputLimitField {
    MaxTokens,
    /// OpenAI's reasoning models refuse the older name.
    MaxCompletionTokens,
    /// The server decides how long its responses are.
    Absent,
}

/// The field for the reasoning effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffortField {
    ReasoningEffort,
    /// `reasoning: {effort}`, OpenRouter's form.
    Reasoning,
    /// The model decides how hard it thinks.
    Absent,
}

/// Which assistant messages include their reasoning: in `reasoning_content`, unless stated
/// otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningReplay {
    Never,
    /// Needed while tools are used, ignored or refused elsewhere.
    WithToolCalls,
    Always,
    /// Always, as `thinking` parts of the content: Mistral's form.
    AsParts,
}

/// How token counts are obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageReport {
    /// By `stream_options`.
    OnRequest,
    /// Always sent; a request for it is refused.
    Always,
}

/// The form of tool call ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallIdForm {
    /// OpenAI's form, or Mistral's for Mistral's models.
    ByModel,
    /// Mistral's own service.
    NineAlphanumerics,
}

/// A client of one OpenAI-compatible endpoint.
pub struct OpenAiClient(OpenAiWireClient<RequestCache>);

impl OpenAiClient {
    /// `endpoint.base_url` is the address before `/v1/chat/completions`, or before `/chat/completions`.
    pub fn new(http: HttpClient, endpoint: Endpoint, quirks: OpenAiQuirks) -> Self {
        Self(OpenAiWireClient::new(http, endpoint, quirks))
    }

    /// Adds what the catalog knows about the models of this provider.
    #[must_use]
    pub fn with_accepted(self, accepted: AcceptedThinking) -> Self {
        Self(self.0.with_accepted(accepted))
    }
}

impl Model for OpenAiClient {
    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> ModelStream<'a> {
        let effort = match self.0.quirks.effort {
            EffortField::Absent => None,
            EffortField::ReasoningEffort | EffortField::Reasoning => request.reasoning,
        };
        self.0.stream(request, effort, OpenAiDecoder::new)
    }

    /// Tool messages hold text only on this wire.
    fn tool_images(&self) -> ToolImages {
        ToolImages::NeedMirror
    }
}
