use serde_json::value::RawValue;
use zot_conversation::ToolEffect;

use super::entries::Item;
use super::{ListedTool, MAX_MCP_TEXT_BYTES, cut_with_note};
use crate::connection::LegacyTask;

fn tool(json: &str) -> Result<ListedTool, String> {
    ListedTool::read(&RawValue::from_string(json.to_owned()).unwrap())
}

#[test]
fn a_tool_is_read_with_its_hints() {
    let tool = tool(
        r#"{"name":"a","description":"d","inputSchema":{"type":"object"},
            "annotations":{"readOnlyHint":true,"title":"A"},"execution":{"taskSupport":"required"}}"#,
    )
    .unwrap();
    assert_eq!(tool.title.as_deref(), Some("A"));
    assert_eq!(tool.effect, ToolEffect::ReadOnly);
    assert_eq!(tool.legacy_task, LegacyTask::Required);
}

#[test]
fn a_tool_without_a_schema_takes_no_arguments() {
    assert_eq!(
        tool(r#"{"name":"a"}"#).unwrap().schema.get(),
        r#"{"type":"object"}"#
    );
}

#[test]
fn a_tool_that_no_model_could_use_is_left_out_with_a_reason() {
    for (json, reason) in [
        (r#"{"name":""}"#, "its name is empty"),
        (r#"{"description":"x"}"#, "missing field `name`"),
        (
            r#"{"name":"a","inputSchema":[]}"#,
            "must be a JSON Schema object",
        ),
    ] {
        let error = tool(json).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
    let long = format!(r#"{{"name":"{}"}}"#, "x".repeat(300));
    assert!(tool(&long).unwrap_err().contains("longer than 256"));
    let wide = format!(
        r#"{{"name":"a","inputSchema":{{"type":"object","description":"{}"}}}}"#,
        "x".repeat(70_000)
    );
    assert!(tool(&wide).unwrap_err().contains("schema is longer"));
}

#[test]
fn a_long_description_is_cut_with_a_note() {
    let text = cut_with_note(&"ä".repeat(5_000_000));
    assert!(text.len() <= MAX_MCP_TEXT_BYTES, "{}", text.len());
    assert!(text.ends_with("[cut: 10000000 bytes in all]"), "{text}");
    assert_eq!(cut_with_note("short"), "short");
}
