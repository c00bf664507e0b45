//! Turns a configuration into the parts of a runtime, in stages:
//!
//! 1. [`Chosen`]: provider, model and credential. A session to resume is looked up before, because it
//!    may name the model.
//! 2. [`Opened`]: the session, ready to be written to.
//! 3. [`Equipped`]: tools, jail, system prompt, extensions to start.
//! 4. [`Connected`]: clients for the models, and last the recording, because it leaves a file behind.
//!
//! Each stage fails before it or a later one changes anything, except that a fork of a session stays
//! where a later stage fails. Nothing is contacted and no extension is started.

pub(crate) mod chosen;
pub(crate) mod clients;
pub(crate) mod connected;
pub(crate) mod connecting;
pub(crate) mod equipped;
mod error;
mod fallback;
mod recording;
mod selection;

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use zot_session::SessionMeta;

use crate::config::Config;
use crate::persistence::{FoundSession, Opened};
use crate::tables::Tables;
use crate::workspace::Workspace;

pub(crate) use chosen::Chosen;
pub(crate) use clients::Clients;
pub(crate) use connected::Connected;
pub(crate) use equipped::Equipped;
pub use error::{AssemblyError, UnknownTool};
pub(crate) use selection::credential::{entry_credential, unknown_provider};
pub(crate) use selection::model::{Names, find_model, nearest, outside_catalog};

/// The provider name of the built-in stand-in.
pub(crate) const OFFLINE: &str = "offline";

/// All stages of an assembly.
pub(crate) struct Assembled {
    pub(crate) workspace: Workspace,
    pub(crate) chosen: Chosen,
    pub(crate) session: Opened,
    pub(crate) equipped: Equipped,
    pub(crate) connected: Connected,
}

impl Assembled {
    pub(crate) fn new(config: &Config) -> Result<Self, AssemblyError> {
        let home = home(config);
        let tables = Tables::load(&home)?;
        let workspace = Workspace {
            cwd: working_directory(config.cwd.as_deref())?,
            zot_home: home,
            user_home: env::home_dir(),
        };
        let home = &workspace.zot_home;
        let found = FoundSession::find(&config.session, &workspace)?;
        let chosen = Chosen::choose(config, home, tables, found.last_model())?;
        let session = open_session(found, config, &workspace, &chosen)?;
        let equipped = Equipped::equip(config, &workspace, &chosen, &session)?;
        let connected = Connected::connect(config, home, &chosen)?;
        Ok(Self {
            workspace,
            chosen,
            session,
            equipped,
            connected,
        })
    }

    /// Takes the warnings, in the order of the stages.
    pub(crate) fn take_warnings(&mut self) -> Vec<String> {
        [
            &mut self.chosen.selected.warnings,
            &mut self.chosen.warnings,
            &mut self.session.warnings,
            &mut self.equipped.warnings,
            &mut self.connected.warnings,
        ]
        .map(std::mem::take)
        .concat()
    }
}

/// Returns zot's own directory: the configured one, or `$ZOT_HOME` and its defaults.
pub(crate) fn home(config: &Config) -> PathBuf {
    let configured = config.home.clone();
    configured.unwrap_or_else(|| zot_auth::zot_home(&variable))
}

fn open_session(
    found: FoundSession,
    config: &Config,
    workspace: &Workspace,
    chosen: &Chosen,
) -> Result<Opened, AssemblyError> {
    let (provider, model) = (&chosen.selected.provider, &chosen.selected.model.id);
    let mut meta = SessionMeta::new(workspace.cwd_text(), provider.clone(), model.to_string());
    if let Some(id) = &config.session.id {
        meta.id.clone_from(id);
    }
    let mut session = found.open(meta, &config.session)?;
    if chosen.replay.is_some() {
        // A session cannot be continued with the provider and model of a replay.
        session.log = None;
    }
    if let Some(log) = &session.log
        && config.model.is_explicit()
    {
        log.set_next_model(provider, model)?;
    }
    Ok(session)
}

fn working_directory(requested: Option<&Path>) -> Result<PathBuf, AssemblyError> {
    let requested = requested.unwrap_or_else(|| Path::new("."));
    let failed = |source| AssemblyError::WorkingDirectory {
        path: requested.to_owned(),
        source,
    };
    // Absolute but with links kept, so that people recognise the path they gave. Without a trailing
    // slash, because sessions are filed under the text of the path.
    let path: PathBuf = std::path::absolute(requested)
        .map_err(failed)?
        .components()
        .collect();
    if path.metadata().map_err(failed)?.is_dir() {
        Ok(path)
    } else {
        Err(failed(io::ErrorKind::NotADirectory.into()))
    }
}

/// Returns an environment variable, if it is set to text.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}
