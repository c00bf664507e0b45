use super::*;
use crate::{RawJson, write_line};

fn written(frame: &impl serde::Serialize) -> String {
    let mut line = Vec::new();
    write_line(&mut line, frame).unwrap();
    String::from_utf8(line).unwrap()
}

fn raw(text: &str) -> RawJson {
    text.to_owned().try_into().unwrap()
}

/// One frame of each kind but command responses.
fn extension_frames() -> Vec<ExtensionFrame> {
    vec![
        ExtensionFrame::Hello(Hello {
            name: "n".to_owned(),
            version: "1".to_owned(),
            capabilities: vec!["tools".to_owned()],
        }),
        ExtensionFrame::RegisterCommand {
            name: "c".to_owned(),
            description: "does".to_owned(),
        },
        ExtensionFrame::RegisterTool {
            name: "t".to_owned(),
            description: String::new(),
            schema: Some(raw(r#"{"type":"object"}"#)),
        },
        ExtensionFrame::Ready,
        ExtensionFrame::Subscribe(Subscription {
            events: vec!["turn_end".to_owned()],
            intercept: vec!["tool_call".to_owned()],
            hold_text: true,
        }),
        ExtensionFrame::ToolResult(ToolResult {
            id: "1".to_owned(),
            content: vec![ResultBlock {
                kind: "text".to_owned(),
                text: "ok".to_owned(),
                ..ResultBlock::default()
            }],
            is_error: true,
        }),
        ExtensionFrame::EventInterceptResponse(InterceptResponse {
            id: "2".to_owned(),
            block: true,
            reason: "no".to_owned(),
            modified_args: Some(raw(r#"{"a":1}"#)),
            replace_text: Some("x".to_owned()),
        }),
        ExtensionFrame::PanelRender {
            panel_id: "p".to_owned(),
            content: panel(),
        },
        ExtensionFrame::PanelClose {
            panel_id: "p".to_owned(),
        },
        ExtensionFrame::Notify {
            level: "info".to_owned(),
            message: "hi\u{2028}there".to_owned(),
        },
        ExtensionFrame::ShutdownAck,
    ]
}

fn panel() -> PanelContent {
    PanelContent {
        title: "Todo".to_owned(),
        lines: vec!["one".to_owned()],
        footer: "esc".to_owned(),
    }
}

fn command_responses() -> impl Iterator<Item = ExtensionFrame> {
    let actions = [
        CommandAction::Prompt {
            prompt: "go".to_owned(),
        },
        CommandAction::Insert {
            insert: "i".to_owned(),
        },
        CommandAction::Display {
            display: "d".to_owned(),
        },
        CommandAction::OpenPanel {
            open_panel: PanelSpec {
                id: "p".to_owned(),
                content: panel(),
            },
        },
        CommandAction::Noop,
    ];
    actions.into_iter().map(|action| {
        ExtensionFrame::CommandResponse(CommandResponse {
            id: "3".to_owned(),
            action,
            error: String::new(),
        })
    })
}

#[test]
fn every_extension_frame_survives_the_wire() {
    for frame in extension_frames().into_iter().chain(command_responses()) {
        let line = written(&frame);
        assert_eq!(ExtensionFrame::parse(line.as_bytes()), Ok(frame), "{line}");
    }
}

#[test]
fn every_host_frame_survives_the_wire() {
    let call = LifecycleEvent::ToolCall {
        tool_id: "call_1".to_owned(),
        tool_name: "bash".to_owned(),
        tool_args: raw(r#"{"command":"true"}"#),
    };
    let frames = [
        HostFrame::HelloAck(HelloAck {
            protocol_version: 1,
            zot_version: "0.1.0".to_owned(),
            provider: "offline".to_owned(),
            model: "m".to_owned(),
            cwd: "/w".to_owned(),
            extension_dir: "/e".to_owned(),
            data_dir: "/d".to_owned(),
        }),
        HostFrame::CommandInvoked {
            id: "1".to_owned(),
            name: "c".to_owned(),
            args: "berlin".to_owned(),
        },
        HostFrame::ToolCall {
            id: "2".to_owned(),
            name: "t".to_owned(),
            args: raw("{}"),
        },
        HostFrame::Event(LifecycleEvent::SessionStart),
        HostFrame::Event(LifecycleEvent::TurnStart { step: 2 }),
        HostFrame::Event(LifecycleEvent::TurnEnd {
            stop: "error".to_owned(),
            error: Some("no".to_owned()),
        }),
        HostFrame::Event(call.clone()),
        HostFrame::Event(LifecycleEvent::AssistantMessage {
            text: String::new(),
        }),
        HostFrame::EventIntercept {
            id: "3".to_owned(),
            event: call,
        },
        HostFrame::PanelKey {
            panel_id: "p".to_owned(),
            key: "a".to_owned(),
            text: "a".to_owned(),
        },
        HostFrame::PanelResize {
            panel_id: "p".to_owned(),
            width: 80,
            height: 24,
        },
        HostFrame::PanelClose {
            panel_id: "p".to_owned(),
        },
        HostFrame::Shutdown,
    ];
    for frame in frames {
        let line = written(&frame);
        assert_eq!(HostFrame::parse(line.as_bytes()), Ok(frame), "{line}");
    }
}

#[test]
fn frames_look_as_recorded() {
    let event = HostFrame::Event(LifecycleEvent::AssistantMessage {
        text: String::new(),
    });
    assert_eq!(
        written(&event),
        "{\"type\":\"event\",\"event\":\"assistant_message\"}\n"
    );
    let intercept = HostFrame::EventIntercept {
        id: "1".to_owned(),
        event: LifecycleEvent::TurnStart { step: 1 },
    };
    assert_eq!(
        written(&intercept),
        "{\"type\":\"event_intercept\",\"id\":\"1\",\"event\":\"turn_start\",\"step\":1}\n"
    );
}

#[test]
fn an_invalid_result_keeps_its_id() {
    let parsed = ExtensionFrame::parse(br#"{"type":"tool_result","id":"7","content":"text"}"#);
    let Err(FrameError::Invalid { frame, id, .. }) = parsed else {
        panic!("{parsed:?}");
    };
    assert_eq!((frame, id.as_deref()), ("tool_result", Some("7")));
}

#[test]
fn invalid_and_unknown_frames_are_distinguished() {
    for line in ["", "[]", "x", "{\"type\":1}", "\"hello\""] {
        let parsed = ExtensionFrame::parse(line.as_bytes());
        assert!(
            matches!(parsed, Err(FrameError::Malformed(_))),
            "{line}: {parsed:?}"
        );
    }
    assert!(matches!(
        ExtensionFrame::parse(b"\xff\xfe{}"),
        Err(FrameError::Malformed(_))
    ));
    assert_eq!(
        ExtensionFrame::parse(br#"{"type":"future"}"#),
        Err(FrameError::UnknownType("future".to_owned()))
    );
    assert_eq!(
        ExtensionFrame::parse(b"{}"),
        Err(FrameError::UnknownType(String::new()))
    );
}

#[test]
fn go_libraries_may_write_every_field() {
    let line = br#"{"Type":"event_intercept_response","ID":"1","block":false,"reason":"","modified_args":null,"replace_text":""}"#;
    assert_eq!(
        ExtensionFrame::parse(line),
        Ok(ExtensionFrame::EventInterceptResponse(InterceptResponse {
            id: "1".to_owned(),
            ..InterceptResponse::default()
        }))
    );
}

#[test]
fn lists_and_panels_have_limits() {
    let many = r#""","#.repeat(20_000);
    let error_of = |line: &str| match ExtensionFrame::parse(line.as_bytes()) {
        Err(FrameError::Invalid { error, .. }) => error,
        other => panic!("{other:?}"),
    };
    let panel = format!(r#"{{"id":"p","lines":[{many}""]}}"#);
    for (line, field) in [
        (
            format!(r#"{{"type":"subscribe","events":[{many}""]}}"#),
            "events",
        ),
        (
            format!(r#"{{"type":"panel_render","panel_id":"p","lines":[{many}""]}}"#),
            "lines",
        ),
        (
            format!(
                r#"{{"type":"command_response","id":"1","action":"open_panel","open_panel":{panel}}}"#
            ),
            "open_panel: lines",
        ),
    ] {
        let error = error_of(&line);
        let expected = format!("{field}: a list may have 10000 items at most");
        assert!(error.starts_with(&expected), "{error}");
    }
    let not_an_object =
        r#"{"type":"command_response","id":"1","action":"open_panel","open_panel":5}"#;
    assert!(error_of(not_an_object).starts_with("open_panel: invalid type"));
}

#[test]
fn keys_have_the_names_extensions_expect() {
    let encoded = |key: &str, text: &str| {
        let frame = HostFrame::key_in_panel("p".to_owned(), key.to_owned(), text.to_owned());
        serde_json::to_string(&frame).unwrap()
    };
    let key = |key: &str| format!(r#"{{"type":"panel_key","panel_id":"p","key":"{key}"}}"#);
    let rune = |text: &str| {
        format!(r#"{{"type":"panel_key","panel_id":"p","key":"rune","text":"{text}"}}"#)
    };
    for name in ["up", "pageup", "enter", "ctrl+a", "shift+tab", "f1"] {
        assert_eq!(encoded(name, ""), key(name));
    }
    assert_eq!(encoded("pgup", ""), key("pageup"));
    assert_eq!(encoded("pgdown", ""), key("pagedown"));
    for (name, text, written) in [
        ("rune", "a", "a"),
        ("a", "a", "a"),
        ("a", "", "a"),
        ("a", "A", "A"),
        ("space", "", " "),
        ("space", " ", " "),
        (" ", " ", " "),
        ("é", "é", "é"),
        ("rune", "two", "two"),
    ] {
        assert_eq!(encoded(name, text), rune(written), "{name:?} {text:?}");
    }
    let closed = r#"{"type":"panel_close","panel_id":"p"}"#;
    assert_eq!(
        (encoded("esc", ""), encoded("escape", "")),
        (closed.to_owned(), closed.to_owned())
    );
}
