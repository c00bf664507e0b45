//! Extensions of a single run: `-p` and `--json`.

use serde_json::{Value, json};
use testkit::{Finished, ModelServer, ScriptedExtension, Wire, Workdir, ZotCommand};
use testkit::{echo_tool, tool_text};

use crate::support::{binary, of_kind};

fn run(flag: &str) -> Finished {
    let (workdir, server) = (Workdir::with_files("work"), ModelServer::start());
    let notify = json!({"type": "notify", "level": "warn", "message": "mind the gap"});
    let extension = ScriptedExtension::new("probe", [echo_tool("t")])
        .tool("t", json!([notify, tool_text("from afar")]))
        .install(&workdir.extensions());
    let finished = ZotCommand::new(binary(), &workdir)
        .arguments([flag, "--no-session"])
        .model(&server, Wire::OpenAi)
        .extensions([&extension])
        .argument("tool:t:{}")
        .run("");
    assert_eq!(extension.sent("shutdown_ack").len(), 1);
    assert!(extension.notes().contains(&"# exit".to_owned()));
    finished
}

#[test]
fn print_mode_shows_notices_beside_the_answer() {
    let finished = run("-p");
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!(finished.stdout, "all done\n");
    let stderr = finished.stderr;
    assert!(stderr.contains("[probe] warn: mind the gap"), "{stderr}");
}

#[test]
fn json_mode_reports_them_as_events() {
    let finished = run("--json");
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let lines = finished.stdout.lines();
    let frames: Vec<Value> = lines.map(|l| serde_json::from_str(l).unwrap()).collect();
    let notices = of_kind(&frames, "ext_notify");
    assert_eq!(notices[0]["message"], "mind the gap");
    let result = of_kind(&frames, "tool_result")[0];
    assert_eq!(result["content"][0]["text"], "from afar");
    assert_eq!(frames.last().unwrap()["type"], "done");
}
