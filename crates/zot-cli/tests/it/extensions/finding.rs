//! Where extensions are found, and which of the same name wins.

use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{ModelServer, ScriptedExtension, Wire, Workdir, ZotCommand};
use testkit::{echo_tool, tool_text};

use super::{Extended, result_of};
use crate::support::binary;

fn saying(name: &str, text: &str) -> ScriptedExtension {
    ScriptedExtension::new(name, [echo_tool(&format!("{name}_tool"))])
        .tool(&format!("{name}_tool"), tool_text(text))
}

#[test]
fn the_command_line_wins_over_the_project_and_that_over_the_user() {
    let (workdir, server) = (Workdir::with_files("work"), ModelServer::start());
    let project = workdir.path().join(".zot/extensions");
    let global = workdir.zot_home().join("extensions");
    let named = ["one", "two"].map(|name| saying(name, "named").install(&workdir.extensions()));
    let in_project = ["one", "three"].map(|name| saying(name, "project").install(&project));
    let of_user = ["three", "four"].map(|name| saying(name, "user").install(&global));
    let mut zot = ZotCommand::rpc(binary(), &workdir, &server, Wire::OpenAi)
        .argument("--ext")
        .argument(named[0].directory())
        .argument("-e")
        .argument(named[1].directory().join("extension.json"))
        .spawn();
    for (name, text) in [
        ("one", "named"),
        ("two", "named"),
        ("three", "project"),
        ("four", "user"),
    ] {
        let frames = zot.turn("1", &format!("tool:{name}_tool:{{}}"));
        assert_eq!(result_of(&frames), (false, text.to_owned()), "{name}");
    }
    for hidden in [&in_project[0], &of_user[0]] {
        assert!(hidden.notes().is_empty(), "{:?}", hidden.directory());
    }
    let log = workdir.extension_log("one");
    assert!(log.contains("shadows another of its name"), "{log}");
    assert_eq!(zot.finish().code, Some(0));
}

#[test]
fn no_ext_keeps_extensions_that_are_named() {
    let (workdir, server) = (Workdir::with_files("work"), ModelServer::start());
    let project = saying("project", "x").install(&workdir.path().join(".zot/extensions"));
    let named = saying("named", "x").install(&workdir.extensions());
    let mut zot = ZotCommand::rpc(binary(), &workdir, &server, Wire::OpenAi)
        .extensions([&named])
        .spawn();
    zot.turn("1", "say:1");
    assert!(server.requests()[0].tool_names().contains(&"named_tool"));
    assert!(project.notes().is_empty());
}

#[test]
fn the_name_in_the_manifest_wins() {
    let hello = json!({"type": "hello", "name": "liar", "version": "1.0.0"});
    let command = json!({"type": "register_command", "name": "hi", "description": "greets"});
    let extension =
        ScriptedExtension::starting_with("honest", [hello, command, json!({"type": "ready"})]);
    let mut run = Extended::start(&[extension]);
    let commands = run.zot.call(json!({"id": "1", "type": "get_commands"}));
    assert_eq!(commands["data"]["commands"][0]["extension"], "honest");
    assert!(run.log("honest").contains("liar"), "{}", run.log("honest"));
}

/// Only prompts wait for it, and only as long as it may take to start.
#[test]
fn a_silent_extension_delays_only_the_first_prompt() {
    // On a busy machine, a ping may take as long as the first of these.
    for start_timeout in [2, 20] {
        let mute = ScriptedExtension::starting_with("mute", [json!({"wait_for": "never"})])
            .manifest("start_timeout", json!(start_timeout));
        let mut run = Extended::start(&[mute, saying("other", "here")]);
        let begin = Instant::now();
        run.zot.call(json!({"id": "p", "type": "ping"}));
        if begin.elapsed() < Duration::from_secs(start_timeout) {
            check_first_prompt(run, start_timeout);
            return;
        }
    }
    panic!("a ping waits for it");
}

fn check_first_prompt(mut run: Extended, start_timeout: u64) {
    let begin = Instant::now();
    assert_eq!(
        run.call("other_tool", json!({})),
        (false, "here".to_owned())
    );
    assert!(begin.elapsed() < Duration::from_secs(start_timeout + 20));
    run.wait_for_log("mute", &format!("no hello within {start_timeout}s"));
    testkit::poll_until("standard error names it", || {
        run.zot.stderr().contains("mute")
    });
}

#[test]
fn the_manifest_sets_the_working_directory_and_the_arguments() {
    let extension = ScriptedExtension::new("probe", [echo_tool("t")])
        .manifest(
            "args",
            json!(["-S", "-E", "-u", "scripted.py", "--mode", "a b"]),
        )
        .tool("t", json!({"attempt": "whereabouts"}));
    let mut run = Extended::start(&[extension]);
    let (_, text) = run.call("t", json!({}));
    let directory = run.installed[0].directory().display().to_string();
    assert!(text.contains(&directory), "{text}");
    assert!(text.contains(r#"["--mode", "a b"]"#), "{text}");
}
