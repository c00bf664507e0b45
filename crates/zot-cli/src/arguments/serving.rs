//! The flags of `zot mcp serve` that every run has.

use std::path::PathBuf;

use clap::Args;
use zot_sdk::{Config, McpChoice, Persistence, StepLimit};

use super::budget::BudgetArguments;
use super::context::ContextArguments;
use super::extensions::ExtensionArguments;
use super::mcp::GivenMcpArguments;
use super::model::ModelArguments;
use super::system_prompt::SystemPromptArguments;
use super::tools::PermissionArguments;
use super::{heading, values};
use crate::failure::Failure;

#[derive(Args)]
pub(crate) struct ServingArguments {
    #[command(flatten)]
    model: ModelArguments,
    /// How hard a reasoning model thinks
    #[arg(long, value_name = "EFFORT", ignore_case = true, value_parser = values::efforts(), help_heading = heading::COMMON, display_order = 7)]
    reasoning: Option<String>,
    /// Work in this directory unless a call names another [default: the current one]
    #[arg(long, value_name = "DIR", value_parser = values::path(), help_heading = heading::COMMON, display_order = 8)]
    cwd: Option<PathBuf>,
    #[command(flatten)]
    permissions: PermissionArguments,
    #[command(flatten)]
    system_prompt: SystemPromptArguments,
    #[command(flatten)]
    context: ContextArguments,
    /// The most model calls for one prompt
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = heading::LIMITS)]
    max_steps: Option<u32>,
    #[command(flatten)]
    budget: BudgetArguments,
    #[command(flatten)]
    extensions: ExtensionArguments,
    #[command(flatten)]
    mcp: GivenMcpArguments,
    /// Also use your own MCP servers, which other programs reach through zot then
    #[arg(long, help_heading = heading::MCP)]
    user_mcp: bool,
}

impl ServingArguments {
    /// Returns the configuration of the command line; files complete it for every directory.
    pub(crate) fn config(mut self) -> Result<Config, Failure> {
        self.model.unset_empty();
        values::unset_empty_path(&mut self.cwd);
        self.system_prompt.unset_empty();
        values::unset_empty(&mut self.reasoning);
        self.extensions.unset_empty();
        self.mcp.unset_empty();
        if let Some(cwd) = &self.cwd {
            values::check_directory(cwd)?;
        }
        Ok(Config {
            model: self.model.into(),
            cwd: self.cwd,
            system_prompt: self.system_prompt.into(),
            reasoning: self.reasoning.as_deref().and_then(|name| name.parse().ok()),
            steps: StepLimit {
                max_steps: self.max_steps,
                ..StepLimit::default()
            },
            tools: self.permissions.into(),
            budget: self.budget.into(),
            session: Persistence::SessionFile.into(),
            extensions: self.extensions.into(),
            mcp: McpChoice {
                user: self.user_mcp,
                ..self.mcp.into()
            },
            context: self.context.into(),
            ..Config::default()
        })
    }
}
