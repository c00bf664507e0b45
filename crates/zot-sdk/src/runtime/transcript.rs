//! The conversation: looked at, replaced, dropped.

use std::sync::Arc;

use zot_conversation as conversation;
use zot_wire::rpc::{FullMessage, Message, RepairReport};

use super::{Busy, ClearError, Runtime, SetMessagesError};
use crate::{full, wire};

impl Runtime {
    /// The conversation so far.
    pub fn transcript(&self) -> Vec<Arc<conversation::Message>> {
        self.agent.transcript().messages().to_vec()
    }

    /// The conversation in its wire form.
    pub fn messages(&self) -> Vec<Message> {
        wire::messages(&self.agent.transcript())
    }

    /// The transcript with everything needed to go on elsewhere.
    pub fn full_messages(&self) -> Vec<FullMessage> {
        full::export(&self.agent.transcript())
    }

    /// Puts a transcript in the place of this one, mended where it is broken.
    pub fn set_messages(
        &self,
        messages: Vec<FullMessage>,
    ) -> Result<RepairReport, SetMessagesError> {
        self.put_messages(Vec::new(), messages)
    }

    /// Adds messages to the transcript, mended where they are broken.
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
        Ok(RepairReport {
            results_added: repair.results_added,
            results_dropped: repair.results_dropped,
            messages_dropped: repair.messages_dropped,
        })
    }

    /// Drops the transcript. Usage stays; the model is told today's date from here on.
    pub fn clear(&self) -> Result<(), ClearError> {
        if self.occupation.is_busy() {
            return Err(Busy.into());
        }
        self.agent.clear()?;
        self.toolbox.begin_anew();
        Ok(self.change(|settings| self.toolbox.apply(settings))?)
    }
}
