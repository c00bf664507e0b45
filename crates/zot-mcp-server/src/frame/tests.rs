use super::{
    ClientMessage, decode, error_frame, notification_frame, request_frame, response_frame,
};
use serde_json::json;
use zot_mcp::json_rpc::RequestId;

fn refused(text: &str) -> (Option<RequestId>, i64) {
    let malformed = decode(text.as_bytes()).unwrap_err();
    (malformed.id, malformed.error.code)
}

#[test]
fn the_three_kinds_of_messages_are_told_apart() {
    let request = decode(br#"{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":1}}"#);
    assert!(matches!(
        request,
        Ok(ClientMessage::Request { id: RequestId::Text(id), method, params })
            if id == "a" && method == "m" && params["x"] == 1
    ));
    let notification = decode(br#"{"jsonrpc":"2.0","method":"m"}"#);
    assert!(matches!(
        notification,
        Ok(ClientMessage::Notification { params, .. }) if params.is_empty()
    ));
    let response = decode(br#"{"jsonrpc":"2.0","id":1,"result":null}"#);
    assert!(matches!(
        response,
        Ok(ClientMessage::Response { id: RequestId::Number(1), result: Ok(value) }) if value.is_null()
    ));
    let failed = decode(br#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#);
    assert!(matches!(
        failed,
        Ok(ClientMessage::Response { result: Err(error), .. }) if error.code == 1
    ));
}

#[test]
fn a_wrong_message_is_refused_with_its_id_if_it_has_one() {
    let id = || Some(RequestId::Number(1));
    assert_eq!(refused("{"), (None, -32700));
    assert_eq!(refused("[]"), (None, -32600));
    assert_eq!(refused("\"x\""), (None, -32600));
    assert_eq!(
        refused(r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#),
        (None, -32600)
    );
    assert_eq!(
        refused(r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#),
        (None, -32600)
    );
    assert_eq!(refused(r#"{"id":1,"method":"m"}"#), (id(), -32600));
    assert_eq!(
        refused(r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#),
        (id(), -32600)
    );
    assert_eq!(
        refused(r#"{"jsonrpc":"2.0","id":1,"method":null}"#),
        (id(), -32600)
    );
    assert_eq!(
        refused(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}"#),
        (id(), -32602)
    );
    assert_eq!(
        refused(r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#),
        (id(), -32600)
    );
    assert_eq!(
        refused(r#"{"jsonrpc":"2.0","id":1,"error":{}}"#),
        (id(), -32600)
    );
    assert_eq!(refused(r#"{"jsonrpc":"2.0","result":1}"#), (None, -32600));
}

#[test]
fn frames_are_json_rpc() {
    let id = RequestId::Text("a".to_owned());
    let value =
        |frame: super::Frame| -> serde_json::Value { serde_json::from_str(frame.get()).unwrap() };
    assert_eq!(
        value(response_frame(&id, Ok(json!({})))),
        json!({"jsonrpc": "2.0", "id": "a", "result": {}})
    );
    assert_eq!(
        value(error_frame(None, &super::error(-1, "x"))),
        json!({"jsonrpc": "2.0", "error": {"code": -1, "message": "x"}})
    );
    assert_eq!(
        value(notification_frame("n", json!({}))),
        json!({"jsonrpc": "2.0", "method": "n", "params": {}})
    );
    assert_eq!(
        value(request_frame(1, "r", json!({}))),
        json!({"jsonrpc": "2.0", "id": 1, "method": "r", "params": {}})
    );
}
