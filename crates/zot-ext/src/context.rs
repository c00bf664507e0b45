//! What handlers can do besides answering.

use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};

use zot_wire::extension::{ExtensionFrame, HelloAck};

use crate::Panel;
use crate::outbox::{self, Outbox};

/// A handle to the host. Cheap to clone, and usable on any thread.
///
/// Nothing here waits. When the host has stopped reading, what is sent is dropped and logged.
#[derive(Clone)]
pub struct Context {
    outbox: Outbox,
    host: Arc<Mutex<Arc<HelloAck>>>,
}

/// How urgent a notification is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Info,
    Success,
    Warn,
    Error,
}

impl Level {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Success => "success",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

impl Context {
    pub(crate) fn new(outbox: Outbox) -> Self {
        Self {
            outbox,
            host: Arc::default(),
        }
    }

    /// Returns what zot reported about itself: provider, model, working directory, the extension's own
    /// directory, and its data directory.
    ///
    /// Empty until zot has sent `hello_ack`, which it does before any request.
    pub fn host(&self) -> Arc<HelloAck> {
        Arc::clone(&self.host.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Shows the user a notification.
    pub fn notify(&self, level: Level, message: impl Into<String>) {
        self.outbox.offer(ExtensionFrame::Notify {
            level: level.as_str().to_owned(),
            message: message.into(),
        });
    }

    /// Redraws an open panel.
    pub fn render_panel(&self, panel: &Panel) {
        self.outbox.offer(ExtensionFrame::PanelRender {
            panel_id: panel.id().to_owned(),
            content: panel.content().clone(),
        });
    }

    pub fn close_panel(&self, id: impl Into<String>) {
        self.outbox.offer(ExtensionFrame::PanelClose {
            panel_id: id.into(),
        });
    }

    /// Writes a line to the extension's log, which `zot ext logs` shows.
    pub fn log(&self, message: impl Display) {
        outbox::log(message);
    }

    pub(crate) fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    pub(crate) fn introduce(&self, host: HelloAck) {
        *self.host.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(host);
    }
}
