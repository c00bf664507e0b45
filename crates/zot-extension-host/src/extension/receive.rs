//! Handles the frames that an extension sends.

use zot_extension_contract::{CommandInfo, Registrations};
use zot_wire::Line;
use zot_wire::extension::{
    CommandAction, EventKind, ExtensionFrame, FrameError, Hello, HostFrame, LifecycleEvent,
    PanelContent, PanelSpec,
};

use super::{Extension, Phase, State};
use crate::limits::{MAX_NOTIFY_BYTES, MAX_PANEL_BYTES};
use crate::notices::Notice;
use crate::pending::{RequestError, Waiting};

/// What kind of line was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    Hello,
    /// Its initial registrations are complete.
    Ready,
    Frame,
    /// Not a valid frame, or ignored.
    Unusable,
}

/// How much of an invalid line the log shows.
const SHOWN_BYTES: usize = 200;

impl Extension {
    /// Handles one line of its output.
    pub(crate) fn receive(&self, line: Line<'_>) -> Received {
        let Line::Complete(line) = line else {
            let limit = self.limits.frame_bytes;
            let error = format!("it sent a frame of more than {limit} bytes");
            self.remark(&error);
            self.pending.fail_tools(&RequestError::Invalid(error));
            return Received::Unusable;
        };
        if line.trim_ascii().is_empty() {
            return Received::Unusable;
        }
        let frame = match ExtensionFrame::parse(line) {
            Ok(frame) => frame,
            Err(error) => {
                self.refuse(line, error);
                return Received::Unusable;
            }
        };
        if let ExtensionFrame::Hello(hello) = frame {
            return self.receive_hello(&hello);
        }
        let is_known = {
            let state = self.lock();
            state.phase == Phase::Ready || state.arriving.is_some()
        };
        if !is_known {
            self.remark("a frame before hello was ignored");
            return Received::Unusable;
        }
        self.handle(frame)
    }

    /// Logs an invalid frame, and fails the request it responds to.
    fn refuse(&self, line: &[u8], error: FrameError) {
        let shown = String::from_utf8_lossy(&line[..line.len().min(SHOWN_BYTES)]);
        self.remark(&format!("{error}: {shown}"));
        if let FrameError::Invalid { frame, id, .. } = &error {
            let reason = RequestError::Invalid(format!("it answered with a malformed {error}"));
            match id.as_deref().and_then(|id| self.pending.take(id)) {
                Some(waiting) => waiting.fail(reason),
                None if *frame == "tool_result" => {
                    self.pending.fail_tools(&reason);
                }
                None => {}
            }
        }
    }

    fn receive_hello(&self, hello: &Hello) -> Received {
        {
            let mut state = self.lock();
            if state.phase == Phase::Ready || state.arriving.is_some() {
                drop(state);
                self.remark("a second hello was ignored");
                return Received::Unusable;
            }
            state.arriving = Some(Registrations::default());
            state.capabilities.clone_from(&hello.capabilities);
        }
        if hello.name != self.name() {
            self.remark(&format!(
                "it calls itself {:?}; its manifest's name counts",
                hello.name
            ));
        }
        if let Err(error) = self.send(&self.hello_ack()) {
            self.remark(&format!("hello_ack: {error}"));
        }
        Received::Hello
    }

    fn handle(&self, frame: ExtensionFrame) -> Received {
        match frame {
            ExtensionFrame::Hello(_) | ExtensionFrame::ShutdownAck => {}
            ExtensionFrame::Ready => return Received::Ready,
            ExtensionFrame::RegisterCommand { name, description } => {
                let command = CommandInfo {
                    name,
                    description,
                    extension: self.name().to_owned(),
                };
                self.register(|registrations| registrations.add_command(command));
            }
            ExtensionFrame::RegisterTool {
                name,
                description,
                schema,
            } => self.register(|registrations| {
                registrations.add_tool(name, description, schema.as_ref())
            }),
            ExtensionFrame::Subscribe(subscription) => {
                let mut intercepts = false;
                self.register(|registrations| {
                    let unknown = registrations.subscribe(&subscription);
                    intercepts = !registrations.intercepts.is_empty();
                    match unknown.is_empty() {
                        true => Ok(()),
                        false => Err(format!("subscribe: unknown events ignored: {unknown:?}")),
                    }
                });
                if intercepts {
                    self.note_interception();
                }
            }
            ExtensionFrame::ToolResult(result) => match self.pending.take(&result.id) {
                Some(Waiting::Tool(sender)) => drop(sender.send(Ok(result))),
                other => self.unexpected("tool_result", &result.id, other),
            },
            ExtensionFrame::EventInterceptResponse(response) => {
                match self.pending.take(&response.id) {
                    Some(Waiting::Intercept(sender)) => drop(sender.send(Ok(response))),
                    other => self.unexpected("event_intercept_response", &response.id, other),
                }
            }
            ExtensionFrame::CommandResponse(response) => match self.pending.take(&response.id) {
                Some(Waiting::Command(sender)) => {
                    if let CommandAction::OpenPanel { open_panel } = &response.action
                        && check_new_panel(open_panel).is_ok()
                    {
                        self.lock().open_panels.insert(open_panel.id.clone());
                    }
                    drop(sender.send(Ok(response)));
                }
                other => self.unexpected("command_response", &response.id, other),
            },
            ExtensionFrame::PanelRender { panel_id, content } => self.draw(panel_id, content),
            ExtensionFrame::PanelClose { panel_id } => {
                self.forget_panel(&panel_id);
                self.notify(Notice::PanelClosed {
                    extension: self.name().to_owned(),
                    panel_id,
                });
            }
            ExtensionFrame::Notify { level, message } => self.notify(Notice::Notify {
                extension: self.name().to_owned(),
                level: shortened(level),
                message: shortened(message),
            }),
        }
        Received::Frame
    }

    /// Logs a response without a request: never asked for, sent twice, too late, or of the wrong kind.
    fn unexpected(&self, frame: &str, id: &str, waiting: Option<Waiting>) {
        match waiting {
            None => self.remark(&format!("{frame}: no request waits for {id:?} (any more)")),
            Some(waiting) => {
                self.remark(&format!("{frame}: {id:?} was asked something else"));
                waiting.fail(RequestError::Invalid(format!("it answered with a {frame}")));
            }
        }
    }

    fn register(&self, add: impl FnOnce(&mut Registrations) -> Result<(), String>) {
        let (result, is_late) = {
            let mut state = self.lock();
            let State {
                registrations,
                arriving,
                ..
            } = &mut *state;
            let is_late = arriving.is_none();
            (add(arriving.as_mut().unwrap_or(registrations)), is_late)
        };
        if let Err(error) = result {
            self.remark(&error);
        }
        if is_late {
            self.context.change();
        }
    }

    /// Puts its registrations into effect.
    pub(crate) fn become_ready(&self) {
        let intercepts = match &self.lock().arriving {
            None => return,
            Some(arriving) => !arriving.intercepts.is_empty(),
        };
        if !intercepts {
            self.forget_interception();
        }
        let wants_session_start = {
            let mut state = self.lock();
            let Some(registrations) = state.arriving.take() else {
                return;
            };
            state.registrations = registrations;
            state.phase = Phase::Ready;
            state.was_ready = true;
            state.registrations.events.contains(EventKind::SessionStart)
        };
        if wants_session_start
            && let Err(error) = self.send(&HostFrame::Event(LifecycleEvent::SessionStart))
        {
            self.log(&format!("session_start: {error}"));
        }
        self.context.change();
    }

    fn draw(&self, panel_id: String, content: PanelContent) {
        match check_panel(&content) {
            Ok(()) => self.notify(Notice::Panel {
                extension: self.name().to_owned(),
                panel_id,
                content,
            }),
            Err(error) => self.remark(&format!("panel_render: {error}")),
        }
    }
}

/// Checks that a panel is small enough to be shown.
pub(crate) fn check_panel(content: &PanelContent) -> Result<(), String> {
    let bytes = content.title.len()
        + content.footer.len()
        + content
            .lines
            .iter()
            .map(|line| line.len() + 1)
            .sum::<usize>();
    if bytes > MAX_PANEL_BYTES {
        return Err(format!(
            "a panel may have {MAX_PANEL_BYTES} bytes, not {bytes}"
        ));
    }
    Ok(())
}

/// Checks that a panel can be opened.
pub(crate) fn check_new_panel(panel: &PanelSpec) -> Result<(), String> {
    if panel.id.is_empty() {
        return Err("open_panel: id is missing".to_owned());
    }
    check_panel(&panel.content)
}

fn shortened(mut text: String) -> String {
    if text.len() > MAX_NOTIFY_BYTES {
        let end = text.floor_char_boundary(MAX_NOTIFY_BYTES);
        text.truncate(end);
        text.push('…');
    }
    text
}
