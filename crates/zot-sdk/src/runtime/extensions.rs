//! The extensions of a runtime.

use zot_extension_host::{InvokeError, Notice, ReloadError, RequestError};
use zot_wire::extension::HostFrame;
use zot_wire::rpc::{CommandEntry, ExtensionEntry, InvokedData};

use super::{Busy, Occupation, Runtime};
use crate::hosting::{self, PanelAction};

/// The source of a command that is a prompt template.
const TEMPLATE: &str = "template";

impl Runtime {
    /// Returns the extensions and their states.
    pub fn extensions(&self) -> Vec<ExtensionEntry> {
        let hosted = self.extensions.as_ref().map(|host| host.extensions());
        hosted
            .iter()
            .flatten()
            .map(|extension| hosting::entry(extension))
            .collect()
    }

    /// Waits until every extension is ready or has failed.
    pub async fn extensions_settled(&self) {
        if let Some(host) = &self.extensions {
            host.settled_quietly().await;
        }
    }

    /// Returns the slash commands of all running extensions, then the prompt templates, then the prompts of
    /// MCP servers that are ready. Waits a moment for extensions that are starting. An earlier one hides a
    /// later one of the same name.
    pub async fn commands(&self) -> Vec<CommandEntry> {
        let mut commands = match &self.extensions {
            None => Vec::new(),
            Some(host) => {
                host.listed().await;
                hosting::commands(host)
            }
        };
        // Broken ones are reported when they are invoked.
        let (templates, _) = self.templates.list();
        for template in templates {
            if commands.iter().all(|command| command.name != template.name) {
                commands.push(CommandEntry {
                    name: template.name,
                    description: template.description,
                    extension: String::new(),
                    source: Some(TEMPLATE.to_owned()),
                });
            }
        }
        for command in self.server_commands() {
            if commands.iter().all(|known| known.name != command.name) {
                commands.push(command);
            }
        }
        commands
    }

    /// Runs a slash command. Acting on its result is up to the caller.
    pub async fn invoke_command(
        &self,
        name: &str,
        arguments: &str,
    ) -> Result<InvokedData, InvokeError> {
        let unknown = match &self.extensions {
            None => InvokeError::Unknown(name.to_owned()),
            Some(host) => match host.invoke(name, arguments).await {
                Ok(invoked) => return Ok(hosting::invoked(invoked)),
                Err(unknown @ InvokeError::Unknown(_)) => unknown,
                Err(error) => return Err(error),
            },
        };
        let (action, prompt, error) = match self.templates.find(name) {
            Ok(Some(template)) => ("prompt", Some(template.expand(arguments)), None),
            Ok(None) => return self.invoke_prompt(name, arguments).await.ok_or(unknown),
            Err(problem) => ("noop", None, Some(problem.to_string())),
        };
        Ok(InvokedData {
            extension: String::new(),
            source: Some(TEMPLATE.to_owned()),
            action: action.to_owned(),
            prompt,
            insert: None,
            display: None,
            open_panel: None,
            error,
        })
    }

    /// Reads all manifests again and restarts every extension. If one fails, the old ones keep running.
    pub async fn reload_extensions(&self) -> Result<Vec<ExtensionEntry>, ReloadFailure> {
        let Some(host) = &self.extensions else {
            return Ok(Vec::new());
        };
        let cancel = self.occupation.begin()?;
        // Released even if this future is dropped.
        let occupied = Occupied(&self.occupation);
        host.reload(&cancel).await?;
        drop(occupied);
        self.toolbox.refresh(&self.settings);
        Ok(self.extensions())
    }

    /// Sends a user action in a panel to its extension.
    pub fn tell_panel(&self, extension: &str, action: PanelAction) -> Result<(), InvokeError> {
        match &self.extensions {
            None => Err(InvokeError::Failed {
                extension: extension.to_owned(),
                error: RequestError::NotRunning,
            }),
            Some(host) => {
                let is_key = matches!(action, PanelAction::Key { .. });
                let frame = action.into_frame();
                host.send_to_panel(extension, &frame)?;
                if let (true, HostFrame::PanelClose { panel_id }) = (is_key, frame) {
                    // The client sent a key and need not know that it closes the panel.
                    host.close_panel(extension, panel_id);
                }
                Ok(())
            }
        }
    }

    /// Waits for the next notice of an extension; pending forever without extensions.
    /// Cancel-safe.
    pub async fn next_notice(&self) -> Notice {
        match &self.extensions {
            None => std::future::pending().await,
            Some(host) => host.next_notice().await,
        }
    }

    /// Returns the next unread notice of an extension, if any.
    pub fn take_notice(&self) -> Option<Notice> {
        let host = self.extensions.as_ref()?;
        host.take_notice()
    }

    /// Shuts extensions and MCP servers down in an orderly way. Dropping the runtime instead kills them.
    pub async fn close(&self) {
        let extensions = async {
            if let Some(host) = &self.extensions {
                host.shut_down().await;
            }
        };
        tokio::join!(extensions, self.servers.close());
    }
}

/// Frees the runtime when dropped.
struct Occupied<'a>(&'a Occupation);

impl Drop for Occupied<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Extensions could not be reloaded.
#[derive(Debug, thiserror::Error)]
pub enum ReloadFailure {
    /// A prompt or compaction is running.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// An extension failed to start.
    #[error(transparent)]
    Reload(#[from] ReloadError),
}
