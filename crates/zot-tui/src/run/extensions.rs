//! Commands and panels of extensions.

use std::sync::Arc;

use zot_sdk::wire::{ExtensionEntry, InvokedData};
use zot_sdk::{PanelAction, Runtime};

use super::Chat;
use crate::app::{ExtensionEffect, Input, PanelInput, PanelView, Prompt};

impl Chat {
    pub(super) fn perform_for_extension(&mut self, effect: ExtensionEffect) -> Vec<Input> {
        match effect {
            ExtensionEffect::Invoke { name, arguments } => self.invoke(name, arguments),
            ExtensionEffect::Reload => self.reload_extensions(),
            ExtensionEffect::PanelKey {
                extension,
                panel: panel_id,
                key,
                text,
            } => {
                let action = PanelAction::Key {
                    panel_id,
                    key,
                    text,
                };
                return self.notify_panel(extension, action);
            }
            ExtensionEffect::PanelResize {
                extension,
                panel: panel_id,
                width,
                height,
            } => {
                let number = |size: usize| u32::try_from(size).unwrap_or(u32::MAX);
                let action = PanelAction::Resize {
                    panel_id,
                    width: number(width),
                    height: number(height),
                };
                return self.notify_panel(extension, action);
            }
            ExtensionEffect::PanelClose { extension, panel } => {
                self.close_panel(&extension, panel);
            }
        }
        Vec::new()
    }

    pub(super) fn list_commands(&mut self) {
        let runtime = Arc::clone(&self.runtime);
        self.tasks
            .jobs
            .spawn(async move { vec![commands(&runtime).await] });
        // Extensions that start slowly are listed later.
        let runtime = Arc::clone(&self.runtime);
        self.tasks.jobs.spawn(async move {
            runtime.extensions_settled().await;
            vec![commands(&runtime).await]
        });
    }

    fn invoke(&mut self, name: String, arguments: String) {
        let runtime = Arc::clone(&self.runtime);
        self.tasks.jobs.spawn(async move {
            match runtime.invoke_command(&name, &arguments).await {
                Ok(data) => invoked(data),
                Err(error) => vec![Input::failure(error)],
            }
        });
    }

    fn reload_extensions(&mut self) {
        let runtime = Arc::clone(&self.runtime);
        self.tasks.jobs.spawn(async move {
            let report = match runtime.reload_extensions().await {
                Ok(loaded) => Input::note(running(&loaded)),
                Err(error) => Input::failure(error),
            };
            vec![report, commands(&runtime).await]
        });
    }

    /// Sends an action to a panel, which is closed if its extension cannot be reached.
    fn notify_panel(&self, extension: String, action: PanelAction) -> Vec<Input> {
        let (PanelAction::Key { panel_id, .. }
        | PanelAction::Resize { panel_id, .. }
        | PanelAction::Close { panel_id }) = &action;
        let panel = panel_id.clone();
        match self.runtime.tell_panel(&extension, action) {
            Ok(()) => Vec::new(),
            Err(error) => vec![Input::Panel(PanelInput::Lost {
                extension,
                panel,
                reason: error.to_string(),
            })],
        }
    }

    pub(super) fn close_panel(&self, extension: &str, panel_id: String) {
        // It may be closed already.
        let _ = self
            .runtime
            .tell_panel(extension, PanelAction::Close { panel_id });
    }
}

/// Reports how many extensions are running, and which are not.
fn running(extensions: &[ExtensionEntry]) -> String {
    let (ready, others): (Vec<_>, Vec<_>) = extensions
        .iter()
        .partition(|extension| extension.state == "ready");
    let mut report = match ready.len() {
        1 => "1 extension is running".to_owned(),
        count => format!("{count} extensions are running"),
    };
    for extension in others {
        report.push_str(&format!("; {} is {}", extension.name, extension.state));
    }
    report
}

/// Asks the extensions for their commands.
pub(super) async fn commands(runtime: &Runtime) -> Input {
    let commands = runtime.commands().await.into_iter();
    Input::Commands(
        commands
            .map(|command| (command.name, command.description))
            .collect(),
    )
}

/// Converts the result of a command into inputs.
fn invoked(data: InvokedData) -> Vec<Input> {
    let mut inputs = Vec::new();
    if let Some(error) = data.error {
        inputs.push(Input::failure(match data.extension.is_empty() {
            true => error,
            false => format!("{}: {error}", data.extension),
        }));
    }
    inputs.extend(data.display.map(Input::note));
    if let Some(panel) = data.open_panel {
        inputs.push(Input::Panel(PanelInput::Opened(PanelView {
            extension: data.extension,
            id: panel.id,
            title: panel.content.title,
            lines: panel.content.lines,
            footer: panel.content.footer,
        })));
    }
    inputs.extend(data.insert.map(Input::Insert));
    let prompt = data.prompt.map(Prompt::generated);
    inputs.extend(prompt.map(Input::Prompt));
    inputs
}
