//! A tool call that waits for the user's word.

use std::collections::{HashSet, VecDeque};

use zot_sdk::{ApprovalScope, Decision, Remember};

use super::{App, Effect, Key, KeyCode};
use crate::editor::{Edit, Editor};

#[derive(Debug, Clone)]
pub(crate) struct Approval {
    pub(crate) id: String,
    pub(crate) tool: String,
    /// As the model wrote them.
    pub(crate) arguments: String,
    /// The command or the diff.
    pub(crate) preview: String,
    /// What the model is told instead, while it is being written.
    pub(crate) refusal: Option<Editor>,
}

/// Calls that the user has allowed once and for all, word for word: tool and arguments.
#[derive(Debug, Default)]
pub(crate) struct ExactCalls(HashSet<(String, String)>);

impl App {
    /// Asks the user, unless the same call was allowed for good.
    pub(super) fn ask(&mut self, approval: Approval) -> Vec<Effect> {
        let call = (approval.tool.clone(), approval.arguments.clone());
        if self.exact_calls.0.contains(&call) {
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

    /// `/confirm`: switches asking on or off, or on for some tools.
    pub(super) fn change_approval(&mut self, tools: &str) -> Vec<Effect> {
        let asks = self.info.approval != ApprovalScope::Nothing;
        let scope = match tools {
            "on" => ApprovalScope::AllTools,
            "off" => ApprovalScope::Nothing,
            "" if asks => ApprovalScope::Nothing,
            "" => ApprovalScope::AllTools,
            names => ApprovalScope::Tools(
                names
                    .split([',', ' '])
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned)
                    .collect(),
            ),
        };
        // Whoever wants to be asked again wants to be asked.
        self.exact_calls = ExactCalls::default();
        self.say(match &scope {
            ApprovalScope::Nothing => "tools run without asking".to_owned(),
            ApprovalScope::AllTools => "zot asks before every tool".to_owned(),
            ApprovalScope::Tools(names) => format!("zot asks before {}", names.join(", ")),
        });
        self.info.approval = scope.clone();
        vec![Effect::SetApproval(scope)]
    }

    /// Takes a key while a call waits. `None` when it is not about that.
    pub(super) fn press_approval(&mut self, key: &Key) -> Option<Vec<Effect>> {
        let approval = self.approval.as_mut()?;
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
                KeyCode::Character(character) if !key.control && !key.alt => {
                    refusal.apply(Edit::Insert(character.to_string()));
                }
                _ => {}
            }
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
            // ctrl+c and the like keep their meaning.
            _ if key.control => return None,
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
        let ids = [approval.id]
            .into_iter()
            .chain(covered.into_iter().map(|waiting| waiting.id));
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
