use super::*;

fn learnt(chunk: &str) -> Shape {
    let mut shape = Shape::default();
    let start = chunk.find("TEXT").unwrap();
    shape.learn(chunk, &chunk[start..start + 4]);
    shape
}

#[test]
fn recognises_only_the_same_shape() {
    let shape = learnt(r#"{"a":"x","text":"TEXT","b":null}"#);
    let text = |chunk: &'static str| shape.text(chunk.as_bytes());
    assert_eq!(text(r#"{"a":"x","text":"héllo","b":null}"#), Some("héllo"));
    assert_eq!(text(r#"{"a":"x","text":"","b":null}"#), Some(""));
    for other in [
        r#"{"a":"y","text":"hello","b":null}"#,
        r#"{"a":"x","text":"hello","b":true}"#,
        r#"{"a":"x","text":"he\"llo","b":null}"#,
        r#"{"a":"x","text":"he\nllo","b":null}"#,
        r#"{"a":"x","text":"1","text":"2","b":null}"#,
        "{\"a\":\"x\",\"text\":\"\t\",\"b\":null}",
        r#"{"a":"x","text":"#,
        "",
    ] {
        assert_eq!(text(other), None, "{other}");
    }
    assert_eq!(
        shape.text(b"{\"a\":\"x\",\"text\":\"\xff\",\"b\":null}"),
        None
    );
}

#[test]
fn learns_only_what_is_part_of_the_chunk() {
    let mut shape = learnt(r#"{"text":"TEXT"}"#);
    shape.learn(r#"{"text":"TEXT"}"#, "TEXT");
    assert_eq!(shape.text(br#"{"text":"TEXT"}"#), None);
    let mut shape = learnt(r#"{"text":"TEXT"}"#);
    shape.forget();
    assert_eq!(shape.text(br#"{"text":"TEXT"}"#), None);
}
