use super::{ClientAbilities, Request};
use serde_json::{Value, json};

fn abilities(capabilities: Value) -> (bool, bool) {
    let abilities = ClientAbilities::read(&capabilities);
    (abilities.elicits, abilities.opens_urls)
}

#[test]
fn elicitation_without_modes_means_forms() {
    assert_eq!(abilities(json!({})), (false, false));
    assert_eq!(abilities(Value::Null), (false, false));
    assert_eq!(abilities(json!({"elicitation": true})), (false, false));
    assert_eq!(abilities(json!({"elicitation": {}})), (true, false));
    // Older clients put other values there.
    assert_eq!(abilities(json!({"elicitation": {"x": 1}})), (true, false));
    assert_eq!(
        abilities(json!({"elicitation": {"form": {}}})),
        (true, false)
    );
    assert_eq!(
        abilities(json!({"elicitation": {"url": {}}})),
        (false, true)
    );
    assert_eq!(
        abilities(json!({"elicitation": {"form": {}, "url": {}}})),
        (true, true)
    );
}

fn modern(meta: Value) -> Result<Request, i64> {
    let Value::Object(params) = json!({"_meta": meta}) else {
        unreachable!("an object")
    };
    Request::modern("tools/list".to_owned(), params).map_err(|error| error.code)
}

#[test]
fn a_modern_request_says_everything_about_itself() {
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    let whole = modern(json!({
        version: "2026-07-28", capabilities: {"elicitation": {}}, "progressToken": "p",
    }))
    .unwrap();
    assert!(whole.abilities.elicits);
    assert_eq!(whole.progress_token, Some("p".into()));
    assert_eq!(modern(json!({})).unwrap_err(), -32602);
    assert_eq!(modern(json!({version: "2026-07-28"})).unwrap_err(), -32602);
    assert_eq!(
        modern(json!({version: 7, capabilities: {}})).unwrap_err(),
        -32602
    );
    assert_eq!(
        modern(json!({version: "2026-07-28", capabilities: 7})).unwrap_err(),
        -32602
    );
    assert_eq!(
        modern(json!({version: "2025-11-25", capabilities: {}})).unwrap_err(),
        -32022
    );
}

#[test]
fn a_progress_token_is_a_text_or_an_integer() {
    for (token, is_taken) in [
        (json!("a"), true),
        (json!(0), true),
        (json!(-7), true),
        (json!(1.5), false),
        (json!(null), false),
        (json!({}), false),
    ] {
        let Value::Object(params) = json!({"_meta": {"progressToken": token}}) else {
            unreachable!("an object")
        };
        let request = Request::legacy("m".to_owned(), params, ClientAbilities::default());
        assert_eq!(request.progress_token.is_some(), is_taken, "{token}");
    }
}
