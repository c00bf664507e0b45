//! A pool with a home of its own, and servers written in Python.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use zot_conversation::{
    Answer, BoxFuture, JsonObject, Progress, Question, Questions, Tool as _, ToolCallId,
    ToolInvocation, ToolOutput,
};
use zot_extension_contract::{LaunchRules, Level};
use zot_mcp::entry::{Address, EntryOrigin, ServerEntry};
use zot_mcp::{McpTool, Pool, PoolSettings, ServerSet, ServerState, ServerStatus};
use zot_provider::HttpClient;

/// Long enough for a busy machine; nothing waits that long unless it is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Scene {
    pub(crate) home: TempDir,
    pub(crate) pool: Arc<Pool>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with(LaunchRules::default())
    }

    /// One whose servers do not get the variable `name`.
    pub(crate) fn withholding(name: &str) -> Self {
        Self::with(LaunchRules {
            withheld: vec![name.to_owned()],
            ..LaunchRules::default()
        })
    }

    pub(crate) fn beside_confined_commands() -> Self {
        Self::with(LaunchRules::default().beside_commands_at(Level::Workspace))
    }

    fn with(rules: LaunchRules) -> Self {
        let home = tempfile::tempdir().unwrap();
        let pool = pool_with(home.path(), rules);
        Self { home, pool }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn open(&self, entries: Vec<ServerEntry>) -> Arc<ServerSet> {
        self.pool.open(entries, self.home.path())
    }

    /// Opens one server and waits until it is ready.
    pub(crate) async fn ready(&self, entry: ServerEntry) -> Arc<ServerSet> {
        let set = self.open(vec![entry]);
        settle(&set).await;
        let status = status(&set);
        assert_eq!(status.state, ServerState::Ready, "{}", self.log());
        set
    }

    /// An entry for `scripted.py`, which writes what it receives to a file.
    pub(crate) fn scripted(&self, mode: &str) -> ServerEntry {
        let mut entry = python("scripted.py", &[mode]);
        set_env(&mut entry, "TRACE", self.path("trace").to_str().unwrap());
        entry
    }

    /// What the scripted server has received.
    pub(crate) fn trace(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path("trace")).unwrap_or_default();
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// Waits until the server has received something that `found` accepts.
    pub(crate) async fn received(&self, found: impl Fn(&Value) -> bool) -> Value {
        eventually(|| self.trace().into_iter().find(&found)).await
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.path("logs/mcp-scripted.log")).unwrap_or_default()
    }
}

pub(crate) fn pool(home: &Path) -> Arc<Pool> {
    pool_with(home, LaunchRules::default())
}

fn pool_with(home: &Path, rules: LaunchRules) -> Arc<Pool> {
    Pool::new(PoolSettings {
        home: home.to_owned(),
        http: HttpClient::new(),
        version: "1.2.3".to_owned(),
        rules,
    })
}

pub(crate) fn python(script: &str, args: &[&str]) -> ServerEntry {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/servers")
        .join(script);
    let mut arguments = vec![script.to_str().unwrap().to_owned()];
    arguments.extend(args.iter().map(|arg| (*arg).to_owned()));
    program("python3", arguments)
}

pub(crate) fn program(command: &str, args: Vec<String>) -> ServerEntry {
    ServerEntry {
        name: "scripted".to_owned(),
        address: Address::Stdio {
            command: command.to_owned(),
            args,
            env: BTreeMap::new(),
            cwd: None,
        },
        timeout: None,
        enabled: true,
        exposure: None,
        tool_exposure: Vec::new(),
        protocol: None,
        sandbox: None,
        permissions: None,
        oauth: None,
        origin: EntryOrigin::Program,
        project: None,
    }
}

pub(crate) fn set_env(entry: &mut ServerEntry, name: &str, value: &str) {
    let Address::Stdio { env, .. } = &mut entry.address else {
        panic!("not a program");
    };
    env.insert(name.to_owned(), value.to_owned());
}

pub(crate) async fn settle(set: &ServerSet) {
    timeout(PATIENCE, set.settled())
        .await
        .expect("the servers should settle");
}

pub(crate) fn status(set: &ServerSet) -> ServerStatus {
    set.servers().into_iter().next().unwrap()
}

/// Polls until `check` finds something.
pub(crate) async fn eventually<T>(mut check: impl FnMut() -> Option<T>) -> T {
    let polled = async {
        loop {
            if let Some(found) = check() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, polled).await.expect("it should happen")
}

pub(crate) fn tool(set: &ServerSet, name: &str) -> Arc<McpTool> {
    set.tools()
        .into_iter()
        .find(|tool| tool.tool() == name)
        .unwrap_or_else(|| panic!("no tool {name}"))
}

/// Whoever calls: remembers reports, and answers questions from a list.
#[derive(Default)]
pub(crate) struct Person {
    pub(crate) reports: Mutex<Vec<String>>,
    pub(crate) questions: Mutex<Vec<Question>>,
    pub(crate) answers: Mutex<Vec<Answer>>,
    pub(crate) cancel: CancellationToken,
}

impl Person {
    pub(crate) fn answering(answers: impl IntoIterator<Item = Answer>) -> Self {
        let mut answers: Vec<Answer> = answers.into_iter().collect();
        answers.reverse();
        Self {
            answers: Mutex::new(answers),
            ..Self::default()
        }
    }

    pub(crate) async fn call(&self, tool: &McpTool, arguments: Value) -> ToolOutput {
        let arguments = RawValue::from_string(arguments.to_string()).unwrap();
        let id = ToolCallId::from("call");
        let run = tool.run(ToolInvocation {
            id: &id,
            arguments: &arguments,
            progress: self,
            questions: self,
            cancel: &self.cancel,
        });
        timeout(PATIENCE, run).await.expect("the call should end")
    }
}

impl Progress for Person {
    fn report(&self, text: String) -> BoxFuture<'_, ()> {
        self.reports.lock().unwrap().push(text);
        Box::pin(std::future::ready(()))
    }
}

impl Questions for Person {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        self.questions.lock().unwrap().push(question);
        let answer = self.answers.lock().unwrap().pop();
        Box::pin(std::future::ready(answer.unwrap_or(Answer::Decline)))
    }
}

pub(crate) fn accept(content: Value) -> Answer {
    Answer::Accept {
        content: Some(JsonObject::parse(&content.to_string()).unwrap()),
    }
}

/// Calls a tool without anyone watching, and returns the text of its result.
pub(crate) async fn text_of(set: &ServerSet, name: &str, arguments: Value) -> String {
    let output = Person::default().call(&tool(set, name), arguments).await;
    assert!(!output.is_error, "{}", output.joined_text());
    output.joined_text()
}

pub(crate) async fn error_of(set: &ServerSet, name: &str) -> String {
    let output = Person::default().call(&tool(set, name), json!({})).await;
    assert!(output.is_error, "{}", output.joined_text());
    output.joined_text()
}
