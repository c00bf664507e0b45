//! `reload_ext`: new extensions without a new process.

use serde_json::{Value, json};
use testkit::{ScriptedExtension, Zot, echo_tool, tool_text};

use super::Extended;

fn offering(tool: &str) -> ScriptedExtension {
    ScriptedExtension::new("probe", [echo_tool(tool)]).tool(tool, tool_text(tool))
}

fn reload(zot: &mut Zot) -> Value {
    zot.call(json!({"id": "r", "type": "reload_ext"}))
}

#[test]
fn a_reload_picks_up_changes() {
    let mut run = Extended::start(&[offering("old")]);
    assert_eq!(run.call("old", json!({})), (false, "old".to_owned()));
    offering("new")
        .manifest("version", json!("2.0.0"))
        .install(&run.workdir.extensions());
    let answer = reload(&mut run.zot);
    let entry = &answer["data"]["extensions"][0];
    assert_eq!(entry["version"], "2.0.0");
    assert_eq!(
        (&entry["state"], &entry["tools"]),
        (&json!("ready"), &json!(["new"]))
    );
    assert_eq!(run.installed[0].sent("shutdown_ack").len(), 1);
    assert_eq!(run.call("new", json!({})), (false, "new".to_owned()));
    let offered = run.offered();
    let last = offered.last().unwrap();
    assert!(!last.contains(&"old".to_owned()), "{last:?}");
}

#[test]
fn a_disabled_extension_is_gone_after_a_reload() {
    let mut run = Extended::start(&[offering("old")]);
    run.zot.turn("1", "say:1");
    offering("old")
        .manifest("enabled", json!(false))
        .install(&run.workdir.extensions());
    assert_eq!(reload(&mut run.zot)["data"]["extensions"], json!([]));
    run.zot.turn("2", "say:1");
    assert!(!run.offered()[1].contains(&"old".to_owned()));
}

#[test]
fn a_failed_reload_changes_nothing() {
    let mut run = Extended::start(&[offering("old")]);
    run.zot.turn("1", "say:1");
    let failing: [&dyn Fn(&Extended); 2] = [
        &|run| run.installed[0].write("extension.json", "{nope"),
        &|run| {
            ScriptedExtension::starting_with("probe", [json!({"exit": 3})])
                .install(&run.workdir.extensions());
        },
    ];
    for break_it in failing {
        break_it(&run);
        let answer = reload(&mut run.zot);
        assert_eq!(
            (&answer["success"], &answer["code"]),
            (&json!(false), &json!("extension"))
        );
        assert_eq!(run.call("old", json!({})), (false, "old".to_owned()));
    }
    assert!(run.installed[0].sent("shutdown_ack").is_empty());
}

#[test]
fn a_reload_is_refused_while_a_prompt_runs() {
    let mut run = Extended::start(&[offering("old")]);
    run.zot.prompt("1", "hangmid");
    run.zot.event("text_delta");
    assert_eq!(reload(&mut run.zot)["code"], "busy");
}
