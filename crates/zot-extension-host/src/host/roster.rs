//! The extensions that were started together, and which of them owns each name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use zot_conversation::Tool;
use zot_extension_contract::{Activation, CommandInfo, Discovery};

use crate::extension::{Cause, Extension, HostContext, Phase, remedy};
use crate::supervisor::supervise;
use crate::tool::ExtensionTool;

pub(crate) struct Roster {
    extensions: Vec<Arc<Extension>>,
    stop: CancellationToken,
    supervisors: tokio::sync::Mutex<JoinSet<()>>,
    tool_names: Claims,
    command_names: Claims,
    /// Problems of extensions that must run but whose manifests are invalid.
    obstacles: Vec<String>,
}

/// Which extension a name belongs to: the first that registered it, in discovery order if they did so
/// together. A name stays with its owner while that restarts.
#[derive(Default)]
struct Claims(Mutex<HashMap<String, usize>>);

impl Claims {
    /// Returns the owner of `name`; an unclaimed name goes to `index`.
    fn claim(&self, name: &str, index: usize) -> usize {
        let mut claims = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match claims.get(name) {
            Some(&owner) => owner,
            None => {
                claims.insert(name.to_owned(), index);
                index
            }
        }
    }
}

impl Roster {
    pub(crate) fn start(discovery: &Discovery, context: &Arc<HostContext>) -> Self {
        let stop = CancellationToken::new();
        let mut supervisors = JoinSet::new();
        for found in &discovery.found {
            if found.activation == Activation::Disabled {
                // The user has disabled it. A failure matters only if it is enabled again and fails.
                let _ = context.interceptors.forget(&found.directory);
            }
        }
        let extensions: Vec<Arc<Extension>> = discovery
            .enabled()
            .map(|found| Arc::new(Extension::new(found.clone(), Arc::clone(context))))
            .collect();
        for extension in &extensions {
            for found in &discovery.found {
                let is_shadowed = matches!(found.activation, Activation::Shadowed { .. });
                if is_shadowed && found.manifest.name == extension.name() {
                    let directory = found.directory.display();
                    extension.log(&format!("it shadows another of its name in {directory}"));
                }
            }
            supervisors.spawn(supervise(Arc::clone(extension), stop.clone()));
        }
        Self {
            extensions,
            stop,
            supervisors: tokio::sync::Mutex::new(supervisors),
            tool_names: Claims::default(),
            command_names: Claims::default(),
            obstacles: obstacles(discovery, context),
        }
    }

    pub(crate) fn extensions(&self) -> &[Arc<Extension>] {
        &self.extensions
    }

    pub(crate) fn named(&self, name: &str) -> Option<&Arc<Extension>> {
        self.extensions
            .iter()
            .find(|extension| extension.name() == name)
    }

    /// Returns whether every extension has started, or failed once.
    pub(crate) fn has_started(&self) -> bool {
        !self
            .extensions
            .iter()
            .any(|extension| extension.is_starting())
    }

    /// Returns the extensions that may still turn out to intercept.
    pub(crate) fn undecided(&self) -> impl Iterator<Item = &Arc<Extension>> {
        self.extensions
            .iter()
            .filter(|extension| extension.is_undecided())
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.undecided().next().is_none()
    }

    /// Returns why no prompt may run.
    pub(crate) fn obstacle(&self) -> Option<String> {
        self.obstacles
            .iter()
            .cloned()
            .chain(
                self.extensions
                    .iter()
                    .filter_map(|extension| extension.obstacle()),
            )
            .reduce(|first, next| format!("{first}\n{next}"))
    }

    /// Returns why extensions did not become ready.
    pub(crate) fn failures(&self) -> Vec<String> {
        self.extensions
            .iter()
            .filter_map(|extension| {
                let reason = match extension.phase() {
                    Phase::Ready | Phase::Starting => return None,
                    Phase::Restarting { reason } | Phase::Failed { reason } => reason,
                    Phase::Stopped => "it has exited".to_owned(),
                };
                Some(format!("{}: {reason}", extension.name()))
            })
            .collect()
    }

    /// Returns whether `problem` is about an extension that has failed here, too.
    pub(crate) fn has_failed(&self, problem: &str) -> bool {
        self.extensions.iter().any(|extension| {
            let name = extension.name();
            let is_its = problem
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(": "));
            is_its && matches!(extension.phase(), Phase::Failed { .. })
        })
    }

    pub(crate) fn tools(&self, taken: &[String]) -> Vec<Arc<dyn Tool>> {
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        for (index, extension) in self.extensions.iter().enumerate() {
            for definition in extension.tools() {
                if self.owns(&self.tool_names, "tool", index, &definition.name, taken) {
                    tools.push(Arc::new(ExtensionTool {
                        extension: Arc::clone(extension),
                        definition,
                    }));
                }
            }
        }
        tools
    }

    pub(crate) fn tool_owner(&self, tool: &str, taken: &[String]) -> Option<String> {
        self.extensions
            .iter()
            .enumerate()
            .find(|(index, extension)| {
                extension.tools().iter().any(|known| known.name == tool)
                    && self.owns(&self.tool_names, "tool", *index, tool, taken)
            })
            .map(|(_, extension)| extension.name().to_owned())
    }

    pub(crate) fn commands(&self, taken: &[String]) -> Vec<CommandInfo> {
        let mut commands = Vec::new();
        for (index, extension) in self.extensions.iter().enumerate() {
            commands.extend(extension.commands().into_iter().filter(|command| {
                self.owns(&self.command_names, "command", index, &command.name, taken)
            }));
        }
        commands
    }

    pub(crate) fn command_owner(&self, command: &str, taken: &[String]) -> Option<&Arc<Extension>> {
        self.extensions
            .iter()
            .enumerate()
            .find(|(index, extension)| {
                extension
                    .commands()
                    .iter()
                    .any(|known| known.name == command)
                    && self.owns(&self.command_names, "command", *index, command, taken)
            })
            .map(|(_, extension)| extension)
    }

    fn owns(
        &self,
        claims: &Claims,
        kind: &str,
        index: usize,
        name: &str,
        taken: &[String],
    ) -> bool {
        let extension = &self.extensions[index];
        if taken.iter().any(|taken| taken == name) {
            extension.log_once(&format!("{kind} {name:?} is shadowed by the built-in one"));
            return false;
        }
        let owner = claims.claim(name, index);
        if owner != index {
            let owner = self.extensions[owner].name();
            extension.log_once(&format!("{kind} {name:?} is shadowed by extension {owner}"));
        }
        owner == index
    }

    /// Ends all extensions gracefully.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        let mut supervisors = self.supervisors.lock().await;
        while supervisors.join_next().await.is_some() {}
    }
}

/// Returns the invalid manifests that must stop prompts.
fn obstacles(discovery: &Discovery, context: &HostContext) -> Vec<String> {
    let problems = discovery.problems.iter();
    problems
        .filter(|problem| !problem.is_disabled)
        .filter_map(|problem| {
            let cause = match problem.is_required {
                true => Cause::Required,
                false if context.interceptors.covers(&problem.path) => Cause::Intercepted,
                false => return None,
            };
            let name = problem.path.file_name().unwrap_or(problem.path.as_os_str());
            let name = name.to_string_lossy();
            Some(format!(
                "extension {name} cannot be loaded: {}. {}, so no prompt runs without it: fix it, {}",
                problem.error,
                cause.describe(),
                remedy(&name, problem.source, &problem.path),
            ))
        })
        .collect()
}
