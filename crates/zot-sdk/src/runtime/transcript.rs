//! Reading, replacing and clearing the conversation.

use std::sync::Arc;

use zot_conversation as conversation;
use zot_wire::rpc::{FullMessage, Message, RepairReport};

use super::{Busy, ClearError, Runtime, SetMessagesError};
use crate::{full, wire};

impl Runtime {
    /// Returns the conversation so far.
    pub fn transcript(&self) -> Vec<Arc<conversation::Message>> {
        self.agent.transcript().messages().to_vec()
    }

    /// Returns the conversation in its wire form.
    pub fn messages(&self) -> Vec<Message> {
        wire::messages(&self.agent.transcript())
    }

    /// Returns the transcript with everything needed to continue elsewhere.
    pub fn full_messages(&self) -> Vec<FullMessage> {
        full::export(&self.agent.transcript())
    }

    /// Replaces the transcript, repairing the new one where it is broken.
    pub fn set_messages(
        &self,
        messages: Vec<FullMessage>,
    ) -> Result<RepairReport, SetMessagesError> {
        self.put_messages(Vec::new(), messages)
    }

    /// Appends messages to the transcript, repairing them where they are broken.
    pub fn append_messages(
        &self,
        messages: Vec<FullMessage>,
    ) -> Result<RepairReport, SetMessagesError> {
        self.put_messages(self.agent.transcript().messages().to_vec(), messages)
    }

    fn put_messages(
        &self,
        mut transcript: Vec<Arc<conversation::Message>>,
        messages: Vec<FullMessage>,
    ) -> Result<RepairReport, SetMessagesError> {
        if self.occupation.is_busy() {
            return Err(Busy.into());
        }
        transcript.extend(full::import(messages)?);
        let repair = self.agent.set_transcript(transcript)?;
        self.servers.adopt(self.agent.transcript().messages());
        Ok(RepairReport {
            results_added: repair.results_added,
            results_dropped: repair.results_dropped,
            messages_dropped: repair.messages_dropped,
        })
    }

    /// Clears the transcript but not the usage. The system prompt gets today's date.
    pub fn clear(&self) -> Result<(), ClearError> {
        if self.occupation.is_busy() {
            return Err(Busy.into());
        }
        self.agent.clear()?;
        self.toolbox.start_conversation();
        Ok(self.change(|settings| self.toolbox.apply(settings))?)
    }
}
