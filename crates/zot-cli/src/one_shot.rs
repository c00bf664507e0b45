//! `zot -p` and `zot --json`: one prompt.

mod progress;

use std::io::{self, Write as _};
use std::process::ExitCode;

use tokio::time::timeout;
use zot_rpc::EventFilter;
use zot_sdk::context::PromptDraft;
use zot_sdk::wire::Event;
use zot_sdk::{
    AgentEvent, ApprovalScope, Budget, Config, ErrorReport, EventStream, ExtensionNotice,
    Persistence, Runtime, TurnStop, wire,
};
use zot_stdio::executor::{self, IdleSignal};
use zot_stdio::signals::{EndSignal, EndSignals, FLUSH_TIME, SIGNAL_GRACE};
use zot_stdio::{Mark, Output};

use crate::arguments::Arguments;
use crate::configuration;
use crate::failure::Failure;
use crate::{mention_project_servers, warn};
use progress::ProgressLine;

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
    let runtime = start(config, format)?;
    let mut output = Output::stdout(idle)?;
    let prepared = runtime.prepare_prompt(prompt).await;
    let prompt = prepared.map_err(Failure::usage)?;
    warn(&prompt.problems);
    let mut events = runtime.prompt_mentioning(prompt.message, Budget::default())?;
    let mut report = Report::new(format, &runtime);
    loop {
        let progress = &mut report.progress;
        match next_step(&runtime, &mut events, &mut output, &mut signals, progress).await {
            Step::Event(Some(event)) => report.add(event, &mut output)?,
            Step::Event(None) => break,
            Step::Notice(notice) => report.note(notice, &mut output)?,
            Step::Written(Ok(())) => {}
            Step::Written(Err(error)) => {
                if report.may_lose(&error, &output) {
                    // The reader has received everything.
                    output.discard();
                    break;
                }
                abandon(&runtime, events).await;
                return Err(Failure::answer_lost(error));
            }
            Step::Signal(signal) => {
                runtime.cancel();
                tokio::select! {
                    () = wind_down(&runtime, events, report, output) => {}
                    // A second signal ends the process immediately.
                    _ = signals.next() => {}
                }
                return Ok(ExitCode::from(signal.exit_code()));
            }
        }
    }
    report.progress.clear();
    warn(report.warnings());
    if format == Format::Text {
        report.finish(&mut output)?;
    }
    // A reader who waits for the answer or for `done` does not have to wait for extensions to end.
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

fn start(config: Config, format: Format) -> Result<Runtime, Failure> {
    let runtime = Runtime::new(config)?;
    warn(runtime.warnings());
    mention_project_servers(&runtime);
    if runtime.approval().scope != ApprovalScope::Nothing {
        refuse_confirmations(&runtime, format);
    }
    Ok(runtime)
}

/// Makes tools that need approval fail, because nobody can be asked.
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
        "{mode} cannot ask for confirmation, so {tools} refused (because of --no-yolo or --confirm)"
    )]);
    runtime.refuse_confirmations_because(
        "refused: the user wants to confirm calls of this tool, but cannot be asked in this mode. Do \
         not try again: continue without the call, or describe what it would have done",
    );
}

/// Cancels a run whose output nobody reads.
async fn abandon(runtime: &Runtime, mut events: EventStream) {
    runtime.cancel();
    let ending = async {
        while events.next().await.is_some() {}
        runtime.close().await;
    };
    let _ = timeout(SIGNAL_GRACE, ending).await;
}

/// Reports the remaining events of a cancelled run, as far as the reader accepts them.
async fn wind_down(
    runtime: &Runtime,
    mut events: EventStream,
    mut report: Report,
    mut output: Output,
) {
    let ending = async {
        while let Some(event) = events.next().await {
            // Only a bug in serialisation can fail here, and the run ends anyway.
            let _ = report.add(event, &mut output);
        }
        runtime.close().await;
    };
    let _ = timeout(SIGNAL_GRACE, ending).await;
    // An interrupted run has no answer; partial text must not be mistaken for one.
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
    progress: &mut ProgressLine,
) -> Step {
    let open = !output.is_full();
    tokio::select! {
        signal = signals.next() => Step::Signal(signal),
        event = events.next(), if open => Step::Event(event),
        notice = runtime.next_notice(), if open => Step::Notice(notice),
        result = output.drive() => Step::Written(result),
        never = progress.keep_drawing() => match never {},
    }
}

/// Turns events into output.
struct Report {
    format: Format,
    progress: ProgressLine,
    filter: EventFilter,
    /// The text of the last assistant message.
    answer: String,
    /// The text of this turn from a model that failed, before another one took over.
    partial: String,
    /// Whether there was an answer since the turn began or a model failed.
    has_answer_in_turn: bool,
    /// Written last.
    error: Option<ErrorReport>,
    /// How the last turn ended.
    last_stop: Option<TurnStop>,
    /// The position of `done` in the output.
    done_mark: Option<Mark>,
}

impl Report {
    fn new(format: Format, runtime: &Runtime) -> Self {
        Self {
            format,
            progress: match format {
                Format::Text => ProgressLine::on_terminal(runtime.model()),
                Format::Json => ProgressLine::hidden(),
            },
            filter: EventFilter::with_details(),
            answer: String::new(),
            partial: String::new(),
            has_answer_in_turn: false,
            error: None,
            last_stop: None,
            done_mark: None,
        }
    }

    fn add(&mut self, event: AgentEvent, output: &mut Output) -> io::Result<()> {
        self.progress.observe(&event);
        match &event {
            AgentEvent::TurnStarted { .. } => self.partial.clear(),
            AgentEvent::AssistantMessage(message) => {
                self.answer = format!("{}{}", self.partial, message.text());
                self.has_answer_in_turn = true;
            }
            AgentEvent::TurnEnded { stop, .. } => {
                self.has_answer_in_turn = false;
                self.last_stop = Some(*stop);
            }
            // The answer does not show which model wrote it.
            AgentEvent::FellBack { from, to, error } => {
                if std::mem::take(&mut self.has_answer_in_turn) {
                    self.partial.clone_from(&self.answer);
                }
                if self.format == Format::Text {
                    self.progress.clear();
                    warn(&[format!(
                        "{from} failed ({}); {to} takes over",
                        error.message
                    )]);
                }
            }
            AgentEvent::Notice(message) if self.format == Format::Text => {
                self.progress.clear();
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
            self.done_mark = Some(output.mark());
        }
        Ok(())
    }

    /// Writes an event if the format is JSON.
    fn write(&self, event: Option<Event>, output: &mut Output) -> io::Result<()> {
        match event.and_then(|event| self.filter.admit(event)) {
            Some(event) if self.format == Format::Json => output.push(&event),
            _ => Ok(()),
        }
    }

    /// Returns whether the reader closed the pipe after it received `done`.
    fn may_lose(&self, error: &io::Error, output: &Output) -> bool {
        error.kind() == io::ErrorKind::BrokenPipe
            && self.done_mark.is_some_and(|end| output.has_written(end))
    }

    /// Shows a notice of an extension: among the events, or on standard error.
    fn note(&mut self, notice: ExtensionNotice, output: &mut Output) -> io::Result<()> {
        self.progress.clear();
        // If standard error is closed, there is nowhere else to report it.
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
            // Panels need a terminal.
            _ => {}
        }
        self.write(wire::notice(notice), output)
    }

    /// Returns warnings about the answer.
    fn warnings(&self) -> &'static [&'static str] {
        if self.error.is_some() {
            &[]
        } else if self.last_stop == Some(TurnStop::Length) {
            &["the answer was cut off at the model's output limit"]
        } else if self.answer.is_empty() {
            &["the model returned no answer"]
        } else {
            &[]
        }
    }

    /// Writes what comes last: the answer, or the error.
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
