use super::read_call;

fn check(body: &str, expected: Result<(&str, Option<&str>), &str>) {
    let read = read_call(body);
    let read = read
        .as_ref()
        .map(|call| (call.name.as_ref(), call.arguments.map(|raw| raw.get())))
        .map_err(ToString::to_string);
    assert_eq!(read, expected.map_err(str::to_owned), "{body}");
}

#[test]
fn calls() {
    let call = r#"{"name": "read", "arguments": {"path": "a"}}"#;
    let expected = Ok(("read", Some(r#"{"path": "a"}"#)));
    check(call, expected);
    check(&format!("\n  {call}\n"), expected);
    check(&format!("```json\n{call}\n```"), expected);
    check(&format!("\n```{call}```\n"), expected);
    check(
        r#"{"arguments":{},"id":7,"name":"read"}"#,
        Ok(("read", Some("{}"))),
    );
    check(r#"{"na\u006de":"re\u0061d"}"#, Ok(("read", None)));
    check(r#"{"name":"read","arguments":null}"#, Ok(("read", None)));
    // Refused later, as the arguments of any other call.
    check(
        r#"{"name":"read","arguments":"{}"}"#,
        Ok(("read", Some(r#""{}""#))),
    );
}

#[test]
fn no_calls() {
    check(" \n", Err("it is empty"));
    check("read(a)", Err("it is not one JSON object"));
    check(r#"["read",{}]"#, Err("it is not one JSON object"));
    check(
        "{'name': 'read'}",
        Err("key must be a string at line 1 column 2"),
    );
    check(r#"{"name":""}"#, Err("its name is empty"));
    check(
        r#"{"arguments":{}}"#,
        Err("missing field `name` at line 1 column 16"),
    );
    check(
        r#"{"name":"a","name":"b"}"#,
        Err("duplicate field `name` at line 1 column 18"),
    );
    check(
        r#"{"name":"a","arguments":{}"#,
        Err("EOF while parsing an object at line 1 column 26"),
    );
    check(
        r#"{"name":"a"} {}"#,
        Err("trailing characters at line 1 column 14"),
    );
    check(
        "```json\n{\"name\":\"a\"}",
        Err("it is not one JSON object"),
    );
}
