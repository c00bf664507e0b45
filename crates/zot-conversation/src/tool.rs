//! Tools that a model can call.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::message::joined_text;
use crate::{BoxFuture, ContentBlock, Questions, ToolCallId};

/// A tool as it is declared to a model.
#[derive(Debug, Clone)]
pub struct ToolDefinition {
    pub name: String,
    pub description: String,
    /// A JSON Schema object.
    pub parameters: Box<RawValue>,
    pub effect: ToolEffect,
}

/// Whether calls of a tool may run concurrently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolEffect {
    /// Only reads: neighbouring calls run concurrently.
    ReadOnly,
    /// Changes something: runs alone, in call order.
    Changes,
}

/// Something a model can call.
///
/// A tool never returns a Rust error: a failure is an error result that the model reads. The agent
/// turns a panic into one.
pub trait Tool: Send + Sync {
    fn definition(&self) -> &Arc<ToolDefinition>;

    /// Runs one call. When `invocation.cancel` fires, the tool ends what it started and still
    /// returns a result that describes how far it got.
    fn run<'a>(&'a self, invocation: ToolInvocation<'a>) -> BoxFuture<'a, ToolOutput>;

    /// Describes what a call with these arguments would do, for the person who confirms it: the
    /// command, or the diff. `None` if the tool cannot predict it or the arguments are wrong.
    fn preview(&self, _arguments: &RawValue) -> Option<String> {
        None
    }

    /// Returns where the tool comes from, if it is not built in.
    fn origin(&self) -> Option<ToolOrigin> {
        None
    }
}

/// Who provides a tool, for front ends to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolOrigin {
    Extension {
        extension: String,
        tool: String,
    },
    /// An MCP server; `tool` is the server's own name for it.
    Server {
        server: String,
        tool: String,
    },
}

impl ToolOrigin {
    /// Returns the extension, if one provides the tool.
    pub fn extension(&self) -> Option<&str> {
        match self {
            Self::Extension { extension, .. } => Some(extension),
            Self::Server { .. } => None,
        }
    }

    /// Returns the MCP server, if one provides the tool.
    pub fn server(&self) -> Option<&str> {
        match self {
            Self::Server { server, .. } => Some(server),
            Self::Extension { .. } => None,
        }
    }
}

/// One call of a tool.
pub struct ToolInvocation<'a> {
    pub id: &'a ToolCallId,
    /// A JSON object.
    pub arguments: &'a RawValue,
    pub progress: &'a dyn Progress,
    pub questions: &'a dyn Questions,
    pub cancel: &'a CancellationToken,
}

/// Where a running tool reports what it is doing.
pub trait Progress: Send + Sync {
    /// Reports a piece of output. Waits while the reader is behind.
    fn report(&self, text: String) -> BoxFuture<'_, ()>;
}

/// What a tool call produced.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    pub is_error: bool,
    /// Text and image blocks only.
    pub content: Vec<ContentBlock>,
    /// Hosts that the call contacted, as far as a sandbox knows them. Not for the model.
    pub contacts: Vec<HostContact>,
}

/// A host that a tool call contacted, or wanted to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostContact {
    pub host: String,
    pub port: u16,
    pub is_allowed: bool,
}

impl ToolOutput {
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            is_error: false,
            content: vec![ContentBlock::Text(text.into())],
            contacts: Vec::new(),
        }
    }

    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            content: vec![ContentBlock::Text(text.into())],
            contacts: Vec::new(),
        }
    }

    /// Joins the text blocks, for tests and logs.
    pub fn joined_text(&self) -> String {
        joined_text(&self.content)
    }
}

/// The tools of an agent: looked up by name, listed in a fixed order.
///
/// The order is part of what providers cache, so it does not change while a conversation runs.
#[derive(Clone, Default)]
pub struct ToolSet {
    tools: Vec<Arc<dyn Tool>>,
    definitions: Vec<Arc<ToolDefinition>>,
    by_name: HashMap<String, usize>,
    /// Not declared, but run if the model calls them.
    undeclared: HashMap<String, Arc<dyn Tool>>,
}

impl ToolSet {
    /// Collects `tools`; of several with the same name the first is used.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let mut set = Self::default();
        for tool in tools {
            let definition = Arc::clone(tool.definition());
            if set.by_name.contains_key(&definition.name) {
                continue;
            }
            set.by_name.insert(definition.name.clone(), set.tools.len());
            set.definitions.push(definition);
            set.tools.push(tool);
        }
        set
    }

    /// Adds tools that the model is not told about, for example because there are too many. A call by the
    /// right name runs them. Declared tools of the same name come first.
    #[must_use]
    pub fn with_undeclared(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        let named = tools.into_iter();
        self.undeclared
            .extend(named.map(|tool| (tool.definition().name.clone(), tool)));
        self
    }

    /// Returns the tool called `name`, whether or not it is declared.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let declared = self
            .by_name
            .get(name)
            .and_then(|&index| self.tools.get(index));
        declared.or_else(|| self.undeclared.get(name))
    }

    /// Returns whether the model is told about the tool called `name`.
    pub fn is_declared(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// Returns the declarations.
    pub fn definitions(&self) -> &[Arc<ToolDefinition>] {
        &self.definitions
    }

    /// Returns the declared tools.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.iter()
    }
}
