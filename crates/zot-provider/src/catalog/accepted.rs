//! What the models of one provider accept, by id, for the client that sends their requests.

use std::sync::Arc;

use super::facts::{Efforts, Thinking};
use super::{Catalog, rules};

/// How thinking is requested of each model.
///
/// Holds only models that the rules for names would get wrong.
#[derive(Debug, Clone, Default)]
pub struct AcceptedThinking(Arc<[(Box<str>, Accepted)]>);

/// What one model accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Accepted {
    pub(crate) thinking: Thinking,
    pub(crate) efforts: Efforts,
}

impl Accepted {
    fn by_name(model: &str) -> Self {
        Self {
            thinking: rules::thinking(model),
            efforts: rules::efforts(model),
        }
    }
}

impl AcceptedThinking {
    pub(crate) fn of(&self, model: &str) -> Accepted {
        let listed = self.0.iter().find(|(id, _)| **id == *model);
        listed.map_or_else(|| Accepted::by_name(model), |(_, accepted)| *accepted)
    }
}

impl Catalog {
    /// Collects what the models of `provider` accept, where it differs from the rules for names.
    pub fn accepted_thinking(&self, provider: &str) -> AcceptedThinking {
        let listed = self.models(provider).filter_map(|model| {
            let accepted = Accepted {
                thinking: model.thinking,
                efforts: model.efforts,
            };
            (accepted != Accepted::by_name(&model.id)).then(|| (model.id.as_ref().into(), accepted))
        });
        AcceptedThinking(listed.collect())
    }
}
