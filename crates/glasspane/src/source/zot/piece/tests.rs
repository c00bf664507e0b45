use super::piece;
use crate::{Event, normalize};

#[test]
fn the_fast_path_agrees_with_normalize() {
    for line in [
        r#"{"type":"text_delta","delta":"a"}"#,
        r#"{"delta":"This","type":"text_delta"}"#,
        r#"{"type":"text_delta","delta":"\u00e9\n\"x\""}"#,
        r#"{"type":"text_delta","delta":"a","new":{"type":"x"}}"#,
        r#"{"type":"text_delta","delta":"x","type":"done"}"#,
        r#"{"type":"text_delta","delta":7}"#,
        r#"{"type":"done","delta":"x","type":"text_delta"}"#,
        r#"{"a":{"delta":"x","type":"text_delta"}}"#,
        r#"{"type":"tool_use_args","id":"c1","delta":"{"}"#,
    ] {
        let long = normalize(&serde_json::from_str(line).unwrap());
        if let Some(short) = piece(line.as_bytes()) {
            assert_eq!(Some(short), long, "{line}");
        }
    }
    let usual = br#"{"type":"text_delta","delta":"a"}"#;
    assert_eq!(piece(usual), Some(Event::piece("assistant", "a")));
    let original = br#"{"delta":"a","type":"text_delta"}"#;
    assert_eq!(piece(original), Some(Event::piece("assistant", "a")));
}
