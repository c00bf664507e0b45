//! The turn machine: decides what happens next, performs nothing itself.

#[cfg(test)]
mod tests;

use zot_conversation::{ErrorCode, ErrorReport, ToolCall};

/// What the driver has to do now.
#[derive(Debug, Clone, PartialEq)]
pub enum NextStep {
    Compact(CompactionCause),
    /// Begin a turn: call the model.
    CallModel {
        step: u32,
    },
    /// Call the model again within the turn that has begun.
    RetryModel {
        step: u32,
    },
    RunTools(Vec<ToolCall>),
    Finish(Ending),
}

/// Why a compaction is due within a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionCause {
    /// The window is nearly full: the prompt continues even if compaction fails.
    NearlyFull,
    /// The provider refused the transcript as too long: without compaction nothing works.
    Overflow,
}

/// How a prompt ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    Complete,
    /// Aborted, or blocked by a hook: nothing more to report.
    Quiet,
    /// Failed after the turn's end was reported, or between turns.
    Failed(ErrorReport),
    /// Failed within a turn whose end must still be reported.
    FailedInTurn(ErrorReport),
}

/// How a model call went.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelOutcome {
    Responded {
        calls: Vec<ToolCall>,
        context: ContextFill,
    },
    /// Failed, and the next model takes over; the turn is still open.
    FellBack,
    /// Refused as too long before any content arrived; the turn is still open.
    Overflowed(ErrorReport),
    /// Aborted or blocked; the turn's end is reported.
    Stopped,
    /// Failed; the turn's end is reported.
    Failed(ErrorReport),
}

/// Whether the next model call should find a shorter transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextFill {
    Roomy,
    NearlyFull,
}

/// How a batch of tool calls went.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolsOutcome {
    Finished,
    Aborted,
    Failed(ErrorReport),
}

/// How a compaction within a prompt went.
#[derive(Debug, Clone, PartialEq)]
pub enum CompactionOutcome {
    Shortened,
    Aborted,
    Failed(ErrorReport),
    /// It could not be recorded: what follows would be lost.
    NotRecorded(ErrorReport),
}

/// The state of one prompt from its first model call to its end.
#[derive(Debug)]
pub struct Turn {
    /// No limit when not set.
    max_steps: Option<u32>,
    step: u32,
    context: ContextFill,
    /// The first overflow is followed by a compaction; the second is final.
    overflow: Option<ErrorReport>,
    /// A compaction that failed is not tried again at every further step.
    compaction_failed: bool,
    next: NextStep,
}

impl Turn {
    /// Begins a prompt; `context` is what the last model call found.
    pub fn new(max_steps: Option<u32>, context: ContextFill) -> Self {
        let mut turn = Self {
            max_steps,
            step: 0,
            context,
            overflow: None,
            compaction_failed: false,
            next: NextStep::Finish(Ending::Complete),
        };
        turn.begin_step();
        turn
    }

    /// Returns whether the turn ends because it has no step left.
    pub fn is_at_step_limit(&self) -> bool {
        matches!(
            &self.next,
            NextStep::Finish(Ending::Failed(report)) if report.code == ErrorCode::MaxSteps
        )
    }

    /// Raises the step limit by `more` and continues.
    pub fn allow_steps(&mut self, more: u64) {
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        self.max_steps = self.max_steps.map(|limit| limit.saturating_add(more));
        self.begin_step();
    }

    pub fn next_step(&self) -> NextStep {
        self.next.clone()
    }

    pub fn model_called(&mut self, outcome: ModelOutcome) {
        self.next = match outcome {
            ModelOutcome::Responded { calls, context } => {
                self.context = context;
                if calls.is_empty() {
                    NextStep::Finish(Ending::Complete)
                } else {
                    NextStep::RunTools(calls)
                }
            }
            ModelOutcome::Overflowed(report) if self.overflow.is_none() => {
                self.overflow = Some(report);
                NextStep::Compact(CompactionCause::Overflow)
            }
            ModelOutcome::Overflowed(report) => NextStep::Finish(Ending::FailedInTurn(report)),
            ModelOutcome::FellBack => NextStep::RetryModel { step: self.step },
            ModelOutcome::Stopped => NextStep::Finish(Ending::Quiet),
            ModelOutcome::Failed(report) => NextStep::Finish(Ending::Failed(report)),
        };
    }

    pub fn tools_ran(&mut self, outcome: ToolsOutcome) {
        match outcome {
            ToolsOutcome::Finished => self.begin_step(),
            ToolsOutcome::Aborted => self.next = NextStep::Finish(Ending::Quiet),
            ToolsOutcome::Failed(report) => self.next = NextStep::Finish(Ending::Failed(report)),
        }
    }

    pub fn compacted(&mut self, cause: CompactionCause, outcome: CompactionOutcome) {
        self.context = ContextFill::Roomy;
        self.compaction_failed |= matches!(outcome, CompactionOutcome::Failed(_));
        self.next = match (cause, outcome) {
            (CompactionCause::NearlyFull, CompactionOutcome::Aborted) => {
                NextStep::Finish(Ending::Quiet)
            }
            (CompactionCause::NearlyFull, CompactionOutcome::NotRecorded(report)) => {
                NextStep::Finish(Ending::Failed(report))
            }
            (CompactionCause::Overflow, CompactionOutcome::NotRecorded(report)) => {
                NextStep::Finish(Ending::FailedInTurn(report))
            }
            (CompactionCause::NearlyFull, _) => NextStep::CallModel { step: self.step },
            (CompactionCause::Overflow, CompactionOutcome::Shortened) => {
                NextStep::RetryModel { step: self.step }
            }
            // The retry sees the abort at once and reports the end of the turn.
            (CompactionCause::Overflow, CompactionOutcome::Aborted) => {
                NextStep::RetryModel { step: self.step }
            }
            (CompactionCause::Overflow, CompactionOutcome::Failed(report)) => {
                let no_help = format!("compaction did not help: {}", report.message);
                NextStep::Finish(Ending::FailedInTurn(match self.overflow.clone() {
                    Some(overflow) => ErrorReport {
                        message: format!("{} ({no_help})", overflow.message),
                        ..overflow
                    },
                    None => ErrorReport::new(ErrorCode::ContextOverflow, no_help),
                }))
            }
        };
    }

    /// Continues the prompt with a message that the user sent during the response.
    pub fn steered(&mut self) {
        self.begin_step();
    }

    fn begin_step(&mut self) {
        if let Some(max_steps) = self.max_steps
            && self.step >= max_steps
        {
            self.next = NextStep::Finish(Ending::Failed(ErrorReport::new(
                ErrorCode::MaxSteps,
                format!("max steps ({max_steps}) exceeded"),
            )));
            return;
        }
        self.step = self.step.saturating_add(1);
        self.next = match self.context {
            _ if self.compaction_failed => NextStep::CallModel { step: self.step },
            ContextFill::Roomy => NextStep::CallModel { step: self.step },
            ContextFill::NearlyFull => NextStep::Compact(CompactionCause::NearlyFull),
        };
    }
}
