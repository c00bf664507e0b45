//! Applies `config.json` to a configuration.

use zot_config::{Dialect, Settings, WireName};
use zot_provider::catalog::{OpenAiWire, ToolDialect};

use crate::config::{Config, Persistence, PreferredModel, ToolSelection};
use zot_session::Durability;

impl Config {
    /// Fills in what is not set. An embedding program that wants to honour `config.json` passes the
    /// settings of [`configuration::layers`](crate::configuration::layers).
    pub fn fill_in(&mut self, settings: Settings) {
        self.model.preferred = PreferredModel {
            provider: settings.provider,
            model: settings.model,
        };
        if self.model.fallback.is_empty() {
            self.model.fallback = settings.fallback.unwrap_or_default();
        }
        self.model.wire = self.model.wire.or(settings.wire.map(wire));
        self.reasoning = self.reasoning.or(settings.reasoning);
        self.steps.max_steps = self.steps.max_steps.or(settings.max_steps);
        let budget = &mut self.budget;
        budget.max_steps = budget.max_steps.or(settings.max_process_steps);
        budget.max_cost_usd = budget.max_cost_usd.or(settings.max_cost_usd);
        budget.max_tokens = budget.max_tokens.or(settings.max_tokens);
        budget.timeout = budget
            .timeout
            .or(settings.timeout_ms.map(std::time::Duration::from_millis));
        if let (ToolSelection::All, Some(names)) = (&self.tools.selection, settings.tools) {
            self.tools.selection = match names.is_empty() {
                true => ToolSelection::None,
                false => ToolSelection::Only(names),
            };
        }
        self.tools.jail |= settings.jail == Some(true);
        self.tools.dialect = self.tools.dialect.or(settings.tool_dialect.map(dialect));
        if settings.extensions == Some(false) {
            self.extensions.discover = false;
        }
        if let Some(paths) = settings.extension_paths {
            self.extensions.paths.extend(paths);
        }
        self.model.live_models &= settings.live_models != Some(false);
        // A session that was named explicitly is kept.
        if settings.session == Some(false) && self.session.persistence == Persistence::SessionFile {
            self.session.persistence = Persistence::Never;
        }
        if settings.durable == Some(true) {
            self.session.durability = Durability::PowerLoss;
        }
    }
}

fn wire(name: WireName) -> OpenAiWire {
    match name {
        WireName::OpenAi => OpenAiWire::Chat,
        WireName::OpenAiResponses => OpenAiWire::Responses,
    }
}

fn dialect(dialect: Dialect) -> ToolDialect {
    match dialect {
        Dialect::Native => ToolDialect::Native,
        Dialect::Hermes => ToolDialect::Hermes,
    }
}
