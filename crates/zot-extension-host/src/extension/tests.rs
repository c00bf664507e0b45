//! Whatever an extension sends, every request either has its response or is still pending.

use std::fs;

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::{prop_assert, prop_assert_eq, proptest};
use tokio::net::unix::pipe;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::oneshot::{self, Receiver};
use zot_extension_contract::{Activation, Manifest, Source};
use zot_wire::LineDecoder;
use zot_wire::extension::{CommandResponse, InterceptResponse, ToolResult};

use super::*;
use crate::pending::{PendingRequest, Waiting};

#[derive(Debug, Clone)]
enum Step {
    Ask(Kind),
    /// The caller of the request with this number stops waiting.
    GiveUp(usize),
    /// A frame of this kind with the id of the request with this number.
    Answer(Kind, usize),
    Send(Vec<u8>),
    TooLong,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tool,
    Intercept,
    Command,
}

impl Kind {
    fn frame(self) -> &'static str {
        match self {
            Self::Tool => "tool_result",
            Self::Intercept => "event_intercept_response",
            Self::Command => "command_response",
        }
    }
}

enum Asked {
    Tool(Receiver<Result<ToolResult, RequestError>>),
    Intercept(Receiver<Result<InterceptResponse, RequestError>>),
    Command(Receiver<Result<CommandResponse, RequestError>>),
}

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Waiting,
    Answered,
    Failed,
}

fn fate<T>(receiver: &mut Receiver<Result<T, RequestError>>) -> Option<Fate> {
    match receiver.try_recv() {
        Ok(Ok(_)) => Some(Fate::Answered),
        Ok(Err(_)) => Some(Fate::Failed),
        Err(TryRecvError::Empty) => Some(Fate::Waiting),
        Err(TryRecvError::Closed) => None,
    }
}

struct Conversation<'a> {
    extension: &'a Extension,
    decoder: LineDecoder,
    /// The id, its receiver, and its outcome so far.
    asked: Vec<(String, Kind, Option<Asked>, Fate)>,
}

impl Conversation<'_> {
    fn take(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Ask(kind) => self.ask(kind),
            Step::GiveUp(number) => {
                let count = self.asked.len().max(1);
                if let Some((id, _, asked, _)) = self.asked.get_mut(number % count) {
                    *asked = None;
                    drop(PendingRequest {
                        pending: &self.extension.pending,
                        id: id.clone(),
                    });
                }
            }
            Step::Answer(kind, number) => return self.answer(kind, number),
            Step::Send(bytes) => self.send(&bytes),
            Step::TooLong => self.send(&vec![b'x'; 2 * LIMIT]),
        }
        Ok(())
    }

    fn ask(&mut self, kind: Kind) {
        let id = self.asked.len().to_string();
        let (waiting, asked) = match kind {
            Kind::Tool => {
                let (sender, receiver) = oneshot::channel();
                (Waiting::Tool(sender), Asked::Tool(receiver))
            }
            Kind::Intercept => {
                let (sender, receiver) = oneshot::channel();
                (Waiting::Intercept(sender), Asked::Intercept(receiver))
            }
            Kind::Command => {
                let (sender, receiver) = oneshot::channel();
                (Waiting::Command(sender), Asked::Command(receiver))
            }
        };
        self.extension.pending.add(&id, waiting).unwrap();
        self.asked.push((id, kind, Some(asked), Fate::Waiting));
    }

    fn answer(&mut self, kind: Kind, number: usize) -> Result<(), String> {
        let number = number % self.asked.len().max(1);
        let Some((id, asked_kind, asked, before)) = self.asked.get(number) else {
            return Ok(());
        };
        let is_awaited = asked.is_some() && *before == Fate::Waiting;
        let expected = match (is_awaited, kind == *asked_kind) {
            (true, true) => Fate::Answered,
            (true, false) => Fate::Failed,
            (false, _) => *before,
        };
        let line = format!(r#"{{"type":"{}","id":"{id}"}}"#, kind.frame());
        self.send(line.as_bytes());
        self.look()?;
        let (_, _, asked, fate) = &self.asked[number];
        if asked.is_some() && *fate != expected {
            return Err(format!("{line} came to {fate:?}, not {expected:?}"));
        }
        Ok(())
    }

    fn send(&mut self, line: &[u8]) {
        self.decoder.feed(line);
        self.decoder.feed(b"\n");
        while let Some(line) = self.decoder.next_line() {
            if self.extension.receive(line) == Received::Ready {
                self.extension.become_ready();
            }
        }
    }

    /// Checks the outcome of every request; the host must agree.
    fn look(&mut self) -> Result<(), String> {
        let pending = self.extension.pending.ids();
        for (id, _, asked, known) in &mut self.asked {
            let now = match asked {
                None => continue,
                Some(Asked::Tool(receiver)) => fate(receiver),
                Some(Asked::Intercept(receiver)) => fate(receiver),
                Some(Asked::Command(receiver)) => fate(receiver),
            };
            match (*known, now) {
                (Fate::Waiting, Some(now)) => *known = now,
                (Fate::Waiting, None) => return Err(format!("{id} was forgotten")),
                (_, Some(Fate::Answered | Fate::Failed)) => {
                    return Err(format!("{id} was answered twice"));
                }
                (_, Some(Fate::Waiting) | None) => {}
            }
            if pending.contains(id) != (*known == Fate::Waiting) {
                return Err(format!("{id} is {known:?} but waiting are {pending:?}"));
            }
        }
        Ok(())
    }
}

const LIMIT: usize = 4096;

fn extension(home: &std::path::Path) -> Extension {
    let manifest =
        format!(r#"{{"name":"soup","exec":"./soup","limits":{{"frame_bytes":{LIMIT}}}}}"#);
    let found = FoundExtension {
        manifest: Manifest::parse(manifest.as_bytes()).unwrap(),
        directory: home.to_owned(),
        source: Source::CommandLine,
        activation: Activation::Enabled,
    };
    let text = String::new;
    let context = HostContext::new(
        home.to_owned(),
        home.to_owned(),
        text(),
        text(),
        text(),
        zot_extension_contract::LaunchRules::default(),
    );
    Extension::new(found, Arc::new(context))
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Tool), Just(Kind::Intercept), Just(Kind::Command)]
}

/// JSON that fits somewhere, sometimes.
fn value() -> impl Strategy<Value = String> {
    let fixed: &'static [&'static str] = &[
        "null",
        "true",
        "-1",
        "1e999",
        "\"\"",
        "\"7\"",
        "\"\\ud800\"",
        "[]",
        "{}",
        "[{}]",
        "[[]]",
        "[\"tool_call\"]",
        "[{\"type\":\"text\",\"text\":\"t\"}]",
        "{\"type\":\"object\"}",
        "{\"id\":\"p\",\"lines\":[1]}",
        "\"open_panel\"",
        "\"bash\"",
        "{",
        "nul",
        "\"",
    ];
    proptest::sample::select(fixed).prop_map(str::to_owned)
}

fn frame() -> impl Strategy<Value = Vec<u8>> {
    let types: &'static [&'static str] = &[
        "hello",
        "register_command",
        "register_tool",
        "subscribe",
        "ready",
        "tool_result",
        "event_intercept_response",
        "command_response",
        "panel_render",
        "panel_close",
        "notify",
        "shutdown_ack",
        "unheard_of",
        "",
        "TOOL_RESULT",
    ];
    let names: &'static [&'static str] = &[
        "id",
        "ID",
        "name",
        "description",
        "schema",
        "events",
        "intercept",
        "hold_text",
        "content",
        "is_error",
        "block",
        "modified_args",
        "replace_text",
        "action",
        "open_panel",
        "panel_id",
        "lines",
        "title",
        "level",
        "message",
        "type",
        "capabilities",
        "version",
    ];
    let field = (proptest::sample::select(names), value());
    (proptest::sample::select(types), vec(field, 0..6)).prop_map(|(kind, fields)| {
        let fields: String = fields
            .into_iter()
            .map(|(name, value)| format!(",\"{name}\":{value}"))
            .collect();
        format!("{{\"type\":\"{kind}\"{fields}}}").into_bytes()
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => kind().prop_map(Step::Ask),
        1 => any::<usize>().prop_map(Step::GiveUp),
        3 => (kind(), any::<usize>()).prop_map(|(kind, number)| Step::Answer(kind, number)),
        6 => frame().prop_map(Step::Send),
        1 => vec(any::<u8>(), 0..200).prop_map(Step::Send),
        1 => Just(Step::TooLong),
    ]
}

proptest! {
    #[test]
    fn random_frames_never_lose_a_request(steps in vec(step(), 0..60), greets in any::<bool>()) {
        let home = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        let extension = extension(home.path());
        let (sender, _receiver) = pipe::pipe().unwrap();
        extension.outbox.open(sender);
        let mut conversation = Conversation {
            extension: &extension,
            decoder: LineDecoder::with_limit(LIMIT),
            asked: Vec::new(),
        };
        if greets {
            conversation.send(br#"{"type":"hello","name":"soup"}"#);
        }
        // Only an extension that has sent hello gets requests.
        for step in steps {
            let is_known = {
                let state = extension.lock();
                state.phase == Phase::Ready || state.arriving.is_some()
            };
            if is_known || matches!(step, Step::Send(_) | Step::TooLong) {
                let outcome = conversation.take(step).and_then(|()| conversation.look());
                prop_assert_eq!(outcome, Ok(()));
            }
        }
        extension.disconnect("the end");
        prop_assert_eq!(conversation.look(), Ok(()));
        prop_assert!(extension.pending.ids().is_empty());
        let log = fs::metadata(log_path(home.path(), "soup")).map_or(0, |log| log.len());
        prop_assert!(log < 64 * 1024, "{} bytes", log);
    }
}
