//! The flags about tools: which ones the model gets, and what they may do.

use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use zot_sdk::{ApprovalPolicy, ApprovalScope, ToolChoice, ToolDialect, ToolSelection};

use super::heading;
use super::sandbox::SandboxArguments;
use super::values::trim_names;

#[derive(Args)]
#[command(next_help_heading = heading::TOOLS)]
pub(super) struct ToolArguments {
    /// Give the model no built-in tools; those of extensions stay (see --no-ext)
    #[arg(long)]
    no_tools: bool,
    /// Give the model only these built-in tools; -NAME removes a tool, even one of an extension
    #[arg(long, value_name = "A,-B", value_delimiter = ',', allow_hyphen_values = true, value_parser = tool_name)]
    tools: Option<Vec<String>>,
    /// How the model makes tool calls: with its API, or as <tool_call> blocks in its text
    #[arg(long, value_name = "DIALECT", value_parser = PossibleValuesParser::new(["native", "hermes"]))]
    tool_dialect: Option<String>,
    #[command(flatten)]
    pub(super) permissions: PermissionArguments,
}

/// What the tools may do.
#[derive(Args)]
#[command(next_help_heading = heading::TOOLS)]
pub(crate) struct PermissionArguments {
    /// Confine read, write, edit and bash to the working directory, with the network
    #[arg(long, help_heading = heading::SANDBOX)]
    jail: bool,
    /// Ask before running these tools, or any tool if none is named (-p and --json cannot ask: they
    /// refuse)
    #[arg(
        long,
        value_name = "A,B",
        value_delimiter = ',',
        num_args = 0..,
        require_equals = true,
        help_heading = heading::COMMON,
        display_order = 10
    )]
    confirm: Option<Vec<String>>,
    /// Ask before running any tool, like --confirm without names
    #[arg(long)]
    no_yolo: bool,
    /// How long to wait for a confirmation before the tool is refused [default: 300, or 60 in rpc
    /// until the client announces confirmations]
    #[arg(long, value_name = "SECONDS")]
    pub(super) confirm_timeout: Option<u64>,
    #[command(flatten)]
    sandbox: SandboxArguments,
}

impl ToolArguments {
    pub(super) fn unset_empty(&mut self) {
        self.permissions.unset_empty();
        if let Some(names) = &mut self.tools {
            trim_names(names);
        }
        self.tools.take_if(|names| names.is_empty());
    }
}

impl From<ToolArguments> for ToolChoice {
    fn from(arguments: ToolArguments) -> Self {
        Self {
            selection: match arguments.tools {
                _ if arguments.no_tools => ToolSelection::None,
                Some(names) => ToolSelection::Only(names),
                None => ToolSelection::All,
            },
            custom: Vec::new(),
            dialect: arguments.tool_dialect.as_deref().map(|name| match name {
                "hermes" => ToolDialect::Hermes,
                _ => ToolDialect::Native,
            }),
            ..arguments.permissions.into()
        }
    }
}

impl PermissionArguments {
    fn unset_empty(&mut self) {
        if let Some(names) = &mut self.confirm {
            trim_names(names);
        }
    }

    fn policy(&self) -> ApprovalPolicy {
        ApprovalPolicy {
            scope: match &self.confirm {
                _ if self.no_yolo => ApprovalScope::AllTools,
                None => ApprovalScope::Nothing,
                Some(names) if names.is_empty() => ApprovalScope::AllTools,
                Some(names) => ApprovalScope::Tools(names.clone()),
            },
            timeout: self
                .confirm_timeout
                .map_or(ApprovalPolicy::default().timeout, Duration::from_secs),
        }
    }
}

impl From<PermissionArguments> for ToolChoice {
    /// Gives the model all tools.
    fn from(mut arguments: PermissionArguments) -> Self {
        arguments.unset_empty();
        Self {
            jail: arguments.jail,
            approval: arguments.policy(),
            sandbox: arguments.sandbox.into(),
            ..Self::default()
        }
    }
}

/// Parses a name for `--tools`, which takes values that begin with `-` but must not swallow the next
/// flag.
fn tool_name(value: &str) -> Result<String, String> {
    match value.strip_prefix('-').unwrap_or(value) {
        "" if value == "-" => Err("expected the name of a tool after -".to_owned()),
        name if name.starts_with('-') => {
            Err(format!("expected the name of a tool, got the flag {value}"))
        }
        _ => Ok(value.to_owned()),
    }
}
