//! A panel that a command opened: keys go in, drawings come out.

use std::time::Duration;

use zot_wire::extension::{ExtensionFrame, HostFrame, PanelSpec};

use super::Examination;
use super::conversation::Answer;

/// How soon a panel should react to a key.
const REACTION_TIME: Duration = Duration::from_secs(2);

/// A terminal as people have it.
const WIDTH: u32 = 80;
const HEIGHT: u32 = 24;

impl Examination<'_> {
    pub(super) async fn panel(&mut self, check: &str, panel: PanelSpec) {
        if panel.id.is_empty() {
            let hint = "give open_panel an \"id\": keys and drawings carry it";
            self.fail(check, "open_panel without id", hint);
            return;
        }
        let lines = panel.content.lines.len();
        self.ok(check, format!("answered: open_panel with {lines} lines"));
        let check = format!("{check} panel");
        let panel_id = || panel.id.clone();
        let key = |key: &str| HostFrame::PanelKey {
            panel_id: panel_id(),
            key: key.to_owned(),
            text: String::new(),
        };
        let resize = HostFrame::PanelResize {
            panel_id: panel_id(),
            width: WIDTH,
            height: HEIGHT,
        };
        if let Err(error) = self.talk.send(&resize).await {
            self.fail(check, error, "read standard input to its end");
            return;
        }
        for name in ["down", "enter"] {
            let answer = self
                .talk
                .ask(&key(name), "", REACTION_TIME, |frame| match frame {
                    ExtensionFrame::PanelRender { panel_id, .. } if *panel_id == panel.id => {
                        Some(Reaction::Drawn)
                    }
                    ExtensionFrame::PanelClose { panel_id } if *panel_id == panel.id => {
                        Some(Reaction::Closed)
                    }
                    _ => None,
                })
                .await;
            match answer {
                Answer::Given(Reaction::Drawn) => {
                    self.ok(&check, format!("key {name}: drawn anew"));
                }
                Answer::Given(Reaction::Closed) => {
                    self.ok(&check, format!("key {name}: closed"));
                    return;
                }
                // A key may mean nothing to it.
                Answer::Late(_) => self.ok(&check, format!("key {name}: nothing changed")),
                Answer::Invalid(error) | Answer::Unsent(error) => {
                    self.fail(
                        &check,
                        error,
                        "answer a key with panel_render or panel_close",
                    );
                    return;
                }
                Answer::Over => {
                    let hint = "its standard error says why: a key must not end an extension";
                    self.fail(&check, format!("key {name}: it ended"), hint);
                    return;
                }
            }
        }
        let close = HostFrame::PanelClose {
            panel_id: panel_id(),
        };
        if let Err(error) = self.talk.send(&close).await {
            self.fail(check, error, "read standard input to its end");
        }
    }
}

enum Reaction {
    Drawn,
    Closed,
}
