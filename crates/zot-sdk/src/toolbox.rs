//! The tools of an agent: built-in ones, the embedding program's, those of extensions and of MCP servers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zot_agent::{AgentSettings, SharedSettings};
use zot_context::Skill;
use zot_conversation::{Timestamp, ToolSet};
use zot_extension_host::ExtensionHost;
use zot_provider::catalog::nearest_names;

use crate::assembly::UnknownTool;
use crate::config::{ToolOrigin, ToolSelection, matches};
use crate::runtime::ContextPart;
use crate::servers::Servers;
use crate::system_prompt::{ContextKind, PromptParts};

/// Tracks which tools exist and which of them the model has.
pub(crate) struct ToolBox {
    own: ToolSet,
    host: Option<Arc<ExtensionHost>>,
    servers: Arc<Servers>,
    prompt: PromptParts,
    choice: Mutex<Choice>,
}

struct Choice {
    selection: ToolSelection,
    /// Set at run time; replaces the composed prompt.
    system: Option<Arc<str>>,
    /// When the conversation began.
    began: Timestamp,
    /// The generation of the extensions and servers that the agent's settings reflect.
    generation: Generation,
    /// Whether unknown names have been reported.
    checked: bool,
}

/// Of the extensions, and of the servers.
type Generation = (u64, (u64, u64));

/// What the model has, and what the system prompt says about it.
struct Chosen {
    /// The tools that are no server's.
    base: ToolSet,
    all: ToolSet,
    servers: Option<String>,
}

impl ToolBox {
    pub(crate) fn new(
        own: ToolSet,
        selection: ToolSelection,
        prompt: PromptParts,
        began: Timestamp,
        host: Option<Arc<ExtensionHost>>,
        servers: Arc<Servers>,
    ) -> Self {
        servers.select(selection.clone());
        Self {
            own,
            host,
            servers,
            prompt,
            choice: Mutex::new(Choice {
                selection,
                system: None,
                began,
                generation: Generation::default(),
                checked: false,
            }),
        }
    }

    /// Returns all tools, whether or not the model has them. The agent's own override others of the
    /// same name.
    pub(crate) fn all(&self) -> ToolSet {
        let base = self.base();
        let servers = self.servers.all();
        match servers.is_empty() {
            true => base,
            false => ToolSet::new(base.iter().cloned().chain(servers)),
        }
    }

    /// Returns the tools that are no server's.
    fn base(&self) -> ToolSet {
        match &self.host {
            None => self.own.clone(),
            Some(host) => ToolSet::new(self.own.iter().cloned().chain(host.tools())),
        }
    }

    pub(crate) fn select(&self, selection: ToolSelection) -> Result<(), UnknownTool> {
        let mut wanted = selection.wanted();
        wanted.retain(|name| !self.servers.may_have(name));
        choose_tools(&self.all(), &wanted)?;
        self.servers.select(selection.clone());
        self.lock().selection = selection;
        Ok(())
    }

    /// Marks the start of a new conversation.
    pub(crate) fn start_conversation(&self) {
        self.lock().began = Timestamp::now();
        self.servers.begin_conversation(&[]);
    }

    pub(crate) fn set_system(&self, system: Option<Arc<str>>) {
        self.lock().system = system;
    }

    /// Updates the agent's settings if the tools of extensions or servers have changed.
    pub(crate) fn refresh(&self, settings: &SharedSettings) {
        let of_host = self.host.as_ref().map_or(0, |host| host.generation());
        let generation = (of_host, self.servers.generation());
        {
            let mut choice = self.lock();
            if choice.generation == generation {
                return;
            }
            choice.generation = generation;
        }
        settings.change(|settings| self.apply(settings));
    }

    /// Reports unknown names once, after all extensions have registered their tools.
    pub(crate) fn check_selection(&self) {
        let Some(host) = &self.host else { return };
        let mut choice = self.lock();
        if std::mem::replace(&mut choice.checked, true) {
            return;
        }
        let ToolSelection::Only(_) = &choice.selection else {
            return;
        };
        let all = self.all();
        for mut names in [choice.selection.wanted(), choice.selection.removed()] {
            names.retain(|name| !self.servers.may_have(name));
            if let Err(unknown) = choose_tools(&all, &names) {
                host.report(format!("zot: warning: {unknown}"));
            }
        }
    }

    /// Applies the chosen tools and the matching system prompt to `settings`.
    pub(crate) fn apply(&self, settings: &mut AgentSettings) {
        let choice = self.lock();
        let chosen = self.chosen(&choice.selection);
        settings.system = match &choice.system {
            Some(system) => Arc::clone(system),
            None => {
                let servers = chosen.servers.as_deref();
                self.prompt.compose(&chosen.base, servers, choice.began)
            }
        };
        settings.tools = Arc::new(chosen.all);
    }

    /// Returns the parts that every request starts with.
    pub(crate) fn context(&self) -> Vec<ContextPart> {
        let choice = self.lock();
        let chosen = self.chosen(&choice.selection);
        let part = |kind, name, path, bytes| ContextPart {
            kind,
            name,
            path,
            extension: None,
            server: None,
            bytes,
            tokens: zot_context::tokens(bytes),
        };
        let mut parts: Vec<ContextPart> = match &choice.system {
            Some(system) => {
                let name = "set while running".to_owned();
                vec![part(ContextKind::SystemPrompt, name, None, system.len())]
            }
            None => {
                let sections =
                    self.prompt
                        .sections(&chosen.base, chosen.servers.as_deref(), choice.began);
                let sections = sections.into_iter();
                sections
                    .map(|section| {
                        let bytes = section.text.len();
                        part(section.kind, section.origin, section.path, bytes)
                    })
                    .collect()
            }
        };
        parts.extend(chosen.all.iter().map(|tool| {
            let definition = tool.definition();
            let texts = [&definition.name, &definition.description].map(String::len);
            let bytes = texts.iter().sum::<usize>() + definition.parameters.get().len();
            ContextPart {
                extension: tool
                    .origin()
                    .and_then(|origin| origin.extension().map(str::to_owned)),
                server: tool
                    .origin()
                    .and_then(|origin| origin.server().map(str::to_owned)),
                ..part(ContextKind::Tool, definition.name.clone(), None, bytes)
            }
        }));
        parts
    }

    /// Returns all skills.
    pub(crate) fn skills(&self) -> Vec<Skill> {
        let skills = self.prompt.skills.iter();
        skills.flat_map(|set| set.iter().cloned()).collect()
    }

    fn chosen(&self, selection: &ToolSelection) -> Chosen {
        let base = self.base();
        let chosen = base.iter().filter(|tool| {
            let name = &tool.definition().name;
            let origin = match self.own.get(name) {
                Some(_) => ToolOrigin::Runtime,
                None => ToolOrigin::Extension,
            };
            selection.includes(name, origin)
        });
        let base = ToolSet::new(chosen.cloned());
        match self.servers.offer(&base) {
            None => Chosen {
                all: base.clone(),
                base,
                servers: None,
            },
            Some((offered, section)) => {
                let declared = base.iter().cloned().chain(offered.declared);
                Chosen {
                    all: ToolSet::new(declared).with_undeclared(offered.undeclared),
                    base,
                    servers: Some(section),
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Choice> {
        self.choice.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the tools in `all` with these names.
pub(crate) fn choose_tools(all: &ToolSet, names: &[String]) -> Result<ToolSet, UnknownTool> {
    let exists = |pattern: &str| {
        let mut known = all.definitions().iter();
        known.any(|tool| matches(pattern, &tool.name))
    };
    if let Some(name) = names.iter().find(|name| !exists(name)) {
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
        .filter(|tool| {
            let mut names = names.iter();
            names.any(|pattern| matches(pattern, &tool.definition().name))
        })
        .cloned();
    Ok(ToolSet::new(chosen))
}
