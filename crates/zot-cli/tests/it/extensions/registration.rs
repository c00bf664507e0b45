//! Commands and tools that extensions register.

use serde_json::{Value, json};
use testkit::{ScriptedExtension, Wire, ZotCommand, echo_tool, register_tool, tool_text};

use super::Extended;
use crate::support::binary;

#[test]
fn a_tool_that_is_registered_later_joins_the_next_turn() {
    let extension = ScriptedExtension::new("probe", [echo_tool("first")])
        .tool("first", json!([echo_tool("late"), tool_text("ok")]))
        .tool("late", tool_text("late ok"));
    let mut run = Extended::start(&[extension]);
    run.call("first", json!({}));
    let offered = run.offered();
    let has_late = |turn: usize| offered[turn].iter().any(|name| name == "late");
    assert!(!has_late(0) && has_late(1), "{offered:?}");
    assert_eq!(run.call("late", json!({})), (false, "late ok".to_owned()));
}

#[test]
fn tools_that_no_provider_accepts_do_not_affect_others() {
    let long = "x".repeat(129);
    let bad_names = ["", " a", "../b", "a\u{7}", long.as_str()];
    let bad_schemas: [Value; 4] = [
        json!("object"),
        json!([]),
        json!({"type": "string"}),
        json!({"type": "object", "properties": {"x": 5}}),
    ];
    let names = bad_names.iter().map(|name| echo_tool(name));
    let schemas = bad_schemas.into_iter().enumerate();
    let schemas =
        schemas.map(|(number, schema)| register_tool(&format!("schema_{number}"), schema));
    let none = json!({"type": "register_tool", "name": "bare", "description": "no schema"});
    let registrations: Vec<Value> = names
        .chain(schemas)
        .chain([none, echo_tool("good")])
        .collect();
    let extension =
        ScriptedExtension::new("probe", registrations).tool("good", tool_text("good ok"));
    let mut run = Extended::start(&[extension]);
    assert_eq!(run.call("good", json!({})), (false, "good ok".to_owned()));
    let own = ["read", "write", "edit", "bash", "skill"];
    let offered = run.offered().remove(0);
    let foreign: Vec<&String> = offered
        .iter()
        .filter(|name| !own.contains(&name.as_str()))
        .collect();
    // A property without a valid schema is declared without one; the others cannot be declared.
    assert_eq!(foreign, ["schema_3", "bare", "good"]);
    let log = run.log("probe");
    for number in 0..4 {
        assert!(log.contains(&format!("schema_{number}")), "{log}");
    }
    assert_eq!(log.matches("is not a valid tool name").count(), 5, "{log}");
}

#[test]
fn selecting_tools_keeps_those_of_extensions_unless_they_are_removed() {
    let extension = || ScriptedExtension::new("probe", [echo_tool("one"), echo_tool("two")]);
    for (flags, expected) in [
        (vec!["--tools", "read,two"], vec!["read", "one", "two"]),
        (vec!["--tools", "read"], vec!["read", "one", "two"]),
        (vec!["--tools", "read,-one"], vec!["read", "two"]),
        (
            vec!["--tools", "-one,-bash,-skill"],
            vec!["read", "write", "edit", "two"],
        ),
        (
            vec!["--tools=-one,-two,-skill"],
            vec!["read", "write", "edit", "bash"],
        ),
        (vec!["--tools", "bash,-bash"], vec!["one", "two"]),
        (vec!["--no-tools"], vec!["one", "two"]),
    ] {
        let mut run = Extended::start_with(&[extension()], |command| command.arguments(&flags));
        run.zot.turn("1", "say:1");
        assert_eq!(run.offered()[0], expected, "{flags:?}");
    }
    let config = json!({"tools": ["read", "-two"]});
    let run = Extended::start_with(&[extension()], |command| command);
    std::fs::create_dir_all(run.workdir.zot_home()).unwrap();
    let file = run.workdir.zot_home().join("config.json");
    std::fs::write(file, config.to_string()).unwrap();
    let mut zot = ZotCommand::rpc(binary(), &run.workdir, &run.server, Wire::OpenAi)
        .extensions(&run.installed)
        .spawn();
    zot.turn("1", "say:1");
    assert_eq!(run.offered()[0], ["read", "one"]);
    drop(zot);

    let flags = ["--tools", "read,three,-four"];
    let mut run = Extended::start_with(&[extension()], |command| command.arguments(flags));
    run.zot.turn("1", "say:1");
    assert_eq!(run.offered()[0], ["read", "one", "two"]);
    testkit::poll_until("unknown names are reported", || {
        let stderr = run.zot.stderr();
        stderr.contains("three") && stderr.contains("four")
    });
    let set = json!({"id": "s", "type": "set_tools", "tools": ["one"]});
    assert_eq!(run.zot.call(set)["success"], true);
    run.zot.turn("2", "say:1");
    assert_eq!(run.offered()[1], ["one"]);
}

#[test]
fn the_first_registration_of_a_name_wins() {
    let first = ScriptedExtension::new("aaa", [echo_tool("same"), echo_tool("bash")])
        .tool("same", tool_text("from aaa"));
    let second = ScriptedExtension::new("bbb", [echo_tool("same"), echo_tool("own")])
        .tool("same", tool_text("from bbb"))
        .tool("own", tool_text("own ok"));
    let mut run = Extended::start(&[first, second]);
    let call = run.call("same", json!({}));
    assert_eq!(call, (false, "from aaa".to_owned()));
    assert_eq!(run.call("own", json!({})), (false, "own ok".to_owned()));
    let (_, shell) = run.call("bash", json!({"command": "echo built in"}));
    assert!(shell.contains("built in"), "{shell}");
    assert!(run.log("bbb").contains("shadowed by extension aaa"));
    assert!(run.log("aaa").contains("shadowed by the built-in"));
}
