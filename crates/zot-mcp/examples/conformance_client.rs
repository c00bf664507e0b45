//! The client that the official conformance suite drives, run by `scripts/mcp-conformance`: a pool with one server,
//! whose tools are all called, and a person who agrees to everything at once.
#![expect(
    clippy::expect_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a program for tests: it fails by panicking, and says what it did"
)]

use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Method};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use zot_conversation::{
    Answer, BoxFuture, JsonObject, Progress, Question, QuestionKind, Questions, Tool as _,
    ToolCallId, ToolInvocation,
};
use zot_extension_contract::LaunchRules;
use zot_mcp::entry::{Address, EntryOrigin, OAuthGrant, OAuthSettings, ServerEntry};
use zot_mcp::oauth::{Login, LoginRequest, OAuthError};
use zot_mcp::{McpTool, Pool, PoolSettings, ServerSet, ServerState};
use zot_provider::{FetchRequest, HttpClient};

/// The address that the suite expects as a client id where such addresses are taken.
const CLIENT_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// How often a person would log in before giving up.
const MAX_LOGINS: usize = 3;

/// The suite does not end clients that hang.
const TIME_LIMIT: Duration = Duration::from_secs(25);

const SERVER: &str = "suite";

/// Agrees to everything, with the values that a form proposes.
struct Agreeing;

impl Progress for Agreeing {
    fn report(&self, text: String) -> BoxFuture<'_, ()> {
        println!("progress: {text}");
        Box::pin(std::future::ready(()))
    }
}

impl Questions for Agreeing {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        let content = match question.kind {
            QuestionKind::Url { .. } => None,
            QuestionKind::Form { schema } => {
                let schema: Value = serde_json::from_str(schema.as_str()).expect("a schema");
                let filled = values(&schema["properties"]).to_string();
                Some(JsonObject::parse(&filled).expect("an object"))
            }
        };
        Box::pin(std::future::ready(Answer::Accept { content }))
    }
}

/// Returns a value for each property: what it proposes, else something of its type.
fn values(properties: &Value) -> Value {
    let mut values = Map::new();
    for (name, schema) in properties.as_object().into_iter().flatten() {
        let value = match (&schema["default"], schema["type"].as_str()) {
            (Value::Null, Some("number" | "integer")) => json!(5),
            (Value::Null, Some("boolean")) => json!(true),
            (Value::Null, Some("array")) => json!([]),
            (Value::Null, Some("object")) => json!({}),
            (Value::Null, _) => match &schema["enum"][0] {
                Value::Null => json!("text"),
                first => first.clone(),
            },
            (proposed, _) => proposed.clone(),
        };
        values.insert(name.clone(), value);
    }
    values.into()
}

/// What the suite says about this run.
struct Suite {
    url: String,
    context: Value,
    settings: OAuthSettings,
    version: String,
}

impl Suite {
    fn read() -> Self {
        let variable = |name: &str| env::var(name).unwrap_or_default();
        let scenario = variable("MCP_CONFORMANCE_SCENARIO");
        let context = variable("MCP_CONFORMANCE_CONTEXT");
        let context: Value = serde_json::from_str(&context).unwrap_or_default();
        let text = |name: &str| context[name].as_str().map(str::to_owned);
        Self {
            url: env::args().nth(1).expect("the address of the server"),
            settings: OAuthSettings {
                client_id: text("client_id"),
                client_secret: text("client_secret"),
                client_metadata_url: Some(CLIENT_DOCUMENT.to_owned()),
                grant: match scenario.starts_with("auth/client-credentials") {
                    true => OAuthGrant::ClientCredentials,
                    false => OAuthGrant::AuthorizationCode,
                },
                ..OAuthSettings::default()
            },
            context,
            version: variable("MCP_CONFORMANCE_PROTOCOL_VERSION"),
        }
    }

    fn entry(&self) -> ServerEntry {
        ServerEntry {
            name: SERVER.to_owned(),
            address: Address::Http {
                url: self.url.clone(),
                headers: BTreeMap::new(),
            },
            timeout: None,
            enabled: true,
            exposure: None,
            tool_exposure: Vec::new(),
            protocol: Some(self.version.clone()).filter(|version| !version.is_empty()),
            sandbox: None,
            permissions: None,
            oauth: Some(self.settings.clone()),
            origin: EntryOrigin::Program,
            project: None,
        }
    }

    /// Returns the calls to make: those of the suite, else each tool once.
    fn calls(&self, tools: &[Arc<McpTool>]) -> Vec<(Arc<McpTool>, Value)> {
        let schema = |tool: &Arc<McpTool>| -> Value {
            let schema = tool.definition().parameters.get();
            serde_json::from_str(schema).expect("a schema")
        };
        let Some(wanted) = self.context["toolCalls"].as_array() else {
            let call = |tool: &Arc<McpTool>| {
                let mut arguments = values(&schema(tool)["properties"]);
                // A tool that wants a schema wants that of the other one back.
                if arguments.get("schema").is_some() {
                    arguments["schema"] = tools.first().map(schema).into();
                }
                (Arc::clone(tool), arguments)
            };
            return tools.iter().map(call).collect();
        };
        let calls = wanted.iter().filter_map(|wanted| {
            let tool = tools.iter().find(|tool| wanted["name"] == tool.tool())?;
            Some((Arc::clone(tool), wanted["arguments"].clone()))
        });
        calls.collect()
    }
}

/// Logs in where a person would be asked to.
async fn log_in(suite: &Suite, home: &Path) -> Result<(), OAuthError> {
    let login = Login::begin(LoginRequest {
        http: HttpClient::new(),
        home,
        server: &suite.url,
        settings: &suite.settings,
        challenge: None,
    })
    .await?;
    let redirect = login.read_redirect(&browse(login.url()).await)?;
    login.finish(redirect).await
}

/// Does what a browser does when the user agrees at once; returns where it was redirected to.
async fn browse(url: &str) -> String {
    let request = FetchRequest {
        method: Method::GET,
        url,
        headers: HeaderMap::new(),
        body: Vec::new(),
    };
    let fetched = HttpClient::new().fetch_whole(request).await;
    let headers = fetched.expect("the authorisation endpoint answers").headers;
    let location = headers.get("location").expect("a redirect");
    location.to_str().expect("text").to_owned()
}

/// Waits until the server is ready, logging in as often as it takes.
async fn ready(
    suite: &Suite,
    home: &Path,
    set: &ServerSet,
    logins: &mut usize,
) -> Result<(), String> {
    loop {
        set.settled().await;
        let state = set.servers().remove(0).state;
        match state {
            ServerState::Ready => return Ok(()),
            ServerState::NeedsLogin if *logins < MAX_LOGINS => {
                *logins += 1;
                let logged_in = log_in(suite, home).await;
                logged_in.map_err(|error| error.to_string())?;
                set.restart(SERVER).expect("the server is there");
            }
            state => return Err(format!("{state:?}")),
        }
    }
}

async fn run() -> Result<(), String> {
    let suite = Suite::read();
    let home = tempfile::tempdir().expect("a directory");
    let pool = Pool::new(PoolSettings {
        home: home.path().to_owned(),
        http: HttpClient::new(),
        version: "0.0.0".to_owned(),
        rules: LaunchRules::default(),
    });
    let set = pool.open(vec![suite.entry()], home.path());
    let mut logins = 0;
    ready(&suite, home.path(), &set, &mut logins).await?;
    for (tool, arguments) in suite.calls(&set.tools()) {
        let arguments = to_raw_value(&arguments).expect("JSON");
        loop {
            let output = tool
                .run(ToolInvocation {
                    id: &ToolCallId::from("call"),
                    arguments: &arguments,
                    progress: &Agreeing,
                    questions: &Agreeing,
                    cancel: &CancellationToken::new(),
                })
                .await;
            println!("{}: {output:?}", tool.tool());
            if set.servers().remove(0).state != ServerState::NeedsLogin {
                break;
            }
            // More rights are needed: a person logs in again and repeats the call.
            ready(&suite, home.path(), &set, &mut logins).await?;
        }
    }
    drop(set);
    pool.shut_down().await;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let ended = timeout(TIME_LIMIT, run()).await;
    match ended.unwrap_or_else(|_| Err("not finished in time".to_owned())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("conformance client: {reason}");
            ExitCode::FAILURE
        }
    }
}
