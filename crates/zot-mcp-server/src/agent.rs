//! The tools `zot` and `zot_reply`: a prompt, run to its end in a session of its own.

pub(crate) mod approval;
mod arguments;
mod outcome;
mod progress;
pub(crate) mod question;
mod settings;
mod spending;

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::task::{AbortHandle, JoinSet};
use zot_sdk::{AgentEvent, EventStream, ExtensionNotice, Runtime};

use crate::call::Caller;
use crate::elicitation::{Answer, Question};
use crate::result::CallResult;

use outcome::Outcome;
use progress::Steps;
pub(crate) use settings::AgentSettings;
use settings::Task;
pub(crate) use spending::Spending;

/// Begins a session.
pub(crate) const START: &str = "zot";
/// Continues a session.
pub(crate) const REPLY: &str = "zot_reply";

/// Returns the declarations of both tools.
pub(crate) fn declarations() -> Vec<Value> {
    let annotations = json!({
        "readOnlyHint": false,
        "destructiveHint": true,
        "idempotentHint": false,
        "openWorldHint": true,
    });
    vec![
        json!({
            "name": START,
            "title": "Ask zot",
            "description": "Gives a task to zot, a coding agent that reads and changes files and runs commands in a \
                directory, and returns its final answer. The agent knows nothing of your conversation, so the \
                prompt has to say everything it needs. The result has a session_id; zot_reply goes on with that \
                conversation.",
            "inputSchema": arguments::start_schema(),
            "outputSchema": outcome::schema(),
            "annotations": annotations,
        }),
        json!({
            "name": REPLY,
            "title": "Reply to zot",
            "description": "Continues a conversation with zot: the agent remembers everything that was said and done \
                in the session. Returns its final answer.",
            "inputSchema": arguments::reply_schema(),
            "outputSchema": outcome::schema(),
            "annotations": annotations,
        }),
    ]
}

/// Runs a prompt of the tool `name` to its end.
pub(crate) async fn run(
    settings: Arc<AgentSettings>,
    name: String,
    arguments: Value,
    caller: Caller,
) -> CallResult {
    let task = match settings.task(&name, arguments) {
        Ok(task) => task,
        Err(problem) => return CallResult::error(problem.to_string()),
    };
    let runtime = match Runtime::new(task.config.clone()) {
        Ok(runtime) => runtime,
        Err(error) => return CallResult::error(zot_sdk::with_causes(&error).to_string()),
    };
    for warning in runtime.warnings() {
        warn(warning);
    }
    runtime.accept_questions();
    let events = match runtime.prompt_within(&task.prompt, Vec::new(), task.budget) {
        Ok(events) => events,
        // A new runtime has nothing else to do.
        Err(busy) => return CallResult::error(busy.to_string()),
    };
    let mut run = Run {
        outcome: Outcome::new(runtime.session().map(|session| session.id.clone())),
        steps: Steps::default(),
        runtime,
        caller,
        asking: JoinSet::new(),
        asked: HashMap::new(),
        spending: Arc::clone(&settings.spending),
    };
    run.caller.report(run.opening()).await;
    run.follow(events, &task).await;
    run.runtime.close().await;
    run.outcome.into_result()
}

/// A running prompt.
struct Run {
    runtime: Runtime,
    caller: Caller,
    outcome: Outcome,
    steps: Steps,
    /// Answers that are awaited.
    asking: JoinSet<(About, Answer)>,
    /// What each call waits for.
    asked: HashMap<String, Vec<AbortHandle>>,
    spending: Arc<Spending>,
}

/// What an answer is about.
enum About {
    /// Whether a call may run.
    Call(String),
    /// A question of a tool.
    Question(String),
}

enum Wakeup {
    Event(Option<AgentEvent>),
    Answer(About, Answer),
    Notice(ExtensionNotice),
    Stop,
}

impl Run {
    fn opening(&self) -> String {
        let (provider, model) = (self.runtime.provider(), self.runtime.model());
        let place = self.runtime.cwd().display();
        match self.runtime.session() {
            Some(session) => format!("session {}: {provider}/{model} in {place}", session.id),
            None => format!("{provider}/{model} in {place}"),
        }
    }

    async fn follow(&mut self, mut events: EventStream, task: &Task) {
        let mut is_stopping = false;
        loop {
            let wakeup = tokio::select! {
                biased;
                () = self.caller.cancel().cancelled(), if !is_stopping => Wakeup::Stop,
                Some(answered) = self.asking.join_next() => match answered {
                    Ok((about, answer)) => Wakeup::Answer(about, answer),
                    // Taken back.
                    Err(_) => continue,
                },
                event = events.next() => Wakeup::Event(event),
                notice = self.runtime.next_notice() => Wakeup::Notice(notice),
            };
            match wakeup {
                Wakeup::Stop => {
                    is_stopping = true;
                    self.runtime.cancel();
                }
                Wakeup::Answer(about, answer) => self.decide(&about, &answer),
                Wakeup::Notice(notice) => {
                    if let ExtensionNotice::Problem(problem) = notice {
                        warn(&problem);
                    }
                }
                Wakeup::Event(None) => return,
                Wakeup::Event(Some(event)) => {
                    self.take(&event, task).await;
                    if !is_stopping && let Some(reason) = self.spending.exhausted() {
                        is_stopping = true;
                        self.outcome.stop_because(reason);
                        self.runtime.cancel();
                    }
                }
            }
        }
    }

    async fn take(&mut self, event: &AgentEvent, task: &Task) {
        match event {
            AgentEvent::UsageReported { turn, .. } => self.spending.add(turn),
            AgentEvent::ConfirmationRequested { call, preview } => {
                let patience = task.config.tools.approval.timeout;
                let question = approval::question(call, preview.as_deref(), patience);
                let about = About::Call(call.id.as_str().to_owned());
                self.ask(call.id.as_str(), about, question);
            }
            AgentEvent::QuestionAsked { id, call, question } => {
                let about = About::Question(id.as_str().to_owned());
                self.ask(call.as_str(), about, question::of_tool(question));
            }
            AgentEvent::ToolFinished { result, .. } => {
                // What was not answered in time is no longer asked.
                for handle in self
                    .asked
                    .remove(result.call_id.as_str())
                    .into_iter()
                    .flatten()
                {
                    handle.abort();
                }
            }
            _ => {}
        }
        self.outcome.observe(event);
        if let Some(step) = self.steps.describe(event) {
            self.caller.report(step).await;
        }
    }

    /// Asks the client's user on behalf of a call.
    fn ask(&mut self, call: &str, about: About, question: Question) {
        let answer = self.caller.ask(question);
        let handle = self
            .asking
            .spawn(async move { (about, answer.await.unwrap_or(Answer::Cancel)) });
        let asked = self.asked.entry(call.to_owned());
        asked.or_default().push(handle);
    }

    fn decide(&mut self, about: &About, answer: &Answer) {
        // The call may have ended in the meantime.
        let _ = match about {
            About::Call(id) => {
                let decision = approval::decision(answer);
                self.runtime.confirm(id, decision).is_ok()
            }
            About::Question(id) => {
                let answer = question::answer(answer);
                self.runtime.answer_question(id, answer).is_ok()
            }
        };
    }
}

/// Prints a warning on standard error, which may be closed.
pub(crate) fn warn(warning: &str) {
    let _ = writeln!(zot_terminal::stderr(), "zot: warning: {warning}");
}
