//! `zino check`: finds problems before the services run into them.

mod network;

use std::env;
use std::fs;
use std::path::Path;

use serde_json::Value;
use zot_process::launch::programs_needed;
use zot_provider::network::{NetworkSettings, Plan, probe};
use zot_provider::{Endpoint, HttpClient, Timeouts};

use crate::agents::profile;
use crate::bus::Bus;
use crate::config::{Config, ExecutorSandbox, Loaded, STORE_URL_VARIABLE};
use crate::definitions::MAX_DEFINITION_BYTES;
use crate::environment_file::EnvironmentFile;
use crate::executor::ExecutorService;
use crate::kind::ServiceKind;
use crate::logging::{Level, Log};
use crate::memory::{Database, TornFiles, find_torn_files};
use crate::router::RouterService;
use crate::system_prompt::MAX_PROMPT_TEMPLATE_BYTES;

/// The longest path of a socket.
///
/// Limit: a socket cannot have a longer path.
const MAX_SOCKET_PATH_BYTES: usize = 107;

/// The result of one check.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    pub verdict: Verdict,
    pub subject: String,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Good,
    Doubtful,
    Bad,
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, verdict: Verdict, subject: &str, message: impl Into<String>) {
        self.0.push(Finding {
            verdict,
            subject: subject.to_owned(),
            message: message.into(),
        });
    }
}

/// Checks everything the services of this machine need, and tries to reach the model.
pub async fn check(loaded: &Loaded) -> Vec<Finding> {
    let mut findings = Findings::default();
    for warning in &loaded.warnings {
        findings.add(Verdict::Doubtful, "config", warning.clone());
    }
    let config = &loaded.config;
    let here = config.services_here();
    if here.contains(&ServiceKind::SystemPrompt) {
        check_template(config, &mut findings);
    }
    check_directory(config.tools_dir(), "tools", &mut findings);
    check_directory(config.skills_dir(), "skills", &mut findings);
    check_sockets(config, &mut findings);
    if here.contains(&ServiceKind::Executor) {
        check_executor(config, &mut findings);
    }
    network::check(config, &mut findings);
    check_bus(config, &mut findings).await;
    check_metrics(config, &mut findings);
    check_agents(config, &mut findings);
    if here.contains(&ServiceKind::Memory) {
        check_store(config, &mut findings).await;
    }
    if here.contains(&ServiceKind::Router) {
        let variables = check_environment_file(config, &mut findings);
        check_model(config, &variables, &mut findings).await;
    }
    findings.0
}

fn check_template(config: &Config, findings: &mut Findings) {
    let path = &config.sys.template;
    match zot_files::read_existing_text(path, MAX_PROMPT_TEMPLATE_BYTES) {
        Ok(text) => {
            for placeholder in ["%%TOOL_LIST%%", "%%SOFT_MEMORIES%%"] {
                if !text.contains(placeholder) {
                    let message = format!("{} has no {placeholder}", path.display());
                    findings.add(Verdict::Doubtful, "template", message);
                }
            }
            findings.add(Verdict::Good, "template", path.display().to_string());
        }
        Err(error) => {
            let message = format!("{}: {error}", path.display());
            findings.add(Verdict::Bad, "template", message);
        }
    }
}

/// Checks that every file is JSON and that the program it names is on `PATH`.
fn check_directory(directory: &Path, subject: &str, findings: &mut Findings) {
    let Ok(entries) = fs::read_dir(directory) else {
        let message = format!("no directory {}", directory.display());
        return findings.add(Verdict::Doubtful, subject, message);
    };
    let mut count = 0;
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        count += 1;
        let parsed = zot_files::read_existing(&path, MAX_DEFINITION_BYTES)
            .map_err(|error| error.to_string())
            .and_then(|text| {
                serde_json::from_slice::<Value>(&text).map_err(|error| error.to_string())
            });
        let value = match parsed {
            Ok(value) => value,
            Err(error) => {
                let message = format!("{}: {error}", path.display());
                findings.add(Verdict::Bad, subject, message);
                continue;
            }
        };
        for (key, verdict) in [
            ("executor", Verdict::Bad),
            ("static_analysis", Verdict::Doubtful),
        ] {
            if let Some(program) = value["meta"][key].as_str()
                && !is_on_path(program)
            {
                let message = format!("{}: {key} {program:?} is not on PATH", path.display());
                findings.add(verdict, subject, message);
            }
        }
    }
    let message = format!("{count} in {}", directory.display());
    findings.add(Verdict::Good, subject, message);
}

fn is_on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

fn check_sockets(config: &Config, findings: &mut Findings) {
    for kind in config.services_here() {
        let socket = config.socket(kind);
        let length = socket.as_os_str().len();
        if length > MAX_SOCKET_PATH_BYTES {
            let message = format!(
                "{} is too long for a socket ({length} bytes, {MAX_SOCKET_PATH_BYTES} at most)",
                socket.display()
            );
            findings.add(Verdict::Bad, kind.name(), message);
            continue;
        }
        let directory = socket
            .parent()
            .filter(|directory| !directory.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        match nearest_existing(directory) {
            Some(existing) if is_writable(existing) => {
                findings.add(Verdict::Good, kind.name(), socket.display().to_string());
            }
            _ => {
                let message = format!("{} cannot be written", directory.display());
                findings.add(Verdict::Bad, kind.name(), message);
            }
        }
    }
}

/// Checks what `exc` would refuse, and rules that allow nothing.
fn check_executor(config: &Config, findings: &mut Findings) {
    let subject = ServiceKind::Executor.name();
    // Only files that cannot be read are logged, which are also reported with the tools.
    let log = Log::new(subject, Level::Error);
    match ExecutorService::check(config, log) {
        Ok(warnings) => {
            for warning in warnings {
                findings.add(Verdict::Doubtful, subject, warning);
            }
        }
        Err(error) => findings.add(Verdict::Bad, subject, error.to_string()),
    }
    if config.exc.sandbox == ExecutorSandbox::Off {
        return;
    }
    let path = env::var_os("PATH").unwrap_or_default();
    for program in config.exc.run.iter().flatten() {
        // Other paths begin in directories of `exc`.
        let is_comparable = program.is_absolute() || program.components().count() == 1;
        if is_comparable && programs_needed(program, &path).is_empty() {
            let message = format!("[exc] run: there is no program {}", program.display());
            findings.add(Verdict::Doubtful, subject, message);
        }
    }
}

async fn check_bus(config: &Config, findings: &mut Findings) {
    match Bus::check(config).await {
        Ok(None) => {}
        Ok(Some(server)) => findings.add(Verdict::Good, "bus", server),
        Err(error) => findings.add(Verdict::Bad, "bus", error.to_string()),
    }
}

fn check_metrics(config: &Config, findings: &mut Findings) {
    let Some(address) = config.metrics.listen else {
        return;
    };
    let message = format!("/metrics, /healthz and /readyz on {address}");
    match address.ip().is_loopback() {
        true => findings.add(Verdict::Good, "metrics", message),
        false => findings.add(
            Verdict::Doubtful,
            "metrics",
            format!("{message}: everyone who can reach this address can read them, without TLS"),
        ),
    }
}

/// Checks the profiles that `zino agent` serves.
fn check_agents(config: &Config, findings: &mut Findings) {
    for (name, profile) in &config.agents {
        // Whether the configuration itself is exposed, `zino agent` checks: it knows its path.
        let checked = profile::session_config(name, profile)
            .and_then(|_| profile::check_directory(name, profile, config, Path::new("")));
        match checked {
            Ok(()) => {
                let sessions = profile.sessions;
                let directory = profile.directory.display();
                let message = format!("{name}: {sessions} sessions at a time in {directory}");
                findings.add(Verdict::Good, "agents", message);
            }
            Err(error) => findings.add(Verdict::Bad, "agents", error.to_string()),
        }
    }
}

/// Checks the database, or else the directory.
async fn check_store(config: &Config, findings: &mut Findings) {
    let database = match Database::configured(config) {
        Ok(Some(database)) => database,
        Ok(None) => return check_data(config, findings),
        Err(error) => return findings.add(Verdict::Bad, "store", error.to_string()),
    };
    if config.store.url.is_none() {
        let message = format!(
            "the address is only in ${STORE_URL_VARIABLE}: a daemon that does not see it does not hold \
             channels; write [store] url without the password"
        );
        findings.add(Verdict::Doubtful, "store", message);
    }
    match database.check().await {
        Ok(contents) => {
            let message = format!("{}: {contents}", database.place());
            findings.add(Verdict::Good, "store", message);
        }
        Err(error) => findings.add(Verdict::Bad, "store", error.to_string()),
    }
}

fn check_data(config: &Config, findings: &mut Findings) {
    let directory = &config.mem.data_dir;
    let message = directory.display().to_string();
    match nearest_existing(directory) {
        Some(existing) if is_writable(existing) => findings.add(Verdict::Good, "data", message),
        _ => findings.add(Verdict::Bad, "data", format!("{message} cannot be written")),
    }
    let TornFiles { files, errors } = find_torn_files(config);
    for file in files {
        let message = format!(
            "{} was cut off while it was written: the original cannot read it until `zino mem` or \
             `zino mem --mend` has repaired it",
            file.display()
        );
        findings.add(Verdict::Doubtful, "data", message);
    }
    for error in errors {
        findings.add(Verdict::Bad, "data", error);
    }
}

fn nearest_existing(path: &Path) -> Option<&Path> {
    path.ancestors()
        .map(|path| match path.as_os_str().is_empty() {
            true => Path::new("."),
            false => path,
        })
        .find(|path| path.exists())
}

fn is_writable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Checks what `rtr` would read from a `.env` file.
fn check_environment_file(config: &Config, findings: &mut Findings) -> EnvironmentFile {
    let (file, warnings) = EnvironmentFile::beside(config);
    for warning in warnings {
        findings.add(Verdict::Doubtful, ".env", warning);
    }
    if let Some(path) = file.path() {
        let key_variables = zot_provider::providers()
            .iter()
            .flat_map(|entry| &entry.key_variables);
        let mut names: Vec<&str> = std::iter::once("LLM_API_KEY")
            .chain(key_variables.map(AsRef::as_ref))
            .filter(|name| file.provides(name))
            .collect();
        names.sort_unstable();
        names.dedup();
        let found = match names.as_slice() {
            [] => "no key that is not already set".to_owned(),
            names => names.join(", "),
        };
        findings.add(
            Verdict::Good,
            ".env",
            format!("{}: {found}", path.display()),
        );
    }
    file
}

async fn check_model(config: &Config, variables: &EnvironmentFile, findings: &mut Findings) {
    if config.api.provider.as_deref() == Some("offline") {
        return findings.add(Verdict::Good, "model", "offline: the built-in stand-in");
    }
    // Whatever the router itself rejects is an error.
    let log = Log::new(ServiceKind::Router.name(), Level::Error);
    if let Err(error) = RouterService::new(config, log) {
        return findings.add(Verdict::Bad, "model", error.to_string());
    }
    let Some(base_url) = &config.api.base_url else {
        return findings.add(Verdict::Good, "model", "the provider's default server");
    };
    if config.service.model.is_none() {
        findings.add(Verdict::Bad, "model", "[service] model is missing");
    }
    if config.api.key.is_none() && variables.variable("LLM_API_KEY").is_none() {
        let message = "no key: set [api] key, or LLM_API_KEY in the environment or in .env";
        findings.add(Verdict::Doubtful, "model", message);
    }
    let endpoint = Endpoint {
        provider: config.api.provider.clone().unwrap_or("openai".to_owned()),
        base_url: base_url.clone(),
        api_key: None,
    };
    let network = NetworkSettings::read(&|name| variables.variable(name));
    let plan = match Plan::new(&endpoint, None, &network) {
        Ok(plan) => plan,
        Err(error) => return findings.add(Verdict::Bad, "model", error.to_string()),
    };
    let http = HttpClient::with_network(Timeouts::default(), network);
    for step in probe(&plan, &http).await {
        match step.outcome {
            Ok(result) => findings.add(Verdict::Good, "model", format!("{}: {result}", step.stage)),
            Err(error) => findings.add(Verdict::Bad, "model", format!("{}: {error}", step.stage)),
        }
    }
}
