//! What requests mean, whatever carried them.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use zot_mcp::json_rpc::{INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError};
use zot_mcp::version::{Era, LEGACY_VERSION, LEGACY_VERSIONS};
use zot_process::sandbox::SandboxError;
use zot_sdk::configuration::{self, ConfigError};
use zot_sdk::sandbox::recorded;
use zot_sdk::{Config, HttpClient, Tool, Workspace, withheld_variables};
use zot_tools::ToolSandbox;

use crate::agent::{self, AgentSettings};

use crate::call::{Call, Exchange, Outcome};
use crate::frame::error;
use crate::jobs::Jobs;
use crate::offered::{self, Offered, UnknownTool};
use crate::request::{ClientAbilities, Request, supported_versions};
use crate::result::{CallResult, finished, server_info};
use crate::suspended::Suspended;

/// How many tool calls may run at a time, including those that wait for a client's user.
///
/// Limit: the call fails, and its client can try again later.
const MAX_SERVED_CALLS: usize = 16;

/// How long clients may keep the lists of this server: they never change.
const LIST_TTL_MS: u64 = 3_600_000;

const INSTRUCTIONS: &str = "zot is a coding agent. The tool zot gives it a task and returns its answer and a session_id; \
     zot_reply goes on with that session. A task may take minutes and reports its steps as progress.";

/// What is served.
pub struct ServeOptions {
    /// The configuration of every runtime; files complete it, and arguments of calls change parts of it.
    pub config: Config,
    /// The built-in tools to offer: `None` for none, an empty list for all.
    pub tools: Option<Vec<String>>,
    /// More tools to offer. They are not confined, and built-in ones win a clash of names.
    pub offered: Vec<Arc<dyn Tool>>,
}

/// Why the options cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    /// A file with settings is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An offered tool does not exist.
    #[error(transparent)]
    UnknownTool(#[from] UnknownTool),
    /// The offered tools cannot be confined.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

/// Answers the requests of all clients.
pub struct Service {
    agent: Arc<AgentSettings>,
    offered: Offered,
    places: Arc<Semaphore>,
    pub(crate) suspended: Arc<Suspended>,
}

/// How a request is answered.
pub(crate) enum Reply {
    Now(Result<Value, RpcError>),
    /// After some work, or another round.
    Call(Box<Call>),
}

impl Service {
    /// Prepares the service. Nothing is started or contacted before the first call.
    pub fn new(options: ServeOptions) -> Result<Self, OptionsError> {
        let ServeOptions {
            mut config,
            tools,
            offered,
        } = options;
        let mut workspace = Workspace::of_process();
        if let Some(home) = &config.home {
            workspace = workspace.with_zot_home(home);
        }
        if let Some(cwd) = &config.cwd {
            workspace = workspace.in_directory(cwd);
        }
        // All runtimes share connections and certificates.
        config.http.get_or_insert_with(HttpClient::new);
        let mut completed = config.clone();
        completed.fill_in(configuration::layers(&workspace)?.settings());
        let mut all = Vec::new();
        if let Some(names) = tools {
            let withheld = withheld_variables(&workspace.zot_home);
            let sandbox = ToolSandbox::new(&workspace.cwd, workspace.user_home.clone());
            // Questions go to the client, which must not lift what the owner of the server has chosen.
            let hidden = vec![workspace.zot_home.clone()];
            let sandbox = Arc::new(sandbox.hidden(hidden).withheld(withheld).fixed());
            sandbox.set_policy(completed.tools.policy())?;
            let built_in = offered::built_in(&names, &workspace.cwd, Arc::clone(&sandbox))?;
            let built_in = built_in.into_iter();
            all.extend(built_in.map(|tool| recorded(tool, &sandbox, &workspace, None)));
        }
        all.extend(offered);
        let offered = Offered::new(all, completed.tools.approval.clone());
        Ok(Self {
            agent: Arc::new(AgentSettings::new(config, workspace, &completed)),
            offered,
            places: Arc::new(Semaphore::new(MAX_SERVED_CALLS)),
            suspended: Arc::default(),
        })
    }

    /// Ends what calls have left running: MCP servers that the agents share.
    pub(crate) async fn close(&self) {
        self.agent.close().await;
    }

    /// Begins to answer a request.
    pub(crate) fn reply(&self, request: &Request) -> Reply {
        let result = match (request.method.as_str(), request.era) {
            ("tools/list", _) => Ok(self.tools(request.era)),
            ("tools/call", _) => match self.call(request) {
                Ok(call) => return Reply::Call(call),
                Err(error) => Err(error),
            },
            ("server/discover", Era::Modern) => Ok(json!({
                "supportedVersions": supported_versions(),
                "capabilities": capabilities(),
                "instructions": INSTRUCTIONS,
                "ttlMs": LIST_TTL_MS,
                "cacheScope": "private",
            })),
            ("ping", Era::Legacy) => Ok(json!({})),
            (method, _) => Err(error(
                METHOD_NOT_FOUND,
                format!("unknown method {method:?}"),
            )),
        };
        Reply::Now(result.map(|result| finished(request.era, result)))
    }

    /// Answers `initialize`; the abilities are those of the client.
    pub(crate) fn initialize(
        &self,
        params: &Map<String, Value>,
    ) -> Result<(Value, ClientAbilities), RpcError> {
        let wanted = params
            .get("protocolVersion")
            .and_then(Value::as_str)
            .ok_or_else(|| error(INVALID_PARAMS, "protocolVersion: expected a string"))?;
        let version = match LEGACY_VERSIONS.contains(&wanted) {
            true => wanted,
            false => LEGACY_VERSION,
        };
        let abilities = ClientAbilities::read(params.get("capabilities").unwrap_or(&Value::Null));
        let result = json!({
            "protocolVersion": version,
            "capabilities": capabilities(),
            "serverInfo": server_info(),
            "instructions": INSTRUCTIONS,
        });
        Ok((result, abilities))
    }

    /// Runs a call; `None` if its client has given it up.
    pub(crate) async fn run(
        &self,
        mut call: Box<Call>,
        exchange: &Exchange,
        jobs: &Jobs,
    ) -> Option<Result<Value, RpcError>> {
        // An answer that is missing or makes no sense is asked for again.
        let outcome = match call.is_waiting(exchange.abilities) {
            true => Outcome::InputRequired(call),
            false => call.drive(exchange).await,
        };
        let result = match outcome {
            Outcome::Cancelled => return None,
            Outcome::Finished(result) => result.into_value(),
            Outcome::InputRequired(call) => {
                let requests = call.input_requests();
                match self.suspended.keep(call, jobs).await {
                    Ok(handle) => json!({
                        "resultType": "input_required",
                        "inputRequests": requests,
                        "requestState": handle,
                    }),
                    Err(failure) => {
                        return Some(Err(error(
                            INTERNAL_ERROR,
                            format!("cannot read random numbers: {failure}"),
                        )));
                    }
                }
            }
        };
        Some(Ok(finished(exchange.era, result)))
    }

    fn tools(&self, era: Era) -> Value {
        let mut tools = agent::declarations();
        tools.extend(self.offered.declarations());
        match era {
            Era::Legacy => json!({"tools": tools}),
            Era::Modern => json!({
                "tools": tools,
                "ttlMs": LIST_TTL_MS,
                "cacheScope": "private",
            }),
        }
    }

    fn call(&self, request: &Request) -> Result<Box<Call>, RpcError> {
        let params = &request.params;
        let name = params
            .get("name")
            .and_then(Value::as_str)
            .ok_or_else(|| error(INVALID_PARAMS, "name: expected the name of a tool"))?;
        let arguments = match params.get("arguments") {
            None | Some(Value::Null) => json!({}),
            Some(arguments @ Value::Object(_)) => arguments.clone(),
            Some(_) => return Err(error(INVALID_PARAMS, "arguments: expected an object")),
        };
        let tool_found = self.offered.find(name);
        if tool_found.is_none() && name != agent::START && name != agent::REPLY {
            return Err(error(INVALID_PARAMS, format!("unknown tool {name:?}")));
        }
        if let Some(state) = params.get("requestState")
            && request.era == Era::Modern
        {
            return self.continued(name, &arguments, state, params.get("inputResponses"));
        }
        let (tool, given) = (name.to_owned(), arguments.clone());
        let place = match Arc::clone(&self.places).try_acquire_owned() {
            Ok(place) => place,
            Err(_) => {
                let text =
                    format!("{MAX_SERVED_CALLS} calls are running: try again when one has ended");
                let full = move |_| std::future::ready(CallResult::error(text));
                return Ok(Box::new(Call::new(tool, given, None, full)));
            }
        };
        let call = match tool_found {
            Some(found) => {
                let approval = self.offered.approval().clone();
                Call::new(tool, given, Some(place), move |caller| {
                    offered::run(found, approval, arguments, caller)
                })
            }
            None => {
                let (settings, name) = (Arc::clone(&self.agent), tool.clone());
                Call::new(tool, given, Some(place), move |caller| {
                    agent::run(settings, name, arguments, caller)
                })
            }
        };
        Ok(Box::new(call))
    }

    /// Returns the call that has waited for this request.
    fn continued(
        &self,
        name: &str,
        arguments: &Value,
        state: &Value,
        responses: Option<&Value>,
    ) -> Result<Box<Call>, RpcError> {
        let handle = state
            .as_str()
            .ok_or_else(|| error(INVALID_PARAMS, "requestState: expected a string"))?;
        let nothing = Map::new();
        let responses = match responses {
            None | Some(Value::Null) => &nothing,
            Some(Value::Object(responses)) => responses,
            Some(_) => return Err(error(INVALID_PARAMS, "inputResponses: expected an object")),
        };
        let mut call = self
            .suspended
            .take(handle, name, arguments)
            .map_err(|problem| error(INVALID_PARAMS, problem.to_string()))?;
        call.answer(responses);
        Ok(call)
    }
}

/// Returns what this server can do. Its lists never change, so that there is nothing to subscribe to.
fn capabilities() -> Value {
    json!({"tools": {}})
}
