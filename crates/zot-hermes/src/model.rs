//! The model that wraps another.

use std::sync::{Arc, Mutex, PoisonError};

use zot_conversation::{Model, ModelRequest, ModelStream, ToolImages};

use crate::ids::CallIds;
use crate::rewriting::{Rewriting, Rewritten};
use crate::stream::HermesStream;

/// A model that is given its tools, and makes its calls, as text.
///
/// The model inside sees text and images only. What it writes becomes the events of a native
/// call, with ids of the form `hermes_1`. A block that is not a call becomes one that fails, so
/// that the model reads what was wrong. A request without tools gets its answer as it is: a summary
/// may quote a call.
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
        // A panic while rewriting can at worst lose what was kept from earlier calls.
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
