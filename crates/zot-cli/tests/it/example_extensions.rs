//! The extensions in `examples/extensions`, each in the real program with a scripted model.

mod guard;
mod support;
mod todo;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use testkit::Wire;

use crate::support::{Session, of_kind};
use support::{Example, Need, invoke, results};

#[test]
fn hello_makes_the_agent_greet() {
    let example = Example::new("hello", &[]);
    fs::copy(hello_program(), example.directory().join("hello")).unwrap();
    let mut session = example.start();
    let invoked = invoke(&mut session, "hello", "Ada");
    assert_eq!(
        invoked,
        json!({"extension": "hello", "action": "prompt", "prompt": "Greet Ada in one short sentence."})
    );
    session.zot.event("done");
    example.end(session);
}

/// The program of `hello`, which is built with the workspace; when only `zot-cli` is, it is built
/// here.
fn hello_program() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_zot")).with_file_name("hello");
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/extensions/hello/src/main.rs");
    let changed = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
    if changed(&program) < changed(&source) {
        let profile = program.parent().and_then(Path::file_name).unwrap();
        let is_release = profile == "release";
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--locked", "-p", "zot-example-hello"])
            .args(is_release.then_some("--release"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(built.unwrap().success());
    }
    program
}

#[test]
fn hello_py_makes_the_agent_greet() {
    let example = Example::new("hello-py", &[Need::Python]);
    let mut session = example.start();
    let commands = session.zot.call(json!({"id": 1, "type": "get_commands"}));
    assert_eq!(
        commands["data"]["commands"],
        json!([{"name": "hellopy", "description": "say hi (python)", "extension": "hello-py"}])
    );
    let invoked = invoke(&mut session, "hellopy", "");
    assert_eq!(invoked["action"], "prompt");
    session.zot.event("done");
    let asked = session.server.requests().pop().unwrap().body;
    let messages = asked["messages"].as_array().unwrap();
    assert!(
        messages.last().unwrap()["content"]
            .to_string()
            .contains("Greet me very briefly"),
        "{messages:?}"
    );
    example.end(session);
}

#[test]
fn clock_tells_the_time_and_measures_it() {
    let example = Example::new("clock", &[Need::Node]);
    let mut session = example.start();
    let shown = invoke(&mut session, "clock", "UTC");
    assert_eq!(shown["action"], "display");
    let time = shown["display"].as_str().unwrap().to_owned();
    assert!(time.ends_with("UTC"), "{time}");
    assert_eq!(session.zot.event("ext_display")["text"], time);

    let unknown = invoke(&mut session, "clock", "Nowhere/Land");
    assert_eq!(unknown["action"], "noop");
    let error = unknown["error"].as_str().unwrap();
    assert!(error.contains("Nowhere/Land"), "{error}");

    for (level, beginning) in [
        ("info", "stopwatch started"),
        ("success", "stopwatch stopped after "),
    ] {
        session
            .zot
            .send(json!({"id": "s", "type": "invoke_command", "name": "stopwatch"}));
        let notice = session.zot.event("ext_notify");
        assert_eq!(notice["level"], level);
        assert!(notice["message"].as_str().unwrap().starts_with(beginning));
    }
    example.end(session);
}

#[test]
fn weather_is_a_tool_and_a_command() {
    let example = Example::new("weather", &[Need::Python]);
    let mut session = example.start();
    session
        .zot
        .call(json!({"id": 1, "type": "subscribe", "details": true}));
    let frames = session
        .zot
        .turn("1", r#"tool:weather:{"city":"Oslo","days":2}"#);
    let result = of_kind(&frames, "tool_result")[0];
    assert_eq!(
        result["content"][0]["text"],
        "Oslo: fog, 13 °C\nin 1 day: sun, 11 °C"
    );
    assert_eq!(
        result["details"],
        json!({"extension": "weather", "tool": "weather"})
    );
    let frames = session.zot.turn("2", r#"tool:weather:{"days":"two"}"#);
    let (text, is_error) = results(&frames).remove(0);
    assert!(is_error);
    assert!(text.contains("city"), "{text}");
    let shown = invoke(&mut session, "weather", "Oslo");
    assert_eq!(shown["display"], "Oslo: fog, 13 °C");
    assert!(invoke(&mut session, "weather", "")["error"].is_string());
    example.end(session);
}

/// The replay compares every request, so the tool has to return the recorded text.
#[test]
fn weather_runs_on_its_recording() {
    let example = Example::new("weather", &[Need::Python]);
    let finished = example
        .command()
        .argument("-p")
        .argument("--cassette")
        .argument(example.directory().join("weather.cassette"))
        .arguments(["--tools", "weather"])
        .arguments(["--system-prompt", "Answer in one sentence."])
        .argument("what is the weather in Oslo?")
        .run("");
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!(
        finished.stdout,
        "Fog in Oslo today, and tomorrow the sun comes out.\n"
    );
}

#[test]
fn notes_are_stored_and_shown() {
    let example = Example::new("notes", &[Need::Jq]);
    let mut session = example.start();
    assert_eq!(invoke(&mut session, "notes", "")["display"], "no notes yet");
    let note = r#"say \"hi\" to   \\Ada\\ for $5 \n ü"#;
    let frames = session
        .zot
        .turn("1", &format!(r#"tool:keep_note:{{"text":"{note}"}}"#));
    let kept = r#"say "hi" to \Ada\ for $5 ü"#;
    assert_eq!(results(&frames), [(format!("kept: {kept}"), false)]);
    let frames = session.zot.turn("2", r#"tool:keep_note:{"text":" "}"#);
    assert!(results(&frames)[0].1);
    invoke(&mut session, "notes", "second");
    let mut session = example.restart(session);
    assert_eq!(
        invoke(&mut session, "notes", "")["display"],
        format!("1. {kept}\n2. second")
    );
    invoke(&mut session, "notes", "clear");
    assert_eq!(invoke(&mut session, "notes", "")["display"], "no notes yet");
    example.end(session);
}

/// All of them together: no name of a command or tool is used twice.
#[test]
fn examples_work_together() {
    let names = ["hello-py", "clock", "weather", "guard", "todo", "notes"];
    let needs = [Need::Python, Need::Node, Need::Jq];
    let example = Example::new("hello-py", &needs);
    let mut session = Session::start_with(Wire::Anthropic, |command| {
        names.into_iter().fold(command, |command, name| {
            command.argument("--ext").argument(example.sibling(name))
        })
    });
    // The first request waits for all of them.
    invoke(&mut session, "notes", "");
    let commands = session.zot.call(json!({"id": 1, "type": "get_commands"}));
    let mut commands: Vec<&str> = commands["data"]["commands"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|command| command["name"].as_str())
        .collect();
    commands.sort_unstable();
    assert_eq!(
        commands,
        ["clock", "hellopy", "notes", "stopwatch", "todo", "weather"]
    );
    let finished = session.zot.finish();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!(finished.stderr, "");
}
