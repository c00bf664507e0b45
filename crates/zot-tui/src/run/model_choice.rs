//! Keeps choices for the next start: the model, the theme, other settings.

use std::path::{Path, PathBuf};

use zot_sdk::configuration::{self, ConfigError, ConfigFile, Layers, Origin, set_model};

use zot_sdk::Workspace;

use super::Chat;
use crate::app::Input;

/// Providers without a model worth keeping.
const STAND_INS: [&str; 2] = ["offline", "replay"];

/// Where the choice is kept.
#[derive(Debug, Clone)]
pub struct ModelChoice {
    /// `$ZOT_HOME`.
    pub home: PathBuf,
    /// Whether this chat was started with `--provider` or `--model`.
    pub is_flagged: bool,
}

impl Chat {
    /// Keeps the current model at once, because the user may leave. Returns a note when it will not be
    /// used at the next start.
    pub(super) fn keep_model(&self) -> Option<Input> {
        let choice = self.options.model_choice.as_ref()?;
        let provider = self.runtime.provider();
        if STAND_INS.contains(&provider) {
            return None;
        }
        let model = self.runtime.model();
        let kept = choice.keep(self.runtime.cwd(), provider, &model);
        let note = kept.unwrap_or_else(|error| {
            Some(format!(
                "{model} is used now, but could not be saved for the next start: {error}"
            ))
        });
        note.map(Input::note)
    }
}

impl Chat {
    /// Keeps a setting at once, because the user may leave. Returns a note when that failed.
    pub(super) fn keep_setting(&self, name: &str, value: &str) -> Option<Input> {
        let choice = self.options.model_choice.as_ref()?;
        let workspace = Workspace::of_process()
            .in_directory(self.runtime.cwd())
            .with_zot_home(&choice.home);
        let kept = configuration::set(&workspace, ConfigFile::User, name, value);
        let error = kept.err()?;
        let text =
            format!("{name} is used now, but could not be saved for the next start: {error}");
        Some(Input::failure(text))
    }
}

impl ModelChoice {
    fn keep(&self, cwd: &Path, provider: &str, model: &str) -> Result<Option<String>, ConfigError> {
        let path = ConfigFile::User.path(&self.home, cwd);
        set_model(&path, provider, model)?;
        let layers = Layers::load(&self.home, cwd, &|name| std::env::var(name).ok())?;
        let settings = layers.list();
        let stronger = settings.iter().find(|setting| {
            let name = setting.key.name;
            (name == "model" || name == "provider")
                && matches!(setting.origin, Origin::Project(_) | Origin::Variable(_))
        });
        Ok(match stronger {
            Some(setting) => Some(format!(
                "saved in {}, but in this directory {} sets the {} of the next start",
                path.display(),
                setting.origin,
                setting.key.name
            )),
            None if self.is_flagged => Some(format!(
                "saved in {}; --provider and --model, which this chat was started with, still win \
                 over it",
                path.display()
            )),
            None => None,
        })
    }
}
