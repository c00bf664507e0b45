//! Recordings of `zot rpc` with extensions: what went over the pipe of the client
//! (`<name>.rpc.jsonl`) and over that of each extension (`<name>.<extension>.ext.jsonl`).

use serde_json::{Value, json};
use testkit::{
    Fixtures, IMAGE_BASE64, InstalledExtension, ModelServer, PATIENCE, Pace, ScriptedExtension,
    Wire, Workdir, Zot, ZotCommand, poll_until,
};
use testkit::{register_tool, tool_text};

use super::recordings;
use crate::support::binary;

recordings! { replay:
    clash_builtin
    clash_two_exts
    crash_between_turns
    discover_project_and_global
    exit_before_hello
    intercept_block
    intercept_message_replace
    intercept_modified_args
    intercept_turn_start_block
    lifecycle
    lifecycle_anthropic
    manifest_bad_json
    manifest_disabled
    no_ext_flag
    no_ready
    notify
    parallel_tools_one_turn
    shutdown_ack
    shutdown_hang_sigkill
    tool_results
}

const ALL_EVENTS: [&str; 5] = [
    "session_start",
    "turn_start",
    "turn_end",
    "tool_call",
    "assistant_message",
];

fn fixtures() -> Fixtures {
    let crate_directory = env!("CARGO_MANIFEST_DIR");
    Fixtures::new(format!("{crate_directory}/tests/fixtures/ext"))
}

fn replay(name: &str) {
    let workdir = Workdir::with_files(name);
    let server = ModelServer::start();
    let wire = if name.ends_with("_anthropic") {
        Wire::Anthropic
    } else {
        Wire::OpenAi
    };
    let command = ZotCommand::rpc(binary(), &workdir, &server, wire);
    let (command, extensions) = with_extensions(command, &workdir);
    let mut zot = command.spawn();
    for line in fixtures().sent_lines(&format!("{name}.rpc")) {
        let frame: Value = serde_json::from_str(&line).unwrap();
        zot.send_line(&line);
        if wait_until_finished(&mut zot, &frame).is_err() {
            break;
        }
        if name == "crash_between_turns" && frame["id"] == "1" {
            wait_for_the_crash(&workdir, &extensions[0]);
        }
    }
    if name == "notify" {
        // The last frame of the extension in the turn.
        poll_until("all notices are there", || {
            let lines = zot.lines();
            lines.iter().filter(|line| line.contains("weird")).count() == 2
        });
    }
    let run = zot.finish().transcript;
    fixtures().check_as(&format!("{name}.rpc"), &workdir, Pace::Steady, &run);
    for extension in extensions {
        let recording = format!("{name}.{}.ext", extension.name());
        if fixtures().names().contains(&recording) {
            let run = extension.transcript();
            fixtures().check_as(&recording, &workdir, Pace::Extension, &run);
        } else {
            assert_eq!(extension.notes(), Vec::<String>::new(), "{recording}");
        }
    }
}

fn wait_until_finished(zot: &mut Zot, command: &Value) -> Result<(), &'static str> {
    let last = match command["type"].as_str() {
        Some("prompt") => "done",
        _ => "response",
    };
    zot.try_collect_until(|frame| frame["type"] == last, PATIENCE)
        .map(drop)
}

/// Waits until the host has noticed, too.
fn wait_for_the_crash(workdir: &Workdir, extension: &InstalledExtension) {
    extension.wait_for_remark("exit 9");
    poll_until("the crash is noticed", || {
        workdir
            .extension_log(extension.name())
            .contains("started again")
    });
    // The original does not restart it; without its program it cannot be restarted.
    extension.remove("scripted.py");
}

/// Installs the extensions of a recording.
fn with_extensions(
    command: ZotCommand,
    workdir: &Workdir,
) -> (ZotCommand, Vec<InstalledExtension>) {
    let name = workdir.name();
    let scripted = scripted(name);
    if matches!(name, "discover_project_and_global" | "no_ext_flag") {
        let directories = [
            workdir.path().join(".zot/extensions"),
            workdir.zot_home().join("extensions"),
        ];
        let installed = scripted.iter().zip(&directories);
        let installed = installed.map(|(scripted, directory)| scripted.install(directory));
        let command = match name {
            "no_ext_flag" => command.argument("--no-ext"),
            _ => command,
        };
        return (command, installed.collect());
    }
    let installed: Vec<InstalledExtension> = scripted
        .iter()
        .map(|scripted| scripted.install(&workdir.extensions()))
        .collect();
    if name == "manifest_bad_json" {
        installed[0].write("extension.json", "{nope");
    }
    (command.extensions(&installed), installed)
}

/// The extensions of a recording.
fn scripted(recording: &str) -> Vec<ScriptedExtension> {
    let probe = |steps: &[Value]| ScriptedExtension::new("probe", steps.to_vec());
    let plain = |name: &str| ScriptedExtension::new(name, []);
    let echo = json!({"type": "tool_result", "echo": "args"});
    match recording {
        "lifecycle" => vec![
            probe(&[
                json!({"type": "register_command", "name": "probe", "description": "a command"}),
                tool("probe_tool"),
                subscribe(&["tool_call", "turn_start", "assistant_message"]),
            ])
            .tool("probe_tool", echo),
        ],
        "lifecycle_anthropic" => {
            vec![probe(&[tool("probe_tool"), subscribe(&[])]).tool("probe_tool", echo)]
        }
        "no_ready" => {
            let hello = json!({
                "type": "hello", "name": "legacy", "version": "1.0.0",
                "capabilities": ["commands", "tools"],
            });
            let extension = ScriptedExtension::starting_with("legacy", [hello, tool("t1")]);
            vec![extension.tool("t1", tool_text("ok"))]
        }
        "exit_before_hello" => {
            vec![ScriptedExtension::starting_with(
                "dead",
                [json!({"exit": 3})],
            )]
        }
        "tool_results" => vec![probe(&[tool("t")]).tool("t", json!({"in_turn": odd_results()}))],
        "parallel_tools_one_turn" => vec![probe(&[tool("t")]).tool("t", echo)],
        "crash_between_turns" => vec![
            probe(&[tool("t"), subscribe(&["tool_call"])])
                .script("events", json!({"turn_end": {"exit": 9}})),
        ],
        name if name.starts_with("intercept_") => vec![guard(name)],
        "notify" => vec![notifying()],
        "clash_builtin" => {
            let tools = ["bash", "read", "skill", "t"].map(tool);
            let extension = probe(&tools).tool("bash", tool_text("EXT BASH"));
            vec![extension.tool("t", tool_text("t ok"))]
        }
        "clash_two_exts" => vec![
            ScriptedExtension::new("aaa", [tool("same"), json!({"touch": "../bbb/after-aaa"})])
                .tool("same", tool_text("from aaa")),
            // zot reads both pipes at the same time: what the first wrote needs a moment.
            ScriptedExtension::new(
                "bbb",
                [
                    json!({"wait_for": "after-aaa"}),
                    json!({"sleep": 0.15}),
                    tool("same"),
                ],
            )
            .tool("same", tool_text("from bbb")),
        ],
        "shutdown_ack" => vec![plain("probe")],
        "shutdown_hang_sigkill" => vec![
            plain("probe")
                .script("shutdown", json!("hang"))
                .script("ignore_sigterm", json!(true)),
        ],
        "manifest_disabled" => {
            vec![plain("off").manifest("enabled", json!(false)), plain("on")]
        }
        "manifest_bad_json" => vec![plain("x")],
        "discover_project_and_global" | "no_ext_flag" => vec![plain("proj"), plain("glob")],
        other => panic!("no extensions for {other}"),
    }
}

/// Returns the extension of a recording with an interceptor.
fn guard(recording: &str) -> ScriptedExtension {
    let (event, events, mut answer): (&str, &[&str], Value) = match recording {
        "intercept_block" => (
            "tool_call",
            &[],
            json!({"block": true, "reason": "refused: nope"}),
        ),
        "intercept_modified_args" => (
            "tool_call",
            &["tool_call"],
            json!({"modified_args": {"command": "echo GUARDED"}}),
        ),
        "intercept_turn_start_block" => (
            "turn_start",
            &ALL_EVENTS,
            json!({"block": true, "reason": "office hours"}),
        ),
        "intercept_message_replace" => (
            "assistant_message",
            &ALL_EVENTS,
            json!({"replace_text": "[redacted]"}),
        ),
        other => panic!("no extensions for {other}"),
    };
    answer["type"] = json!("event_intercept_response");
    let subscribe = json!({"type": "subscribe", "events": events, "intercept": [event]});
    ScriptedExtension::new("guard", [subscribe]).script("intercept", json!({event: answer}))
}

fn tool(name: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"x": {"type": "string"}}});
    register_tool(name, schema)
}

fn subscribe(intercept: &[&str]) -> Value {
    match intercept {
        [] => json!({"type": "subscribe", "events": ALL_EVENTS}),
        intercept => json!({"type": "subscribe", "events": ALL_EVENTS, "intercept": intercept}),
    }
}

/// Returns an extension that sends notices all the time.
fn notifying() -> ScriptedExtension {
    let notify =
        |level: &str, message: &str| json!({"type": "notify", "level": level, "message": message});
    let hello = json!({
        "type": "hello", "name": "probe", "version": "1.0.0",
        "capabilities": ["commands", "tools"],
    });
    let start = [
        hello,
        notify("info", "before ready"),
        subscribe(&[]),
        tool("t"),
        json!({"type": "ready"}),
        notify("info", "after ready"),
    ];
    ScriptedExtension::starting_with("probe", start)
        .tool("t", json!([notify("error", "in tool"), tool_text("ok")]))
        .script(
            "events",
            json!({
                "turn_start": notify("success", "turn <started>"),
                "turn_end": [
                    {"type": "notify", "message": "no level"},
                    {"type": "notify", "level": "weird"},
                ],
            }),
        )
}

/// The results of `tool_results`, one for each call.
fn odd_results() -> Vec<Value> {
    let result = |content: Value| json!({"type": "tool_result", "content": content});
    let text = |text: &str| json!({"type": "text", "text": text});
    let image = |data: &str| json!({"type": "image", "mime_type": "image/png", "data": data});
    let with = |mut frame: Value, field: &str, value: Value| {
        frame[field] = value;
        frame
    };
    vec![
        tool_text("plain"),
        with(tool_text("bad"), "is_error", json!(true)),
        result(json!([image(IMAGE_BASE64)])),
        result(json!([text("a"), text("b"), image(IMAGE_BASE64)])),
        result(json!([image("@@@")])),
        result(json!([])),
        result(json!([text("")])),
        json!({"type": "tool_result"}),
        result(json!([{"type": "video", "text": "v"}])),
        result(json!([image("")])),
        with(
            with(tool_text("x"), "is_error", json!(false)),
            "extra",
            json!(1),
        ),
        result(json!([{"text": "no type"}])),
    ]
}

#[test]
fn every_recording_is_replayed() {
    let recorded = fixtures().names();
    let clients = recorded.iter().filter_map(|name| name.strip_suffix(".rpc"));
    assert_eq!(NAMES, clients.collect::<Vec<_>>());
    for name in &recorded {
        if let Some(extension) = name.strip_suffix(".ext") {
            let (recording, extension) = extension.split_once('.').unwrap();
            let known = scripted(recording);
            assert!(known.iter().any(|e| e.name() == extension), "{name}");
        }
    }
}

#[test]
fn every_deviation_says_why() {
    assert_eq!(fixtures().problems(), Vec::<String>::new());
}
