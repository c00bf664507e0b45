use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::json;

use super::{ScriptedExtension, echo_tool, tool_text};
use crate::Workdir;

#[test]
fn an_extension_follows_its_script_and_logs_every_frame() {
    let workdir = Workdir::new("work");
    let turns = json!({"in_turn": [
        {"type": "tool_result", "echo": "args"}, tool_text("again"),
    ]});
    let installed = ScriptedExtension::new("probe", [echo_tool("t")])
        .tool("t", turns)
        .install(&workdir.extensions());
    let mut child = Command::new("python3")
        .args(["-S", "-E", "-u", "scripted.py"])
        .current_dir(installed.directory())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("start the extension");
    let call = |id: &str| json!({"type": "tool_call", "id": id, "name": "t", "args": {"x": 1}});
    let input = [call("1"), call("2"), json!({"type": "shutdown"})];
    let input = input.map(|frame| format!("{frame}\n")).concat();
    let stdin = child.stdin.as_mut().expect("its input is piped");
    stdin.write_all(input.as_bytes()).expect("write to it");
    let output = child.wait_with_output().expect("wait for it");
    assert!(output.status.success());

    let results = installed.sent("tool_result");
    assert_eq!(results[0]["content"][0]["text"], "{\"x\": 1}");
    assert_eq!(results[0]["id"], "1");
    assert_eq!(results[1]["content"][0]["text"], "again");
    assert_eq!(installed.received("tool_call").len(), 2);
    let notes = installed.notes();
    let sent = notes.iter().filter_map(|note| note.strip_prefix("< "));
    let sent: String = sent.map(|line| format!("{line}\n")).collect();
    assert_eq!(String::from_utf8_lossy(&output.stdout), sent);
    assert_eq!(installed.notes().last().map(String::as_str), Some("# exit"));
}
