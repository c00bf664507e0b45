//! What is asked of a server on behalf of someone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use zot_conversation::{ContentBlock, NobodyAnswers, ToolInvocation, ToolOutput};

use super::life::SESSION_LOST;
use super::{Server, Shared};
use crate::catalog::ListedTool;
use crate::connection::{
    Caller, Connection, Failure, LegacyTask, MCP_CALL_TIMEOUT, Params, Unwatched,
};
use crate::content;
use crate::entry::Address;
use crate::error::McpError;
use crate::status::{PromptMessage, ServerState};
use crate::transport::http::HeaderParameters;
use crate::transport::{CallError, CallHints};

/// How long a call waits for a server that is starting.
///
/// Limit: the call fails.
const MAX_READY_WAIT: Duration = Duration::from_secs(60);

impl Server {
    /// Calls a tool. `patience` is how long it may take without progress.
    pub(crate) async fn call_tool(
        &self,
        tool: &ListedTool,
        patience: Option<Duration>,
        invocation: &ToolInvocation<'_>,
    ) -> Result<ToolOutput, McpError> {
        let caller = Caller {
            progress: invocation.progress,
            questions: invocation.questions,
            cancel: invocation.cancel,
            patience: patience.unwrap_or(MCP_CALL_TIMEOUT),
        };
        let params = Params::new()
            .with("name", &tool.name)
            .with_json("arguments", invocation.arguments.get());
        let hints = CallHints {
            name: Some(&tool.name),
            parameters: self.header_parameters(tool, invocation.arguments),
        };
        let request = Request::Tool(tool.legacy_task);
        let result = self.ask(request, params, hints, &caller).await?;
        content::tool_output(&result, &self.shelf.results).map_err(|error| self.call_error(error))
    }

    pub(crate) async fn get_prompt(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> Result<Vec<PromptMessage>, McpError> {
        let params = Params::new()
            .with("name", name)
            .with("arguments", arguments);
        let hints = CallHints {
            name: Some(name),
            ..CallHints::default()
        };
        let result = self.ask_unwatched("prompts/get", params, hints).await?;
        content::prompt(&result, &self.shelf.results).map_err(|error| self.call_error(error))
    }

    pub(crate) async fn read_resource(&self, uri: &str) -> Result<Vec<ContentBlock>, McpError> {
        let params = Params::new().with("uri", uri);
        let hints = CallHints {
            name: Some(uri),
            ..CallHints::default()
        };
        let result = self.ask_unwatched("resources/read", params, hints).await?;
        content::resource(&result, &self.shelf.results).map_err(|error| self.call_error(error))
    }

    async fn ask_unwatched(
        &self,
        method: &'static str,
        params: Params,
        hints: CallHints<'_>,
    ) -> Result<Box<RawValue>, McpError> {
        let caller = Caller {
            progress: &Unwatched,
            questions: &NobodyAnswers,
            cancel: &CancellationToken::new(),
            patience: self.entry.timeout.unwrap_or(MCP_CALL_TIMEOUT),
        };
        self.ask(Request::Other(method), params, hints, &caller)
            .await
    }

    async fn ask(
        &self,
        request: Request,
        params: Params,
        hints: CallHints<'_>,
        caller: &Caller<'_>,
    ) -> Result<Box<RawValue>, McpError> {
        let connection = self.connection(caller.cancel).await?;
        let first = request
            .send(&connection, params.clone(), hints.clone(), caller)
            .await;
        match first {
            Err(Failure::Call(CallError::SessionLost)) => {
                // The request has not been looked at, so it can be sent again in a new session.
                self.disconnect_from(&connection);
                connection.exchange.break_off(SESSION_LOST);
                let connection = self.connection(caller.cancel).await?;
                let second = request.send(&connection, params, hints, caller).await;
                if second.is_ok() {
                    self.is_logged_in(&connection);
                }
                second.map_err(|failure| failure.of(&self.entry.name))
            }
            Err(Failure::Call(CallError::Unauthorized { .. })) => {
                self.change(|shared| shared.state = ServerState::NeedsLogin);
                Err(McpError::NeedsLogin {
                    server: self.entry.name.clone(),
                })
            }
            result => {
                if result.is_ok() {
                    self.is_logged_in(&connection);
                }
                result.map_err(|failure| failure.of(&self.entry.name))
            }
        }
    }

    /// Takes back that a login is needed: `connection` has just worked.
    fn is_logged_in(&self, connection: &Arc<Connection>) {
        let is_outdated = |shared: &Shared| {
            let current = shared.connection.as_ref();
            shared.state == ServerState::NeedsLogin
                && current.is_some_and(|current| Arc::ptr_eq(current, connection))
        };
        // Looked at first, as a change wakes everyone who watches the server.
        let needs_change = is_outdated(&self.lock());
        if needs_change {
            self.change(|shared| {
                if is_outdated(shared) {
                    shared.state = ServerState::Ready;
                }
            });
        }
    }

    /// Returns the connection, waiting for a server that is starting.
    async fn connection(&self, cancel: &CancellationToken) -> Result<Arc<Connection>, McpError> {
        if let Some(connection) = self.current()? {
            return Ok(connection);
        }
        let mut changes = self.changes.subscribe();
        let ready = async {
            loop {
                changes.borrow_and_update();
                if let Some(connection) = self.current()? {
                    return Ok(connection);
                }
                if changes.changed().await.is_err() {
                    return Err(self.not_available("it is gone".to_owned()));
                }
            }
        };
        tokio::select! {
            ready = timeout(MAX_READY_WAIT, ready) => match ready {
                Ok(ready) => ready,
                Err(_) => {
                    let state = self.state();
                    let reason = state.reason().unwrap_or("it is still starting").to_owned();
                    Err(self.not_available(reason))
                }
            },
            () = cancel.cancelled() => Err(McpError::Cancelled),
        }
    }

    /// Returns the connection if there is one, and nothing if there may soon be.
    fn current(&self) -> Result<Option<Arc<Connection>>, McpError> {
        let shared = self.lock();
        if let Some(connection) = &shared.connection {
            return Ok(Some(Arc::clone(connection)));
        }
        match &shared.state {
            ServerState::Starting | ServerState::Restarting { .. } | ServerState::Ready => Ok(None),
            ServerState::NeedsLogin => Err(McpError::NeedsLogin {
                server: self.entry.name.clone(),
            }),
            ServerState::Disabled => Err(self.not_available("it is disabled".to_owned())),
            ServerState::Failed { reason } => Err(self.not_available(reason.clone())),
        }
    }

    /// Forgets `connection`, unless there is another one already.
    fn disconnect_from(&self, connection: &Arc<Connection>) {
        let mut shared = self.lock();
        let is_current = |current: &Arc<Connection>| Arc::ptr_eq(current, connection);
        if shared.connection.as_ref().is_some_and(is_current) {
            shared.connection = None;
        }
    }

    fn header_parameters(&self, tool: &ListedTool, arguments: &RawValue) -> Vec<(String, String)> {
        if tool.headers.is_empty() || matches!(self.entry.address, Address::Stdio { .. }) {
            return Vec::new();
        }
        let arguments: Value = serde_json::from_str(arguments.get()).unwrap_or_default();
        HeaderParameters::values(&tool.headers, &arguments)
    }

    fn not_available(&self, reason: String) -> McpError {
        McpError::NotAvailable {
            server: self.entry.name.clone(),
            reason,
        }
    }

    fn call_error(&self, source: CallError) -> McpError {
        McpError::Call {
            server: self.entry.name.clone(),
            source,
        }
    }
}

/// What is asked.
#[derive(Clone, Copy)]
enum Request {
    Tool(LegacyTask),
    Other(&'static str),
}

impl Request {
    async fn send(
        self,
        connection: &Connection,
        params: Params,
        hints: CallHints<'_>,
        caller: &Caller<'_>,
    ) -> Result<Box<RawValue>, Failure> {
        match self {
            Self::Tool(task) => connection.call_tool(params, task, hints, caller).await,
            Self::Other(method) => connection.ask(method, params, hints, caller).await,
        }
    }
}
