//! Turns the names of a wire's tool calls back into the agent's.

use std::collections::VecDeque;
use std::sync::Arc;

use zot_conversation::{ModelError, ModelEvent, ToolCallId};

use super::Declarations;
use crate::call::{Decoder, Progress};
use crate::sse::SseEvent;

/// Wraps a decoder: restores the agent's names of tools and arguments, and reports what was left
/// out of the request.
pub(crate) struct Restoring<D> {
    decoder: D,
    declarations: Arc<Declarations>,
    has_begun: bool,
    /// Calls whose keys have to be renamed, which needs their complete arguments.
    held: Vec<Held>,
    /// Bytes of arguments that were held so far.
    kept: usize,
}

struct Held {
    id: ToolCallId,
    tool: String,
    arguments: String,
}

impl<D> Restoring<D> {
    pub(crate) fn new(decoder: D, declarations: &Arc<Declarations>) -> Self {
        Self {
            decoder,
            declarations: Arc::clone(declarations),
            has_begun: false,
            held: Vec::new(),
            kept: 0,
        }
    }

    /// Reports once what was left out of the request.
    fn begin(&mut self, events: &mut VecDeque<ModelEvent>) {
        if !std::mem::replace(&mut self.has_begun, true) {
            let notices = self.declarations.take_notices().iter().cloned();
            events.extend(notices.map(ModelEvent::Notice));
        }
    }

    /// Renames the tools and arguments in the events from `first` on.
    fn restore(&mut self, first: usize, events: &mut VecDeque<ModelEvent>) {
        if self.declarations.naming.is_plain() || first == events.len() {
            return;
        }
        for event in events.split_off(first) {
            self.restore_event(event, events);
        }
    }

    fn restore_event(&mut self, event: ModelEvent, events: &mut VecDeque<ModelEvent>) {
        let naming = &self.declarations.naming;
        match event {
            ModelEvent::ToolCallStart { id, name } => {
                let name = naming.original_tool(&name).to_owned();
                if naming.renames_keys(&name) {
                    self.held.push(Held {
                        id: id.clone(),
                        tool: name.clone(),
                        arguments: String::new(),
                    });
                }
                events.push_back(ModelEvent::ToolCallStart { id, name });
            }
            ModelEvent::ToolCallArguments { id, delta } => {
                match self.held.iter_mut().rfind(|held| held.id == id) {
                    Some(held) => {
                        self.kept += delta.len();
                        held.arguments.push_str(&delta);
                    }
                    None => events.push_back(ModelEvent::ToolCallArguments { id, delta }),
                }
            }
            ModelEvent::ToolCallEnd { id } => {
                if let Some(position) = self.held.iter().rposition(|held| held.id == id) {
                    let held = self.held.remove(position);
                    let delta = naming.original_arguments(&held.tool, held.arguments);
                    if !delta.is_empty() {
                        let id = id.clone();
                        events.push_back(ModelEvent::ToolCallArguments { id, delta });
                    }
                }
                events.push_back(ModelEvent::ToolCallEnd { id });
            }
            other => events.push_back(other),
        }
    }
}

impl<D: Decoder> Decoder for Restoring<D> {
    fn buffered_bytes(&self) -> usize {
        self.decoder.buffered_bytes() + self.kept
    }

    fn event(
        &mut self,
        event: SseEvent<'_>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<Progress, ModelError> {
        self.begin(events);
        let first = events.len();
        let progress = self.decoder.event(event, events);
        self.restore(first, events);
        progress
    }

    fn end(
        &mut self,
        cut: Option<&str>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        let first = events.len();
        let ended = self.decoder.end(cut, events);
        self.restore(first, events);
        ended
    }

    fn document(
        &mut self,
        body: &[u8],
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        self.begin(events);
        let first = events.len();
        let read = self.decoder.document(body, events);
        self.restore(first, events);
        read
    }
}
