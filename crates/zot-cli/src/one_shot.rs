//! `zot -p` and `zot --json`: one prompt, then the end.

use std::io;
use std::process::ExitCode;

use tokio::signal::unix::{Signal, SignalKind, signal};
use zot_rpc::executor::{self, IdleSignal};
use zot_rpc::stdio::Output;
use zot_sdk::{Config, ContentBlock, Event, EventStream, Persistence, Runtime};

use crate::arguments::Arguments;
use crate::failure::{Failure, INTERRUPTED, TERMINATED};
use crate::warn;

/// What is written to standard output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// The final answer only.
    Text,
    /// Every event, one per line.
    Json,
}

pub(crate) fn run(
    arguments: Arguments,
    prompt: String,
    format: Format,
) -> Result<ExitCode, Failure> {
    let config = arguments.config(Persistence::SessionFile);
    executor::run(|idle| run_prompt(config, prompt, format, idle))?
}

async fn run_prompt(
    config: Config,
    prompt: String,
    format: Format,
    idle: IdleSignal,
) -> Result<ExitCode, Failure> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let runtime = Runtime::new(config)?;
    warn(runtime.warnings());
    let mut output = Output::stdout(idle)?;
    let mut events = runtime
        .prompt(&prompt, Vec::new())
        .map_err(|busy| Failure::Agent(busy.to_string()))?;
    let mut report = Report::new(format);
    let mut stopped_by = None;
    loop {
        let step = next_step(&mut events, &mut output, &mut interrupt, &mut terminate).await;
        match step {
            Step::Event(Some(event)) => report.add(event, &mut output)?,
            Step::Event(None) => break,
            Step::Written(Ok(())) => {}
            Step::Written(Err(_)) => {
                runtime.cancel();
                while events.next().await.is_some() {}
                return Err(Failure::ReaderGone);
            }
            // The second signal does not wait for anything to wind down.
            Step::Signal(code) if stopped_by.is_some() => return Ok(ExitCode::from(code)),
            Step::Signal(code) => {
                stopped_by = Some(code);
                runtime.cancel();
            }
        }
    }
    let failure = report.finish(&mut output)?;
    output.flush().await.map_err(|_| Failure::ReaderGone)?;
    match (stopped_by, failure) {
        (Some(code), _) => Ok(ExitCode::from(code)),
        (None, Some(message)) => Err(Failure::Agent(message)),
        (None, None) => Ok(ExitCode::SUCCESS),
    }
}

enum Step {
    Event(Option<Event>),
    Written(io::Result<()>),
    Signal(u8),
}

async fn next_step(
    events: &mut EventStream,
    output: &mut Output,
    interrupt: &mut Signal,
    terminate: &mut Signal,
) -> Step {
    let open = !output.is_full();
    tokio::select! {
        _ = interrupt.recv() => Step::Signal(INTERRUPTED),
        _ = terminate.recv() => Step::Signal(TERMINATED),
        event = events.next(), if open => Step::Event(event),
        result = output.drive() => Step::Written(result),
    }
}

/// Turns events into output.
struct Report {
    format: Format,
    /// The text of the last assistant message.
    answer: String,
    error: Option<String>,
    /// The error event, which is written last.
    last_event: Option<Event>,
    /// Whether the last turn's end already told of the error.
    failed_turn: bool,
}

impl Report {
    fn new(format: Format) -> Self {
        Self {
            format,
            answer: String::new(),
            error: None,
            last_event: None,
            failed_turn: false,
        }
    }

    fn add(&mut self, event: Event, output: &mut Output) -> io::Result<()> {
        match &event {
            Event::AssistantMessage { content, .. } => self.answer = text(content),
            Event::TurnEnd { stop, .. } => self.failed_turn = stop == "error",
            Event::Error { message, .. } => {
                // Written last, after `done`.
                self.error = Some(message.clone());
                self.last_event = Some(event);
                return Ok(());
            }
            // As in the original, a failed turn ends the stream with its error and no `done`.
            Event::Done if self.failed_turn && self.error.is_some() => return Ok(()),
            _ => {}
        }
        match self.format {
            Format::Json => output.push(&event),
            Format::Text => Ok(()),
        }
    }

    /// Writes what is left and returns the error, if there was one.
    fn finish(self, output: &mut Output) -> io::Result<Option<String>> {
        match (self.format, &self.error) {
            (Format::Json, Some(_)) => {
                if let Some(event) = &self.last_event {
                    output.push(event)?;
                }
            }
            (Format::Text, None) => {
                output.push_text(&self.answer);
                output.push_text("\n");
            }
            (Format::Json, None) | (Format::Text, Some(_)) => {}
        }
        Ok(self.error)
    }
}

fn text(content: &[ContentBlock]) -> String {
    content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}
