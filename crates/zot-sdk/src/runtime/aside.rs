//! Side questions, which leave no trace in the conversation.

#[cfg(test)]
mod tests;

use std::future::ready;
use std::sync::Arc;

use tokio::sync::mpsc;
use zot_agent::{
    Agent, AgentParts, ApprovalPolicy, Budget, Hooks, Journal, JournalError, SharedSettings,
    ToolVerdict,
};
use zot_conversation::{BoxFuture, Message, ToolCall, Transcript, Usage};

use super::{Occupation, Runtime, user_content};
use crate::stream::{EVENT_QUEUE_LENGTH, EventStream, Work};

/// One response, and another one for a model that called a tool anyway.
const MAX_ASIDE_STEPS: u32 = 2;

const NO_TOOLS: &str =
    "tools cannot be used for a question on the side: answer from what is known already";

const PREFACE: &str = "(A question on the side, which will not be part of the conversation. Answer it briefly from \
     what you know by now, without any tool, and do not go on with the work.)\n\n";

impl Runtime {
    /// Asks the model about the conversation so far, even during a prompt. Question and answer enter
    /// neither the transcript nor the session, and no tool runs. The cost is reported by the usage
    /// event and counted by [`cost`](Self::cost) and [`usage`](Self::usage). Dropping the
    /// stream ends it.
    pub fn ask_aside(&self, question: &str) -> EventStream {
        let mut settings = (*self.agent.settings()).clone();
        // The tools stay: without them some providers reject earlier calls, and no cache matches.
        settings.steps.max_steps = Some(MAX_ASIDE_STEPS);
        settings.approval = ApprovalPolicy::default();
        let bill = Bill {
            agent: Arc::clone(&self.agent),
            model: settings.model.id.clone(),
        };
        let agent = Agent::new(AgentParts {
            settings: SharedSettings::new(settings),
            hooks: Arc::new(RefuseTools),
            journal: Arc::new(bill),
            transcript: Transcript::default(),
            budget: Budget::default(),
        });
        // Repairs calls of a running prompt that have no result yet. It cannot fail: nothing is written.
        let _ = agent.set_transcript(self.agent.transcript().messages().to_vec());
        let content = user_content(&format!("{PREFACE}{question}"), Vec::new());
        let occupation = Arc::<Occupation>::default();
        let (sender, receiver) = mpsc::channel(EVENT_QUEUE_LENGTH);
        let work = async move {
            let cancel = tokio_util::sync::CancellationToken::new();
            agent
                .prompt(content, Budget::default(), &sender, &cancel)
                .await;
        };
        let alternatives = Arc::clone(&self.alternatives);
        EventStream::new(
            Box::pin(work),
            receiver,
            occupation,
            Work::Prompt,
            alternatives,
        )
    }
}

/// Writes nothing, but adds the cost to the agent of the conversation.
struct Bill {
    agent: Arc<Agent>,
    model: String,
}

impl Journal for Bill {
    fn message_added(&self, _: &Arc<Message>) -> Result<(), JournalError> {
        Ok(())
    }

    fn usage_added(&self, turn: &Usage, _: &Usage) -> Result<(), JournalError> {
        self.agent.count_usage(self.model.clone(), *turn);
        Ok(())
    }

    fn transcript_replaced(&self, _: &[Arc<Message>]) -> Result<(), JournalError> {
        Ok(())
    }
}

struct RefuseTools;

impl Hooks for RefuseTools {
    fn before_tool<'a>(&'a self, _: &'a ToolCall) -> BoxFuture<'a, ToolVerdict> {
        Box::pin(ready(ToolVerdict::Block {
            reason: NO_TOOLS.to_owned(),
        }))
    }
}
