//! Starts an agent in its own process group, which ends with us.

mod output;

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use zot_process::ProcessGroup;
use zot_process::sandbox::{Level, Policy, Sandbox, Surroundings};

use super::Feed;
use crate::record::{Attached, Detached};
use crate::source::SourceKind;
use crate::{Hub, Status};
use output::Output;

/// How long an agent may take to end when asked to.
///
/// Limit: SIGKILL.
pub const AGENT_TERMINATION_GRACE: Duration = Duration::from_secs(5);

/// How long output of processes that an agent left behind is read.
///
/// Limit: output that other processes hold open is abandoned.
const AGENT_DRAIN_TIME: Duration = Duration::from_millis(500);

/// Exit codes of programs that were ended on purpose, as shells report signals: hangup, interrupt, quit,
/// kill and terminate. Others, like those of a crash, are failures.
const INTERRUPTIONS: [u8; 5] = [128 + 1, 128 + 2, 128 + 3, 128 + 9, 128 + 15];

/// The exit code reported for an interrupted agent that exits with 0.
const INTERRUPTED_CODE: u8 = 128 + 2;

/// How much of a command line becomes its label.
const LABEL_BYTES: usize = 80;

/// An agent to start.
#[derive(Debug, Clone, Default)]
pub struct Launch {
    /// For people; the command's name if empty.
    pub label: String,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The kind of agent, if the user named it; otherwise its output decides.
    pub kind: Option<SourceKind>,
    /// The kind that the name of the program suggests, for prompts and for output that cannot be detected.
    pub suggested: Option<SourceKind>,
    /// The prompts to send to its standard input, one after the other.
    pub prompts: Vec<String>,
}

impl Launch {
    /// Parses `[LABEL=]COMMAND`, with a command line for sh. A label contains a lower-case letter, so that an
    /// environment variable set for the command is not mistaken for one.
    pub fn shell(argument: &str) -> Result<Self, AmbiguousLabel> {
        let (label, line) = match argument.split_once('=') {
            Some((label, line)) if is_label(label)? => (label.trim(), line),
            _ => (
                &argument[..argument.floor_char_boundary(LABEL_BYTES)],
                argument,
            ),
        };
        let words = line
            .split_whitespace()
            .skip_while(|word| is_assignment(word));
        Ok(Self {
            label: label.to_owned(),
            command: ["sh", "-c", line].map(OsString::from).to_vec(),
            suggested: SourceKind::of_command(words.map(OsStr::new)),
            ..Self::default()
        })
    }

    /// The label shown to people.
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

/// Whether a word sets an environment variable for the command after it.
fn is_assignment(word: &str) -> bool {
    let fits =
        |character: char| character.is_ascii_uppercase() || "_0123456789".contains(character);
    word.split_once('=')
        .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(fits))
}

/// Whether `text`, the part before the first `=`, is a label.
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
    // Several words: a label, or a command and an environment variable set for it.
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

/// A label of several words whose first is a program: it could also be a command that sets a variable.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot tell whether {0:?} is a label or the beginning of a command, because its first word is a program: write the \
     label without spaces (--run 'my-label=command'), or put a label in front of the command"
)]
pub struct AmbiguousLabel(String);

/// Why an agent did not start.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("no command: give one, as in `glasspane run -- zot --json hello`")]
    NoCommand,
    #[error("cannot start {program}: {source}; is it installed and in PATH?")]
    Start { program: String, source: io::Error },
    #[error(
        "cannot prompt {program}: only zot rpc, pi --mode rpc, claude and qwen with --input-format stream-json accept prompts; if it is one of them, name it with --source"
    )]
    NoPrompts { program: String },
}

/// The end of an agent that was started.
#[derive(Debug, Clone)]
pub struct Ended {
    pub label: String,
    /// As shells report it: the code, or 128 plus the signal.
    pub exit_code: u8,
    /// Its last status.
    pub status: Status,
}

impl Ended {
    /// The exit code; for an agent that exits with 0 all the same, 1 if it failed and 130 if it was interrupted.
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
    if launch.command.is_empty() {
        return Err(SpawnError::NoCommand);
    }
    let name = launch.program_name();
    let words = launch.command.iter().map(OsString::as_os_str);
    let kind = launch
        .kind
        .or(launch.suggested)
        .or_else(|| SourceKind::of_command(words));
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
    // The name of a program suggests a kind; its output decides, unless the caller named one.
    let mut feed = Feed::new(hub, attached, launch.kind.or(certain(kind)));
    if !feed.is_log() {
        feed.attach();
    }
    let id = feed.id().unwrap_or_default().to_owned();
    let mut output = Output::new(pipes.output, pipes.errors, feed);
    let mut prompt_queue = PromptQueue {
        hub,
        id: &id,
        input: pipes.input,
        prompts,
        awaited: 0,
        unwritten: Vec::new(),
    };
    let cancelled = converse(&group, &mut output, &mut prompt_queue, cancel).await;
    drop(prompt_queue);

    let end = if cancelled {
        let end = group.end(AGENT_TERMINATION_GRACE).await;
        // Its last output may report its end.
        drain(&mut output).await;
        end
    } else {
        group.close().await
    };
    let exit_code = end.status.map_or(1, exit_code);
    let feed = output.into_feed();
    let interrupted_code = feed.kind().and_then(SourceKind::interrupted_code);
    let status = feed.finish_live(Detached {
        reason: reason(end.status, cancelled),
        failed: exit_code != 0,
        interrupted: cancelled
            || INTERRUPTIONS.contains(&exit_code)
            || interrupted_code == Some(exit_code),
        exit_code: Some(exit_code),
        ..Detached::default()
    });
    Ok(Ended {
        status,
        label,
        exit_code,
    })
}

/// `zino cli` prints plain text, from which no kind can be detected, and a log is not an agent from the
/// start.
fn certain(kind: Option<SourceKind>) -> Option<SourceKind> {
    kind.filter(|kind| matches!(kind, SourceKind::Zino | SourceKind::Glasspane))
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
    // The agent inherits only its standard streams, and needs the keys of its models.
    let sandbox = Sandbox::new(Policy::at(Level::Off), Surroundings::default());
    let sandbox = sandbox.map_err(io::Error::other)?;
    let prepared = sandbox.prepare(command).map_err(io::Error::other)?;
    let group = ProcessGroup::spawn(prepared.command)?;
    Ok((
        group,
        Pipes {
            input,
            output,
            errors,
        },
    ))
}

/// Reads output and sends prompts until the agent has exited and its output is read. Returns true if
/// cancelled before.
async fn converse(
    group: &ProcessGroup,
    output: &mut Output,
    prompt_queue: &mut PromptQueue<'_>,
    cancel: CancellationToken,
) -> bool {
    let mut open = true;
    loop {
        prompt_queue.prepare();
        tokio::select! {
            biased;
            () = cancel.cancelled() => return true,
            more = output.read(), if open => {
                open = more;
                tokio::task::yield_now().await;
            }
            () = prompt_queue.write(), if prompt_queue.is_writing() => {}
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

/// Prompts for an agent: each is sent when the one before is over, and the input is closed after the
/// last.
struct PromptQueue<'a> {
    hub: &'a Hub,
    id: &'a str,
    input: Option<pipe::Sender>,
    prompts: VecDeque<String>,
    /// How many prompts must be over before the next is sent.
    awaited: u64,
    /// The bytes of a prompt that are still to be written.
    unwritten: Vec<u8>,
}

impl PromptQueue<'_> {
    fn prepare(&mut self) {
        if self.input.is_none() || self.prompts_over() < self.awaited {
            return;
        }
        match self.prompts.pop_front() {
            Some(line) => {
                self.awaited = self.prompts_over() + 1;
                self.unwritten = line.into_bytes();
            }
            None => self.input = None,
        }
    }

    /// How many prompts are over, successfully or not.
    fn prompts_over(&self) -> u64 {
        let state = self.hub.agent(self.id);
        state.map_or(0, |state| state.prompts_over)
    }

    fn is_writing(&self) -> bool {
        self.input.is_some() && !self.unwritten.is_empty()
    }

    /// Cancel-safe: written bytes are removed in the same step.
    async fn write(&mut self) {
        let Some(input) = &mut self.input else { return };
        match input.write(&self.unwritten).await {
            Ok(count) => {
                self.unwritten.drain(..count);
            }
            // It no longer reads its input.
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
