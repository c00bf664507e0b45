//! What is in force in a directory, and where each rule comes from.

use std::fmt;
use std::path::PathBuf;

use zot_config::{ConfigError, Layers};
use zot_process::launch::{Status, enforceable, isolation};
use zot_process::sandbox::{Environment, Level, Policy, SandboxError, has_views, installed_tools};
use zot_tools::Allowance;

use super::allowances::ProjectAllowances;
use super::confines::Confines;
use super::report::SandboxReport;
use super::wire::MIB;
use crate::config::Config;
use crate::configuration;
use crate::known_secrets::withheld_variables;
use crate::workspace::Workspace;

/// The sandbox of a run in a directory.
#[derive(Debug, Clone)]
pub struct Description {
    /// What is in force.
    pub report: SandboxReport,
    /// Where the level comes from.
    pub source: Source,
    /// The exact rules, whether the level needs them or not.
    pub rules: Vec<SourcedRule>,
    /// The least that every extension is confined to: the setting `sandbox_extensions`.
    pub extensions: Level,
    /// The least that every MCP server is confined to: the setting `sandbox_mcp`.
    pub servers: Level,
    /// Paths that stay read-only in a writable directory, relative to it.
    pub protected: Vec<&'static str>,
    /// What commands can read of the user's home directory, and where the variables of toolchains lead.
    pub toolchains: Vec<PathBuf>,
    /// The packages in it. With namespaces, commands can change them for the session.
    pub caches: Vec<PathBuf>,
    /// The variables of this process that commands do not get.
    pub withheld: Vec<String>,
    /// How it is enforced here.
    pub means: Means,
    /// Probable mistakes in settings.
    pub warnings: Vec<String>,
}

/// A rule, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcedRule {
    /// The rule's name, as in settings: `read`, `connect`, `memory_mib`, …
    pub name: &'static str,
    /// A path, a host, a variable or a number.
    pub value: String,
    /// Where it comes from.
    pub source: Source,
}

/// Where a rule comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// It is not set anywhere.
    Default,
    /// The command line.
    Flag,
    /// A file or a variable, in words.
    Setting(String),
    /// The user has allowed it for this project.
    Allowed,
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::Flag => formatter.write_str("command line"),
            Self::Setting(origin) => formatter.write_str(origin),
            Self::Allowed => formatter.write_str("allowed for this project"),
        }
    }
}

/// How a sandbox is enforced on this system, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Means {
    /// What ends the processes of a command.
    pub processes: String,
    /// What keeps it from files.
    pub files: String,
    /// What keeps it from the network.
    pub network: String,
}

/// Why a sandbox cannot be described.
#[derive(Debug, thiserror::Error)]
pub enum DescribeError {
    /// The settings cannot be used.
    #[error(transparent)]
    Settings(#[from] ConfigError),
    /// It cannot be applied.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

/// Describes the sandbox of a run with this configuration, which holds only what the command line says.
pub fn describe(mut config: Config, workspace: &Workspace) -> Result<Description, DescribeError> {
    let layers = configuration::layers(workspace)?;
    let mut rules = rules_of(&config.tools.sandbox.policy(), &Source::Flag);
    rules.extend(rules_of_settings(&layers));
    let source = match config.tools.sandbox.level {
        Some(_) => Source::Flag,
        None => source_of(&layers, "sandbox"),
    };
    config.fill_in(layers.settings());
    let withheld = withheld_variables(&workspace.zot_home);
    let (confines, mut warnings) = Confines::new(&config.tools, workspace, None, withheld.clone())?;
    warnings.extend(layers.warnings().iter().map(ToString::to_string));
    // What cannot be read is among the warnings.
    let allowed = ProjectAllowances::new(&workspace.zot_home).list(&workspace.cwd);
    rules.extend(allowed.unwrap_or_default().iter().map(allowed_rule));
    let report = confines.report();
    // They are part of the report.
    let caveats = report.caveats();
    warnings.retain(|warning| !caveats.contains(warning));
    let home = workspace.user_home.as_deref();
    let tools = home.map(|home| installed_tools(home, |name| std::env::var_os(name)));
    let tools = tools.unwrap_or_default();
    Ok(Description {
        source,
        rules,
        extensions: config.extensions.sandbox,
        servers: config.mcp.sandbox,
        protected: confines.protected(),
        toolchains: tools.toolchains,
        caches: tools.caches,
        withheld: Environment::new(&report.policy, &withheld).missing(),
        means: means(),
        warnings,
        report,
    })
}

/// Returns how a sandbox is enforced here.
pub fn means() -> Means {
    let enforceable = enforceable();
    let mut processes = match (cfg!(target_os = "linux"), has_views()) {
        (true, true) => {
            "a PID namespace in the sandbox; a supervisor that adopts orphans (subreaper) and \
                         ends with zot at every level"
                .to_owned()
        }
        (true, false) => format!(
            "a supervisor that adopts orphans (subreaper) and ends with zot; in the sandbox {}",
            isolation()
        ),
        (false, _) => "process groups".to_owned(),
    };
    if let Status::Partly(gap) = &enforceable.processes {
        processes.push_str(&format!("; of other processes, {gap}"));
    }
    let files = match (&enforceable.files, has_views()) {
        (Status::NotEnforced(reason), _) => format!("nothing, so that bash is refused: {reason}"),
        (_, true) => {
            "a file system of their own (namespaces), with Landlock and seccomp".to_owned()
        }
        (Status::Partly(gap), false) => format!("Landlock and seccomp alone; {gap}"),
        (_, false) => "Landlock and seccomp alone".to_owned(),
    };
    let network = match Policy::at(Level::Workspace).enforcement().network {
        Status::NotEnforced(reason) => format!("nothing: {reason}"),
        Status::Partly(gap) => format!("{}; {gap}", network_means()),
        Status::Enforced | Status::NotRequested => network_means().to_owned(),
    };
    Means {
        processes,
        files,
        network,
    }
}

fn network_means() -> &'static str {
    match has_views() {
        true => "a network of their own, with a proxy to the allowed hosts",
        false => "seccomp, which refuses sockets",
    }
}

/// Returns the lists and limits of `policy`.
fn rules_of(policy: &Policy, source: &Source) -> Vec<SourcedRule> {
    let rules = &policy.rules;
    let shown = |paths: &[PathBuf]| -> Vec<String> {
        paths
            .iter()
            .map(|path| path.display().to_string())
            .collect()
    };
    let lists = [
        ("read", shown(&rules.read)),
        ("write", shown(&rules.write)),
        ("run", shown(rules.run.as_deref().unwrap_or_default())),
        (
            "connect",
            rules.connect.iter().map(ToString::to_string).collect(),
        ),
        ("unix_sockets", shown(&rules.unix_sockets)),
        ("environment", rules.environment.clone()),
    ];
    let lists = lists
        .into_iter()
        .flat_map(|(name, values)| values.into_iter().map(move |value| (name, value)));
    let limits = &rules.limits;
    let limits = [
        ("memory_mib", limits.memory_bytes.map(|bytes| bytes / MIB)),
        ("processes", limits.processes),
        ("processor_seconds", limits.processor_seconds),
        ("open_files", limits.open_files),
    ];
    let limits = limits
        .into_iter()
        .filter_map(|(name, limit)| Some((name, limit?.to_string())));
    lists
        .chain(limits)
        .map(|(name, value)| SourcedRule {
            name,
            value,
            source: source.clone(),
        })
        .collect()
}

fn rules_of_settings(layers: &Layers) -> Vec<SourcedRule> {
    let mut rules = Vec::new();
    for setting in layers.list() {
        let (Some(name), Some(value)) = (setting.key.name.strip_prefix("sandbox_"), &setting.value)
        else {
            continue;
        };
        // Not about the built-in tools.
        if matches!(name, "extensions" | "mcp") {
            continue;
        }
        let values: Vec<String> = match value.as_array() {
            Some(values) => {
                let texts = values.iter().filter_map(|value| value.as_str());
                texts.map(str::to_owned).collect()
            }
            None => vec![value.to_string()],
        };
        rules.extend(values.into_iter().map(|value| SourcedRule {
            name,
            value,
            source: Source::Setting(setting.origin.to_string()),
        }));
    }
    rules
}

fn source_of(layers: &Layers, name: &str) -> Source {
    let list = layers.list();
    let setting = list.iter().find(|setting| setting.key.name == name);
    match setting.filter(|setting| setting.value.is_some()) {
        Some(setting) => Source::Setting(setting.origin.to_string()),
        None => Source::Default,
    }
}

fn allowed_rule(allowance: &Allowance) -> SourcedRule {
    let (name, value) = match allowance {
        Allowance::Connect(rule) => ("connect", rule.to_string()),
        Allowance::Read(path) => ("read", path.display().to_string()),
        Allowance::Write(path) => ("write", path.display().to_string()),
    };
    SourcedRule {
        name,
        value,
        source: Source::Allowed,
    }
}
