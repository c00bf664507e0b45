//! A tool call that waits for the user's word.

use std::collections::{HashSet, VecDeque};

use zot_sdk::{ApprovalScope, Decision, Remember};

use super::{App, Effect, Key, KeyCode};
use crate::editor::{Edit, Editor};
use crate::style::Theme;
use crate::text::Line;
use crate::view;

/// A key so soon after the last one belongs to what is being written.
const TYPING_MS: u64 = 700;

#[derive(Debug, Clone)]
pub(crate) struct Approval {
    pub(crate) id: String,
    pub(crate) tool: String,
    /// As the model wrote them.
    pub(crate) arguments: String,
    /// The command or the diff, where the tool can say.
    pub(crate) preview: Option<String>,
    /// What the model is told instead, while it is being written.
    pub(crate) refusal: Option<Editor>,
    /// The arguments are shown instead of the preview.
    pub(crate) shows_arguments: bool,
    /// What is shown, broken to fit; made when the call is asked about, not for every drawing.
    pub(crate) lines: Vec<Line>,
    /// What the lines were made for.
    made_for: Option<(usize, Theme)>,
    /// The first of them on the screen.
    pub(crate) top: usize,
}

impl Approval {
    pub(super) fn new(
        id: String,
        tool: String,
        arguments: String,
        preview: Option<String>,
    ) -> Self {
        Self {
            id,
            tool,
            arguments,
            preview,
            refusal: None,
            shows_arguments: false,
            lines: Vec::new(),
            made_for: None,
            top: 0,
        }
    }
}

/// Calls that the user has allowed once and for all, word for word: tool and arguments.
#[derive(Debug, Default)]
pub(crate) struct ExactCalls(HashSet<(String, String)>);

/// What the user has allowed for good, by tool or altogether.
#[derive(Debug, Default)]
pub(crate) struct Answered {
    tools: Vec<String>,
    everything: bool,
}

impl App {
    /// Asks the user, unless the same call was allowed for good.
    pub(super) fn ask(&mut self, approval: Approval) -> Vec<Effect> {
        let call = (approval.tool.clone(), approval.arguments.clone());
        if self.exact_calls.0.contains(&call) {
            self.begin_running(&approval.id);
            return vec![Effect::Confirm {
                id: approval.id,
                decision: Decision::allow(),
            }];
        }
        match self.approval {
            Some(_) => self.waiting_approvals.push_back(approval),
            None => self.approval = Some(approval),
        }
        Vec::new()
    }

    /// A call is over, whoever decided about it.
    pub(super) fn forget_approval(&mut self, id: &str) -> Vec<Effect> {
        self.waiting_approvals.retain(|approval| approval.id != id);
        match self.approval.take_if(|approval| approval.id == id) {
            Some(_) => self.ask_next(),
            None => Vec::new(),
        }
    }

    fn ask_next(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        while self.approval.is_none()
            && let Some(next) = self.waiting_approvals.pop_front()
        {
            effects.extend(self.ask(next));
        }
        effects
    }

    /// `/confirm`: tells whether zot asks, or switches that on or off, or on for some tools.
    pub(super) fn change_approval(&mut self, tools: &str) -> Vec<Effect> {
        let names: Vec<String> = tools
            .split([',', ' '])
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        let scope = match names.as_slice() {
            [] => return self.show(self.approval_standing()),
            [word] if word.eq_ignore_ascii_case("on") => ApprovalScope::AllTools,
            [word] if word.eq_ignore_ascii_case("off") => ApprovalScope::Nothing,
            _ => ApprovalScope::Tools(names),
        };
        vec![Effect::SetApproval(scope)]
    }

    /// Which calls are asked about from now on.
    pub(super) fn take_approval(&mut self, scope: ApprovalScope) {
        // Whoever wants to be asked again wants to be asked.
        self.exact_calls = ExactCalls::default();
        self.answered = Answered::default();
        self.info.approval = scope;
        self.note(self.approval_standing(), false);
    }

    /// How approvals stand, and how to change that.
    fn approval_standing(&self) -> String {
        let mut said = match &self.info.approval {
            ApprovalScope::Nothing => {
                return "tools run without asking: approvals are off. /confirm on asks before every \
                        tool, /confirm bash,write before these"
                    .to_owned();
            }
            ApprovalScope::AllTools => "zot asks before every tool".to_owned(),
            ApprovalScope::Tools(names) => format!("zot asks before {}", names.join(", ")),
        };
        if self.answered.everything {
            said = format!("{said}, but you have allowed every call from now on");
        } else if !self.answered.tools.is_empty() {
            let allowed = self.answered.tools.join(", ");
            said = format!("{said}, but you have allowed every call of {allowed}");
        }
        if !self.exact_calls.0.is_empty() && !self.answered.everything {
            let count = self.exact_calls.0.len();
            said = format!("{said}, and {count} allowed word for word");
        }
        format!("{said}. /confirm off stops asking, /confirm on asks about every call again")
    }

    /// Breaks what is asked about into lines, when it or the screen is new.
    pub(super) fn lay_out_approval(&mut self) {
        let wanted = Some((self.columns, self.theme));
        if let Some(approval) = &mut self.approval
            && approval.made_for != wanted
        {
            approval.lines = view::preview(approval, self.columns, &self.theme);
            approval.made_for = wanted;
        }
        let room = self.approval_room();
        if let Some(approval) = &mut self.approval {
            approval.top = approval.top.min(approval.lines.len().saturating_sub(room));
        }
    }

    fn approval_room(&self) -> usize {
        let approval = self.approval.as_ref();
        approval.map_or(1, |approval| view::approval_room(approval, self))
    }

    /// Somebody who is in the middle of a word does not answer a question that has just come up.
    pub(super) fn is_typing(&self) -> bool {
        let is_elsewhere = !self.editor.is_empty() || !self.panels.is_empty();
        is_elsewhere && self.now_ms < self.typed_ms + TYPING_MS
    }

    fn scroll_approval(&mut self, code: KeyCode) {
        let page = self.approval_room().max(2) - 1;
        if let Some(approval) = &mut self.approval {
            approval.top = match code {
                KeyCode::Up => approval.top.saturating_sub(1),
                KeyCode::Down => approval.top.saturating_add(1),
                KeyCode::PageUp => approval.top.saturating_sub(page),
                KeyCode::PageDown => approval.top.saturating_add(page),
                KeyCode::Home => 0,
                KeyCode::End => approval.lines.len(),
                _ => approval.top,
            };
        }
    }

    /// Takes a key while a call waits. `None` when it is not about that.
    pub(super) fn press_approval(&mut self, key: &Key) -> Option<Vec<Effect>> {
        let is_typing = self.is_typing();
        let approval = self.approval.as_mut()?;
        if is_typing && approval.refusal.is_none() && !key.control && key.code != KeyCode::Escape {
            self.typed_ms = self.now_ms;
            // What was meant for a panel that cannot be seen is meant for nobody.
            return match self.panels.is_empty() && key.code != KeyCode::Enter {
                true => None,
                false => Some(Vec::new()),
            };
        }
        if key.control {
            match key.code {
                KeyCode::Character('c') => return Some(self.press_interrupt()),
                KeyCode::Character('z') => return Some(vec![Effect::Suspend]),
                KeyCode::Character('l') => return None,
                KeyCode::Character('o') => {
                    approval.shows_arguments = !approval.shows_arguments;
                    approval.made_for = None;
                    approval.top = 0;
                }
                _ => {}
            }
            return Some(Vec::new());
        }
        if matches!(
            key.code,
            KeyCode::Up
                | KeyCode::Down
                | KeyCode::PageUp
                | KeyCode::PageDown
                | KeyCode::Home
                | KeyCode::End
        ) {
            self.scroll_approval(key.code);
            return Some(Vec::new());
        }
        if let Some(refusal) = &mut approval.refusal {
            match key.code {
                KeyCode::Enter => {
                    let reason = match refusal.content().trim() {
                        "" => "the user said no".to_owned(),
                        reason => format!("the user said no: {reason}"),
                    };
                    return Some(self.decide(Decision::deny(reason)));
                }
                KeyCode::Escape => approval.refusal = None,
                KeyCode::Backspace => refusal.apply(Edit::Backspace),
                KeyCode::Character(character) if !key.alt => {
                    refusal.apply(Edit::Insert(character.to_string()));
                }
                _ => {}
            }
            return Some(Vec::new());
        }
        // alt+y is not y: with a modifier nothing is decided.
        if key.alt {
            return Some(Vec::new());
        }
        let decision = match key.code {
            KeyCode::Character('y' | 'Y') | KeyCode::Enter => Decision::allow(),
            KeyCode::Character('e' | 'E') => {
                let call = (approval.tool.clone(), approval.arguments.clone());
                self.exact_calls.0.insert(call);
                Decision::allow()
            }
            KeyCode::Character('a' | 'A') => Decision::allow().remembered(Remember::Tool),
            KeyCode::Character('s' | 'S') => Decision::allow().remembered(Remember::Session),
            KeyCode::Character('n' | 'N') => {
                approval.refusal = Some(Editor::default());
                return Some(Vec::new());
            }
            KeyCode::Escape => Decision::deny("the user said no"),
            _ => return Some(Vec::new()),
        };
        Some(self.decide(decision))
    }

    /// Takes a paste, if it belongs to what is being said to a call.
    pub(super) fn paste_refusal(&mut self, text: &str) -> bool {
        let Some(approval) = &mut self.approval else {
            return false;
        };
        if let Some(refusal) = &mut approval.refusal {
            refusal.apply(Edit::Insert(text.trim().replace(['\r', '\n'], " ")));
        }
        true
    }

    fn decide(&mut self, decision: Decision) -> Vec<Effect> {
        let Some(approval) = self.approval.take() else {
            return Vec::new();
        };
        match decision.remember {
            Remember::Call => {}
            Remember::Tool => self.answered.tools.push(approval.tool.clone()),
            Remember::Session => self.answered.everything = true,
        }
        // What is decided for later calls is decided for those that wait already.
        let (covered, others) =
            self.waiting_approvals
                .drain(..)
                .partition(|waiting| match decision.remember {
                    Remember::Call => false,
                    Remember::Tool => waiting.tool == approval.tool,
                    Remember::Session => true,
                });
        self.waiting_approvals = others;
        let covered: VecDeque<Approval> = covered;
        let ids: Vec<String> = [approval.id]
            .into_iter()
            .chain(covered.into_iter().map(|waiting| waiting.id))
            .collect();
        for id in &ids {
            self.begin_running(id);
        }
        let ids = ids.into_iter();
        let mut effects: Vec<Effect> = ids
            .map(|id| Effect::Confirm {
                id,
                decision: decision.clone(),
            })
            .collect();
        effects.extend(self.ask_next());
        effects
    }
}
