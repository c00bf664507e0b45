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
fn a_misspelt_field_of_a_sandbox_is_refused() {
    let known = "known: level, read, write, run, connect, unix_sockets, environment, memory_mib, \
                 processes, processor_seconds, open_files";
    for (field, value) in [("conect", "[\"a\"]"), ("memory_mb", "1"), ("Runs", "[]")] {
        let line = format!(r#"{{"id":"a","type":"set_sandbox","level":"off","{field}":{value}}}"#);
        let (id, command, error) = parse(&line).unwrap_err();
        assert_eq!((id.as_str(), command.as_str()), ("\"a\"", "set_sandbox"));
        assert_eq!(error, format!("unknown field {field:?}; {known}"));
    }
    let long = "x".repeat(100_000);
    let line = format!(r#"{{"type":"set_sandbox","level":"off","{long}":1}}"#);
    assert!(parse(&line).unwrap_err().2.len() < 300);
    // Letter case does not matter, and null means absent.
    let line = r#"{"ID":1,"TYPE":"set_sandbox","Level":"off","conect":null,"CONNECT":["a"]}"#;
    let Command::SetSandbox(sandbox) = parse(line).unwrap().command else {
        panic!("{line}");
    };
    assert_eq!(sandbox.connect, Some(vec!["a".to_owned()]));
    let all = SetSandboxCommand {
        level: SandboxLevel::Workspace,
        read: Some(Vec::new()),
        write: Some(Vec::new()),
        run: Some(Vec::new()),
        connect: Some(Vec::new()),
        unix_sockets: Some(Vec::new()),
        environment: Some(Vec::new()),
        memory_mib: Some(1),
        processes: Some(2),
        processor_seconds: Some(3),
        open_files: Some(16),
    };
    let line = serde_json::to_string(&Command::SetSandbox(all.clone())).unwrap();
    assert_eq!(parse(&line).unwrap().command, Command::SetSandbox(all));
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
