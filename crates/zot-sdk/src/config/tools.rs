//! Which tools the model has, and what they may do.

use std::sync::Arc;

use zot_agent::ApprovalPolicy;
use zot_conversation::Tool;
use zot_process::sandbox::Policy;
use zot_provider::catalog::ToolDialect;

use super::sandbox::{SandboxChoice, jailed};

/// Which tools the model has, and what they may do. By default it has all built-in ones, with the
/// rights of the process.
///
/// Can be converted from a [`ToolSelection`]: `tools: ToolSelection::None.into()`.
#[derive(Clone, Default)]
pub struct ToolChoice {
    /// Which of the existing tools the model is given.
    pub selection: ToolSelection,
    /// Tools of the embedding program, in addition to the built-in ones.
    pub custom: Vec<Arc<dyn Tool>>,
    /// How the model makes tool calls; as in the catalog if not set.
    pub dialect: Option<ToolDialect>,
    /// Whether `read`, `write`, `edit` and `bash` are confined to the working directory, as by
    /// [`Runtime::jail`](crate::Runtime::jail).
    pub jail: bool,
    /// What `read`, `write`, `edit` and `bash` may do. With `jail`, the stricter of the two applies in every
    /// respect.
    pub sandbox: SandboxChoice,
    /// Which tool calls need a confirmation.
    pub approval: ApprovalPolicy,
}

impl ToolChoice {
    /// Returns what the built-in tools may do: the stricter of sandbox and jail in every respect.
    pub fn policy(&self) -> Policy {
        match self.jail {
            true => jailed(self.sandbox.policy()),
            false => self.sandbox.policy(),
        }
    }
}

impl From<ToolSelection> for ToolChoice {
    fn from(selection: ToolSelection) -> Self {
        Self {
            selection,
            ..Self::default()
        }
    }
}

/// Which tools the model is given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolSelection {
    /// All.
    #[default]
    All,
    /// Only those of extensions and MCP servers; none at all if neither is started.
    None,
    /// The named ones of the built-in and custom tools (all of them if every name has a leading `-`), and
    /// the tools of extensions and MCP servers. A name with a leading `-` removes the tool, whatever its
    /// origin. `NAME*` stands for all tools whose names begin so, as in `-server__*`.
    Only(Vec<String>),
    /// Exactly these, whatever their origin; `server__*` stands for all tools of an MCP server.
    Exactly(Vec<String>),
}

impl ToolSelection {
    /// Returns the names of tools that must exist.
    pub(crate) fn wanted(&self) -> Vec<String> {
        match self {
            Self::All | Self::None => Vec::new(),
            Self::Only(names) => {
                let wanted = names.iter().filter(|name| !name.starts_with('-'));
                wanted.cloned().collect()
            }
            Self::Exactly(names) => names.clone(),
        }
    }

    /// Returns the names of tools to remove.
    pub(crate) fn removed(&self) -> Vec<String> {
        match self {
            Self::Only(names) => {
                let removed = names.iter().filter_map(|name| name.strip_prefix('-'));
                removed.map(ToOwned::to_owned).collect()
            }
            Self::All | Self::None | Self::Exactly(_) => Vec::new(),
        }
    }

    /// Returns whether the model gets the tool called `name`.
    pub(crate) fn includes(&self, name: &str, origin: ToolOrigin) -> bool {
        match self {
            Self::All => true,
            Self::None => origin != ToolOrigin::Runtime,
            Self::Only(names) => {
                let is_removed = self.removed().iter().any(|removed| matches(removed, name));
                let mut wanted = names
                    .iter()
                    .filter(|name| !name.starts_with('-'))
                    .peekable();
                let is_wanted =
                    wanted.peek().is_none() || wanted.any(|wanted| matches(wanted, name));
                !is_removed && (origin != ToolOrigin::Runtime || is_wanted)
            }
            Self::Exactly(names) => names.iter().any(|wanted| matches(wanted, name)),
        }
    }

    /// Returns whether the tool called `name` was asked for by this name, and not by a pattern.
    pub(crate) fn names(&self, name: &str) -> bool {
        self.wanted().iter().any(|wanted| wanted == name)
    }
}

/// Returns whether a tool called `name` is meant by `pattern`, which may end with `*`.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => pattern == name,
    }
}

/// Where a tool comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolOrigin {
    /// Built in, or the embedding program's.
    Runtime,
    Extension,
    /// An MCP server.
    Server,
}
