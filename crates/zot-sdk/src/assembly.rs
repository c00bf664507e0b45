//! Puts the parts together: provider, model, credential, tools, system prompt, session.

pub(crate) mod clients;
pub(crate) mod connecting;
mod fallback;
mod recording;
mod selection;

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zot_agent::{AgentSettings, ApprovalScope, Budget};
use zot_auth::{Credential, CredentialError, CredentialRequest, Logins};
use zot_cassette::CassetteError;
use zot_context::Templates;
use zot_conversation::{Model, Prices, ToolSet};
use zot_extension_contract::{Discovery, SearchPaths, discover};
use zot_extension_host::HostConfig;
use zot_offline::OfflineModel;
use zot_provider::ProvidersProblem;
use zot_provider::catalog::{Catalog, nearest_names};
use zot_provider::network::PlanError;
use zot_session::{Checkpoints, FindError, ForkError, SessionError, SessionMeta};
use zot_tools::{Checkpoint, JailError, ToolsConfig, builtin_tools};

use crate::alternatives::ProviderAlternatives;
use crate::config::{Config, ModelChoice};
use crate::jail::Confines;
use crate::known_secrets::known_secrets;
use crate::live_models::{self, LiveModels};
use crate::persistence::{Opened, Opening, SessionCheckpoint};
use crate::runtime::{VERSION, did_you_mean};
use crate::surroundings::{Skills, Surroundings};
use crate::system_prompt::{Base, PromptParts};
use crate::tables::Tables;

pub(crate) use clients::Clients;
use clients::{Reached, Source};
use selection::{Network, Selected};
pub(crate) use selection::{
    entry_credential, find_model, nearest, outside_catalog, select, unknown_provider,
};

/// The name of the built-in stand-in, as a provider.
pub(crate) const OFFLINE: &str = "offline";

/// Why a runtime could not be assembled. Nothing has been started or contacted.
#[derive(Debug, thiserror::Error)]
pub enum AssemblyError {
    #[error("unknown provider {name:?}{}; known: {}", did_you_mean(.nearest), .known.join(", "))]
    UnknownProvider {
        name: String,
        nearest: Vec<String>,
        known: Vec<String>,
    },
    #[error("unknown model {model:?} for {provider}{}", hint(.elsewhere, .nearest))]
    UnknownModel {
        model: String,
        provider: String,
        /// The provider that does have this model.
        elsewhere: Option<String>,
        nearest: Vec<String>,
    },
    #[error(transparent)]
    UnknownTool(#[from] UnknownTool),
    #[error(
        "no provider has an API key: run `zot login NAME`, pass --api-key KEY with --provider NAME, \
         set a variable such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or add a key to {} (mode 0600); to try zot \
         without a key, use --provider offline", .auth_file.display()
    )]
    NoCredential { auth_file: PathBuf },
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// The provider that is asked for is described in a way that cannot be used.
    #[error(transparent)]
    Providers(#[from] ProvidersProblem),
    #[error("provider {provider} has no default model: name one with --model")]
    NoModel { provider: String },
    #[error("cannot read {}: {source}; $ZOT_HOME must be a directory", .path.display())]
    Home { path: PathBuf, source: io::Error },
    #[error("cannot work in {}: {source}", .path.display())]
    WorkingDirectory { path: PathBuf, source: io::Error },
    #[error("cannot read {}: {source}", .path.display())]
    SystemPrompt { path: PathBuf, source: io::Error },
    #[error("{0}; write it like http://127.0.0.1:8080/v1")]
    BaseUrl(PlanError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    FindSession(#[from] FindError),
    #[error(transparent)]
    ForkSession(#[from] ForkError),
    #[error("cannot look through {}: {source}", .path.display())]
    Sessions { path: PathBuf, source: io::Error },
    #[error("--provider replay answers from a recording: name it with --cassette FILE")]
    NoCassette,
    #[error("--cassette is for --provider replay, not for {provider}; to record use --record FILE")]
    CassetteUnused { provider: String },
    #[error(transparent)]
    Cassette(#[from] CassetteError),
    #[error(transparent)]
    Jail(#[from] JailError),
    #[error("extensions need a tokio runtime: make the agent runtime inside one")]
    NoExecutor,
}

/// A tool was asked for that there is not.
#[derive(Debug, thiserror::Error)]
#[error("unknown tool {name:?}{}; known: {}", did_you_mean(.nearest), .known.join(", "))]
pub struct UnknownTool {
    name: String,
    nearest: Vec<String>,
    known: Vec<String>,
}

fn hint(elsewhere: &Option<String>, nearest: &[String]) -> String {
    match elsewhere {
        Some(provider) => format!("; it belongs to --provider {provider}"),
        None if nearest.is_empty() => "; see --list-models".to_owned(),
        None => did_you_mean(nearest),
    }
}

pub(crate) struct Assembled {
    pub(crate) provider: String,
    pub(crate) open_models: bool,
    pub(crate) catalog: Catalog,
    pub(crate) cwd: PathBuf,
    pub(crate) settings: AgentSettings,
    pub(crate) session: Opened,
    pub(crate) warnings: Vec<String>,
    pub(crate) own_tools: ToolSet,
    pub(crate) jail: Confines,
    pub(crate) prompt: PromptParts,
    pub(crate) skills: Option<Skills>,
    pub(crate) templates: Templates,
    /// The extensions to start, if any are wanted.
    pub(crate) extensions: Option<(HostConfig, Discovery)>,
    pub(crate) clients: Clients,
    pub(crate) budget: Budget,
    pub(crate) live_models: Option<LiveModels>,
    pub(crate) alternatives: ProviderAlternatives,
}

pub(crate) fn assemble(config: Config) -> Result<Assembled, AssemblyError> {
    let home = config
        .home
        .clone()
        .unwrap_or_else(|| zot_auth::zot_home(&variable));
    let Tables {
        mut catalog,
        providers,
        problems,
    } = Tables::load(&home)?;
    let cwd = working_directory(config.cwd.as_deref())?;
    let sessions = home.join("sessions");
    let mut session_warnings = Vec::new();
    let opening = Opening::find(&config, &sessions, &cwd, &mut session_warnings)?;
    let (selected, replayed) = match recording::cassette(&config)? {
        Some(replay) => recording::select(&config, replay, &mut catalog)?,
        None => {
            let auth_file = home.join("auth.json");
            let select = |config: &Config| select(config, &mut catalog, &providers, &auth_file);
            let selected = select_resumed(&config, &opening, &mut session_warnings, select)?;
            (selected, None)
        }
    };
    let mut session = opening.open(
        &sessions,
        SessionMeta::new(
            cwd.display().to_string(),
            selected.provider.clone(),
            selected.model.id.to_string(),
        ),
        config.session.durability,
        &mut session_warnings,
    )?;
    if replayed.is_some() {
        // What a replay plays is nothing to go on with later.
        session.log = None;
    }
    if let Some(log) = &session.log
        && (config.model.provider.is_some() || config.model.model.is_some())
    {
        log.set_next_model(&selected.provider, &selected.model.id)?;
    }
    let surroundings = Surroundings::find(&config.context, &cwd, &home);
    let jail = Confines::new(&cwd, &home, surroundings.skills.as_ref());
    let own_tools = own_tools(
        &config,
        &cwd,
        &jail,
        session.checkpoints.as_ref(),
        surroundings.skills.as_ref(),
    );
    let search = search_paths(&config, &cwd, &home);
    let discovery = discover(&search);
    if discovery.enabled().next().is_some() && tokio::runtime::Handle::try_current().is_err() {
        return Err(AssemblyError::NoExecutor);
    }
    // Extensions may bring the tools that are not known yet.
    if discovery.enabled().next().is_none() {
        choose_tools(&own_tools, &config.tools.selection.wanted())?;
        if let ApprovalScope::Tools(names) = &config.tools.approval.scope {
            choose_tools(&own_tools, names)?;
        }
    }
    let prompt = PromptParts {
        base: match &config.system_prompt.replacement {
            Some(prompt) => Base::Given(prompt.clone()),
            None => own_system_prompt(&home)?,
        },
        instructions: surroundings.instructions,
        skills: surroundings
            .skills
            .as_ref()
            .map(|skills| Arc::clone(&skills.set)),
        appended: config.system_prompt.additions.clone(),
        cwd: cwd.clone(),
    };
    let Selected {
        provider,
        model,
        open_models,
        credential,
        network,
        mut warnings,
    } = selected;
    warnings.extend(problems);
    warnings.extend(surroundings.warnings);
    warnings.extend(session_warnings);
    if config.tools.jail {
        warnings.extend(jail.close()?.caveats());
    }
    if config.budget.max_cost_usd.is_some()
        && network.is_some()
        && model.prices == Prices::default()
    {
        warnings.push(format!(
            "no price is known for {:?}, so the cost budget will never be reached: limit tokens or \
             time, or give prices in models.json",
            model.id
        ));
    }
    // The stand-in has no other way to call tools.
    let dialect = config.tools.dialect.filter(|_| provider != OFFLINE);
    let http = config.http.clone().unwrap_or_default();
    let auth_file = home.join("auth.json");
    // Another server than the provider's own has models of its own.
    let lists_models = config.model.base_url.is_none() && model.base_url.is_none();
    let mut live_models = None;
    let source = match (&replayed, network) {
        (Some(replay), _) => Source::Only(Arc::clone(replay) as Arc<dyn Model>),
        (None, None) => Source::Only(Arc::new(OfflineModel)),
        (None, Some(Network { way, ways })) => {
            let connection = ways.connection(credential.as_ref(), &auth_file, &http, &catalog);
            live_models = lists_models.then(|| LiveModels {
                http: http.clone(),
                wire: ways.entry.wire,
                endpoint: connection.endpoint(&way.base_url),
                cache: home.join(live_models::CACHE),
                refresh: config.model.live_models,
            });
            Source::Network(Box::new(Reached {
                connection,
                ways,
                first: (model.id.to_string(), way),
            }))
        }
    };
    let mut clients = Clients::new(source, dialect);
    let mut substitutes = match &replayed {
        Some(replay) => fallback::recorded(&config, replay, &catalog, &mut warnings),
        None => fallback::chosen(
            &config,
            &catalog,
            &providers,
            &auth_file,
            &http,
            &mut warnings,
        )?,
    };
    // After everything that can fail, because it leaves a file behind.
    if let Some(path) = &config.recording.record {
        let replayed = replayed.as_deref();
        let others = &mut substitutes;
        let native = clients.native(&model);
        let mut secrets = known_secrets(&home, &providers, &variable);
        secrets.extend(
            config
                .model
                .api_key
                .iter()
                .chain(&config.recording.secrets)
                .cloned(),
        );
        let recorder = recording::record(
            &*native, path, &model, replayed, credential, others, &secrets,
        )?;
        clients.record_to(recorder);
    }
    let settings = AgentSettings {
        // A replay fails in the name of whom it was recorded with.
        model: clients.connect(
            &model,
            match &replayed {
                Some(replay) => replay.header().provider.clone(),
                None => provider.clone(),
            },
        ),
        system: Arc::from(""),
        tools: Arc::default(),
        reasoning: config.reasoning,
        steps: config.steps,
        approval: config.tools.approval.clone(),
        fallbacks: substitutes.into_iter().map(Into::into).collect(),
    };
    // Also when there is none yet: a reload may find some.
    let wants_extensions = config.extensions.discover || !config.extensions.paths.is_empty();
    let extensions = wants_extensions.then(|| {
        let config = HostConfig {
            search,
            home,
            cwd: cwd.clone(),
            zot_version: VERSION.to_owned(),
            provider: provider.clone(),
            model: model.id.to_string(),
            taken_tools: taken_tools(&own_tools),
            taken_commands: Vec::new(),
        };
        (config, discovery)
    });
    Ok(Assembled {
        provider,
        open_models,
        catalog,
        cwd,
        settings,
        session,
        warnings,
        own_tools,
        jail,
        prompt,
        skills: surroundings.skills,
        templates: surroundings.templates,
        extensions,
        clients,
        budget: config.budget,
        live_models,
        alternatives: ProviderAlternatives {
            providers,
            auth_file,
        },
    })
}

fn working_directory(wanted: Option<&Path>) -> Result<PathBuf, AssemblyError> {
    let wanted = wanted.unwrap_or_else(|| Path::new("."));
    let failed = |source| AssemblyError::WorkingDirectory {
        path: wanted.to_owned(),
        source,
    };
    // Made absolute but not resolved: people recognise the path they gave. Without a trailing slash,
    // because sessions are filed under the path's text.
    let path: PathBuf = std::path::absolute(wanted)
        .map_err(failed)?
        .components()
        .collect();
    if path.metadata().map_err(failed)?.is_dir() {
        Ok(path)
    } else {
        Err(failed(io::ErrorKind::NotADirectory.into()))
    }
}

/// The longest `SYSTEM.md`: more than any model reads.
///
/// Limit: a larger `SYSTEM.md` is refused.
const MAX_SYSTEM_PROMPT_BYTES: u64 = 4 << 20;

/// `$ZOT_HOME/SYSTEM.md`, which replaces the built-in prompt.
fn own_system_prompt(home: &Path) -> Result<Base, AssemblyError> {
    let path = home.join("SYSTEM.md");
    match zot_files::read_limited(&path, MAX_SYSTEM_PROMPT_BYTES) {
        Ok(Some(text)) => Ok(Base::File { path, text }),
        Ok(None) => Ok(Base::BuiltIn),
        Err(source) => Err(AssemblyError::SystemPrompt { path, source }),
    }
}

fn search_paths(config: &Config, cwd: &Path, home: &Path) -> SearchPaths {
    let usual = match config.extensions.discover {
        true => SearchPaths::usual(cwd, home),
        false => SearchPaths::default(),
    };
    SearchPaths {
        explicit: config.extensions.paths.clone(),
        ..usual
    }
}

/// The names no extension can have for a tool.
fn taken_tools(own: &ToolSet) -> Vec<String> {
    let own = own.definitions().iter().map(|tool| tool.name.clone());
    // Built in, too, although not for every agent.
    own.chain(std::iter::once("skill".to_owned())).collect()
}

/// Selects the model that a resumed session was held with, unless another was asked for.
fn select_resumed(
    config: &Config,
    opening: &Opening,
    warnings: &mut Vec<String>,
    mut select: impl FnMut(&Config) -> Result<Selected, AssemblyError>,
) -> Result<Selected, AssemblyError> {
    let unspoken = config.model.provider.is_none() && config.model.model.is_none();
    let Some((provider, model)) = opening.model().filter(|_| unspoken) else {
        return select(config);
    };
    let as_before = Config {
        model: ModelChoice {
            provider: Some(provider.to_owned()),
            model: Some(model.to_owned()),
            ..config.model.clone()
        },
        ..config.clone()
    };
    match select(&as_before) {
        Ok(selected) => Ok(selected),
        Err(error) => {
            let selected = select(config)?;
            warnings.push(format!(
                "the session was held with {model:?} of {provider}, which cannot be used now: {error}"
            ));
            Ok(selected)
        }
    }
}

fn own_tools(
    config: &Config,
    cwd: &Path,
    jail: &Confines,
    checkpoints: Option<&Arc<Checkpoints>>,
    skills: Option<&Skills>,
) -> ToolSet {
    let builtin = builtin_tools(ToolsConfig {
        cwd: cwd.to_owned(),
        home: env::home_dir(),
        output_dir: env::temp_dir(),
        checkpoint: checkpoints.map(|checkpoints| {
            Arc::new(SessionCheckpoint(Arc::clone(checkpoints))) as Arc<dyn Checkpoint>
        }),
        jail: Some(jail.of_tools()),
    });
    // Built-in tools come first and win a clash of names.
    ToolSet::new(
        builtin
            .into_iter()
            .chain(skills.map(Skills::tool))
            .chain(config.tools.custom.iter().cloned()),
    )
}

/// Those of `all` that are called `names`.
pub(crate) fn choose_tools(all: &ToolSet, names: &[String]) -> Result<ToolSet, UnknownTool> {
    if let Some(name) = names.iter().find(|name| all.get(name).is_none()) {
        let known = all.definitions().iter().map(|tool| tool.name.as_str());
        return Err(UnknownTool {
            name: name.clone(),
            nearest: nearest_names(name, known.clone())
                .into_iter()
                .map(ToOwned::to_owned)
                .collect(),
            known: known.map(ToOwned::to_owned).collect(),
        });
    }
    let chosen = all
        .iter()
        .filter(|tool| names.contains(&tool.definition().name))
        .cloned();
    Ok(ToolSet::new(chosen))
}

/// An environment variable, if it is set to text.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// Looks for the credential of one provider.
fn credential(
    provider: &str,
    variables: &[&str],
    explicit: Option<&str>,
    logins: Logins,
    auth_file: &Path,
) -> Result<Credential, CredentialError> {
    zot_auth::find(CredentialRequest {
        provider,
        explicit,
        variables,
        auth_file,
        logins,
        env: &variable,
    })
}
