//! The extensions found from a working directory.

use std::path::PathBuf;
use std::time::Duration;

use tokio::task::JoinSet;
use zot_extension_check::{Introduction, Stage, inspect};
use zot_extension_contract::{
    Activation, FoundExtension, Level, LoadProblem, SearchPaths, Source, discover,
};

use crate::configuration::least_of_extensions;
use crate::known_secrets::launch_rules;
use crate::runtime::VERSION;
use crate::workspace::Workspace;

/// How long an extension may take to register its commands and tools.
const INSPECTION_TIME: Duration = Duration::from_secs(3);

/// Whether enabled extensions are started to list their commands and tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Starting {
    /// Enabled.
    Enabled,
    /// No extension is started.
    Skip,
}

/// The extensions found from a working directory.
#[derive(Debug, Clone)]
pub struct ExtensionList {
    /// Those with a usable manifest.
    pub found: Vec<ListedExtension>,
    /// Those whose manifest cannot be used.
    pub broken: Vec<BrokenExtension>,
    /// The least that they are confined to by the settings.
    pub minimum: Level,
}

/// An extension with a usable manifest.
#[derive(Debug, Clone)]
pub struct ListedExtension {
    /// Those with a usable manifest.
    pub found: FoundExtension,
    /// Whether it runs.
    pub state: ExtensionState,
    /// What it registered when it was started.
    pub introduction: Option<Introduction>,
}

/// Whether an extension runs with zot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExtensionState {
    /// Enabled.
    Enabled,
    /// Disabled.
    Disabled,
    /// Another one of the same name is used instead.
    Shadowed {
        /// The directory of the other one.
        by: PathBuf,
    },
    /// It was started and failed.
    Broken {
        /// Why it failed.
        error: String,
    },
}

/// An extension whose manifest cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenExtension {
    /// The name of its directory.
    pub name: String,
    /// Its directory.
    pub directory: PathBuf,
    /// Where it was found.
    pub source: Source,
    /// Why it failed.
    pub error: String,
}

/// Finds the extensions of the project and the user. With [`Starting::Enabled`], starts the enabled
/// ones in parallel to list their commands and tools.
pub async fn list(workspace: &Workspace, starting: Starting) -> ExtensionList {
    let paths = SearchPaths::usual(&workspace.cwd, &workspace.zot_home);
    let discovery = discover(&paths);
    let rules = launch_rules(&workspace.zot_home, least_of_extensions(workspace));
    let mut inspections = JoinSet::new();
    for (index, found) in discovery.found.iter().enumerate() {
        if starting == Starting::Skip || found.activation != Activation::Enabled {
            continue;
        }
        let found = found.clone();
        let stage = Stage {
            zot_version: VERSION.to_owned(),
            provider: String::new(),
            model: String::new(),
            cwd: workspace.cwd.clone(),
            data_dir: found
                .manifest
                .data_dir(&found.directory, &workspace.zot_home, rules.minimum),
            is_from_project: found.source == Source::Project,
            rules: rules.clone(),
        };
        inspections.spawn(async move { (index, inspect(&found, &stage, INSPECTION_TIME).await) });
    }
    let found = discovery.found.into_iter().map(ListedExtension::new);
    let mut found: Vec<ListedExtension> = found.collect();
    while let Some(inspected) = inspections.join_next().await {
        if let Ok((index, introduction)) = inspected
            && let Some(listed) = found.get_mut(index)
        {
            match introduction {
                Ok(introduction) => listed.introduction = Some(introduction),
                Err(error) => {
                    let error = error.to_string();
                    listed.state = ExtensionState::Broken { error };
                }
            }
        }
    }
    let problems = discovery.problems.iter();
    ExtensionList {
        minimum: rules.minimum,
        found,
        broken: problems
            .map(|problem| BrokenExtension::new(problem, &paths))
            .collect(),
    }
}

impl ListedExtension {
    fn new(found: FoundExtension) -> Self {
        Self {
            state: match &found.activation {
                Activation::Enabled => ExtensionState::Enabled,
                Activation::Disabled => ExtensionState::Disabled,
                Activation::Shadowed { by } => ExtensionState::Shadowed { by: by.clone() },
            },
            found,
            introduction: None,
        }
    }
}

impl BrokenExtension {
    fn new(problem: &LoadProblem, paths: &SearchPaths) -> Self {
        let path = &problem.path;
        // A broken manifest has no name; its directory does.
        let name = path.file_name().unwrap_or(path.as_os_str());
        let project = paths.project.as_ref();
        Self {
            name: name.to_string_lossy().into_owned(),
            directory: path.clone(),
            source: match project.is_some_and(|project| path.starts_with(project)) {
                true => Source::Project,
                false => Source::Global,
            },
            error: problem.error.to_string(),
        }
    }
}
