use std::fs;

use super::text::with;
use super::*;

fn changed(text: &str, path: &[&str], value: Option<&str>) -> String {
    match with(text, path, value) {
        Ok(text) => text,
        Err(problem) => format!("line {}: {}", problem.line, problem.text),
    }
}

#[test]
fn a_value_is_inserted_in_the_style_of_the_file() {
    let path = ["mcpServers", "b"];
    let value = Some(r#"{"type":"stdio","command":"x","args":["-y",  "z"],"env":{}}"#);
    let expected = "{\n  \"mcpServers\": {\n    \"b\": {\n      \"type\": \"stdio\",\n      \"command\": \"x\",\n      \"args\": [\"-y\", \"z\"],\n      \"env\": {}\n    }\n  }\n}\n";
    assert_eq!(changed("", &path, value), expected);
    assert_eq!(changed("{}\n", &path, value), expected);
    assert_eq!(
        changed("{\n  \"mcpServers\": {}\n}\n", &path, value),
        expected
    );
    // Tabs stay tabs, and what is unknown stays as it is.
    let old = "{\n\t\"x\" : [ 1,2 ],\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\":   \"y\"}\n\t},\n\t\"z\": null\n}";
    let new = "{\n\t\"x\" : [ 1,2 ],\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\":   \"y\"},\n\t\t\"b\": {\n\t\t\t\"command\": \"x\"\n\t\t}\n\t},\n\t\"z\": null\n}";
    assert_eq!(changed(old, &path, Some(r#"{"command":"x"}"#)), new);
    assert_eq!(changed(new, &path, None), old);
    assert_eq!(
        changed("{\"mcpServers\": {\"a\": 1}}", &path, Some("2")),
        "{\"mcpServers\": {\"a\": 1, \"b\": 2}}"
    );
}

#[test]
fn a_value_is_replaced_in_place() {
    let old = "{\"mcpServers\": {\"a\": {\"x\": 1, \"enabled\": true , \"y\": 2}}}";
    let new = "{\"mcpServers\": {\"a\": {\"x\": 1, \"enabled\": false , \"y\": 2}}}";
    assert_eq!(
        changed(old, &["mcpServers", "a", "enabled"], Some("false")),
        new
    );
}

#[test]
fn entries_are_removed_wherever_they_are() {
    let path = |name: &'static str| ["s", name];
    let text = "{\"s\": {\n  \"a\": 1,\n  \"b\": {\"c\": \"}\"},\n  \"c\": 3\n}}";
    assert_eq!(
        changed(text, &path("a"), None),
        "{\"s\": {\n  \"b\": {\"c\": \"}\"},\n  \"c\": 3\n}}"
    );
    assert_eq!(
        changed(text, &path("b"), None),
        "{\"s\": {\n  \"a\": 1,\n  \"c\": 3\n}}"
    );
    assert_eq!(
        changed(text, &path("c"), None),
        "{\"s\": {\n  \"a\": 1,\n  \"b\": {\"c\": \"}\"}\n}}"
    );
    assert_eq!(changed(text, &path("missing"), None), text);
    assert_eq!(
        changed("{\"s\": {\"a\": 1}}", &path("a"), None),
        "{\"s\": {}}"
    );
    // Twice the same name: both go, or the one before would count again.
    assert_eq!(
        changed("{\"s\": {\"a\": 1, \"b\": 2, \"a\": 3}}", &path("a"), None),
        "{\"s\": { \"b\": 2}}"
    );
    for odd in [
        "{\"s\":{\"a\":1,\"b\":2,\"c\":3}}",
        "{ \"s\" : { \"a\" : 1 , \"b\" : 2 , \"c\" : 3 } }",
    ] {
        for name in ["a", "b", "c"] {
            let text = changed(odd, &path(name), None);
            let value: serde_json::Value =
                serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(value["s"].as_object().unwrap().len(), 2, "{text}");
            assert!(value["s"].get(name).is_none(), "{text}");
        }
    }
}

#[test]
fn what_is_not_an_object_is_not_overwritten() {
    assert_eq!(
        changed("{\n\"s\": [1]}", &["s", "a"], Some("1")),
        "line 2: expected a JSON object"
    );
    assert_eq!(
        changed("{\n\"s\": ", &["s", "a"], Some("1")),
        "line 2: EOF while parsing a value"
    );
}

#[test]
fn a_server_is_added_switched_and_removed() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("new/mcp.json");
    let editor = Editor {
        path: &path,
        scope: Scope::User,
    };
    let added = editor
        .add(
            "a",
            r#"{"command": "x", "future": [1]}"#,
            OnConflict::Refuse,
        )
        .unwrap();
    assert_eq!(added.before, None);
    let first = fs::read_to_string(&path).unwrap();
    assert_eq!(added.after, FileDigest::of(first.as_bytes()));
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let refused = editor
        .add("a", r#"{"command": "y"}"#, OnConflict::Refuse)
        .unwrap_err();
    assert!(matches!(refused, EditError::Exists { .. }), "{refused}");
    assert_eq!(fs::read_to_string(&path).unwrap(), first);

    editor.switch("a", Some(false)).unwrap();
    assert!(
        fs::read_to_string(&path)
            .unwrap()
            .contains("\"enabled\": false")
    );
    editor.switch("a", None).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), first);
    // An entry that only switches a server of another file.
    editor.switch("elsewhere", Some(false)).unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("elsewhere"));
    editor.switch("elsewhere", None).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), first);

    editor
        .add("a", r#"{"command": "y"}"#, OnConflict::Replace)
        .unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("\"y\""));
    editor.remove("a").unwrap();
    assert!(matches!(
        editor.remove("a").unwrap_err(),
        EditError::Missing { .. }
    ));
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "{\n  \"mcpServers\": {}\n}\n"
    );
}

#[test]
fn a_wrong_entry_or_file_changes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("mcp.json");
    let editor = Editor {
        path: &path,
        scope: Scope::User,
    };
    for (name, entry, expected) in [
        ("a b", "{}", "\"a b\" cannot be the name"),
        ("a", "{", "expected the JSON of one server"),
        (
            "a",
            r#"{"command": 1}"#,
            "MCP server \"a\": \"command\" must be a string, got a number",
        ),
        (
            "a",
            "[]",
            "MCP server \"a\": expected an object, got a list",
        ),
    ] {
        let error = editor
            .add(name, entry, OnConflict::Refuse)
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(expected), "{error}");
        assert!(!path.exists());
    }
    fs::write(&path, "{\"mcpServers\": 5}").unwrap();
    let error = editor
        .add("a", r#"{"command": "x"}"#, OnConflict::Refuse)
        .unwrap_err();
    assert!(matches!(error, EditError::Unusable(_)), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"mcpServers\": 5}");
}
