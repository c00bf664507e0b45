use super::*;

#[derive(Deserialize)]
struct Sample<'a> {
    #[serde(default, deserialize_with = "count")]
    number: Option<u64>,
    #[serde(default, borrow, deserialize_with = "string")]
    text: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "optional")]
    flag: Option<bool>,
    #[serde(default, deserialize_with = "list")]
    numbers: Vec<u64>,
}

#[test]
fn values_of_other_types_are_absent() {
    for (json, expected) in [
        ("3", Some(3)),
        ("\" 3 \"", Some(3)),
        ("3.0", Some(3)),
        ("null", None),
        ("-1", None),
        ("true", None),
        ("\"many\"", None),
        ("[3]", None),
        ("{\"n\":3}", None),
    ] {
        let json = format!(
            r#"{{"number":{json},"text":{json},"flag":{json},"numbers":{json},"other":1}}"#
        );
        let sample: Sample<'_> = serde_json::from_str(&json).unwrap();
        assert_eq!(sample.number, expected, "{json}");
        assert_eq!(sample.text.is_some(), json.contains(":\""), "{json}");
        assert_eq!(sample.flag, json.contains("true").then_some(true), "{json}");
        let numbers: &[u64] = if json.contains("[3]") { &[3] } else { &[] };
        assert_eq!(sample.numbers, numbers, "{json}");
    }
    let mixed: Sample<'_> = serde_json::from_str(r#"{"numbers":[1,null,"x",2]}"#).unwrap();
    assert_eq!(mixed.numbers, [1, 2]);
}
