//! The messages of a conversation, cheap to share while they grow.

use std::sync::Arc;

use crate::Message;

/// A growing list of messages.
///
/// Cloning is O(1). Appending copies the list of pointers only while a clone is alive; between two
/// model calls none is.
#[derive(Debug, Clone, Default)]
pub struct Transcript(Arc<Vec<Arc<Message>>>);

impl Transcript {
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.0
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn push(&mut self, message: Arc<Message>) {
        Arc::make_mut(&mut self.0).push(message);
    }
}

impl From<Vec<Arc<Message>>> for Transcript {
    fn from(messages: Vec<Arc<Message>>) -> Self {
        Self(Arc::new(messages))
    }
}

impl FromIterator<Arc<Message>> for Transcript {
    fn from_iter<I: IntoIterator<Item = Arc<Message>>>(messages: I) -> Self {
        Self(Arc::new(messages.into_iter().collect()))
    }
}
