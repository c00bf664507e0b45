//! Tries a server, and a tool of it.

use std::future::ready;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use zot_conversation::{
    BoxFuture, NobodyAnswers, Progress, Tool as _, ToolCallId, ToolInvocation, ToolOutput,
};
use zot_mcp::{McpTool, ServerState};

use super::change::ChangeError;
use super::list::{ListedServer, Running, ServerTool, Standing, find};
use crate::extensions::Starting;
use crate::workspace::Workspace;

/// What is tried.
pub struct TrialRequest<'a> {
    /// The name of the server.
    pub server: &'a str,
    /// A tool to call, by the server's name for it, and its arguments, a JSON object.
    pub call: Option<(&'a str, &'a RawValue)>,
    /// How long the server may take to start.
    pub patience: Duration,
    /// Hears what the tool reports while it runs.
    pub progress: &'a (dyn Fn(&str) + Send + Sync),
}

/// How a server did.
pub struct Trial {
    /// The server, with its state and its tools.
    pub server: ListedServer,
    /// How long it took to answer, or to fail.
    pub elapsed: Duration,
    /// What the tool returned.
    pub output: Option<ToolOutput>,
}

/// Why a server was not tried.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// There is no such server.
    #[error(transparent)]
    Unknown(#[from] ChangeError),
    /// The user has not approved it.
    #[error(
        "MCP server {name:?} belongs to a project that is not approved: zot mcp approve shows its servers, and asks"
    )]
    NotApproved {
        /// Its name.
        name: String,
    },
    /// The server has no such tool.
    #[error("MCP server {server:?} has no tool {tool:?}; its tools: {}", .known.join(", "))]
    UnknownTool {
        /// The name of the server.
        server: String,
        /// The name that was given.
        tool: String,
        /// The names it has.
        known: Vec<String>,
    },
}

/// Starts a server, a disabled one too, and calls a tool if asked to. Questions of the tool are declined.
pub async fn try_server(
    workspace: &Workspace,
    request: &TrialRequest<'_>,
) -> Result<Trial, TrialError> {
    let mut server = find(workspace, request.server, Starting::Skip, Duration::ZERO).await?;
    if matches!(server.standing, Standing::NotApproved | Standing::Refused) {
        let name = request.server.to_owned();
        return Err(TrialError::NotApproved { name });
    }
    server.entry.enabled = true;
    let began = Instant::now();
    let running = Running::start(workspace, vec![server.entry.clone()]);
    running.settled(request.patience).await;
    let elapsed = began.elapsed();
    server.status = running.set.servers().into_iter().next();
    server.tools = running.set.tools().iter().map(ServerTool::of).collect();
    let is_ready = |server: &ListedServer| {
        let status = server.status.as_ref();
        status.is_some_and(|status| status.state == ServerState::Ready)
    };
    let output = match request.call {
        Some((tool, arguments)) if is_ready(&server) => {
            let tools = running.set.tools();
            let progress = Reporting(request.progress);
            call(&server, &tools, tool, arguments, &progress).await
        }
        _ => Ok(None),
    };
    running.end().await;
    Ok(Trial {
        output: output?,
        server,
        elapsed,
    })
}

/// Passes on what a tool reports.
struct Reporting<'a>(&'a (dyn Fn(&str) + Send + Sync));

impl Progress for Reporting<'_> {
    fn report(&self, text: String) -> BoxFuture<'_, ()> {
        (self.0)(&text);
        Box::pin(ready(()))
    }
}

async fn call(
    server: &ListedServer,
    tools: &[Arc<McpTool>],
    name: &str,
    arguments: &RawValue,
    progress: &dyn Progress,
) -> Result<Option<ToolOutput>, TrialError> {
    // The name that the model has for it is fine as well.
    let is_named = |tool: &&Arc<McpTool>| tool.tool() == name || tool.definition().name == name;
    let Some(tool) = tools.iter().find(is_named) else {
        let tools = server.tools.iter().map(|tool| tool.name.clone());
        return Err(TrialError::UnknownTool {
            server: server.written.name.clone(),
            tool: name.to_owned(),
            known: tools.collect(),
        });
    };
    let (id, cancel) = (ToolCallId::from("trial"), CancellationToken::new());
    let output = tool.run(ToolInvocation {
        id: &id,
        arguments,
        progress,
        questions: &NobodyAnswers,
        cancel: &cancel,
    });
    Ok(Some(output.await))
}
