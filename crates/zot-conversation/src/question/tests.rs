use super::JsonObject;

#[test]
fn only_objects_are_objects() {
    let object = JsonObject::parse(" {\"b\": 1, \"a\": 2}\n").unwrap();
    assert_eq!(object.as_str(), "{\"b\": 1, \"a\": 2}");
    for text in ["[]", "1", "\"{}\"", "", "{"] {
        assert!(JsonObject::parse(text).is_err(), "{text}");
    }
}
