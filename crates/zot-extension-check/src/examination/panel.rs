//! Checks a panel that a command opened: sends keys and expects drawings.

use std::time::Duration;

use zot_wire::extension::{ExtensionFrame, HostFrame, PanelSpec};

use super::Examination;
use super::conversation::Response;

/// How soon a panel should react to a key.
const REACTION_TIME: Duration = Duration::from_secs(2);

/// The size of an ordinary terminal.
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
        if let Err(error) = self.conversation.send(&resize).await {
            self.fail(check, error, "read standard input to its end");
            return;
        }
        for name in ["down", "enter"] {
            let response = self
                .conversation
                .request(&key(name), "", REACTION_TIME, |frame| match frame {
                    ExtensionFrame::PanelRender { panel_id, .. } if *panel_id == panel.id => {
                        Some(Reaction::Drawn)
                    }
                    ExtensionFrame::PanelClose { panel_id } if *panel_id == panel.id => {
                        Some(Reaction::Closed)
                    }
                    _ => None,
                })
                .await;
            match response {
                Response::Received(Reaction::Drawn) => {
                    self.ok(&check, format!("key {name}: redrawn"));
                }
                Response::Received(Reaction::Closed) => {
                    self.ok(&check, format!("key {name}: closed"));
                    return;
                }
                // A panel may ignore a key.
                Response::TimedOut(_) => self.ok(&check, format!("key {name}: nothing changed")),
                Response::Invalid(error) | Response::NotSent(error) => {
                    self.fail(
                        &check,
                        error,
                        "answer a key with panel_render or panel_close",
                    );
                    return;
                }
                Response::Ended => {
                    let hint = "see its standard error: a key must not end an extension";
                    self.fail(&check, format!("key {name}: it ended"), hint);
                    return;
                }
            }
        }
        let close = HostFrame::PanelClose {
            panel_id: panel_id(),
        };
        if let Err(error) = self.conversation.send(&close).await {
            self.fail(check, error, "read standard input to its end");
        }
    }
}

enum Reaction {
    Drawn,
    Closed,
}
