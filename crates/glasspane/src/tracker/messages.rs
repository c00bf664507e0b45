//! Follows the messages of the user and of the model.

use super::state::push_tail;
use super::{MAX_MESSAGE_TAIL_BYTES, MAX_STATE_FIELD_BYTES, Tracker, cut};
use crate::{Event, Status};

impl Tracker {
    pub(super) fn message_start(&mut self, at: u64) {
        self.text_complete = true;
        self.unlinked_approvals = 0;
        self.settle(Status::Thinking, at);
    }

    pub(super) fn message_update(&mut self, event: &Event, at: u64) {
        if event.role.as_deref() == Some("user") {
            self.take_prompt(event);
            if !self.turn_open && self.open_tools.is_empty() {
                self.start_prompt(at);
            }
            return;
        }
        if event.thinking == Some(true) {
            self.settle(Status::Thinking, at);
            return;
        }
        let Some(text) = &event.text else { return };
        self.take_text(text, event.whole || self.text_complete);
        self.text_complete = false;
        self.settle(Status::Writing, at);
    }

    pub(super) fn message_end(&mut self, event: &Event, at: u64) {
        if event.role.as_deref() == Some("user") {
            return;
        }
        if let Some(text) = event.text.as_deref().filter(|text| !text.is_empty()) {
            self.take_text(text, event.whole || self.text_complete);
        }
        self.text_complete = true;
        if self.state.status.is_working() {
            self.settle(Status::Thinking, at);
        }
    }

    fn take_text(&mut self, text: &str, replaces: bool) {
        if replaces {
            self.state.last_text.clear();
        }
        push_tail(&mut self.state.last_text, text, MAX_MESSAGE_TAIL_BYTES);
    }

    fn take_prompt(&mut self, event: &Event) {
        let Some(text) = &event.text else { return };
        if event.whole {
            self.state.prompt = cut(text, MAX_STATE_FIELD_BYTES).to_owned();
        } else {
            push_tail(&mut self.state.prompt, text, MAX_STATE_FIELD_BYTES);
        }
    }
}
