//! Questions of tools that wait for someone's answer.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use zot_conversation::{
    AgentEvent, Answer, BoxFuture, Question, QuestionId, Questions, ToolCallId,
};

use crate::Agent;
use crate::driver::Run;

/// How long a person may take to answer a question of a tool: long enough to sign in somewhere.
///
/// Limit: a question without an answer counts as cancelled.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(600);

/// The most questions that wait at a time.
///
/// Limit: a further question is declined.
const MAX_TOOL_QUESTIONS: usize = 16;

/// No question of that id waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no question with this id waits for an answer")]
pub struct NotAsked;

/// The questions that wait. Until someone [opens](Self::open) it, every question is declined.
#[derive(Default)]
pub(crate) struct OpenQuestions(Mutex<State>);

#[derive(Default)]
struct State {
    is_answered: bool,
    asked: u64,
    waiting: HashMap<QuestionId, oneshot::Sender<Answer>>,
}

impl OpenQuestions {
    /// Asks from now on: someone answers.
    pub(crate) fn open(&self) {
        self.lock().is_answered = true;
    }

    /// Declines all waiting and later questions.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_answered = false;
        for (_, reply) in state.waiting.drain() {
            // The tool may have stopped in the meantime.
            let _ = reply.send(Answer::Decline);
        }
    }

    pub(crate) fn answer(&self, id: &QuestionId, answer: Answer) -> Result<(), NotAsked> {
        let reply = self.lock().waiting.remove(id).ok_or(NotAsked)?;
        reply.send(answer).map_err(|_| NotAsked)
    }

    /// Registers a question, unless nobody answers.
    fn ask(&self) -> Option<Waiting<'_>> {
        let mut state = self.lock();
        if !state.is_answered || state.waiting.len() >= MAX_TOOL_QUESTIONS {
            return None;
        }
        state.asked += 1;
        let id = QuestionId::from(format!("question_{}", state.asked).as_str());
        let (reply, receiver) = oneshot::channel();
        state.waiting.insert(id.clone(), reply);
        Some(Waiting {
            questions: self,
            id,
            receiver,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that waits; forgotten when dropped.
struct Waiting<'a> {
    questions: &'a OpenQuestions,
    id: QuestionId,
    receiver: oneshot::Receiver<Answer>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.questions.lock().waiting.remove(&self.id);
    }
}

/// The questions of one tool call.
pub(crate) struct CallQuestions<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) run: &'a Run<'a>,
    pub(crate) call: &'a ToolCallId,
}

impl Questions for CallQuestions<'_> {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            let Some(mut waiting) = self.agent.questions().ask() else {
                return Answer::Decline;
            };
            self.run
                .emit(AgentEvent::QuestionAsked {
                    id: waiting.id.clone(),
                    call: self.call.clone(),
                    question,
                })
                .await;
            tokio::select! {
                biased;
                () = self.run.cancel.cancelled() => Answer::Cancel,
                answer = &mut waiting.receiver => answer.unwrap_or(Answer::Cancel),
                () = tokio::time::sleep(QUESTION_TIMEOUT) => Answer::Cancel,
                _ = self.run.meter.time_is_up() => Answer::Cancel,
            }
        })
    }
}
