//! `zot -p` and `zot --json`: one prompt, then the end.

use std::io::{self, Write as _};
use std::process::ExitCode;

use tokio::time::timeout;
use zot_rpc::executor::{self, IdleSignal};
use zot_rpc::printable;
use zot_rpc::signals::{ENDING_TIME, EndSignal, EndSignals, LAST_WORDS_TIME};
use zot_rpc::stdio::Output;
use zot_sdk::{Config, ContentBlock, Event, EventStream, ExtensionNotice, Persistence, Runtime};

use crate::arguments::Arguments;
use crate::configuration;
use crate::failure::Failure;
use crate::prompt_input::PromptInput;
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
    prompt: PromptInput,
    format: Format,
) -> Result<ExitCode, Failure> {
    let config = configuration::read(arguments, Persistence::SessionFile)?;
    executor::run(|idle| run_prompt(config, prompt, format, idle))?
}

async fn run_prompt(
    config: Config,
    prompt: PromptInput,
    format: Format,
    idle: IdleSignal,
) -> Result<ExitCode, Failure> {
    let mut signals = EndSignals::new()?;
    let runtime = Runtime::new(config)?;
    warn(runtime.warnings());
    let mut output = Output::stdout(idle)?;
    let (text, images) = prompt.prepare(&runtime)?;
    let mut events = runtime
        .prompt(&text, images)
        .map_err(|busy| Failure::Agent(busy.to_string()))?;
    let mut report = Report::new(format);
    loop {
        match next_step(&runtime, &mut events, &mut output, &mut signals).await {
            Step::Event(Some(event)) => report.add(event, &mut output)?,
            Step::Event(None) => break,
            Step::Notice(notice) => report.note(notice, &mut output)?,
            Step::Written(Ok(())) => {}
            Step::Written(Err(error)) => {
                runtime.cancel();
                let ending = async {
                    while events.next().await.is_some() {}
                    runtime.close().await;
                };
                let _ = timeout(ENDING_TIME, ending).await;
                return Err(Failure::unwritten(error));
            }
            Step::Signal(signal) => {
                runtime.cancel();
                tokio::select! {
                    () = wind_down(&runtime, events, report, output) => {}
                    // The second signal does not wait for anything to wind down.
                    _ = signals.next() => {}
                }
                return Ok(ExitCode::from(signal.exit_code()));
            }
        }
    }
    tokio::select! {
        () = runtime.close() => {}
        signal = signals.next() => return Ok(ExitCode::from(signal.exit_code())),
    }
    while let Some(notice) = runtime.take_notice() {
        report.note(notice, &mut output)?;
    }
    warn(report.doubts());
    let failure = report.finish(&mut output)?;
    tokio::select! {
        flushed = output.flush() => flushed.map_err(Failure::unwritten)?,
        signal = signals.next() => return Ok(ExitCode::from(signal.exit_code())),
    }
    match failure {
        Some(message) => Err(Failure::Agent(message)),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Reports what a cancelled run still has to say, as far as the reader takes it.
async fn wind_down(
    runtime: &Runtime,
    mut events: EventStream,
    mut report: Report,
    mut output: Output,
) {
    let ending = async {
        while let Some(event) = events.next().await {
            // Only a serialisation bug fails here, and there is nobody left to tell.
            let _ = report.add(event, &mut output);
        }
        runtime.close().await;
    };
    let _ = timeout(ENDING_TIME, ending).await;
    // An interrupted run has no answer: what it said on the way must not be taken for one.
    if report.format == Format::Json {
        let _ = report.finish(&mut output);
    }
    let _ = timeout(LAST_WORDS_TIME, output.flush()).await;
}

enum Step {
    Event(Option<Event>),
    Notice(ExtensionNotice),
    Written(io::Result<()>),
    Signal(EndSignal),
}

async fn next_step(
    runtime: &Runtime,
    events: &mut EventStream,
    output: &mut Output,
    signals: &mut EndSignals,
) -> Step {
    let open = !output.is_full();
    tokio::select! {
        signal = signals.next() => Step::Signal(signal),
        event = events.next(), if open => Step::Event(event),
        notice = runtime.next_notice(), if open => Step::Notice(notice),
        result = output.drive() => Step::Written(result),
    }
}

/// Turns events into output.
struct Report {
    format: Format,
    /// The text of the last assistant message.
    answer: String,
    /// What a model said in this turn before it failed and another went on.
    begun: String,
    /// Whether an answer has come since the turn began, or since a model failed.
    said_in_turn: bool,
    error: Option<String>,
    /// The error event, which is written last.
    last_event: Option<Event>,
    /// Whether the last turn's end already told of the error.
    failed_turn: bool,
    /// Whether the last answer was cut off at the output limit.
    cut_off: bool,
}

impl Report {
    fn new(format: Format) -> Self {
        Self {
            format,
            answer: String::new(),
            begun: String::new(),
            said_in_turn: false,
            error: None,
            last_event: None,
            failed_turn: false,
            cut_off: false,
        }
    }

    fn add(&mut self, event: Event, output: &mut Output) -> io::Result<()> {
        match &event {
            Event::TurnStart { .. } => self.begun.clear(),
            Event::AssistantMessage { content, .. } => {
                self.answer = format!("{}{}", self.begun, text(content));
                self.said_in_turn = true;
            }
            Event::TurnEnd { stop, .. } => {
                self.said_in_turn = false;
                self.failed_turn = stop == "error";
                self.cut_off = stop == "length";
            }
            // Somebody who waits for the answer alone should know whose it is.
            Event::Fallback {
                from, to, message, ..
            } => {
                if std::mem::take(&mut self.said_in_turn) {
                    self.begun.clone_from(&self.answer);
                }
                if self.format == Format::Text {
                    warn(&[format!("{from} failed ({message}); {to} goes on")]);
                }
            }
            Event::ExtNotify { message, .. } if self.format == Format::Text => {
                warn(std::slice::from_ref(message));
            }
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

    /// Shows what an extension has to say: with the events, or beside the answer.
    fn note(&self, notice: ExtensionNotice, output: &mut Output) -> io::Result<()> {
        match notice {
            ExtensionNotice::Warning(warning) => {
                let _ = writeln!(io::stderr(), "{}", printable(&warning));
            }
            ExtensionNotice::Event(event) if self.format == Format::Json => output.push(&event)?,
            ExtensionNotice::Event(Event::ExtNotify {
                extension,
                level,
                message,
            }) => {
                let level = if level.is_empty() { "info" } else { &level };
                // When even standard error is gone, there is nobody to tell.
                let note = format!("[{extension}] {level}: {message}");
                let _ = writeln!(io::stderr(), "{}", printable(&note));
            }
            // Panels need a place to be shown.
            ExtensionNotice::Event(_) => {}
        }
        Ok(())
    }

    /// What someone who trusts the answer should know.
    fn doubts(&self) -> &'static [&'static str] {
        if self.error.is_some() {
            &[]
        } else if self.cut_off {
            &["the answer was cut off at the model's output limit"]
        } else if self.answer.is_empty() {
            &["the model gave no answer"]
        } else {
            &[]
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
