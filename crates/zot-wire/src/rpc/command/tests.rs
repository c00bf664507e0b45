use super::{Command, CommandFrame, ImageInput, PromptCommand, SetSandboxCommand};
use crate::rpc::SandboxLevel;

fn parse(line: &str) -> Result<CommandFrame, (String, String, String)> {
    CommandFrame::parse(line.as_bytes()).map_err(|refused| {
        let id = refused.id.map(|id| serde_json::to_string(&id).unwrap());
        (id.unwrap_or_default(), refused.command, refused.error)
    })
}

#[test]
fn every_command_is_read() {
    for (line, command) in [
        (
            r#"{"type":"hello"}"#,
            Command::Hello {
                token: None,
                capabilities: Vec::new(),
            },
        ),
        (
            r#"{"type":"hello","token":"t"}"#,
            Command::Hello {
                token: Some("t".into()),
                capabilities: Vec::new(),
            },
        ),
        (
            r#"{"type":"hello","capabilities":["confirm","dance"]}"#,
            Command::Hello {
                token: None,
                capabilities: vec!["confirm".into(), "dance".into()],
            },
        ),
        (
            r#"{"type":"hello","capabilities":{"confirm":true}}"#,
            Command::Hello {
                token: None,
                capabilities: Vec::new(),
            },
        ),
        (r#"{"type":"abort"}"#, Command::Abort),
        (r#"{"type":"compact"}"#, Command::Compact),
        (r#"{"type":"get_state"}"#, Command::GetState),
        (
            r#"{"type":"get_messages"}"#,
            Command::GetMessages { full: false },
        ),
        (r#"{"type":"clear"}"#, Command::Clear),
        (
            r#"{"type":"set_model","model":"m"}"#,
            Command::SetModel { model: "m".into() },
        ),
        (r#"{"type":"get_models"}"#, Command::GetModels),
        (r#" {"TYPE":"ping"} "#, Command::Ping),
    ] {
        let frame = parse(line).unwrap();
        assert_eq!(frame.command, command, "{line}");
        assert!(line.contains(frame.command.name()));
        assert_eq!(frame.id, None);
    }
    let prompt = parse(
        r#"{"type":"prompt","message":"hi","images":[{"mime_type":"image/png","data":"AA=="}]}"#,
    );
    assert_eq!(
        prompt.unwrap().command,
        Command::Prompt(PromptCommand {
            message: "hi".into(),
            images: vec![ImageInput {
                mime_type: "image/png".into(),
                data: "AA==".into()
            }],
            ..PromptCommand::default()
        })
    );
}

#[test]
fn a_sandbox_is_read() {
    let line = r#"{"type":"set_sandbox","level":"read-only","write":["out"],"connect":["a:1"],
        "run":[],"memory_mib":0}"#;
    assert_eq!(
        parse(line).unwrap().command,
        Command::SetSandbox(SetSandboxCommand {
            level: SandboxLevel::ReadOnly,
            write: Some(vec!["out".into()]),
            run: Some(Vec::new()),
            connect: Some(vec!["a:1".into()]),
            memory_mib: Some(0),
            ..SetSandboxCommand::default()
        })
    );
    for (line, expected) in [
        (r#"{"type":"set_sandbox"}"#, "level is missing"),
        (
            r#"{"type":"set_sandbox","level":"strict"}"#,
            "expected one of `off`, `workspace`, `read-only`",
        ),
        (
            r#"{"type":"set_sandbox","level":"off","read":"/"}"#,
            "read: invalid type",
        ),
    ] {
        let (_, command, error) = parse(line).unwrap_err();
        assert_eq!(command, "set_sandbox");
        assert!(error.contains(expected), "{error}");
        // The position would be that within the field.
        assert!(!error.contains(" at line "), "{error}");
    }
}

#[test]
fn ids_are_echoed_unchanged() {
    for (id, echoed) in [
        ("\"a\\u0041\"", Some("\"a\\u0041\"")),
        ("7", Some("7")),
        ("-1.50e3", Some("-1.50e3")),
        ("\"\"", None),
        ("null", None),
    ] {
        let frame = parse(&format!(r#"{{"type":"ping","id":{id}}}"#)).unwrap();
        let written = frame.id.map(|id| serde_json::to_string(&id).unwrap());
        assert_eq!(written.as_deref(), echoed);
    }
}

#[test]
fn errors_name_the_command_and_the_field() {
    for (line, id, command, error) in [
        ("{", "", "", "malformed json: EOF"),
        ("{\"type\":5}", "", "", "type must be a string"),
        ("{\"type\":\"ping\",\"id\":[]}", "", "", "id must be"),
        ("null", "", "", "unknown command"),
        (
            "{\"type\":\"nope\",\"id\":1}",
            "1",
            "nope",
            "unknown command",
        ),
        (
            "{\"type\":\"set_model\",\"id\":\"e\",\"model\":5}",
            "\"e\"",
            "set_model",
            "model: invalid type: integer",
        ),
        (
            "{\"type\":\"set_messages\"}",
            "",
            "set_messages",
            "messages is missing",
        ),
        (
            "{\"type\":\"prompt\",\"images\":\"nope\"}",
            "",
            "prompt",
            "images: invalid type",
        ),
    ] {
        let refused = parse(line).unwrap_err();
        assert_eq!(
            (refused.0.as_str(), refused.1.as_str()),
            (id, command),
            "{line}"
        );
        assert!(refused.2.contains(error), "{line}: {}", refused.2);
    }
}
