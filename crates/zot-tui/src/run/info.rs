//! What is known about the agent.

use std::path::Path;

use zot_sdk::{Runtime, VERSION};

use super::Chat;
use crate::app::{Info, Input};

impl Chat {
    pub(super) fn current_info(&self) -> Input {
        Input::Info(info(&self.runtime))
    }
}

/// Returns everything except how much of the context is used, which responses report.
pub(super) fn info(runtime: &Runtime) -> Info {
    let model = runtime.model();
    let sandbox = runtime.sandbox();
    let window = runtime
        .list_models()
        .into_iter()
        .find(|entry| entry.id == model)
        .map_or(0, |entry| entry.context_window);
    Info {
        provider: runtime.provider().to_owned(),
        model,
        cwd: shown(runtime.cwd()),
        version: VERSION.to_owned(),
        cost_usd: runtime.cost().cost_usd,
        context_window: window,
        context_used: 0,
        approval: runtime.approval().scope,
        is_jailed: sandbox.is_jailed,
        sandbox: sandbox.chosen.level,
    }
}

/// Returns a directory with `~` for the user's home.
fn shown(directory: &Path) -> String {
    let home = std::env::home_dir();
    match home.and_then(|home| directory.strip_prefix(home).ok().map(Path::to_owned)) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => directory.display().to_string(),
    }
}
