//! The tools of an agent: built-in ones, the embedding program's, and those of extensions.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zot_agent::{AgentSettings, SharedSettings};
use zot_context::Skill;
use zot_conversation::{Timestamp, ToolSet};
use zot_extension_host::ExtensionHost;
use zot_provider::catalog::nearest_names;

use crate::assembly::UnknownTool;
use crate::config::{ToolOrigin, ToolSelection};
use crate::runtime::ContextPart;
use crate::system_prompt::{ContextKind, PromptParts};

/// Tracks which tools exist and which of them the model has.
pub(crate) struct ToolBox {
    own: ToolSet,
    host: Option<Arc<ExtensionHost>>,
    prompt: PromptParts,
    choice: Mutex<Choice>,
}

struct Choice {
    selection: ToolSelection,
    /// Set at run time; replaces the composed prompt.
    system: Option<Arc<str>>,
    /// When the conversation began.
    began: Timestamp,
    /// The generation of the extensions that the agent's settings reflect.
    generation: u64,
    /// Whether unknown names have been reported.
    checked: bool,
}

impl ToolBox {
    pub(crate) fn new(
        own: ToolSet,
        selection: ToolSelection,
        prompt: PromptParts,
        began: Timestamp,
        host: Option<Arc<ExtensionHost>>,
    ) -> Self {
        Self {
            own,
            host,
            prompt,
            choice: Mutex::new(Choice {
                selection,
                system: None,
                began,
                generation: 0,
                checked: false,
            }),
        }
    }

    /// Returns all tools, whether or not the model has them. The agent's own override others of the
    /// same name.
    pub(crate) fn all(&self) -> ToolSet {
        match &self.host {
            None => self.own.clone(),
            Some(host) => ToolSet::new(self.own.iter().cloned().chain(host.tools())),
        }
    }

    pub(crate) fn select(&self, selection: ToolSelection) -> Result<(), UnknownTool> {
        choose_tools(&self.all(), &selection.wanted())?;
        self.lock().selection = selection;
        Ok(())
    }

    /// Marks the start of a new conversation.
    pub(crate) fn start_conversation(&self) {
        self.lock().began = Timestamp::now();
    }

    pub(crate) fn set_system(&self, system: Option<Arc<str>>) {
        self.lock().system = system;
    }

    /// Updates the agent's settings if the tools of extensions have changed.
    pub(crate) fn refresh(&self, settings: &SharedSettings) {
        let Some(host) = &self.host else { return };
        let generation = host.generation();
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
        for names in [choice.selection.wanted(), choice.selection.removed()] {
            if let Err(unknown) = choose_tools(&all, &names) {
                host.report(format!("zot: warning: {unknown}"));
            }
        }
    }

    /// Applies the chosen tools and the matching system prompt to `settings`.
    pub(crate) fn apply(&self, settings: &mut AgentSettings) {
        let choice = self.lock();
        let tools = self.chosen(&choice.selection);
        settings.system = match &choice.system {
            Some(system) => Arc::clone(system),
            None => self.prompt.compose(&tools, choice.began),
        };
        settings.tools = Arc::new(tools);
    }

    /// Returns the parts that every request starts with.
    pub(crate) fn context(&self) -> Vec<ContextPart> {
        let choice = self.lock();
        let tools = self.chosen(&choice.selection);
        let part = |kind, name, path, bytes| ContextPart {
            kind,
            name,
            path,
            extension: None,
            bytes,
            tokens: zot_context::tokens(bytes),
        };
        let mut parts: Vec<ContextPart> = match &choice.system {
            Some(system) => {
                let name = "set while running".to_owned();
                vec![part(ContextKind::SystemPrompt, name, None, system.len())]
            }
            None => {
                let sections = self.prompt.sections(&tools, choice.began).into_iter();
                sections
                    .map(|section| {
                        let bytes = section.text.len();
                        part(section.kind, section.origin, section.path, bytes)
                    })
                    .collect()
            }
        };
        parts.extend(tools.iter().map(|tool| {
            let definition = tool.definition();
            let texts = [&definition.name, &definition.description].map(String::len);
            let bytes = texts.iter().sum::<usize>() + definition.parameters.get().len();
            ContextPart {
                extension: tool
                    .origin()
                    .and_then(|origin| origin.extension().map(str::to_owned)),
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

    fn chosen(&self, selection: &ToolSelection) -> ToolSet {
        let all = self.all();
        let chosen = all.iter().filter(|tool| {
            let name = &tool.definition().name;
            let origin = match self.own.get(name) {
                Some(_) => ToolOrigin::Runtime,
                None => ToolOrigin::Extension,
            };
            selection.includes(name, origin)
        });
        ToolSet::new(chosen.cloned())
    }

    fn lock(&self) -> MutexGuard<'_, Choice> {
        self.choice.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the tools in `all` with these names.
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
