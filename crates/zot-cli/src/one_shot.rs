//! `zot -p` and `zot --json`: one prompt, then the end.

use std::io::{self, Write as _};
use std::process::ExitCode;

use tokio::time::timeout;
use zot_rpc::EventFilter;
use zot_sdk::context::PromptDraft;
use zot_sdk::wire::Event;
use zot_sdk::{
    AgentEvent, ApprovalScope, Config, ErrorReport, EventStream, ExtensionNotice, Persistence,
    Runtime, TurnStop, wire,
};
use zot_stdio::executor::{self, IdleSignal};
use zot_stdio::signals::{EndSignal, EndSignals, FLUSH_TIME, SIGNAL_GRACE};
use zot_stdio::{Mark, Output};

use crate::arguments::Arguments;
use crate::configuration;
use crate::failure::Failure;
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
    prompt: PromptDraft,
    format: Format,
) -> Result<ExitCode, Failure> {
    let config = configuration::read(arguments, Persistence::SessionFile)?;
    executor::run(|idle| run_prompt(config, prompt, format, idle))?
}

async fn run_prompt(
    config: Config,
    prompt: PromptDraft,
    format: Format,
    idle: IdleSignal,
) -> Result<ExitCode, Failure> {
    let mut signals = EndSignals::new()?;
    let runtime = Runtime::new(config)?;
    warn(runtime.warnings());
    if runtime.approval().scope != ApprovalScope::Nothing {
        refuse_confirmations(&runtime, format);
    }
    let mut output = Output::stdout(idle)?;
    let prompt = runtime.prepare_prompt(prompt).map_err(Failure::usage)?;
    warn(&prompt.problems);
    let mut events = runtime.prompt(&prompt.text, prompt.images)?;
    let mut report = Report::new(format);
    loop {
        match next_step(&runtime, &mut events, &mut output, &mut signals).await {
            Step::Event(Some(event)) => report.add(event, &mut output)?,
            Step::Event(None) => break,
            Step::Notice(notice) => report.note(notice, &mut output)?,
            Step::Written(Ok(())) => {}
            Step::Written(Err(error)) => {
                if report.may_lose(&error, &output) {
                    // It has all it waited for.
                    output.discard();
                    break;
                }
                runtime.cancel();
                let ending = async {
                    while events.next().await.is_some() {}
                    runtime.close().await;
                };
                let _ = timeout(SIGNAL_GRACE, ending).await;
                return Err(Failure::answer_lost(error));
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
    warn(report.doubts());
    if format == Format::Text {
        report.finish(&mut output)?;
    }
    // Nobody who waits for the answer or for `done` waits for extensions to end.
    let written = tokio::select! {
        written = output.flush() => written,
        signal = signals.next() => return Ok(ExitCode::from(signal.exit_code())),
    };
    tokio::select! {
        () = runtime.close() => {}
        signal = signals.next() => return Ok(ExitCode::from(signal.exit_code())),
    }
    written.map_err(Failure::answer_lost)?;
    while let Some(notice) = runtime.take_notice() {
        report.note(notice, &mut output)?;
    }
    if format == Format::Json {
        report.finish(&mut output)?;
    }
    tokio::select! {
        written = output.flush() => match written {
            Err(error) if report.may_lose(&error, &output) => {}
            written => written.map_err(Failure::answer_lost)?,
        },
        signal = signals.next() => return Ok(ExitCode::from(signal.exit_code())),
    }
    match report.error {
        Some(report) => Err(Failure::failed(report.message)),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Nobody can be asked, so tools that need approval must not run.
fn refuse_confirmations(runtime: &Runtime, format: Format) {
    let mode = match format {
        Format::Text => "-p",
        Format::Json => "--json",
    };
    let tools = match runtime.approval().scope {
        ApprovalScope::Nothing | ApprovalScope::AllTools => "every tool call is".to_owned(),
        ApprovalScope::Tools(names) => format!("calls of {} are", names.join(", ")),
    };
    warn(&[format!(
        "{mode} has nobody to ask for a confirmation: {tools} refused (--no-yolo or --confirm was \
         given)"
    )]);
    runtime.refuse_confirmations_because(
        "refused: the user wants to confirm this tool's calls, but cannot be asked in this mode. Do \
         not try again: go on without the call, or say what it would have done",
    );
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
    let _ = timeout(SIGNAL_GRACE, ending).await;
    // An interrupted run has no answer: what it said on the way must not be taken for one.
    if report.format == Format::Json {
        let _ = report.finish(&mut output);
    }
    let _ = timeout(FLUSH_TIME, output.flush()).await;
}

enum Step {
    Event(Option<AgentEvent>),
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
    filter: EventFilter,
    /// The text of the last assistant message.
    answer: String,
    /// What a model said in this turn before it failed and another went on.
    begun: String,
    /// Whether an answer has come since the turn began, or since a model failed.
    said_in_turn: bool,
    /// Written last.
    error: Option<ErrorReport>,
    /// How the last turn ended.
    last_stop: Option<TurnStop>,
    /// Where the reader was told that the work is done.
    told_end: Option<Mark>,
}

impl Report {
    fn new(format: Format) -> Self {
        Self {
            format,
            filter: EventFilter::with_details(),
            answer: String::new(),
            begun: String::new(),
            said_in_turn: false,
            error: None,
            last_stop: None,
            told_end: None,
        }
    }

    fn add(&mut self, event: AgentEvent, output: &mut Output) -> io::Result<()> {
        match &event {
            AgentEvent::TurnStarted { .. } => self.begun.clear(),
            AgentEvent::AssistantMessage(message) => {
                self.answer = format!("{}{}", self.begun, message.text());
                self.said_in_turn = true;
            }
            AgentEvent::TurnEnded { stop, .. } => {
                self.said_in_turn = false;
                self.last_stop = Some(*stop);
            }
            // Somebody who waits for the answer alone should know whose it is.
            AgentEvent::FellBack { from, to, error } => {
                if std::mem::take(&mut self.said_in_turn) {
                    self.begun.clone_from(&self.answer);
                }
                if self.format == Format::Text {
                    warn(&[format!("{from} failed ({}); {to} goes on", error.message)]);
                }
            }
            AgentEvent::Notice(message) if self.format == Format::Text => {
                warn(std::slice::from_ref(message));
            }
            AgentEvent::Failed(report) => {
                // Written last, after `done`.
                self.error = Some(report.clone());
                return Ok(());
            }
            // As in the original, a failed turn ends the stream with its error and no `done`.
            AgentEvent::Done if self.error.is_some() && self.last_stop == Some(TurnStop::Error) => {
                return Ok(());
            }
            _ => {}
        }
        let is_end = event == AgentEvent::Done;
        self.write(wire::event(event), output)?;
        if is_end && self.format == Format::Json {
            self.told_end = Some(output.mark());
        }
        Ok(())
    }

    /// Writes an event where events are what is asked for.
    fn write(&self, event: Option<Event>, output: &mut Output) -> io::Result<()> {
        match event.and_then(|event| self.filter.admit(event)) {
            Some(event) if self.format == Format::Json => output.push(&event),
            _ => Ok(()),
        }
    }

    /// Whether the reader has gone away, but was told before that the work is done.
    fn may_lose(&self, error: &io::Error, output: &Output) -> bool {
        error.kind() == io::ErrorKind::BrokenPipe
            && self.told_end.is_some_and(|end| output.has_written(end))
    }

    /// Shows what an extension has to say: with the events, or beside the answer.
    fn note(&self, notice: ExtensionNotice, output: &mut Output) -> io::Result<()> {
        // When even standard error is gone, there is nobody to tell.
        match &notice {
            ExtensionNotice::Problem(problem) => {
                let _ = writeln!(zot_terminal::stderr(), "{problem}");
            }
            ExtensionNotice::Notify {
                extension,
                level,
                message,
            } if self.format == Format::Text => {
                let level = if level.is_empty() { "info" } else { level };
                let note = format!("[{extension}] {level}: {message}");
                let _ = writeln!(zot_terminal::stderr(), "{note}");
            }
            // Panels need a place to be shown.
            _ => {}
        }
        self.write(wire::notice(notice), output)
    }

    /// What someone who trusts the answer should know.
    fn doubts(&self) -> &'static [&'static str] {
        if self.error.is_some() {
            &[]
        } else if self.last_stop == Some(TurnStop::Length) {
            &["the answer was cut off at the model's output limit"]
        } else if self.answer.is_empty() {
            &["the model gave no answer"]
        } else {
            &[]
        }
    }

    /// Writes what is left.
    fn finish(&self, output: &mut Output) -> io::Result<()> {
        match (self.format, &self.error) {
            (Format::Json, Some(report)) => {
                let event = wire::event(AgentEvent::Failed(report.clone()));
                self.write(event, output)?;
            }
            (Format::Text, None) => {
                output.push_text(&self.answer);
                output.push_text("\n");
            }
            (Format::Json, None) | (Format::Text, Some(_)) => {}
        }
        Ok(())
    }
}
