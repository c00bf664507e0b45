//! Examines everything an extension has to get right, and reports its findings.

mod conversation;
mod panel;
mod sample;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use zot_extension_contract::{
    LaunchError, LaunchRules, Manifest, ManifestError, READY_GRACE, SHUTDOWN_TIME, check_arguments,
    check_program,
};
use zot_files::ScratchDirectory;
use zot_wire::RawJson;
use zot_wire::extension::{CommandAction, CommandResponse, ExtensionFrame, HostFrame};

use crate::arguments::arguments_for;
use crate::checks;
use crate::finding::Finding;
use crate::trial::{Introduction, IntroductionError, Stage, Trial};
use conversation::{Conversation, Response};
use sample::{kinds, sample};

/// How long a command or an intercept may take.
const RESPONSE_TIME: Duration = Duration::from_secs(5);

/// How long an extension has to keep running after what it was sent.
const SURVIVAL_TIME: Duration = Duration::from_millis(300);

/// A frame that no host sends today, but a later version might.
const UNKNOWN_FRAME: &[u8] = b"{\"type\":\"zot_ext_test_unknown\",\"value\":{\"nested\":[1,2]}}\n";

const UNKNOWN_FIELD: &[u8] =
    b"{\"type\":\"event\",\"event\":\"session_start\",\"zot_ext_test_unknown\":{\"nested\":true}}\n";

/// Options of an examination.
#[derive(Debug, Clone)]
pub struct ExaminationOptions {
    pub zot_version: String,
    /// How long a tool may take.
    pub tool_timeout: Duration,
    /// What applies to every extension.
    pub rules: LaunchRules,
}

/// How long to wait for a hello, unless the manifest sets `start_timeout`.
const HELLO_TIME: Duration = Duration::from_secs(10);

fn manifest_hint(error: &ManifestError) -> &'static str {
    match error {
        ManifestError::Missing(_) => {
            "name the extension's directory, or create one: zot ext new NAME"
        }
        ManifestError::Parse(error) if error.is_data() => {
            "\"The manifest\" in docs/extensions.md lists its fields and what they may be"
        }
        ManifestError::Parse(_) => "it has to be one JSON object",
        ManifestError::Permissions(_) => "see \"Permissions\" in docs/extensions.md",
        _ => "an extension.json needs at least \"name\" and \"exec\"",
    }
}

/// Examines the extension in `directory`. `found` is called with each finding as it is made, `log`
/// with each line of the extension's standard error. The extension works in temporary directories.
pub async fn examine(
    directory: &Path,
    options: &ExaminationOptions,
    found: &mut dyn FnMut(Finding),
    log: &mut (dyn FnMut(&str) + Send),
) {
    let manifest = match Manifest::load(directory) {
        Ok(manifest) => manifest,
        Err(error) => {
            let problem = error.to_string();
            let problem = problem.strip_prefix("manifest: ").unwrap_or(&problem);
            found(Finding::fail("manifest", problem, manifest_hint(&error)));
            return;
        }
    };
    found(Finding::ok(
        "manifest",
        format!("{} {}", manifest.name, manifest.version),
    ));
    if let Err(error) = check_program(&manifest, directory) {
        let hint = "zot starts \"exec\" of the manifest in the extension's directory";
        found(Finding::fail("start", error.to_string(), hint));
        return;
    }
    let Ok(scratch) = Scratch::new() else {
        let hint = "make sure the temporary directory can be written to, or set TMPDIR";
        found(Finding::fail("start", "no temporary directory", hint));
        return;
    };
    let stage = Stage {
        zot_version: options.zot_version.clone(),
        provider: "offline".to_owned(),
        model: "offline".to_owned(),
        cwd: scratch.cwd.clone(),
        data_dir: scratch.data_dir.clone(),
        is_from_project: false,
        rules: options.rules.clone(),
    };
    let trial = match Trial::start(&manifest, directory, &stage).await {
        Ok(trial) => trial,
        Err(error) => {
            found(not_started(&error));
            return;
        }
    };
    for finding in checks::confinement(&manifest, trial.shortfalls()) {
        found(finding);
    }
    let mut examination = Examination {
        conversation: Conversation::new(trial, log),
        found,
    };
    if let Some(introduction) = examination.handshake(&manifest).await {
        examination.events(&introduction).await;
        examination.intercepts(&introduction).await;
        examination.commands(&introduction).await;
        examination.tools(&introduction, options.tool_timeout).await;
        examination.broken_input(&introduction).await;
    }
    examination.shutdown().await;
}

fn not_started(error: &LaunchError) -> Finding {
    let hint = match error {
        LaunchError::Spawn { .. } => {
            "a script needs a first line such as #!/usr/bin/env python3 and must be executable"
        }
        LaunchError::Confinement(_) => "correct \"sandbox\" and \"permissions\" in the manifest",
        _ => "zot starts \"exec\" of the manifest in the extension's directory",
    };
    Finding::fail("start", error.to_string(), hint)
}

/// Where the extension works. Two directories, because a confined extension may always write to its
/// data directory.
struct Scratch {
    cwd: PathBuf,
    data_dir: PathBuf,
    _directory: ScratchDirectory,
}

impl Scratch {
    fn new() -> io::Result<Self> {
        let directory = ScratchDirectory::new(zot_files::Scratch::Trial)?;
        let scratch = Self {
            cwd: directory.path().join("project"),
            data_dir: directory.path().join("data"),
            _directory: directory,
        };
        fs::create_dir(&scratch.cwd)?;
        fs::create_dir(&scratch.data_dir)?;
        Ok(scratch)
    }
}

struct Examination<'a> {
    conversation: Conversation<'a>,
    found: &'a mut dyn FnMut(Finding),
}

impl Examination<'_> {
    fn ok(&mut self, check: impl Into<String>, message: impl Into<String>) {
        (self.found)(Finding::ok(check, message));
    }

    fn fail(
        &mut self,
        check: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        (self.found)(Finding::fail(check, message, hint));
    }

    fn warn(
        &mut self,
        check: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        (self.found)(Finding::warn(check, message, hint));
    }

    async fn handshake(&mut self, manifest: &Manifest) -> Option<Introduction> {
        let patience = match manifest.start_timeout {
            Some(_) => manifest.start_time(),
            None => HELLO_TIME,
        };
        let deadline = Instant::now() + patience;
        let introduced = self
            .conversation
            .introduce(deadline, deadline + READY_GRACE)
            .await;
        let introduction = match introduced {
            Ok(introduction) => introduction,
            Err(error) => {
                let hint = match &error {
                    IntroductionError::NoHello => {
                        "write {\"type\":\"hello\",…} and a line feed first, and flush standard output; if it takes long to start, set \"start_timeout\" in the manifest"
                    }
                    IntroductionError::NotHello { .. } => {
                        "nothing but frames may go to standard output: print to standard error"
                    }
                    IntroductionError::Ended { .. } => {
                        "see its standard error; try to start it by hand"
                    }
                    _ => "keep reading standard input until it is closed",
                };
                self.fail("handshake", error.to_string(), hint);
                return None;
            }
        };
        for finding in checks::hello(manifest, &introduction.hello) {
            (self.found)(finding);
        }
        if self.conversation.has_ended() {
            let hint = "keep reading standard input; do not end before shutdown";
            self.fail("handshake", "it ended after hello_ack", hint);
            return None;
        }
        self.ok("handshake", "hello_ack accepted");
        for finding in checks::registrations(&introduction) {
            (self.found)(finding);
        }
        Some(introduction)
    }

    async fn events(&mut self, introduction: &Introduction) {
        let kinds = kinds(&introduction.subscription.events);
        for kind in &kinds {
            let sent = self
                .conversation
                .send(&HostFrame::Event(sample(*kind)))
                .await;
            if let Err(error) = sent {
                let check = format!("event {}", kind.as_str());
                self.fail(check, error, "read standard input to its end");
                return;
            }
        }
        if kinds.is_empty() {
            return;
        }
        if self.conversation.survives(SURVIVAL_TIME).await {
            let names: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
            self.ok("events", format!("delivered: {}", names.join(", ")));
        } else {
            let hint = "see its standard error: an event must not end an extension";
            self.fail("events", "it ended after an event", hint);
        }
    }

    async fn intercepts(&mut self, introduction: &Introduction) {
        for kind in kinds(&introduction.subscription.intercept) {
            if !kind.can_be_intercepted() || self.conversation.has_ended() {
                continue;
            }
            let check = format!("intercept {}", kind.as_str());
            let id = self.conversation.next_id();
            let frame = HostFrame::EventIntercept {
                id: id.clone(),
                event: sample(kind),
            };
            let response = self
                .conversation
                .request(&frame, &id, RESPONSE_TIME, |frame| match frame {
                    ExtensionFrame::EventInterceptResponse(response) if response.id == id => {
                        Some(response.clone())
                    }
                    _ => None,
                })
                .await;
            let Some(response) = self.expect_response(&check, response, "event_intercept_response")
            else {
                continue;
            };
            let modified = response.modified_args.as_ref();
            if modified.is_some_and(|args| !args.get().trim_start().starts_with('{')) {
                let hint = "send all arguments of the tool, as an object";
                self.fail(check, "modified_args: expected a JSON object", hint);
            } else if response.block {
                let reason = if response.reason.is_empty() {
                    "no reason given"
                } else {
                    &response.reason
                };
                self.ok(check, format!("blocked: {reason}"));
            } else {
                let rewrites = modified.is_some() || response.replace_text.is_some();
                self.ok(check, if rewrites { "rewritten" } else { "allowed" });
            }
        }
    }

    async fn commands(&mut self, introduction: &Introduction) {
        for command in &introduction.commands {
            // Its end has already been reported.
            if self.conversation.has_ended() {
                return;
            }
            let check = format!("command /{}", command.name);
            let response = self.invoke(&command.name).await;
            let Some(response) = self.expect_response(&check, response, "command_response") else {
                continue;
            };
            if !response.error.is_empty() {
                let hint = "called without arguments; fine if it needs some";
                self.warn(&check, format!("error: {}", response.error), hint);
            }
            match response.action {
                CommandAction::Prompt { prompt } => self.text(&check, "prompt", &prompt),
                CommandAction::Insert { insert } => self.text(&check, "insert", &insert),
                CommandAction::Display { display } => self.text(&check, "display", &display),
                CommandAction::Noop => self.ok(&check, "answered: noop"),
                CommandAction::OpenPanel { open_panel } => self.panel(&check, open_panel).await,
            }
        }
    }

    /// Runs a command without arguments.
    async fn invoke(&mut self, name: &str) -> Response<CommandResponse> {
        let id = self.conversation.next_id();
        let frame = HostFrame::CommandInvoked {
            id: id.clone(),
            name: name.to_owned(),
            args: String::new(),
        };
        self.conversation
            .request(&frame, &id, RESPONSE_TIME, |frame| match frame {
                ExtensionFrame::CommandResponse(response) if response.id == id => {
                    Some(response.clone())
                }
                _ => None,
            })
            .await
    }

    fn text(&mut self, check: &str, action: &str, text: &str) {
        if text.is_empty() {
            let hint = format!("put the text into the field {action:?}, or answer with noop");
            self.fail(check, format!("action {action} without text"), hint);
        } else {
            self.ok(check, format!("answered: {action}"));
        }
    }

    async fn tools(&mut self, introduction: &Introduction, limit: Duration) {
        for tool in &introduction.tools {
            if self.conversation.has_ended() {
                return;
            }
            let check = format!("tool {}", tool.name);
            let schema: Value = tool
                .schema
                .as_ref()
                .and_then(|raw| serde_json::from_str(raw.get()).ok())
                .unwrap_or_default();
            let arguments = arguments_for(&schema).to_string();
            if let Some(raw) = &tool.schema
                && let Err(error) = check_arguments(raw.get(), &arguments)
            {
                let message =
                    format!("{arguments}, generated from its schema, does not fit it: {error}");
                let hint = "defaults and examples must fit, and limits must not exclude each other";
                self.warn(format!("{check} schema"), message, hint);
            }
            let id = self.conversation.next_id();
            let frame = HostFrame::ToolCall {
                id: id.clone(),
                name: tool.name.clone(),
                args: RawJson::try_from(arguments.clone())
                    .unwrap_or_else(|_| RawJson::empty_object()),
            };
            let response = self
                .conversation
                .request(&frame, &id, limit, |frame| match frame {
                    ExtensionFrame::ToolResult(result) if result.id == id => Some(result.clone()),
                    _ => None,
                })
                .await;
            let Some(result) = self.expect_response(&check, response, "tool_result") else {
                continue;
            };
            let problem = result.content.iter().find_map(checks::block_problem);
            if let Some(problem) = problem {
                let hint = "a block is {\"type\":\"text\",\"text\":…} or {\"type\":\"image\",\"mime_type\":…,\"data\":base64}";
                self.fail(check, problem, hint);
            } else if result.content.is_empty() {
                let hint =
                    "the model sees \"(extension returned no content)\": report what was done";
                self.warn(check, format!("{arguments}: no content"), hint);
            } else if result.is_error {
                let text = result.content.first().map_or("", |block| &block.text);
                let hint = "called with generated arguments; fine if they make no sense to it";
                self.warn(check, format!("{arguments}: error: {text}"), hint);
            } else {
                let blocks = checks::counted(result.content.len(), "block");
                self.ok(check, format!("{arguments}: {blocks}"));
            }
        }
    }

    async fn broken_input(&mut self, introduction: &Introduction) {
        if self.conversation.has_ended() {
            return;
        }
        let check = "unknown input";
        let lines = [UNKNOWN_FRAME, UNKNOWN_FIELD].concat();
        let sent = self.conversation.send_bytes(&lines).await;
        // An extension with a command must still answer it.
        let alive = match introduction.commands.first() {
            _ if sent.is_err() => false,
            Some(command) => matches!(self.invoke(&command.name).await, Response::Received(_)),
            None => self.conversation.survives(SURVIVAL_TIME).await,
        };
        if alive {
            self.ok(check, "an unknown frame and an unknown field are ignored");
        } else {
            let hint =
                "ignore frames of unknown type and unknown fields: later versions of zot send more";
            self.fail(check, "an unknown frame or field stopped it", hint);
        }
    }

    async fn shutdown(self) {
        let Self {
            conversation,
            found,
        } = self;
        let had_ended = conversation.has_ended();
        let (report, findings) = conversation.finish().await;
        match report.status {
            Some(_) if had_ended => {}
            Some(status) if status.success() => found(Finding::ok("shutdown", "ended in time")),
            Some(status) => found(Finding::warn(
                "shutdown",
                format!("it ended with {status}"),
                "exit with status 0 after shutdown",
            )),
            None => found(Finding::fail(
                "shutdown",
                format!(
                    "still running after {} s: it had to be killed",
                    SHUTDOWN_TIME.as_secs()
                ),
                "exit when shutdown arrives or standard input is closed; end threads and children, too",
            )),
        }
        if !report.acknowledged && !had_ended {
            found(Finding::warn(
                "shutdown",
                "no shutdown_ack",
                "answer shutdown with {\"type\":\"shutdown_ack\"} before exiting",
            ));
        }
        if report.left_processes {
            found(Finding::fail(
                "shutdown",
                "it left processes running",
                "end and wait for every process you start",
            ));
        }
        for finding in findings {
            found(finding);
        }
    }

    /// Returns the response, or reports that there is none or that it is invalid.
    fn expect_response<T>(&mut self, check: &str, response: Response<T>, frame: &str) -> Option<T> {
        match response {
            Response::Received(response) => return Some(response),
            Response::TimedOut(limit) => self.fail(
                check,
                format!("no {frame} within {limit:?}"),
                "answer with the id of the request; do long work in a thread",
            ),
            Response::Invalid(error) => self.fail(
                check,
                error,
                format!("see {frame} in the protocol for its fields"),
            ),
            Response::Ended => self.fail(
                check,
                "it ended instead of answering",
                "see its standard error: catch the error and answer with it",
            ),
            Response::NotSent(error) => self.fail(check, error, "read standard input to its end"),
        }
        None
    }
}
