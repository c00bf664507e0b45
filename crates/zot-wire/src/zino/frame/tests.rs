use super::Frame;

#[test]
fn only_lone_surrogates_are_replaced() {
    let cases = [
        (r#"{"a":"\ud800"}"#, "\u{fffd}"),
        (r#"{"a":"x\uDC00y"}"#, "x\u{fffd}y"),
        (r#"{"a":"\ud83d\ude00\ud83d"}"#, "😀\u{fffd}"),
        (r#"{"a":"\ud83d\ud83d\ude00"}"#, "\u{fffd}😀"),
        (r#"{"a":"\\ud800\ud800"}"#, "\\ud800\u{fffd}"),
        (r#"{"a":"\ud800\n"}"#, "\u{fffd}\n"),
        (r#"{"a":"ü\ud800"}"#, "ü\u{fffd}"),
    ];
    for (text, expected) in cases {
        let frame = Frame::parse(text.as_bytes()).unwrap();
        assert_eq!(frame.text("a"), Some(expected), "{text}");
    }
}

#[test]
fn other_invalid_frames_are_errors() {
    for text in [
        r#"{"a":"\ud800"#,
        r#"{"a":"\ud8"}"#,
        r#"{"a":"\ud80"#,
        r#"{"a":"\"#,
        r#"{"a":"\ud800\x"}"#,
        r#"["\ud800"]"#,
        "",
    ] {
        assert!(Frame::parse(text.as_bytes()).is_err(), "{text}");
    }
    assert!(Frame::parse(b"{\"a\":\"\xff\"}").is_err());
    // The error is about the original text.
    let error = Frame::parse(br#"{"a":1,}"#).unwrap_err();
    assert!(error.to_string().contains("trailing comma"), "{error}");
}
