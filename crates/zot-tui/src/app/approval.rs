//! A tool call that waits for the user's word.

use zot_sdk::{Decision, Remember};

use super::{App, Effect, Key, KeyCode};
use crate::editor::{Edit, Editor};

#[derive(Debug, Clone)]
pub(crate) struct Approval {
    pub(crate) id: String,
    pub(crate) tool: String,
    /// The command or the diff.
    pub(crate) preview: String,
    /// What the model is told instead, while it is being written.
    pub(crate) refusal: Option<Editor>,
}

impl App {
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

    fn decide(&mut self, decision: Decision) -> Vec<Effect> {
        let Some(approval) = self.approval.take() else {
            return Vec::new();
        };
        vec![Effect::Confirm {
            id: approval.id,
            decision,
        }]
    }
}
