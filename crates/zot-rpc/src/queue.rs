//! Prompts and compactions that wait for the running one.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use zot_sdk::wire::InvokedData;
use zot_sdk::{Budget, Image};
use zot_wire::rpc::RequestId;

/// The most prompts that may wait.
///
/// Limit: the prompt is refused.
const MAX_QUEUED_COMMANDS: usize = 10_000;

/// The most bytes of prompts that may wait, including images and ids.
///
/// Limit: the prompt is refused.
const MAX_QUEUED_COMMAND_BYTES: usize = 64 * 1024 * 1024;

/// Work that was accepted and has not started.
#[derive(Debug, PartialEq)]
pub(crate) struct Job {
    pub(crate) id: Option<RequestId>,
    pub(crate) work: JobWork,
}

#[derive(Debug, PartialEq)]
pub(crate) enum JobWork {
    Prompt {
        text: String,
        images: Vec<Image>,
        /// Whether mentioned files are attached when the prompt starts.
        mentions: bool,
        budget: Budget,
    },
    Compact,
    /// The prompt that a slash command asked for.
    Command(Box<InvokedData>),
}

impl Job {
    /// Returns the size of everything whose length the client chooses.
    fn bytes(&self) -> usize {
        let id = self.id.as_ref().map_or(0, RequestId::length);
        let work = match &self.work {
            JobWork::Prompt { text, images, .. } => {
                let images = images
                    .iter()
                    .map(|image| size_of::<Image>() + image.mime_type.len() + image.data.len());
                text.len() + images.sum::<usize>()
            }
            JobWork::Compact => 0,
            JobWork::Command(invoked) => {
                let texts = [&invoked.prompt, &invoked.error];
                texts.into_iter().flatten().map(String::len).sum()
            }
        };
        id + work
    }
}

/// First in, first out, within limits.
#[derive(Default)]
pub(crate) struct JobQueue {
    jobs: VecDeque<Job>,
    bytes: usize,
}

impl JobQueue {
    /// Adds a job, or returns it when the queue is full.
    pub(crate) fn push(&mut self, job: Job) -> Result<(), Box<Job>> {
        let bytes = job.bytes();
        if self.jobs.len() >= MAX_QUEUED_COMMANDS || self.bytes + bytes > MAX_QUEUED_COMMAND_BYTES {
            return Err(Box::new(job));
        }
        self.bytes += bytes;
        self.jobs.push_back(job);
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    pub(crate) fn pop(&mut self) -> Option<Job> {
        let job = self.jobs.pop_front()?;
        self.bytes -= job.bytes();
        Some(job)
    }
}
