//! Changes the settings of a runtime between prompts.

use std::sync::Arc;
use std::time::Duration;

use zot_agent::{AgentSettings, ApprovalPolicy};
use zot_conversation::{BoxFuture, ReasoningEffort, Tool, ToolOrigin};
use zot_provider::catalog::{Catalog, ModelInfo};
use zot_wire::rpc::{ModelEntry, ToolEntry};

use super::{Busy, ModelChangeError, Runtime, ToolChangeError};
use crate::assembly::{self, Names};
use crate::config::ToolSelection;

impl Runtime {
    /// Changes which calls need a confirmation, from the next call on, even within a running prompt.
    /// Forgets remembered decisions.
    pub fn set_approval(&self, policy: ApprovalPolicy) {
        self.agent.set_approval(policy);
    }

    /// Changes how long the next calls wait for a confirmation.
    pub fn set_approval_timeout(&self, timeout: Duration) {
        self.agent.set_approval_timeout(timeout);
    }

    /// Returns which calls need a confirmation.
    pub fn approval(&self) -> ApprovalPolicy {
        self.agent.settings().approval.clone()
    }

    /// Switches to another model of the same provider.
    pub fn set_model(&self, model: &str) -> Result<(), ModelChangeError> {
        self.change_model(model, self.models.accepted_names())?;
        Ok(())
    }

    /// Switches to a model that a user typed: any name is accepted on a server that they run. Returns a
    /// warning if the name is not in the catalog.
    pub fn set_typed_model(&self, model: &str) -> Result<Option<String>, ModelChangeError> {
        let info = self.change_model(model, self.models.accepted_typed_names())?;
        let (catalog, provider) = (self.catalog(), self.provider());
        let is_known = catalog.find(provider, &info.id).is_some();
        Ok((!is_known).then(|| {
            let nearest = assembly::nearest(&catalog, provider, model);
            assembly::outside_catalog(model, &nearest)
        }))
    }

    fn change_model(&self, model: &str, names: Names) -> Result<ModelInfo, ModelChangeError> {
        if self.occupation.is_busy() {
            return Err(Busy.into());
        }
        let found = self.models.find(model, names);
        let info = found.ok_or_else(|| self.models.unknown(model))?;
        if let Some(log) = &self.session_log {
            log.append_model(self.provider(), &info.id)?;
        }
        if let Some(host) = &self.extensions {
            host.set_model(model);
        }
        self.change(|settings| {
            let provider = settings.model.provider.clone();
            settings.model = self.models.clients.connect(&info, provider);
        })?;
        Ok(info)
    }

    /// Refreshes the provider's cached list of models, if the configuration allows it and the list is
    /// old. Await it alongside other work; only the cache changes.
    pub fn refresh_models(&self) -> Option<BoxFuture<'static, ()>> {
        let live = self.models.live.as_ref().filter(|live| live.is_due())?;
        let live = live.clone();
        Some(Box::pin(async move {
            // A failed background refresh is not reported: the next one may succeed.
            let _ = live.renew().await;
        }))
    }

    /// Returns all known models, including those that the provider lists itself.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.models.catalog()
    }

    /// Returns the known models of this provider.
    pub fn list_models(&self) -> Vec<ModelEntry> {
        self.catalog()
            .models(self.provider())
            .map(|model| ModelEntry {
                id: model.id.to_string(),
                provider: model.provider.to_string(),
                context_window: model.context_window,
                max_output: model.max_output,
                reasoning: model.reasoning,
            })
            .collect()
    }

    /// Sets how hard a reasoning model thinks.
    pub fn set_reasoning(&self, effort: Option<ReasoningEffort>) -> Result<(), Busy> {
        self.change(|settings| settings.reasoning = effort)
    }

    /// Replaces the system prompt; `None` restores the original one.
    pub fn set_system_prompt(&self, prompt: Option<&str>) -> Result<(), Busy> {
        if self.occupation.is_busy() {
            return Err(Busy);
        }
        self.toolbox.set_system(prompt.map(Arc::from));
        self.change(|settings| self.toolbox.apply(settings))
    }

    /// Gives the model exactly these tools; `None` gives it all.
    pub fn set_tools(&self, names: Option<&[String]>) -> Result<(), ToolChangeError> {
        if self.occupation.is_busy() {
            return Err(Busy.into());
        }
        self.toolbox.select(match names {
            None => ToolSelection::All,
            Some(names) => ToolSelection::Exactly(names.to_vec()),
        })?;
        Ok(self.change(|settings| self.toolbox.apply(settings))?)
    }

    /// Returns all tools, and whether the model has them.
    pub fn tools(&self) -> Vec<ToolEntry> {
        // A running prompt refreshes them itself before each model call.
        if !self.occupation.is_busy() {
            self.toolbox.refresh(&self.settings);
        }
        let settings = self.agent.settings();
        let entry = |tool: &Arc<dyn Tool>| {
            let definition = tool.definition();
            ToolEntry {
                name: definition.name.clone(),
                description: definition.description.clone(),
                parameters: definition.parameters.as_ref().into(),
                enabled: settings.tools.get(&definition.name).is_some(),
                extension: origin_part(tool, ToolOrigin::extension),
                server: origin_part(tool, ToolOrigin::server),
                deferred: settings.tools.get(&definition.name).is_some()
                    && !settings.tools.is_declared(&definition.name),
            }
        };
        self.toolbox.all().iter().map(entry).collect()
    }

    /// Changes the settings between two prompts.
    pub(super) fn change(&self, change: impl FnOnce(&mut AgentSettings)) -> Result<(), Busy> {
        if self.occupation.is_busy() {
            return Err(Busy);
        }
        self.settings.change(change);
        Ok(())
    }
}

fn origin_part(tool: &Arc<dyn Tool>, part: fn(&ToolOrigin) -> Option<&str>) -> Option<String> {
    tool.origin()
        .and_then(|origin| part(&origin).map(str::to_owned))
}
