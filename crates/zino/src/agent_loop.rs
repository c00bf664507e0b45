//! `agr`: the loop of answers and tools.

mod blocks;
mod interrupt;
mod reading;
mod skill;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use zot_conversation::BoxFuture;

use crate::config::Config;
use crate::definitions::{Skill, load_executors, load_skills};
use crate::kind::ServiceKind;
use crate::lenient;
use crate::logging::Log;
use crate::peer::Peer;
use crate::service::{
    Answer, Answers, HungUp, Object, Service, number, unknown_type, wants_stream,
};

use blocks::{Blocks, Piece, response_block};
use interrupt::Interrupt;
use reading::{Reading, RuntimeError};

/// Asks `rtr`, lets `exc` run what the answer calls for, and asks again.
pub struct AgentLoopService {
    config: Config,
    log: Log,
    router: Peer,
    executor: Peer,
    definitions: Mutex<Arc<Definitions>>,
}

/// What a model can call.
#[derive(Debug, Default)]
struct Definitions {
    /// The executors by the functions that stand for them.
    functions: BTreeMap<String, String>,
    skills: BTreeMap<String, Skill>,
}

/// A checked `run`.
struct Run {
    messages: Vec<Value>,
    sampling: Object,
    max_iterations: u64,
    mode: Mode,
    definitions: Arc<Definitions>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Streaming,
    Collected,
}

/// One answer of the model with the responses to what it called.
#[derive(Debug, Default)]
struct Turn {
    text: String,
    interrupted: bool,
}

/// Why a run is not finished.
#[derive(Debug)]
enum Unfinished {
    HungUp,
    Failed(RuntimeError),
}

impl From<HungUp> for Unfinished {
    fn from(_: HungUp) -> Self {
        Self::HungUp
    }
}

impl From<RuntimeError> for Unfinished {
    fn from(error: RuntimeError) -> Self {
        Self::Failed(error)
    }
}

impl AgentLoopService {
    pub fn new(config: Config, log: Log, router: Peer, executor: Peer) -> Self {
        let definitions = Mutex::new(Arc::new(load(&config, log)));
        Self {
            config,
            log,
            router,
            executor,
            definitions,
        }
    }

    fn read(&self, mut request: Object) -> Result<Run, String> {
        let mode = match wants_stream(&request) {
            true => Mode::Streaming,
            false => Mode::Collected,
        };
        let max_iterations = match request.get("max_iterations") {
            None | Some(Value::Null) => self.config.agr.max_iterations.max(1),
            Some(given) => lenient::integer(given)
                .and_then(|given| u64::try_from(given).ok())
                .filter(|given| *given > 0)
                .ok_or("max_iterations must be a whole number above 0")?,
        };
        let messages = match request.remove("messages") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(messages)) => messages,
            Some(_) => return Err("messages must be an array".to_owned()),
        };
        let mut sampling = Object::new();
        for name in ["temperature", "top_p"] {
            if let Some(number) = number(&request, name)? {
                sampling.insert(name.to_owned(), number.into());
            }
        }
        let definitions = self.lock().clone();
        Ok(Run {
            messages,
            sampling,
            max_iterations,
            mode,
            definitions,
        })
    }

    async fn run(&self, request: Object, answers: &Answers) {
        let run = match self.read(request) {
            Ok(run) => run,
            Err(message) => return answers.finish(Answer::error(message)).await,
        };
        let mode = run.mode;
        let answer = match self.iterate(run, answers).await {
            Ok((content, iterations)) => match mode {
                Mode::Streaming => Answer::Done {
                    full_text: content,
                    iterations: Some(iterations),
                },
                Mode::Collected => Answer::message(json!({
                    "type": "result", "content": content, "iterations": iterations,
                })),
            },
            Err(Unfinished::Failed(error)) => {
                Answer::error(format!("Agentic runtime error: {error}"))
            }
            Err(Unfinished::HungUp) => return,
        };
        answers.finish(answer).await;
    }

    /// The text of the last iteration, and how many there were.
    async fn iterate(&self, mut run: Run, answers: &Answers) -> Result<(String, u64), Unfinished> {
        let mut iteration = 1;
        loop {
            let turn = self.turn(&run, answers).await?;
            if !turn.interrupted || iteration >= run.max_iterations {
                return Ok((turn.text, iteration));
            }
            run.messages
                .push(json!({ "role": "assistant", "content": turn.text }));
            iteration += 1;
        }
    }

    /// Asks once and runs what the answer calls for, as soon as each call is complete.
    async fn turn(&self, run: &Run, answers: &Answers) -> Result<Turn, Unfinished> {
        let request = self.question(run, &run.messages, run.mode);
        let mut reading =
            Reading::begin(&self.router, request, self.config.wire.max_frame_bytes).await?;
        let mut blocks = Blocks::new();
        let mut turn = Turn::default();
        while let Some(delta) = reading.next().await? {
            for piece in blocks.feed(delta) {
                self.take(run, piece, &mut turn, &mut reading, answers)
                    .await?;
            }
        }
        for piece in blocks.finish() {
            self.take(run, piece, &mut turn, &mut reading, answers)
                .await?;
        }
        Ok(turn)
    }

    async fn take(
        &self,
        run: &Run,
        piece: Piece,
        turn: &mut Turn,
        reading: &mut Reading,
        answers: &Answers,
    ) -> Result<(), Unfinished> {
        let shown = match piece {
            Piece::Text(text) => text,
            Piece::Block { tag, body } => {
                turn.interrupted = true;
                turn.text.push_str(&format!("<{tag}>{body}</{tag}>"));
                let work = self.interrupt(run, tag, &body);
                response_block(tag, &reading.alongside(work).await?)
            }
        };
        turn.text.push_str(&shown);
        if run.mode == Mode::Streaming {
            answers.send(Answer::Chunk(shown)).await?;
        }
        Ok(())
    }

    /// What the model reads in response to a block.
    async fn interrupt(&self, run: &Run, tag: &str, body: &str) -> Result<String, RuntimeError> {
        match interrupt::read(tag, body, &run.definitions) {
            Err(text) => Ok(text),
            Ok(Interrupt::Execute { executor, code }) => self.execute(&executor, &code).await,
            Ok(Interrupt::Delegate { skill, request }) => {
                Ok(match self.delegate(run, skill, &request).await {
                    Ok(text) => text,
                    Err(error) => format!("Skill pipeline error: {error}"),
                })
            }
        }
    }

    /// A request to `rtr`.
    fn question(&self, run: &Run, messages: &[Value], mode: Mode) -> Object {
        let mut request = run.sampling.clone();
        request.insert("type".to_owned(), "infer".into());
        request.insert("messages".to_owned(), messages.into());
        request.insert("stream".to_owned(), (mode == Mode::Streaming).into());
        request
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Arc<Definitions>> {
        self.definitions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service for AgentLoopService {
    fn kind(&self) -> ServiceKind {
        ServiceKind::AgentLoop
    }

    fn handle(&self, request: Object, answers: Answers) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match request.get("type").and_then(Value::as_str) {
                Some("run") => self.run(request, &answers).await,
                _ => answers.finish(unknown_type(&request)).await,
            }
        })
    }

    /// Runs under way go on with what they began with.
    fn reload(&self) -> Result<(), String> {
        let definitions = Arc::new(load(&self.config, self.log));
        *self.lock() = definitions;
        Ok(())
    }
}

fn load(config: &Config, log: Log) -> Definitions {
    let executors = load_executors(config.tools_dir(), log).into_iter();
    Definitions {
        functions: executors
            .map(|executor| (executor.function(), executor.name))
            .collect(),
        skills: load_skills(config.skills_dir(), log),
    }
}
