//! The model that wraps one without native tool calls.

use std::sync::{Arc, Mutex, PoisonError};

use zot_conversation::{Model, ModelRequest, ModelStream, ToolImages};

use crate::ids::CallIds;
use crate::rewriting::{Rewriting, Rewritten};
use crate::stream::HermesStream;

/// Wraps a model that reads its tools and writes its calls as text.
///
/// The wrapped model sees text and images only. Its blocks become the events of native calls, with
/// ids of the form `hermes_1`. A block that is not a valid call becomes a call that fails, so that
/// the model reads what was wrong. The response to a request without tools is passed on unchanged: a
/// summary may quote a call.
pub struct HermesModel {
    pub(crate) inner: Arc<dyn Model>,
    rewriting: Mutex<Rewriting>,
    pub(crate) ids: CallIds,
}

impl HermesModel {
    pub fn new(inner: Arc<dyn Model>) -> Self {
        Self {
            inner,
            rewriting: Mutex::default(),
            ids: CallIds::default(),
        }
    }

    pub(crate) fn rewrite(&self, request: &ModelRequest<'_>) -> Rewritten {
        // After a panic, at worst what was kept from earlier calls is lost.
        let mut rewriting = self
            .rewriting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        rewriting.rewrite(request, &self.ids)
    }
}

impl Model for HermesModel {
    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> ModelStream<'a> {
        Box::pin(HermesStream::new(self, request))
    }

    /// Images follow the results in the same message.
    fn tool_images(&self) -> ToolImages {
        ToolImages::Seen
    }
}
