//! `agr`: asks the model, runs the tools it calls, and asks again.

mod blocks;
mod interrupt;
mod reading;
mod skill;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use zot_conversation::BoxFuture;
use zot_wire::zino::agent_loop::{self as wire, Request, Response};
use zot_wire::zino::router::{Inference, Sampling};
use zot_wire::zino::{Message, Response as _, executor, router};

use crate::config::Config;
use crate::definitions::{Skill, load_executors, load_skills};
use crate::kind::ServiceKind;
use crate::logging::Log;
use crate::peer::Peer;
use crate::service::{HungUp, Responses, Service};

use blocks::{Blocks, Piece, response_block};
use interrupt::Interrupt;
use reading::{MAX_MODEL_CALL_REPEATS, Reading, RuntimeError};

/// Asks `rtr`, has `exc` run the tool calls in the response, and asks again.
pub struct AgentLoopService {
    config: Config,
    log: Log,
    router: Peer<router::Request>,
    executor: Peer<executor::Request>,
    definitions: Mutex<Arc<Definitions>>,
}

/// The tools and skills a model can call.
#[derive(Debug, Default)]
struct Definitions {
    /// Executor names by function name.
    functions: BTreeMap<String, String>,
    skills: BTreeMap<String, Skill>,
}

/// A conversation in progress.
struct Run {
    /// Shared with every request to `rtr`: an iteration copies pointers.
    messages: Vec<Message>,
    sampling: Sampling,
    max_iterations: u64,
    mode: Mode,
    definitions: Arc<Definitions>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Streaming,
    Collected,
}

/// One response of the model, with the results of its calls.
#[derive(Debug, Default)]
struct Turn {
    text: String,
    interrupted: bool,
    /// Whether the client has seen a part of it, or a tool has run: it cannot begin anew.
    was_passed_on: bool,
}

/// Why a run stopped early.
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
    pub fn new(
        config: Config,
        log: Log,
        router: Peer<router::Request>,
        executor: Peer<executor::Request>,
    ) -> Self {
        let definitions = Mutex::new(Arc::new(load(&config, log)));
        Self {
            config,
            log,
            router,
            executor,
            definitions,
        }
    }

    async fn run(&self, request: wire::Run, responses: &Responses<Response>) {
        let mode = match request.stream {
            true => Mode::Streaming,
            false => Mode::Collected,
        };
        let configured = self.config.agr.max_iterations.max(1);
        let run = Run {
            messages: request.messages,
            sampling: request.sampling,
            max_iterations: request.max_iterations.unwrap_or(configured),
            mode,
            definitions: self.lock().clone(),
        };
        let response = match self.iterate(run, responses).await {
            Ok((text, iterations)) => {
                let iterations = Some(iterations);
                match mode {
                    Mode::Streaming => Response::Done {
                        full_text: text,
                        iterations,
                    },
                    Mode::Collected => Response::Result {
                        content: text,
                        iterations,
                    },
                }
            }
            Err(Unfinished::Failed(error)) => {
                Response::error(format!("Agentic runtime error: {error}"))
            }
            Err(Unfinished::HungUp) => return,
        };
        responses.finish(response).await;
    }

    /// Returns the text of the last iteration and the number of iterations.
    async fn iterate(
        &self,
        mut run: Run,
        responses: &Responses<Response>,
    ) -> Result<(String, u64), Unfinished> {
        let mut iteration = 1;
        loop {
            let turn = self.run_turn(&run, responses).await?;
            if !turn.interrupted || iteration >= run.max_iterations {
                return Ok((turn.text, iteration));
            }
            run.messages.push(Message::new("assistant", turn.text));
            iteration += 1;
        }
    }

    /// Has the model respond. A response that is lost before anything of it was passed on is asked for again.
    async fn run_turn(
        &self,
        run: &Run,
        responses: &Responses<Response>,
    ) -> Result<Turn, Unfinished> {
        let mut repeats = 0;
        loop {
            let mut turn = Turn::default();
            match self.read_turn(run, &mut turn, responses).await {
                Err(Unfinished::Failed(error))
                    if error.is_lost()
                        && !turn.was_passed_on
                        && repeats < MAX_MODEL_CALL_REPEATS =>
                {
                    self.log
                        .warning(format_args!("rtr: {error}: asking the model again"));
                    repeats += 1;
                }
                ended => return ended.map(|()| turn),
            }
        }
    }

    /// Asks once and runs each tool call as soon as it is complete.
    async fn read_turn(
        &self,
        run: &Run,
        turn: &mut Turn,
        responses: &Responses<Response>,
    ) -> Result<(), Unfinished> {
        let inference = Inference {
            messages: run.messages.clone(),
            sampling: run.sampling,
            stream: run.mode == Mode::Streaming,
        };
        let mut reading =
            Reading::begin(&self.router, inference, self.config.wire.max_frame_bytes).await?;
        let mut blocks = Blocks::new();
        while let Some(delta) = reading.next().await? {
            for piece in blocks.feed(delta) {
                self.handle_piece(run, piece, turn, &mut reading, responses)
                    .await?;
            }
        }
        for piece in blocks.finish() {
            self.handle_piece(run, piece, turn, &mut reading, responses)
                .await?;
        }
        Ok(())
    }

    async fn handle_piece(
        &self,
        run: &Run,
        piece: Piece,
        turn: &mut Turn,
        reading: &mut Reading,
        responses: &Responses<Response>,
    ) -> Result<(), Unfinished> {
        let shown = match piece {
            Piece::Text(text) => text,
            Piece::Block { tag, body } => {
                turn.interrupted = true;
                turn.was_passed_on = true;
                turn.text.push_str(&format!("<{tag}>{body}</{tag}>"));
                let work = self.interrupt(run, tag, &body);
                response_block(tag, &reading.alongside(work).await?)
            }
        };
        turn.text.push_str(&shown);
        if run.mode == Mode::Streaming {
            turn.was_passed_on = true;
            responses.send(Response::Chunk(shown)).await?;
        }
        Ok(())
    }

    /// Runs what a block asks for and returns the text for the model.
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

    fn lock(&self) -> std::sync::MutexGuard<'_, Arc<Definitions>> {
        self.definitions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service for AgentLoopService {
    type Request = Request;

    fn kind(&self) -> ServiceKind {
        ServiceKind::AgentLoop
    }

    fn handle(&self, request: Request, responses: Responses<Response>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Request::Run(run) = request;
            self.run(run, &responses).await;
        })
    }

    /// Runs in progress keep the definitions they started with.
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
