//! Applies `config.json` to a configuration.

use zot_config::{Dialect, SandboxLevel, Settings, WireName};
use zot_process::sandbox::Level;
use zot_provider::catalog::{OpenAiWire, ToolDialect};

use crate::config::{Config, Persistence, PreferredModel, SandboxChoice, ToolSelection};
use zot_session::Durability;

impl Config {
    /// Fills in what is not set. An embedding program that wants to honour `config.json` passes the
    /// settings of [`configuration::layers`](crate::configuration::layers).
    pub fn fill_in(&mut self, settings: Settings) {
        self.tools.sandbox.fill_in(&settings);
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
        let least = |own: Level, setting: Option<SandboxLevel>| own.max(setting.map_or(own, level));
        self.extensions.sandbox = least(self.extensions.sandbox, settings.sandbox_extensions);
        self.mcp.sandbox = least(self.mcp.sandbox, settings.sandbox_mcp);
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

impl SandboxChoice {
    fn fill_in(&mut self, settings: &Settings) {
        self.level = self.level.or(settings.sandbox.map(level));
        let rules = &mut self.rules;
        rules.read.extend(listed(&settings.sandbox_read));
        rules.write.extend(listed(&settings.sandbox_write));
        if let Some(programs) = &settings.sandbox_run {
            rules
                .run
                .get_or_insert_default()
                .extend_from_slice(programs);
        }
        let hosts = settings.sandbox_connect.iter().flatten();
        // They were checked when the settings were read; an entry that does not parse allows nothing.
        rules
            .connect
            .extend(hosts.filter_map(|host| host.parse().ok()));
        rules
            .unix_sockets
            .extend(listed(&settings.sandbox_unix_sockets));
        rules
            .environment
            .extend(listed(&settings.sandbox_environment));
        let limits = &mut rules.limits;
        let bytes = settings
            .sandbox_memory_mib
            .map(|mib| mib.saturating_mul(1 << 20));
        limits.memory_bytes = limits.memory_bytes.or(bytes);
        limits.processes = limits.processes.or(settings.sandbox_processes);
        limits.processor_seconds = limits
            .processor_seconds
            .or(settings.sandbox_processor_seconds);
        limits.open_files = limits.open_files.or(settings.sandbox_open_files);
    }
}

fn listed<T: Clone>(list: &Option<Vec<T>>) -> impl Iterator<Item = T> {
    list.iter().flatten().cloned()
}

pub(crate) fn level(level: SandboxLevel) -> Level {
    match level {
        SandboxLevel::Off => Level::Off,
        SandboxLevel::Workspace => Level::Workspace,
        SandboxLevel::ReadOnly => Level::ReadOnly,
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
