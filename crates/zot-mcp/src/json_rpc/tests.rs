use super::*;

fn decode(text: &str) -> Result<Incoming, FrameError> {
    Incoming::decode(text.as_bytes())
}

#[test]
fn messages_are_told_apart_by_their_fields() {
    assert!(matches!(
        decode(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
        Ok(Incoming::Response {
            id: RequestId::Number(1),
            result: Ok(_)
        })
    ));
    assert!(matches!(
        decode(r#"{"jsonrpc":"2.0","id":"a","error":{"code":-1,"message":"m"}}"#),
        Ok(Incoming::Response {
            id: RequestId::Text(_),
            result: Err(_)
        })
    ));
    assert!(matches!(
        decode(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#),
        Ok(Incoming::Request { params: None, .. })
    ));
    assert!(matches!(
        decode(r#"{"jsonrpc":"2.0","method":"n","params":{}}"#),
        Ok(Incoming::Notification {
            params: Some(_),
            ..
        })
    ));
    for wrong in [
        "{}",
        "[]",
        "1",
        "",
        r#"{"id":1}"#,
        r#"{"id":null,"error":{"code":1,"message":"m"}}"#,
        r#"{"id":1.5,"result":{}}"#,
    ] {
        assert!(decode(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_result_of_null_is_a_result() {
    let Ok(Incoming::Response {
        result: Ok(result), ..
    }) = decode(r#"{"id":1,"result":null}"#)
    else {
        panic!("expected a response");
    };
    assert_eq!(result.get(), "null");
}

#[test]
fn several_messages_may_come_in_an_array() {
    let batch = decode_batch(br#"[{"id":1,"result":{}},{"method":"n"}]"#).unwrap();
    assert_eq!(batch.len(), 2);
    assert_eq!(decode_batch(br#"{"method":"n"}"#).unwrap().len(), 1);
    assert!(decode_batch(b"[1]").is_err());
    assert!(decode_batch(b"[]").unwrap().is_empty());
}

#[test]
fn a_long_error_message_is_cut() {
    let text = format!(
        r#"{{"id":1,"error":{{"code":1,"message":"{}"}}}}"#,
        "ä".repeat(10_000)
    );
    let Ok(Incoming::Response {
        result: Err(error), ..
    }) = decode(&text)
    else {
        panic!("expected an error");
    };
    assert_eq!(error.message.len(), MAX_ERROR_MESSAGE_BYTES);
}

#[test]
fn what_is_encoded_can_be_decoded() {
    let params = RawValue::from_string(r#"{"a":1}"#.to_owned()).unwrap();
    let id = RequestId::Number(7);
    let line = encode_call(Some(&id), "m", Some(&params)).unwrap();
    assert_eq!(
        String::from_utf8(line).unwrap(),
        r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1}}"#
    );
    let line = encode_call(None, "m", None).unwrap();
    assert_eq!(
        String::from_utf8(line).unwrap(),
        r#"{"jsonrpc":"2.0","method":"m"}"#
    );
    let line = encode_response(&id, Ok(&params)).unwrap();
    assert!(matches!(
        Incoming::decode(&line),
        Ok(Incoming::Response { result: Ok(_), .. })
    ));
}
