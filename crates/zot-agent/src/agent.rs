//! The agent: a conversation, its settings, and the operations on it.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use zot_conversation::{
    AgentEvent, Answer, ContentBlock, ErrorReport, ImageBlame, Message, QuestionId, Timestamp,
    ToolCallId, ToolImages, ToolResult, Transcript, Usage,
};

use crate::approval::{ApprovalPolicy, Approvals, Decision, NOBODY_LEFT, NotWaiting};
use crate::budget::Budget;
use crate::ceiling;
use crate::driver::{self, Run};
use crate::ledger::Ledger;
use crate::left_out::without_refused_images;
use crate::mirror::mirror_images;
use crate::questions::{NotAsked, OpenQuestions};
use crate::settings::{AgentSettings, SharedSettings};
use crate::steering::{SteerError, Steering};
use crate::turn::{ContextFill, Ending};
use crate::{COMPACT_AT_PERCENT, Hooks, Journal, JournalError, Repair, repair};

/// The parts of an agent.
pub struct AgentParts {
    pub settings: Arc<SharedSettings>,
    pub hooks: Arc<dyn Hooks>,
    pub journal: Arc<dyn Journal>,
    pub transcript: Transcript,
    /// The budget of all prompts together.
    pub budget: Budget,
}

/// A conversation that can be continued.
///
/// The caller runs one prompt or compaction at a time; reading is possible at any moment.
pub struct Agent {
    settings: Arc<SharedSettings>,
    /// How many models of this prompt have failed.
    failed_models: AtomicUsize,
    conversation: Mutex<Conversation>,
    hooks: Arc<dyn Hooks>,
    journal: Arc<dyn Journal>,
    budget: Budget,
    /// Model calls that were allowed beyond the budget.
    granted_steps: AtomicU64,
    began: Instant,
    steering: Steering,
    approvals: Approvals,
    questions: OpenQuestions,
    /// Where to send the decision that a prompt at its step limit waits for.
    step_question: Mutex<Option<oneshot::Sender<u64>>>,
    /// Notices of models about their requests: each is reported once, even after the model changes.
    notices: Mutex<HashSet<String>>,
}

#[derive(Default)]
struct Conversation {
    transcript: Transcript,
    usage: Usage,
    ledger: Ledger,
    model_calls: u64,
    /// Tokens of the last model call, response included.
    context_tokens: u64,
    /// The most tokens the messages can have.
    ceiling: u64,
    /// How many messages at the beginning are known to be valid for the model, so that a long
    /// transcript is not checked again for every call.
    fit: usize,
}

impl Agent {
    pub fn new(parts: AgentParts) -> Self {
        Self {
            settings: parts.settings,
            failed_models: AtomicUsize::new(0),
            conversation: Mutex::new(Conversation {
                ceiling: ceiling::of_messages(parts.transcript.messages()),
                transcript: parts.transcript,
                ..Conversation::default()
            }),
            hooks: parts.hooks,
            journal: parts.journal,
            budget: parts.budget,
            granted_steps: AtomicU64::new(0),
            began: Instant::now(),
            steering: Steering::default(),
            approvals: Approvals::default(),
            questions: OpenQuestions::default(),
            step_question: Mutex::default(),
            notices: Mutex::default(),
        }
    }

    /// Returns whether `notice` is new, and marks it as reported.
    pub(crate) fn is_new_notice(&self, notice: &str) -> bool {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        notices.insert(notice.to_owned())
    }

    /// Adds a user message and works until the model is done.
    ///
    /// Everything that happens, failure included, is reported through `events`; the last one is
    /// `Done`.
    pub async fn prompt(
        &self,
        content: Vec<ContentBlock>,
        budget: Budget,
        events: &mpsc::Sender<AgentEvent>,
        cancel: &CancellationToken,
    ) {
        self.failed_models.store(0, Ordering::Relaxed);
        let run = Run::new(self, budget, events, cancel);
        driver::prompt(self, content, &run).await;
    }

    /// Ends a prompt before it has begun: nothing is added to the transcript.
    pub async fn refuse_prompt(
        &self,
        report: ErrorReport,
        events: &mpsc::Sender<AgentEvent>,
        cancel: &CancellationToken,
    ) {
        let run = Run::new(self, Budget::default(), events, cancel);
        driver::finish(self, &run, Ending::Failed(report)).await;
    }

    /// Summarises the transcript up to a kept tail. A failure or an abort changes nothing.
    ///
    /// Ends with `CompactionFinished`, or with `Done` after a failure or an abort.
    pub async fn compact(&self, events: &mpsc::Sender<AgentEvent>, cancel: &CancellationToken) {
        self.failed_models.store(0, Ordering::Relaxed);
        let run = Run::new(self, Budget::default(), events, cancel);
        driver::compact(self, &run).await;
    }

    pub fn settings(&self) -> Arc<AgentSettings> {
        self.settings.get()
    }

    /// Returns the settings with the model in use: a fallback takes the place of a failed one.
    pub(crate) fn active_settings(&self) -> Arc<AgentSettings> {
        let settings = self.settings();
        let failed_models = self.failed_models.load(Ordering::Relaxed);
        let active = failed_models
            .checked_sub(1)
            .and_then(|index| settings.fallbacks.get(index));
        let Some(fallback) = active.cloned() else {
            return settings;
        };
        Arc::new(AgentSettings {
            model: fallback,
            ..(*settings).clone()
        })
    }

    /// Switches to the next fallback for the rest of the prompt; returns whether there is one.
    pub(crate) fn fall_back(&self) -> bool {
        let failed_models = self.failed_models.load(Ordering::Relaxed);
        let has_next = failed_models < self.settings().fallbacks.len();
        if has_next {
            self.failed_models
                .store(failed_models + 1, Ordering::Relaxed);
            // It may need images mirrored that the failed model could see.
            lock(&self.conversation).fit = 0;
        }
        has_next
    }

    pub fn set_settings(&self, settings: AgentSettings) {
        self.settings.set(settings);
    }

    /// Changes which calls need permission from the next tool call on, also within a running
    /// prompt. Remembered decisions are forgotten.
    pub fn set_approval(&self, policy: ApprovalPolicy) {
        self.settings.change(|settings| settings.approval = policy);
        self.approvals.forget_remembered();
    }

    pub fn transcript(&self) -> Transcript {
        lock(&self.conversation).transcript.clone()
    }

    /// Accepts steering messages from now on, for a prompt that is about to be polled.
    pub fn expect_steering(&self) {
        self.steering.open();
    }

    /// Adds a message to the running prompt. It is delivered after the running tool call, whose
    /// later siblings are skipped, or when the model has finished its response.
    pub fn steer(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        self.steering.push(content)
    }

    /// Decides on a call that waits for permission.
    pub fn confirm(&self, id: &ToolCallId, decision: Decision) -> Result<(), NotWaiting> {
        self.approvals.decide(id, decision)
    }

    /// Allows `more` model calls to a prompt that waits at a step limit. Does nothing if none
    /// waits.
    pub fn allow_steps(&self, more: u64) {
        if let Some(question) = lock(&self.step_question).take() {
            // The prompt may have been stopped in the meantime.
            let _ = question.send(more);
        }
    }

    pub(crate) fn ask_for_steps(&self) -> oneshot::Receiver<u64> {
        let (question, receiver) = oneshot::channel();
        *lock(&self.step_question) = Some(question);
        receiver
    }

    /// Refuses every call that needs permission, because no one is left to give it.
    pub fn refuse_confirmations(&self) {
        self.refuse_confirmations_because(NOBODY_LEFT);
    }

    /// Refuses every call that needs permission; `reason` is what the model reads.
    pub fn refuse_confirmations_because(&self, reason: impl Into<String>) {
        self.approvals.close(reason.into());
    }

    /// Asks questions of tools from now on; without it they are declined, because nobody answers.
    pub fn accept_questions(&self) {
        self.questions.open();
    }

    /// Declines every question of a tool, because no one is left to answer.
    pub fn decline_questions(&self) {
        self.questions.close();
    }

    /// Answers a question of a running tool.
    pub fn answer(&self, id: &QuestionId, answer: Answer) -> Result<(), NotAsked> {
        self.questions.answer(id, answer)
    }

    /// Changes how long the next calls wait for permission. Remembered decisions stay.
    pub fn set_approval_timeout(&self, timeout: Duration) {
        self.settings
            .change(|settings| settings.approval.timeout = timeout);
    }

    /// What was spent, by model and by model call.
    pub fn ledger(&self) -> Ledger {
        lock(&self.conversation).ledger.clone()
    }

    /// Returns everything spent since the agent was created.
    pub fn usage(&self) -> Usage {
        lock(&self.conversation).usage
    }

    /// Drops the transcript; usage stays.
    pub fn clear(&self) -> Result<(), JournalError> {
        self.replace_transcript(Transcript::default())
    }

    pub(crate) fn append(&self, mut message: Message) -> Result<Arc<Message>, JournalError> {
        // Messages live long: free the spare capacity of a response that grew.
        message.content.shrink_to_fit();
        for block in &mut message.content {
            if let ContentBlock::Text(text) = block {
                text.shrink_to_fit();
            }
        }
        let message = Arc::new(message);
        self.journal.message_added(&message)?;
        let mut conversation = lock(&self.conversation);
        conversation.ceiling += ceiling::of_message(&message);
        conversation.transcript.push(Arc::clone(&message));
        Ok(message)
    }

    /// Records results of a batch that is still running.
    pub(crate) fn record_results(&self, results: &[ToolResult]) -> Result<(), JournalError> {
        let mut results = results.iter();
        results.try_for_each(|result| self.journal.result_added(result))
    }

    /// Replaces the transcript with another one, repaired where it is invalid.
    pub fn set_transcript(&self, messages: Vec<Arc<Message>>) -> Result<Repair, JournalError> {
        let (messages, repair) = repair(&messages).unwrap_or((messages, Repair::default()));
        self.replace_transcript(messages.into())?;
        Ok(repair)
    }

    /// Adds the usage of one model call; returns the total so far.
    pub(crate) fn add_usage(&self, usage: Usage) -> Result<Usage, JournalError> {
        let model = self.active_settings().model.id.clone();
        let cumulative = {
            let mut conversation = lock(&self.conversation);
            conversation.usage += usage;
            conversation.ledger.add(model, usage);
            conversation.usage
        };
        self.journal.usage_added(&usage, &cumulative)?;
        Ok(cumulative)
    }

    /// Counts usage outside the conversation, such as a side question. The journal is not written.
    pub fn count_usage(&self, model: String, usage: Usage) {
        let mut conversation = lock(&self.conversation);
        conversation.usage += usage;
        conversation.ledger.add(model, usage);
    }

    pub(crate) fn hooks(&self) -> &dyn Hooks {
        self.hooks.as_ref()
    }

    pub(crate) fn steering(&self) -> &Steering {
        &self.steering
    }

    pub(crate) fn questions(&self) -> &OpenQuestions {
        &self.questions
    }

    pub(crate) fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// Model calls that were allowed beyond the budget of the process.
    pub(crate) fn granted_steps(&self) -> u64 {
        self.granted_steps.load(Ordering::Relaxed)
    }

    pub(crate) fn grant_steps(&self, all: u64) {
        self.granted_steps.store(all, Ordering::Relaxed);
    }

    pub(crate) fn process_budget(&self) -> Budget {
        self.budget
    }

    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    /// Returns how many times the model was called for prompts.
    pub(crate) fn model_calls(&self) -> u64 {
        lock(&self.conversation).model_calls
    }

    pub(crate) fn count_model_call(&self) {
        lock(&self.conversation).model_calls += 1;
    }

    pub(crate) fn set_context_tokens(&self, tokens: u64) {
        lock(&self.conversation).context_tokens = tokens;
    }

    /// Returns how full the context window is, by the provider's count.
    ///
    /// Impossible counts are capped: some servers report sums over several calls, and hidden
    /// reasoning is counted but not sent again. The transcript is not compacted for that.
    pub(crate) fn context_fill(&self) -> ContextFill {
        let window = self.active_settings().model.context_window;
        let reported = lock(&self.conversation).context_tokens;
        let used = reported.min(self.token_ceiling());
        if window > 0 && used.saturating_mul(100) >= window.saturating_mul(COMPACT_AT_PERCENT) {
            ContextFill::NearlyFull
        } else {
            ContextFill::Roomy
        }
    }

    /// Returns the most tokens a request can have now.
    pub(crate) fn token_ceiling(&self) -> u64 {
        ceiling::of_settings(&self.settings()) + lock(&self.conversation).ceiling
    }

    pub(crate) fn replace_transcript(&self, transcript: Transcript) -> Result<(), JournalError> {
        self.journal.transcript_replaced(transcript.messages())?;
        let mut conversation = lock(&self.conversation);
        conversation.ceiling = ceiling::of_messages(transcript.messages());
        conversation.transcript = transcript;
        conversation.context_tokens = 0;
        conversation.fit = 0;
        Ok(())
    }

    /// Removes images that a provider has refused and describes them.
    pub(crate) fn leave_out_refused_images(
        &self,
        blame: ImageBlame,
        provider: &str,
    ) -> Result<Vec<String>, JournalError> {
        let transcript = self.transcript();
        match without_refused_images(transcript.messages(), blame, provider) {
            None => Ok(Vec::new()),
            Some(left_out) => {
                self.replace_transcript(left_out.messages.into())?;
                Ok(left_out.images)
            }
        }
    }

    /// Returns the transcript as the model accepts it, repaired in place where it was invalid.
    pub(crate) fn fit_transcript(&self) -> Transcript {
        let images = self.active_settings().model.client.tool_images();
        let mut conversation = lock(&self.conversation);
        let (fit, tail) = conversation
            .transcript
            .messages()
            .split_at(conversation.fit);
        let repaired = repair(tail).map(|(messages, _)| messages);
        let tail = repaired.as_deref().unwrap_or(tail);
        let mirrored = match images {
            ToolImages::Seen => None,
            ToolImages::NeedMirror => mirror_images(tail),
        };
        if let Some(tail) = mirrored.or(repaired) {
            conversation.transcript = fit.iter().cloned().chain(tail).collect();
        }
        conversation.fit = conversation.transcript.len();
        conversation.transcript.clone()
    }
}

pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// A poisoned lock still holds a usable conversation: nothing here is left half-changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
