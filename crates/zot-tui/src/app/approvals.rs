//! Questions to the user: tool calls that wait for approval, and the limit on steps.

mod approval;
mod step_limit;
mod view;

use std::collections::{HashSet, VecDeque};

use zot_sdk::{ApprovalScope, Decision, Remember};

use super::action::{Action, Handled};
use super::{AgentEffect, Context, Effect, Key, KeyCode, TerminalEffect};
use crate::editor::{Edit, Editor};

pub(crate) use approval::Approval;
pub(crate) use step_limit::{StepLimit, step_count};
pub(super) use view::{frame, step_limit as step_limit_frame};

/// A key pressed this soon after the last one counts as typing, not as a decision.
const TYPING_MS: u64 = 700;

const DENIED: &str = "the user said no";

#[derive(Debug, Default)]
pub(crate) struct Approvals {
    pub(crate) current: Option<Approval>,
    /// Parallel calls ask in parallel: these are shown next.
    waiting: VecDeque<Approval>,
    allowed: Allowed,
    pub(crate) step_limit: StepLimit,
    /// When a key that was not a decision was last pressed.
    typed_ms: u64,
}

/// What the user has allowed from now on.
#[derive(Debug, Default)]
struct Allowed {
    everything: bool,
    tools: Vec<String>,
    /// Single calls, word for word: tool and arguments.
    calls: HashSet<(String, String)>,
}

/// Where keys go when no question is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Focus {
    EmptyEditor,
    /// The editor has text in it.
    Draft,
    Panel,
}

impl Approvals {
    /// Asks the user about a call, unless this exact call is always allowed.
    pub(super) fn ask(&mut self, approval: Approval) -> Vec<Action> {
        if self.allowed.calls.contains(&approval.call()) {
            return confirm(approval.id, Decision::allow()).into();
        }
        match self.current {
            Some(_) => self.waiting.push_back(approval),
            None => self.current = Some(approval),
        }
        Vec::new()
    }

    /// Drops the question about a call that has ended.
    pub(super) fn forget(&mut self, id: &str) -> Vec<Action> {
        self.waiting.retain(|approval| approval.id != id);
        match self.current.take_if(|approval| approval.id == id) {
            Some(_) => self.ask_next(),
            None => Vec::new(),
        }
    }

    /// Drops all questions: the prompt has ended.
    pub(super) fn end(&mut self) {
        self.current = None;
        self.waiting.clear();
        self.step_limit = StepLimit::default();
    }

    fn ask_next(&mut self) -> Vec<Action> {
        let mut actions = Vec::new();
        while self.current.is_none()
            && let Some(next) = self.waiting.pop_front()
        {
            actions.extend(self.ask(next));
        }
        actions
    }

    /// Forgets which tools the user allowed, because the scope changes.
    pub(super) fn reset_allowed(&mut self) {
        self.allowed.everything = false;
        self.allowed.tools.clear();
    }

    /// Describes which calls need approval, and how to change that.
    pub(super) fn describe(&self, scope: &ApprovalScope) -> String {
        let mut text = match scope {
            ApprovalScope::Nothing => {
                return "approvals are off: tools run without asking. /confirm on asks before every \
                        tool, /confirm bash,write only before those"
                    .to_owned();
            }
            ApprovalScope::AllTools => "zot asks before every tool".to_owned(),
            ApprovalScope::Tools(names) => format!("zot asks before {}", names.join(", ")),
        };
        if self.allowed.everything {
            text.push_str(", but you have allowed every call from now on");
        } else if !self.allowed.tools.is_empty() {
            let allowed = self.allowed.tools.join(", ");
            text.push_str(&format!(", but you have allowed every call to {allowed}"));
        }
        if !self.allowed.calls.is_empty() && !self.allowed.everything {
            let calls = match self.allowed.calls.len() {
                1 => "1 exact call".to_owned(),
                count => format!("{count} exact calls"),
            };
            text.push_str(&format!(", and {calls}"));
        }
        text.push_str(". /confirm off stops asking, /confirm on asks about every call again");
        text
    }

    /// Wraps the call that is asked about, if it or the screen has changed.
    pub(super) fn lay_out(&mut self, context: &Context, draft: &Editor) {
        if let Some(approval) = &mut self.current {
            approval.lay_out(context);
            let room = view::room(approval, context, draft);
            approval.scroll_to(approval.top, room);
        }
    }

    /// A user in the middle of a word does not mean to answer a question that has just come up.
    pub(super) fn is_typing(&self, context: &Context, focus: Focus) -> bool {
        focus != Focus::EmptyEditor && context.now_ms < self.typed_ms + TYPING_MS
    }

    /// Records that a key was pressed that is not a decision.
    pub(super) fn note_typing(&mut self, context: &Context) {
        self.typed_ms = context.now_ms;
    }

    /// Handles a key while a call waits for approval.
    pub(super) fn press(
        &mut self,
        context: &Context,
        key: &Key,
        focus: Focus,
        draft: &Editor,
    ) -> Handled {
        let is_typing = self.is_typing(context, focus);
        let Some(approval) = &mut self.current else {
            return Handled::No;
        };
        if is_typing && approval.refusal.is_none() && !key.control && key.code != KeyCode::Escape {
            self.typed_ms = context.now_ms;
            // Keys for a panel that is hidden by the question are dropped.
            return match focus != Focus::Panel && key.code != KeyCode::Enter {
                true => Handled::No,
                false => Handled::DONE,
            };
        }
        if key.control {
            return press_control(approval, key.code);
        }
        let page = view::room(approval, context, draft).max(2) - 1;
        if approval.scroll(key.code, page) {
            return Handled::DONE;
        }
        if approval.refusal.is_some() {
            return self.press_refusal(key);
        }
        // A modified key decides nothing: alt+y is not y.
        if key.alt {
            return Handled::DONE;
        }
        let decision = match key.code {
            KeyCode::Character('y' | 'Y') | KeyCode::Enter => Decision::allow(),
            KeyCode::Character('e' | 'E') => {
                self.allowed.calls.insert(approval.call());
                Decision::allow()
            }
            KeyCode::Character('a' | 'A') => Decision::allow().remembered(Remember::Tool),
            KeyCode::Character('s' | 'S') => Decision::allow().remembered(Remember::Session),
            KeyCode::Character('n' | 'N') => {
                approval.refusal = Some(Editor::default());
                return Handled::DONE;
            }
            KeyCode::Escape => Decision::deny(DENIED),
            _ => return Handled::DONE,
        };
        Handled::Yes(self.decide(decision))
    }

    /// Handles a key while the reason for a refusal is typed.
    fn press_refusal(&mut self, key: &Key) -> Handled {
        let Some(approval) = &mut self.current else {
            return Handled::No;
        };
        let Some(refusal) = &mut approval.refusal else {
            return Handled::No;
        };
        match key.code {
            KeyCode::Enter => {
                let reason = match refusal.content().trim() {
                    "" => DENIED.to_owned(),
                    reason => format!("{DENIED}: {reason}"),
                };
                return Handled::Yes(self.decide(Decision::deny(reason)));
            }
            KeyCode::Escape => approval.refusal = None,
            KeyCode::Backspace => refusal.apply(Edit::Backspace),
            KeyCode::Character(character) if !key.alt => {
                refusal.apply(Edit::Insert(character.to_string()));
            }
            _ => {}
        }
        Handled::DONE
    }

    /// Handles a paste while a call waits: it is added to the reason for a refusal, or dropped.
    pub(super) fn paste(&mut self, text: &str) -> bool {
        let Some(approval) = &mut self.current else {
            return false;
        };
        if let Some(refusal) = &mut approval.refusal {
            refusal.apply(Edit::Insert(text.trim().replace(['\r', '\n'], " ")));
        }
        true
    }

    fn decide(&mut self, decision: Decision) -> Vec<Action> {
        let Some(approval) = self.current.take() else {
            return Vec::new();
        };
        match decision.remember {
            Remember::Call => {}
            Remember::Tool => self.allowed.tools.push(approval.tool.clone()),
            Remember::Session => self.allowed.everything = true,
        }
        // A decision about later calls also covers those already waiting.
        let (covered, others): (VecDeque<Approval>, VecDeque<Approval>) = self
            .waiting
            .drain(..)
            .partition(|waiting| match decision.remember {
                Remember::Call => false,
                Remember::Tool => waiting.tool == approval.tool,
                Remember::Session => true,
            });
        self.waiting = others;
        let decided = std::iter::once(approval).chain(covered);
        let mut actions: Vec<Action> = decided
            .flat_map(|approval| confirm(approval.id, decision.clone()))
            .collect();
        actions.extend(self.ask_next());
        actions
    }

    pub(super) fn ask_for_steps(&mut self, limit: u64) {
        self.step_limit = StepLimit::Asked(limit);
    }

    /// Handles a key while the user is asked about the step limit.
    pub(super) fn press_step_limit(
        &mut self,
        context: &Context,
        key: &Key,
        focus: Focus,
    ) -> Handled {
        let is_typing = self.is_typing(context, focus);
        self.step_limit.press(key, is_typing)
    }
}

/// Allows or denies a call, whose duration is counted from here.
fn confirm(id: String, decision: Decision) -> [Action; 2] {
    [
        Action::Started(id.clone()),
        Action::Effect(Effect::Agent(AgentEffect::Confirm { id, decision })),
    ]
}

fn press_control(approval: &mut Approval, code: KeyCode) -> Handled {
    match code {
        KeyCode::Character('c') => Handled::Yes(vec![Action::Interrupt]),
        KeyCode::Character('z') => Handled::effect(Effect::Terminal(TerminalEffect::Suspend)),
        KeyCode::Character('l') => Handled::No,
        KeyCode::Character('o') => {
            approval.toggle_arguments();
            Handled::DONE
        }
        _ => Handled::DONE,
    }
}
