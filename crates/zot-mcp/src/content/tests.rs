use std::path::PathBuf;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use zot_conversation::{ContentBlock, Role};

use super::{prompt, resource, tool_output};
use crate::results::Results;

fn results() -> (tempfile::TempDir, Results) {
    let directory = tempfile::tempdir().unwrap();
    let results = Results::new(directory.path().join("results"));
    (directory, results)
}

fn raw(value: Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

fn texts(value: Value) -> Vec<String> {
    let (_directory, results) = results();
    let output = tool_output(&raw(value), &results).unwrap();
    output
        .content
        .into_iter()
        .map(|block| match block {
            ContentBlock::Text(text) => text,
            other => panic!("{other:?}"),
        })
        .collect()
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[test]
fn structured_content_is_shown_once() {
    for (content, structured, expected) in [
        (vec![], json!({"a": 1}), vec![r#"{"a":1}"#]),
        (
            vec![text("{ \"a\" : 1 }")],
            json!({"a": 1}),
            vec!["{ \"a\" : 1 }"],
        ),
        (
            vec![text("A is one.")],
            json!({"a": 1}),
            vec!["A is one.", r#"{"a":1}"#],
        ),
        // The Python SDK wraps what is not an object.
        (
            vec![text("plain")],
            json!({"result": "plain"}),
            vec!["plain"],
        ),
        (
            vec![text("a"), text("b")],
            json!({"result": ["a", "b"]}),
            vec!["a", "b"],
        ),
        (vec![text("7")], json!({"result": 7}), vec!["7"]),
        (
            vec![text("7")],
            json!({"result": 8}),
            vec!["7", r#"{"result":8}"#],
        ),
        // Any JSON value, in the modern era.
        (vec![], json!([1, 2]), vec!["[1,2]"]),
    ] {
        let result = json!({"content": content, "structuredContent": structured});
        assert_eq!(texts(result.clone()), expected, "{result}");
    }
}

#[test]
fn an_empty_result_says_so() {
    assert_eq!(texts(json!({})), ["(the tool returned nothing)"]);
    assert_eq!(
        texts(json!({"content": [text("")]})),
        ["(the tool returned nothing)"]
    );
}

#[test]
fn a_result_of_another_shape_is_an_error() {
    let (_directory, results) = results();
    assert!(tool_output(&raw(json!([])), &results).is_err());
    assert!(tool_output(&raw(json!({"content": 1})), &results).is_err());
    assert!(prompt(&raw(json!({"messages": [{}]})), &results).is_err());
    assert!(resource(&raw(json!(null)), &results).is_err());
}

#[test]
fn a_prompt_may_have_several_parts() {
    let (_directory, results) = results();
    let result = json!({"messages": [
        {"role": "assistant", "content": [text("a"), text("b")]},
        {"role": "user", "content": {"type": "resource", "resource": {"uri": "x:1", "text": "r"}}},
    ]});
    let messages = prompt(&raw(result), &results).unwrap();
    assert_eq!(messages[0].role, Role::Assistant);
    assert_eq!(messages[0].content.len(), 2);
    assert_eq!(messages[1].content, [ContentBlock::Text("r".to_owned())]);
}

#[test]
fn data_that_cannot_be_kept_is_said_to_be_lost() {
    let results = Results::new(PathBuf::from("/proc/none/of/this"));
    let result = json!({"content": [{"type": "audio", "mimeType": "audio/wav", "data": "AAAA"}]});
    let output = tool_output(&raw(result), &results).unwrap();
    assert!(output.joined_text().contains("3 bytes: not kept: "));
}
