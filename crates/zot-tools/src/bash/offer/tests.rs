use std::path::PathBuf;

use serde_json::{Value, json};
use zot_conversation::{Answer, JsonObject, QuestionKind};
use zot_process::sandbox::Level;

use super::{Choice, Kept, choice, question};
use crate::sandbox::{Allowance, AllowedFor};

fn write(path: &str) -> Vec<Allowance> {
    vec![Allowance::Write(PathBuf::from(path))]
}

/// Returns the message, and value and title of every option.
fn asked(command: &str, allowances: &[Allowance], kept: Kept) -> (String, Vec<(String, String)>) {
    let question = question(Level::Workspace, command, allowances, None, kept).unwrap();
    let QuestionKind::Form { schema } = question.kind else {
        panic!("not a form");
    };
    let schema: Value = serde_json::from_str(schema.as_str()).unwrap();
    assert_eq!(schema["required"], json!(["choice"]));
    assert_eq!(schema["properties"]["choice"]["default"], "no");
    let options = schema["properties"]["choice"]["oneOf"].as_array().unwrap();
    let text = |option: &Value, key: &str| option[key].as_str().unwrap().to_owned();
    let options = options
        .iter()
        .map(|option| (text(option, "const"), text(option, "title")));
    (question.message, options.collect())
}

#[test]
fn the_form_names_exactly_what_will_be_allowed() {
    let (message, options) = asked("make", &write("/data/out"), Kept::Yes);
    assert!(message.contains("refused changing /data/out."), "{message}");
    let names: Vec<&str> = options.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["once", "session", "project", "no"]);
    for (name, title) in &options[1..3] {
        assert!(title.contains("changing /data/out"), "{name}: {title}");
    }
    let (_, options) = asked("make", &write("/data/out"), Kept::No);
    assert!(options.iter().all(|(name, _)| name != "project"));
    let hosts = ["example.com:443", "example.org:8080"];
    let hosts = hosts.map(|host| Allowance::Connect(host.parse().unwrap()));
    let (message, options) = asked("make", &hosts, Kept::No);
    for text in [&message, &options[1].1] {
        assert!(text.contains("example.com"), "{text}");
        assert!(text.contains("example.org:8080"), "{text}");
    }
    let (message, options) = asked("make", &[], Kept::Yes);
    assert_eq!(options.len(), 2, "nothing can be allowed that is not known");
    assert!(
        message.contains("may have refused something"),
        "it is not known that it was the sandbox: {message}"
    );
}

#[test]
fn a_command_cannot_disturb_the_question() {
    let command = format!(
        "echo a\nAllowed: nothing\u{202e}\u{1b}[2J {}",
        "x".repeat(5000)
    );
    let (message, _) = asked(&command, &[], Kept::No);
    assert!(message.chars().all(|character| !character.is_control()));
    assert!(!message.contains('\u{202e}'));
    assert!(message.len() < 2500, "{message}");
    assert!(message.contains("echo a ⏎ Allowed: nothing"), "{message}");
    assert!(
        message.ends_with("more characters, see the call)"),
        "{message}"
    );
}

#[test]
fn everything_but_a_clear_yes_is_a_no() {
    let accept = |content: &str| Answer::Accept {
        content: JsonObject::parse(content).ok(),
    };
    let allowances = write("/data");
    for (answer, expected) in [
        (accept(r#"{"choice":"once"}"#), Choice::Once),
        (
            accept(r#"{"choice":"session"}"#),
            Choice::Allow(AllowedFor::Session),
        ),
        (
            accept(r#"{"choice":"project"}"#),
            Choice::Allow(AllowedFor::Project),
        ),
        (accept(r#"{"choice":"no"}"#), Choice::No),
        (accept(r#"{"choice":"all"}"#), Choice::No),
        (accept(r#"{"choice":true}"#), Choice::No),
        (accept("{}"), Choice::No),
        (Answer::Accept { content: None }, Choice::No),
        (Answer::Decline, Choice::No),
        (Answer::Cancel, Choice::No),
    ] {
        assert_eq!(choice(&answer, &allowances, Kept::Yes), expected);
    }
    let project = accept(r#"{"choice":"project"}"#);
    assert_eq!(choice(&project, &allowances, Kept::No), Choice::No);
    assert_eq!(choice(&project, &[], Kept::Yes), Choice::No);
}
