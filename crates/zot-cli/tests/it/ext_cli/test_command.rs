//! `zot ext test`: each fault of an extension is found and named.

use std::fs;

use serde_json::Value;

use super::{Bench, GOOD, manifest};

fn report(script: &str) -> (Option<i32>, String) {
    report_with(&manifest("good"), script, "5")
}

/// Tests an extension with this manifest, whose tools may take so many seconds.
fn report_with(manifest: &str, script: &str, tool_timeout: &str) -> (Option<i32>, String) {
    let bench = Bench::new();
    bench.extension("good", manifest, script);
    let ended = bench.run(&["test", "good", "--timeout", tool_timeout]);
    let leftovers = fs::read_dir(bench.0.home()).unwrap();
    let leftovers: Vec<_> = leftovers.map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        !leftovers
            .iter()
            .any(|name| name.to_string_lossy().starts_with(".zot-tmp")),
        "{leftovers:?}"
    );
    (ended.code, ended.stdout)
}

fn fails(script: &str, expected: &str) {
    assert_failure(report(script), expected);
}

fn assert_failure((code, report): (Option<i32>, String), expected: &str) {
    let line = report
        .lines()
        .find(|l| l.starts_with("FAIL") && l.contains(expected));
    assert!(code == Some(1) && line.is_some(), "{expected}: {report}");
    assert!(report.contains("→"), "a hint: {report}");
}

fn warns(script: &str, expected: &str) {
    let (code, report) = report(script);
    let line = report
        .lines()
        .find(|l| l.starts_with("warn") && l.contains(expected));
    assert!(code == Some(0) && line.is_some(), "{expected}: {report}");
}

/// Returns the good extension with one frame or response changed.
fn changed(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    GOOD.replace(from, to)
}

#[test]
fn the_advice_about_a_manifest_fits_its_fault() {
    const FIELDS: &str = "\"The manifest\" in docs/extensions.md lists its fields";
    let with = |fields: &str| manifest("good").replacen('{', &format!("{{{fields},"), 1);
    for (manifest, fault, advice) in [
        (with(r#""sandbox":"strict""#), "strict", FIELDS),
        (with(r#""permissions":{"fs_raed":[]}"#), "fs_raed", FIELDS),
        ("5".to_owned(), "expected struct Manifest", FIELDS),
        ("{".to_owned(), "EOF", "it has to be one JSON object"),
        (
            "name: good".to_owned(),
            "expected",
            "it has to be one JSON object",
        ),
    ] {
        let (code, report) = report_with(&manifest, GOOD, "5");
        assert_failure((code, report.clone()), fault);
        assert!(report.contains(&format!("→ {advice}")), "{report}");
    }
}

#[test]
fn a_good_extension_passes_every_check() {
    let (code, report) = report(GOOD);
    assert_eq!(code, Some(0), "{report}");
    for part in [
        "handshake: hello from good 1.0.0",
        "hello_ack accepted",
        "tool add schema",
        "events: delivered: session_start",
        "intercept tool_call: allowed",
        "command /greet: answered: display",
        "tool add: {\"a\":3}: 1 block",
        "unknown input",
        "shutdown: ended in time",
        "0 warnings, 0 failures",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
}

#[test]
fn faults_of_the_handshake() {
    fails("#!/bin/sh\nexit 7\n", "exit status: 7");
    let impatient = manifest("good").replacen('{', r#"{"start_timeout":1,"#, 1);
    assert_failure(
        report_with(&impatient, "#!/bin/sh\nsleep 100\n", "5"),
        "did not send hello",
    );
    fails("#!/bin/sh\necho welcome\ncat\n", "welcome");
    fails("#!/no/such/interpreter\n", "cannot be started");
    warns(
        &changed("\"name\":\"good\"", "\"name\":\"other\""),
        "\"other\"",
    );
    warns(&changed("echo '{\"type\":\"ready\"}'\n", ""), "no ready");
    warns(&changed("[\"commands\",\"tools\"]", "[]"), "capability");
}

#[test]
fn faults_of_registrations() {
    fails(
        &changed("\"name\":\"add\"", "\"name\":\" add\""),
        "not a valid tool name",
    );
    fails(
        &changed(
            "\"schema\":{\"type\":\"object\"",
            "\"schema\":{\"type\":\"string\"",
        ),
        "must be \"object\"",
    );
    warns(
        &changed("\"type\":\"integer\"", "\"type\":\"int\""),
        "properties.a.type",
    );
    warns(&changed("[\"a\"]", "[\"b\"]"), "names \"b\"");
    warns(
        &changed("\"minimum\":3", "\"minimum\":3,\"default\":1"),
        "\"a\" must be at least 3",
    );
    fails(
        &changed("\"name\":\"greet\"", "\"name\":\"/greet\""),
        "not a valid command name",
    );
    warns(
        &changed("\"name\":\"add\"", "\"name\":\"bash\""),
        "zot has a built-in tool",
    );
    warns(&changed("[\"tool_call\"]", "[\"turn_end\"]"), "turn_end");
}

#[test]
fn faults_of_responses() {
    fails(
        &changed("\"action\":\"display\"", "\"action\":\"shout\""),
        "unknown \"shout\"",
    );
    fails(
        &changed("\"display\":\"hi there\"", "\"text\":\"hi\""),
        "without text",
    );
    fails(
        &changed("\"type\":\"text\",\"text\":\"sum\"", "\"type\":\"video\""),
        "video",
    );
    let silent = changed(
        "echo '{\"type\":\"tool_result\"",
        "echo >&2 '{\"type\":\"tool_result\"",
    );
    assert_failure(
        report_with(&manifest("good"), &silent, "1"),
        "no tool_result within 1s",
    );
    fails(
        &changed(
            "echo '{\"type\":\"command_response\"",
            "exit 9; echo '{\"type\":\"command_response\"",
        ),
        "ended instead of answering",
    );
    let malformed = changed("\"content\":[{", "\"content\":{\"x\":[{");
    assert_failure(
        report_with(&manifest("good"), &malformed, "1"),
        "tool_result",
    );
    warns(
        &changed(
            "\"text\":\"sum\"}]",
            "\"text\":\"sorry\"}],\"is_error\":true",
        ),
        "sorry",
    );
}

#[test]
fn faults_of_streams_and_ends() {
    fails(
        &changed("case $line in", "echo debugging\n    case $line in"),
        "not a frame: debugging",
    );
    fails(
        &changed(
            "case $line in",
            "case $line in *unknown*) exit 1 ;; esac\n    case $line in",
        ),
        "unknown frame or field",
    );
    fails(&changed("exit 0", "sleep 100"), "had to be killed");
    fails(
        &changed("exit 0", "sleep 100 >/dev/null 2>&1 & exit 0"),
        "left processes",
    );
    warns(
        &changed("echo '{\"type\":\"shutdown_ack\"}'; ", ""),
        "no shutdown_ack",
    );
    let (_, report) = report(&changed("while", "echo 'trouble ahead' >&2\nwhile"));
    assert!(
        report.contains("standard error:\n  trouble ahead"),
        "{report}"
    );
}

#[test]
fn panels_get_keys() {
    let panel = changed(
        "\"action\":\"display\",\"display\":\"hi there\"",
        "\"action\":\"open_panel\",\"open_panel\":{\"id\":\"p\",\"lines\":[\"a\"]}",
    );
    let drawing = panel.replace(
        "case $line in\n",
        "case $line in\n    *panel_key*down*) echo '{\"type\":\"panel_render\",\"panel_id\":\"p\",\"lines\":[\"b\"]}' ;;\n    *panel_key*enter*) echo '{\"type\":\"panel_close\",\"panel_id\":\"p\"}' ;;\n",
    );
    let (code, report) = report(&drawing);
    assert_eq!(code, Some(0), "{report}");
    assert!(report.contains("key down: redrawn"), "{report}");
    assert!(report.contains("key enter: closed"), "{report}");
    fails(
        &panel.replace(
            "case $line in\n",
            "case $line in\n    *panel_key*) exit 1 ;;\n",
        ),
        "key down: it ended",
    );
}

#[test]
fn programs_get_a_report() {
    let bench = Bench::new();
    bench.good();
    let report: Value = serde_json::from_str(&bench.succeed(&["test", "good", "--json"])).unwrap();
    assert_eq!(report["passed"], true);
    assert_eq!(report["findings"][0]["verdict"], "ok");
    let ended = bench.run(&["test", "nowhere", "--json"]);
    assert_eq!(ended.code, Some(1));
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["findings"][0]["verdict"], "fail");
    assert!(report["findings"][0]["hint"].is_string());
}

#[test]
fn denied_permissions_are_the_extensions_own_error() {
    let bench = Bench::new();
    let manifest = r#"{"name":"good","version":"1.0.0","exec":"./run.sh","permissions":{}}"#;
    let writes = "*'\"type\":\"tool_call\"'*) if (echo x >\"$HOME/stolen\"); then text=stolen; error=false; \
                  else text=refused; error=true; fi 2>/dev/null; \
                  echo '{\"type\":\"tool_result\",\"id\":\"'\"$id\"'\",\"is_error\":'$error',\"content\":[{\"type\":\"text\",\"text\":\"'$text'\"}]}' ;;\n    *'\"type\":\"never\"'*)";
    let script = changed("*'\"type\":\"tool_call\"'*)", writes);
    bench.extension("good", manifest, &script);
    let ended = bench.run(&["test", "good", "--timeout", "5"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stdout);
    assert!(ended.stdout.contains("permissions: "), "{}", ended.stdout);
    let held = ended.stdout.contains("this system holds it to them");
    let expected = if held { "error: refused" } else { "1 block" };
    let tool = ended.stdout.lines().find(|l| l.contains("tool add: "));
    assert!(tool.unwrap().contains(expected), "{}", ended.stdout);
    assert_eq!(bench.0.home().join("stolen").exists(), !held);
}
