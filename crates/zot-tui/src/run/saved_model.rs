//! Saves choices for the next start: the model, the theme, other settings.

use std::path::{Path, PathBuf};

use zot_sdk::configuration::{self, ConfigError, ConfigFile, Layers, Origin, set_model};

use zot_sdk::Workspace;

use super::Chat;
use crate::app::Input;

/// Providers whose models are not saved.
const UNSAVED_PROVIDERS: [&str; 2] = ["offline", "replay"];

/// Where the chosen model is saved.
#[derive(Debug, Clone)]
pub struct SavedModel {
    /// `$ZOT_HOME`.
    pub home: PathBuf,
    /// This chat was started with `--provider` or `--model`, which take precedence.
    pub is_overridden: bool,
}

impl Chat {
    /// Saves the current model immediately, because the user may leave. Returns a note if it will not be
    /// used at the next start.
    pub(super) fn save_model(&self) -> Option<Input> {
        let saved_model = self.options.saved_model.as_ref()?;
        let provider = self.runtime.provider();
        if UNSAVED_PROVIDERS.contains(&provider) {
            return None;
        }
        let model = self.runtime.model();
        let saved = saved_model.save(self.runtime.cwd(), provider, &model);
        let note = saved.unwrap_or_else(|error| {
            Some(format!(
                "{model} is used now, but could not be saved for the next start: {error}"
            ))
        });
        note.map(Input::note)
    }
}

impl Chat {
    /// Saves a setting immediately, because the user may leave. Returns a note if that failed.
    pub(super) fn save_setting(&self, name: &str, value: &str) -> Option<Input> {
        let saved_model = self.options.saved_model.as_ref()?;
        let workspace = Workspace::of_process()
            .in_directory(self.runtime.cwd())
            .with_zot_home(&saved_model.home);
        let saved = configuration::set(&workspace, ConfigFile::User, name, value);
        let error = saved.err()?;
        let text =
            format!("{name} is used now, but could not be saved for the next start: {error}");
        Some(Input::failure(text))
    }
}

impl SavedModel {
    fn save(&self, cwd: &Path, provider: &str, model: &str) -> Result<Option<String>, ConfigError> {
        let path = ConfigFile::User.path(&self.home, cwd);
        set_model(&path, provider, model)?;
        let layers = Layers::load(&self.home, cwd, &|name| std::env::var(name).ok())?;
        let settings = layers.list();
        let overriding = settings.iter().find(|setting| {
            let name = setting.key.name;
            (name == "model" || name == "provider")
                && matches!(setting.origin, Origin::Project(_) | Origin::Variable(_))
        });
        Ok(match overriding {
            Some(setting) => Some(format!(
                "saved in {}, but in this directory {} overrides the {} at the next start",
                path.display(),
                setting.origin,
                setting.key.name
            )),
            None if self.is_overridden => Some(format!(
                "saved in {}; --provider and --model, which this chat was started with, still \
                 override it",
                path.display()
            )),
            None => None,
        })
    }
}
