//! What a runtime does with its extensions.

use zot_extension_host::{InvokeError, ReloadError, RequestError};
use zot_wire::rpc::{CommandEntry, ExtensionEntry, InvokedData};

use super::{Busy, Occupation, Runtime};
use crate::hosting::{self, ExtensionNotice, PanelAction};

impl Runtime {
    /// The extensions and how they are doing.
    pub fn extensions(&self) -> Vec<ExtensionEntry> {
        let hosted = self.extensions.as_ref().map(|host| host.extensions());
        hosted
            .iter()
            .flatten()
            .map(|extension| hosting::entry(extension))
            .collect()
    }

    /// The slash commands of all extensions, once those have started.
    pub async fn commands(&self) -> Vec<CommandEntry> {
        match &self.extensions {
            None => Vec::new(),
            Some(host) => {
                host.settled().await;
                hosting::commands(host)
            }
        }
    }

    /// Runs a slash command. What it asks for is up to the caller.
    pub async fn invoke_command(
        &self,
        name: &str,
        arguments: &str,
    ) -> Result<InvokedData, InvokeError> {
        match &self.extensions {
            None => Err(InvokeError::Unknown(name.to_owned())),
            Some(host) => Ok(hosting::invoked(host.invoke(name, arguments).await?)),
        }
    }

    /// Reads all manifests again and starts every extension anew. When one fails, the old ones run
    /// on.
    pub async fn reload_extensions(&self) -> Result<Vec<ExtensionEntry>, ReloadFailure> {
        let Some(host) = &self.extensions else {
            return Ok(Vec::new());
        };
        let cancel = self.occupation.begin()?;
        // Ended also when this future is dropped.
        let occupied = Occupied(&self.occupation);
        host.reload(&cancel).await?;
        drop(occupied);
        self.toolbox.refresh(&self.agent);
        Ok(self.extensions())
    }

    /// Tells an extension what the user did in one of its panels.
    pub fn tell_panel(&self, extension: &str, action: PanelAction) -> Result<(), InvokeError> {
        match &self.extensions {
            None => Err(InvokeError::Failed {
                extension: extension.to_owned(),
                error: RequestError::NotRunning,
            }),
            Some(host) => host.tell_panel(extension, &action.into_frame()),
        }
    }

    /// The next thing extensions have to say; never returns when there are none. May be dropped and
    /// called again.
    pub async fn next_notice(&self) -> ExtensionNotice {
        match &self.extensions {
            None => std::future::pending().await,
            Some(host) => hosting::notice(host.next_notice().await),
        }
    }

    /// What extensions have said that nobody has read.
    pub fn take_notice(&self) -> Option<ExtensionNotice> {
        let host = self.extensions.as_ref()?;
        host.take_notice().map(hosting::notice)
    }

    /// Lets extensions go in good order. A runtime that is dropped instead kills them.
    pub async fn close(&self) {
        if let Some(host) = &self.extensions {
            host.shut_down().await;
        }
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
    #[error(transparent)]
    Busy(#[from] Busy),
    #[error(transparent)]
    Reload(#[from] ReloadError),
}
