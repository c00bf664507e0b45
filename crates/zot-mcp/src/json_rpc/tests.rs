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
    let batch = decode_batch(br#" [{"id":1,"result":{}},1,{"method":"n"}]"#);
    assert!(matches!(&batch[..], [Ok(_), Err(_), Ok(_)]));
    assert!(matches!(&decode_batch(br#"{"method":"n"}"#)[..], [Ok(_)]));
    assert!(matches!(&decode_batch(b"[1")[..], [Err(_)]));
    assert!(decode_batch(b"[]").is_empty());
}

#[test]
fn an_error_is_an_answer_whatever_it_looks_like() {
    for (error, code, message) in [
        (r#"{"code":-32601}"#, -32601, "without a message"),
        (r#"{"message":"m"}"#, INTERNAL_ERROR, "m"),
        (r#"{"code":"-32601","message":"m"}"#, -32601, "m"),
        (r#"{"code":-32601.0,"message":"m"}"#, -32601, "m"),
        (
            r#"{"code":"E_BAD","message":["m"]}"#,
            INTERNAL_ERROR,
            r#"["m"]"#,
        ),
        (r#""broken""#, INTERNAL_ERROR, "broken"),
    ] {
        let Ok(Incoming::Response {
            result: Err(found), ..
        }) = decode(&format!(r#"{{"id":1,"error":{error}}}"#))
        else {
            panic!("expected an error response for {error}");
        };
        assert_eq!(found.code, code, "{error}");
        assert!(found.message.contains(message), "{found}");
    }
    for nameless in [
        r#"{"id":null,"error":{"code":1,"message":"m"}}"#,
        r#"{"error":{}}"#,
    ] {
        assert!(matches!(decode(nameless), Ok(Incoming::Refusal(_))));
    }
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
