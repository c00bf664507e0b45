//! The third stage: tools, sandbox, system prompt and extensions.

use std::env;
use std::path::Path;
use std::sync::Arc;

use zot_agent::ApprovalScope;
use zot_context::Templates;
use zot_conversation::ToolSet;
use zot_extension_contract::{Discovery, LaunchRules, SearchPaths, discover};
use zot_extension_host::HostConfig;
use zot_mcp::name::SEPARATOR;
use zot_tools::{Checkpoint, ToolsConfig, builtin_tools};

use super::AssemblyError;
use super::chosen::Chosen;
use crate::config::{Config, ExtensionSearch};
use crate::persistence::{Opened, SessionCheckpoint};
use crate::runtime::VERSION;
use crate::sandbox::{Confines, recorded};
use crate::servers;
use crate::servers::search::TOOL_SEARCH;
use crate::surroundings::{Skills, Surroundings};
use crate::system_prompt::{Base, PromptParts};
use crate::toolbox::choose_tools;
use crate::workspace::Workspace;

/// The largest `SYSTEM.md`, more than any model reads.
///
/// Limit: a larger `SYSTEM.md` is refused.
const MAX_SYSTEM_PROMPT_BYTES: u64 = 4 << 20;

/// The tools, sandbox and system prompt of the agent, and the extensions that were found but not started.
pub(crate) struct Equipped {
    pub(crate) own_tools: ToolSet,
    pub(crate) confines: Confines,
    pub(crate) prompt: PromptParts,
    pub(crate) skills: Option<Skills>,
    pub(crate) templates: Templates,
    /// The extensions to start; `None` if extensions are disabled.
    pub(crate) extensions: Option<(HostConfig, Discovery)>,
    /// The MCP servers to start.
    pub(crate) servers: servers::Found,
    pub(crate) warnings: Vec<String>,
}

impl Equipped {
    /// Reads the project's instructions, skills and templates, the manifests of extensions, and
    /// `SYSTEM.md`.
    pub(crate) fn equip(
        config: &Config,
        workspace: &Workspace,
        chosen: &Chosen,
        opened: &Opened,
    ) -> Result<Self, AssemblyError> {
        let Workspace { zot_home, cwd, .. } = workspace;
        let surroundings = Surroundings::find(&config.context, workspace);
        let skills = surroundings.skills;
        let withheld = chosen.providers.secret_variables();
        let (confines, of_sandbox) =
            Confines::new(&config.tools, workspace, skills.as_ref(), withheld)?;
        let own_tools = own_tools(config, workspace, &confines, opened, skills.as_ref());
        let search = search_paths(&config.extensions, workspace);
        let discovery = discover(&search);
        let mut servers = servers::find(&config.mcp, workspace)?;
        check_tools(config, &own_tools, &discovery, &servers)?;
        let prompt = PromptParts {
            base: match &config.system_prompt.replacement {
                Some(prompt) => Base::Given(prompt.clone()),
                None => own_system_prompt(zot_home)?,
            },
            instructions: surroundings.instructions,
            skills: skills.as_ref().map(|skills| Arc::clone(&skills.set)),
            appended: config.system_prompt.additions.clone(),
            cwd: cwd.clone(),
        };
        let mut warnings = surroundings.warnings;
        warnings.append(&mut servers.warnings);
        warnings.extend(of_sandbox);
        // Even if none is found: a reload may find some.
        let wants_extensions = config.extensions.discover || !config.extensions.paths.is_empty();
        let extensions = wants_extensions.then(|| {
            let host = HostConfig {
                search,
                home: zot_home.clone(),
                cwd: cwd.clone(),
                zot_version: VERSION.to_owned(),
                provider: chosen.selected.provider.clone(),
                model: chosen.selected.model.id.to_string(),
                taken_tools: taken_tools(&own_tools),
                taken_commands: Vec::new(),
                rules: LaunchRules {
                    withheld: chosen.providers.secret_variables(),
                    minimum: config.extensions.sandbox,
                    zot_home: Some(zot_home.clone()),
                    ..LaunchRules::default()
                }
                .beside_commands_at(config.tools.policy().level),
            };
            (host, discovery)
        });
        Ok(Self {
            own_tools,
            confines,
            prompt,
            skills,
            templates: surroundings.templates,
            extensions,
            servers,
            warnings,
        })
    }
}

fn own_tools(
    config: &Config,
    workspace: &Workspace,
    confines: &Confines,
    opened: &Opened,
    skills: Option<&Skills>,
) -> ToolSet {
    let sandbox = confines.of_tools();
    let builtin = builtin_tools(ToolsConfig {
        cwd: workspace.cwd.clone(),
        home: workspace.user_home.clone(),
        output_dir: env::temp_dir(),
        checkpoint: opened.checkpoints.as_ref().map(|checkpoints| {
            Arc::new(SessionCheckpoint(Arc::clone(checkpoints))) as Arc<dyn Checkpoint>
        }),
        sandbox: Arc::clone(&sandbox),
    });
    let session = opened.info.as_ref().map(|info| info.id.clone());
    let recorded = |tool| recorded(tool, &sandbox, workspace, session.clone());
    // Built-in tools come first and win a clash of names.
    ToolSet::new(
        builtin
            .into_iter()
            .map(recorded)
            .chain(skills.map(Skills::tool))
            .chain(config.tools.custom.iter().cloned()),
    )
}

/// Returns the names that tools of extensions cannot have.
fn taken_tools(own: &ToolSet) -> Vec<String> {
    let own = own.definitions().iter().map(|tool| tool.name.clone());
    // Reserved, although not every agent has them.
    let reserved = ["skill", TOOL_SEARCH].map(str::to_owned);
    own.chain(reserved).collect()
}

fn search_paths(search: &ExtensionSearch, workspace: &Workspace) -> SearchPaths {
    let usual = match search.discover {
        true => SearchPaths::usual(&workspace.cwd, &workspace.zot_home),
        false => SearchPaths::default(),
    };
    SearchPaths {
        explicit: search.paths.clone(),
        ..usual
    }
}

/// Checks that all named tools exist. Extensions and servers may add unknown ones, and need an executor.
fn check_tools(
    config: &Config,
    own_tools: &ToolSet,
    discovery: &Discovery,
    servers: &servers::Found,
) -> Result<(), AssemblyError> {
    let has_extensions = discovery.enabled().next().is_some();
    let has_servers = servers.entries.iter().any(|server| server.enabled);
    if (has_extensions || has_servers) && tokio::runtime::Handle::try_current().is_err() {
        return Err(AssemblyError::NoExecutor);
    }
    if has_extensions {
        return Ok(());
    }
    let of_servers = |name: &str| has_servers && (name.contains(SEPARATOR) || name == TOOL_SEARCH);
    let check = |names: Vec<String>| {
        let own = names.into_iter().filter(|name| !of_servers(name));
        choose_tools(own_tools, &own.collect::<Vec<_>>()).map(drop)
    };
    check(config.tools.selection.wanted())?;
    if let ApprovalScope::Tools(names) = &config.tools.approval.scope {
        check(names.clone())?;
    }
    Ok(())
}

/// Reads `$ZOT_HOME/SYSTEM.md`, which replaces the built-in prompt.
fn own_system_prompt(home: &Path) -> Result<Base, AssemblyError> {
    let path = home.join("SYSTEM.md");
    match zot_files::read_limited(&path, MAX_SYSTEM_PROMPT_BYTES) {
        Ok(Some(text)) => Ok(Base::File { path, text }),
        Ok(None) => Ok(Base::BuiltIn),
        Err(source) => Err(AssemblyError::SystemPrompt { path, source }),
    }
}
