//! An agent that we start: its own process group, ended with us.

mod output;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use zot_process::ProcessGroup;
use zot_process::launch::{Confinement, confine};

use super::Feed;
use crate::record::{Attached, Detached};
use crate::source::SourceKind;
use crate::{Hub, Status};
use output::Output;

/// How long an agent may take to end when asked to.
///
/// Limit: SIGKILL.
pub const AGENT_TERMINATION_GRACE: Duration = Duration::from_secs(5);

/// How long output may still come from processes that an agent left behind.
///
/// Limit: output that other processes hold open is abandoned.
const AGENT_DRAIN_TIME: Duration = Duration::from_millis(500);

/// Exit codes that mean that somebody ended a program, as shells report signals: hangup, interrupt, quit, kill and
/// terminate. Others, like those of a crash, are failures.
const INTERRUPTIONS: [u8; 5] = [128 + 1, 128 + 2, 128 + 3, 128 + 9, 128 + 15];

/// What an interrupted agent counts as that exits with 0.
const INTERRUPTED_CODE: u8 = 128 + 2;

/// How much of a command line is its label.
const LABEL_BYTES: usize = 80;

/// An agent to start.
#[derive(Debug, Clone, Default)]
pub struct Launch {
    /// For people; the command's name if empty.
    pub label: String,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Which kind of agent it is, if the user has said so: what it prints decides otherwise.
    pub kind: Option<SourceKind>,
    /// Which kind the name of the program suggests, for prompts and for what cannot be found out.
    pub suggested: Option<SourceKind>,
    /// What it is asked, one after the other, on its standard input.
    pub prompts: Vec<String>,
}

impl Launch {
    /// `[LABEL=]COMMAND`, with a command line for sh. A label has a small letter, so that a variable that is set for
    /// the command is none.
    pub fn shell(argument: &str) -> Result<Self, AmbiguousLabel> {
        let (label, line) = match argument.split_once('=') {
            Some((label, line)) if is_label(label)? => (label.trim(), line),
            _ => (
                &argument[..argument.floor_char_boundary(LABEL_BYTES)],
                argument,
            ),
        };
        let program = line.split_whitespace().next().map(Path::new);
        Ok(Self {
            label: label.to_owned(),
            command: ["sh", "-c", line].map(OsString::from).to_vec(),
            suggested: program.and_then(SourceKind::of_program),
            ..Self::default()
        })
    }

    /// What it is called where people see it.
    pub fn shown_label(&self) -> String {
        match self.label.is_empty() {
            true => self.program_name(),
            false => self.label.clone(),
        }
    }

    fn program_name(&self) -> String {
        let program = self.command.first().map(Path::new);
        let name = program.and_then(Path::file_name).unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

/// Whether `text`, which stands before the first `=`, is a label.
fn is_label(text: &str) -> Result<bool, AmbiguousLabel> {
    let fits = |character: char| character.is_alphanumeric() || "-_.#:".contains(character);
    let mut words = text.split_whitespace();
    let (Some(first), last) = (words.next(), words.next_back()) else {
        return Ok(false);
    };
    let plain = text
        .split_whitespace()
        .all(|word| word.chars().all(fits) && !word.starts_with('-'));
    let small = text.chars().any(char::is_lowercase);
    let Some(last) = last else {
        return Ok(plain && small);
    };
    // Several words: a label, or a command and the variable that is set for it.
    if !plain || !small || SHELL_WORDS.contains(&first) {
        return Ok(false);
    }
    match (is_program(first), last.chars().any(char::is_lowercase)) {
        (false, _) => Ok(true),
        (true, false) => Ok(false),
        (true, true) => Err(AmbiguousLabel(text.to_owned())),
    }
}

/// Words that can start a command but are not programs.
const SHELL_WORDS: [&str; 16] = [
    "alias", "cd", "command", "declare", "eval", "exec", "export", "for", "if", "local",
    "readonly", "set", "time", "typeset", "unset", "while",
];

fn is_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(name).is_file())
}

/// A label of several words whose first is a program: it could as well be a command that sets a variable.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot tell whether {0:?} is a label or the beginning of a command, because its first word is a program: write the \
     label without spaces (--run 'my-label=command'), or put a label in front of the command"
)]
pub struct AmbiguousLabel(String);

/// Why an agent did not start.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("no command: say what to run, as in `glasspane run -- zot --json hello`")]
    NoCommand,
    #[error("cannot start {program}: {source}; is it installed and in PATH?")]
    Start { program: String, source: io::Error },
    #[error(
        "cannot prompt {program}: only zot rpc, pi --mode rpc, claude and qwen with --input-format stream-json take prompts; if it is one of them, say so with --source"
    )]
    NoPrompts { program: String },
}

/// How an agent that was started has ended.
#[derive(Debug, Clone)]
pub struct Ended {
    pub id: String,
    pub label: String,
    /// As shells report it: the code, or 128 and the signal.
    pub exit_code: u8,
    /// What was last seen of it.
    pub status: Status,
}

impl Ended {
    /// The exit code; for an agent that does not say so by it, 1 if it failed and 130 if it was interrupted.
    pub fn verdict(&self) -> u8 {
        match (self.exit_code, self.status) {
            (0, Status::Failed) => 1,
            (0, Status::Interrupted) => INTERRUPTED_CODE,
            (code, _) => code,
        }
    }
}

/// Starts an agent and reports its output until it ends or is stopped.
pub async fn run_agent(
    hub: &Hub,
    launch: Launch,
    cancel: CancellationToken,
) -> Result<Ended, SpawnError> {
    let program = launch.command.first().ok_or(SpawnError::NoCommand)?;
    let name = launch.program_name();
    let kind = launch
        .kind
        .or(launch.suggested)
        .or_else(|| SourceKind::of_program(Path::new(program)));
    let mut prompts = VecDeque::new();
    for prompt in &launch.prompts {
        let line = kind.and_then(|kind| kind.prompt_line(prompt));
        prompts.push_back(line.ok_or_else(|| SpawnError::NoPrompts {
            program: name.clone(),
        })?);
    }
    let start_failed = |source| SpawnError::Start {
        program: name.clone(),
        source,
    };
    let (group, pipes) = start(&launch.command, !prompts.is_empty()).map_err(start_failed)?;

    let label = launch.shown_label();
    let attached = Attached {
        label: label.clone(),
        cwd: std::env::current_dir()
            .ok()
            .map(|directory| directory.display().to_string()),
        ..Attached::default()
    };
    // A program's name suggests a kind; what it prints decides, unless the caller has.
    let mut feed = Feed::new(hub, attached, launch.kind.or(zino_only(kind)));
    let id = feed.attach().to_owned();
    let mut output = Output::new(pipes.output, pipes.errors, feed);
    let mut questions = Questions {
        hub,
        id: &id,
        input: pipes.input,
        prompts,
        asked: 0,
        unwritten: Vec::new(),
    };
    let cancelled = converse(&group, &mut output, &mut questions, cancel).await;
    drop(questions);

    let end = if cancelled {
        let end = group.end(AGENT_TERMINATION_GRACE).await;
        // It may have reported its end.
        drain(&mut output).await;
        end
    } else {
        group.close().await
    };
    let exit_code = end.status.map_or(1, exit_code);
    let feed = output.into_feed();
    let interrupted_code = feed.kind().and_then(SourceKind::interrupted_code);
    feed.finish(Detached {
        reason: reason(end.status, cancelled),
        failed: exit_code != 0,
        interrupted: cancelled
            || INTERRUPTIONS.contains(&exit_code)
            || interrupted_code == Some(exit_code),
        exit_code: Some(exit_code),
        ..Detached::default()
    });
    Ok(Ended {
        status: hub.agent(&id).map_or(Status::Failed, |state| state.status),
        id,
        label,
        exit_code,
    })
}

/// `zino cli` prints plain text, from which nothing could be found out.
fn zino_only(kind: Option<SourceKind>) -> Option<SourceKind> {
    kind.filter(|kind| *kind == SourceKind::Zino)
}

struct Pipes {
    input: Option<pipe::Sender>,
    output: pipe::Receiver,
    errors: pipe::Receiver,
}

fn start(words: &[OsString], with_input: bool) -> io::Result<(ProcessGroup, Pipes)> {
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let (to_output, output) = pipe::pipe()?;
    let (to_errors, errors) = pipe::pipe()?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdout(Stdio::from(to_output.into_blocking_fd()?))
        .stderr(Stdio::from(to_errors.into_blocking_fd()?));
    let input = if with_input {
        let (input, from_input) = pipe::pipe()?;
        command.stdin(Stdio::from(from_input.into_blocking_fd()?));
        Some(input)
    } else {
        command.stdin(Stdio::null());
        None
    };
    // Nothing but its standard streams is passed on.
    let (command, _) = confine(command, &Confinement::default()).map_err(io::Error::other)?;
    let group = ProcessGroup::spawn(command)?;
    Ok((
        group,
        Pipes {
            input,
            output,
            errors,
        },
    ))
}

/// Reads and prompts until the agent has exited and its output is read, or until cancelled, and returns which.
async fn converse(
    group: &ProcessGroup,
    output: &mut Output,
    questions: &mut Questions<'_>,
    cancel: CancellationToken,
) -> bool {
    let mut open = true;
    loop {
        questions.prepare();
        tokio::select! {
            biased;
            () = cancel.cancelled() => return true,
            more = output.read(), if open => {
                open = more;
                tokio::task::yield_now().await;
            }
            () = questions.write(), if questions.is_writing() => {}
            () = group.exited() => break,
        }
    }
    drain(output).await;
    false
}

/// Reads what is left in the pipes; processes left behind may hold them open.
async fn drain(output: &mut Output) {
    let _ = timeout(AGENT_DRAIN_TIME, async {
        while output.read().await {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// What an agent is asked: the next prompt waits for the answer to the last, and the end of the input for the last
/// answer.
struct Questions<'a> {
    hub: &'a Hub,
    id: &'a str,
    input: Option<pipe::Sender>,
    prompts: VecDeque<String>,
    /// How many answers there have to be before the next is asked.
    asked: u64,
    /// What the pipe has not taken yet.
    unwritten: Vec<u8>,
}

impl Questions<'_> {
    fn prepare(&mut self) {
        if self.input.is_none() || self.answers() < self.asked {
            return;
        }
        match self.prompts.pop_front() {
            Some(line) => {
                self.asked = self.answers() + 1;
                self.unwritten = line.into_bytes();
            }
            None => self.input = None,
        }
    }

    /// How many prompts were answered, well or badly.
    fn answers(&self) -> u64 {
        let state = self.hub.agent(self.id);
        state.map_or(0, |state| state.prompts_over)
    }

    fn is_writing(&self) -> bool {
        self.input.is_some() && !self.unwritten.is_empty()
    }

    /// Safe to drop: what was written is forgotten in the same step.
    async fn write(&mut self) {
        let Some(input) = &mut self.input else { return };
        match input.write(&self.unwritten).await {
            Ok(count) => {
                self.unwritten.drain(..count);
            }
            // It does not listen any more.
            Err(_) => self.input = None,
        }
    }
}

fn exit_code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt as _;
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

fn reason(status: Option<ExitStatus>, cancelled: bool) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    if cancelled {
        return "ended by glasspane".to_owned();
    }
    match status {
        Some(status) => match (status.code(), status.signal()) {
            (Some(code), _) => format!("exited with {code}"),
            (None, Some(signal)) => format!("ended by signal {signal}"),
            (None, None) => "exited".to_owned(),
        },
        None => "exited".to_owned(),
    }
}
