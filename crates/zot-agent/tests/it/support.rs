//! An agent with scripted surroundings, and its events as text.

pub(crate) mod gate;
pub(crate) mod model;
pub(crate) mod render;
pub(crate) mod tools;

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zot_agent::{
    Agent, AgentParts, AgentSettings, ApprovalPolicy, Budget, ConnectedModel, Hooks, Journal,
    JournalError, NoHooks, SharedSettings, StepLimit,
};
use zot_conversation::{
    AgentEvent, ContentBlock, Message, Prices, Role, Timestamp, Tool, ToolResult, ToolSet,
    Transcript, Usage,
};

use model::{Script, ScriptedModel};

/// Holds every event of every test but those about a full queue.
const ROOMY_QUEUE: usize = 256;

/// Longer than any wait in the agent. The clock is paused: it passes only when nothing else can.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a test may choose; everything else is unremarkable.
pub(crate) struct Setup {
    pub(crate) scripts: Vec<Script>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) hooks: Arc<dyn Hooks>,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) transcript: Vec<Arc<Message>>,
    pub(crate) context_window: u64,
    pub(crate) max_steps: u32,
    pub(crate) approval: ApprovalPolicy,
    pub(crate) budget: Budget,
    pub(crate) prices: Prices,
    pub(crate) fallbacks: Vec<Arc<ScriptedModel>>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            scripts: Vec::new(),
            tools: Vec::new(),
            hooks: Arc::new(NoHooks),
            journal: Arc::new(zot_agent::NoJournal),
            transcript: Vec::new(),
            context_window: 0,
            max_steps: 20,
            approval: ApprovalPolicy::default(),
            budget: Budget::default(),
            prices: Prices::default(),
            fallbacks: Vec::new(),
        }
    }
}

impl Setup {
    pub(crate) fn build(self) -> Scene {
        self.build_with(CancellationToken::new())
    }

    /// For tests in which a tool or a hook presses the abort button itself.
    pub(crate) fn build_with(self, cancel: CancellationToken) -> Scene {
        let model = Arc::new(ScriptedModel::new(self.scripts));
        let agent = Agent::new(AgentParts {
            settings: SharedSettings::new(AgentSettings {
                model: ConnectedModel {
                    client: Arc::clone(&model) as Arc<_>,
                    provider: "first".to_owned(),
                    id: "scripted".to_owned(),
                    prices: self.prices,
                    context_window: self.context_window,
                    max_output: 1_000,
                },
                system: "be brief".into(),
                tools: Arc::new(ToolSet::new(self.tools)),
                reasoning: None,
                steps: StepLimit {
                    max_steps: Some(self.max_steps),
                    ..StepLimit::default()
                },
                approval: self.approval,
                fallbacks: self
                    .fallbacks
                    .iter()
                    .enumerate()
                    .map(|(number, model)| ConnectedModel {
                        client: Arc::clone(model) as Arc<_>,
                        provider: "other".to_owned(),
                        id: format!("model{number}"),
                        prices: Prices::default(),
                        context_window: 0,
                        max_output: 1_000,
                    })
                    .collect(),
            }),
            hooks: self.hooks,
            journal: self.journal,
            transcript: Transcript::from(self.transcript),
            budget: self.budget,
        });
        Scene {
            agent,
            model,
            cancel,
        }
    }
}

/// An agent that responds from `scripts` and has no tools.
pub(crate) fn scene(scripts: impl Into<Vec<Script>>) -> Scene {
    Setup {
        scripts: scripts.into(),
        ..Setup::default()
    }
    .build()
}

pub(crate) struct Scene {
    pub(crate) agent: Agent,
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) cancel: CancellationToken,
}

impl Scene {
    pub(crate) async fn prompt(&self, text: &str) -> Vec<String> {
        self.prompt_while(text, async {}).await
    }

    /// Prompts while `meanwhile` runs concurrently.
    pub(crate) async fn prompt_while(
        &self,
        text: &str,
        meanwhile: impl Future<Output = ()>,
    ) -> Vec<String> {
        render::events(&self.raw_events(text, meanwhile).await)
    }

    /// Prompts, and aborts as soon as `reached` is.
    pub(crate) async fn prompt_and_abort(&self, text: &str, reached: impl Future) -> Vec<String> {
        self.prompt_while(text, self.abort_when(reached)).await
    }

    pub(crate) async fn raw_events(
        &self,
        text: &str,
        meanwhile: impl Future<Output = ()>,
    ) -> Vec<AgentEvent> {
        let (sender, receiver) = mpsc::channel(ROOMY_QUEUE);
        let prompt = self.agent.prompt(
            vec![ContentBlock::Text(text.to_owned())],
            Budget::default(),
            &sender,
            &self.cancel,
        );
        run_to_the_end(prompt, meanwhile).await;
        drop(sender);
        drained(receiver).await
    }

    pub(crate) async fn compact(&self) -> Vec<String> {
        self.compact_while(async {}).await
    }

    pub(crate) async fn compact_while(&self, meanwhile: impl Future<Output = ()>) -> Vec<String> {
        let (sender, receiver) = mpsc::channel(ROOMY_QUEUE);
        run_to_the_end(self.agent.compact(&sender, &self.cancel), meanwhile).await;
        drop(sender);
        render::events(&drained(receiver).await)
    }

    pub(crate) async fn abort_when(&self, reached: impl Future) {
        reached.await;
        self.cancel.cancel();
    }

    pub(crate) fn transcript(&self) -> Vec<String> {
        render::messages(self.agent.transcript().messages())
    }
}

/// Runs both to their end; the paused clock makes a deadlock a failure.
pub(crate) async fn run_to_the_end(one: impl Future<Output = ()>, other: impl Future<Output = ()>) {
    let both = async {
        tokio::join!(one, other);
    };
    tokio::time::timeout(PATIENCE, both)
        .await
        .expect("the agent must not wait for ever");
}

async fn drained(mut receiver: mpsc::Receiver<AgentEvent>) -> Vec<AgentEvent> {
    let mut events = Vec::new();
    while let Some(event) = receiver.recv().await {
        events.push(event);
    }
    events
}

/// Compares lines with an indented block of text.
#[track_caller]
pub(crate) fn check(actual: &[String], expected: &str) {
    let expected: Vec<&str> = expected
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    assert!(
        actual == expected,
        "\n--- got\n{}\n--- expected\n{}\n",
        actual.join("\n"),
        expected.join("\n"),
    );
}

/// What follows the first turn of a prompt whose model only made `calls`, the turn itself checked.
#[track_caller]
pub(crate) fn after_calls(events: &[String], calls: &[(&str, &str)]) -> Vec<String> {
    let streamed = calls.iter().map(|(id, name)| {
        format!("tool_use_start {id} {name}\ntool_use_args {id} {{}}\ntool_use_end {id}\n")
    });
    let said: Vec<String> = calls
        .iter()
        .map(|(id, name)| format!("{name}?{id}{{}}"))
        .collect();
    let requested = calls
        .iter()
        .map(|(id, name)| format!("tool_call {id} {name} {{}}\n"));
    let expected = format!(
        "user_message \"hi\"\nturn_start 1\nassistant_start\n{}usage 3/2 (3/2)\n\
         assistant_message {}\n{}turn_end tool_use",
        streamed.collect::<String>(),
        said.join(" "),
        requested.collect::<String>(),
    );
    let (first_turn, rest) = events.split_at(expected.lines().count().min(events.len()));
    check(first_turn, &expected);
    rest.to_vec()
}

/// Gives everything that can run the chance to.
pub(crate) async fn settle() {
    for _ in 0..32 {
        tokio::task::yield_now().await;
    }
}

/// What happened, in order, reported by several parties.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn add(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// A journal that keeps a log and can be made to fail.
#[derive(Default)]
pub(crate) struct LoggedJournal {
    pub(crate) log: Log,
    /// The log line at which the disk turns out to be full.
    pub(crate) fails_at: Option<&'static str>,
}

impl LoggedJournal {
    fn write(&self, line: String) -> Result<(), JournalError> {
        if self.fails_at == Some(line.as_str()) {
            self.log.add(format!("{line} FAILED"));
            return Err(JournalError("disk full".into()));
        }
        self.log.add(line);
        Ok(())
    }
}

impl Journal for LoggedJournal {
    fn message_added(&self, message: &Arc<Message>) -> Result<(), JournalError> {
        self.write(format!("journal {}", render::message(message)))
    }

    fn usage_added(&self, turn: &Usage, cumulative: &Usage) -> Result<(), JournalError> {
        self.write(format!("journal {}", render::usage(turn, cumulative)))
    }

    fn result_added(&self, result: &ToolResult) -> Result<(), JournalError> {
        self.write(format!("journal result {}", result.call_id))
    }

    fn transcript_replaced(&self, messages: &[Arc<Message>]) -> Result<(), JournalError> {
        self.write(format!("journal now {:?}", render::messages(messages)))
    }
}

pub(crate) fn message(role: Role, content: Vec<ContentBlock>) -> Arc<Message> {
    Arc::new(Message {
        role,
        content,
        time: Timestamp::UNIX_EPOCH,
    })
}

pub(crate) fn said(role: Role, text: &str) -> Arc<Message> {
    message(role, vec![ContentBlock::Text(text.to_owned())])
}

/// `count` messages, questions and answers by turns: `q1`, `a1`, `q2`, …
pub(crate) fn dialogue(count: usize) -> Vec<Arc<Message>> {
    (0..count)
        .map(|index| {
            let number = index / 2 + 1;
            if index % 2 == 0 {
                said(Role::User, &format!("q{number}"))
            } else {
                said(Role::Assistant, &format!("a{number}"))
            }
        })
        .collect()
}
