use std::cell::Cell;
use std::collections::BTreeMap;

use super::*;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Trip {
    /// Where it begins
    from: Place,
    days: Option<u8>,
    #[serde(default)]
    stops: Vec<String>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Place {
    city: String,
    zip: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Flat {
    #[serde(flatten)]
    #[expect(dead_code, reason = "only decoded")]
    place: Place,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(dead_code, reason = "only decoded")]
enum Shape {
    Circle { radius: u32 },
    Square { side: u32 },
}

fn error_message<T: DeserializeOwned + std::fmt::Debug>(arguments: &Value) -> String {
    decode::<T>(&arguments.to_string()).expect_err("does not fit")
}

#[test]
fn valid_arguments_are_decoded() {
    let trip: Trip = decode(r#"{"from":{"city":"Bonn","zip":53111},"other":1}"#).expect("fits");
    assert_eq!(trip.from.city, "Bonn");
}

#[test]
fn an_error_names_the_field() {
    let good = json!({"from": {"city": "Bonn", "zip": 53111}, "days": 3, "stops": ["Köln"]});
    let broken = |path: &str, value: Value| {
        let mut arguments = good.clone();
        *arguments.pointer_mut(path).expect("is there") = value;
        error_message::<Trip>(&arguments)
    };
    assert_eq!(
        broken("/days", json!("x")),
        "invalid arguments: days: invalid type: string \"x\", expected u8"
    );
    assert_eq!(
        broken("/days", json!(1000)),
        "invalid arguments: days: invalid value: integer `1000`, expected u8"
    );
    assert_eq!(
        broken("/from", json!("Bonn")),
        "invalid arguments: from: invalid type: string \"Bonn\", expected struct Place"
    );
    assert_eq!(
        broken("/from/zip", json!(false)),
        "invalid arguments: from.zip: invalid type: boolean `false`, expected u32"
    );
    assert_eq!(
        broken("/stops/0", json!(7)),
        "invalid arguments: stops: invalid type: integer `7`, expected a string"
    );
}

#[test]
fn missing_fields_are_named_by_serde() {
    let text = error_message::<Trip>(&json!({"days": 3}));
    assert!(text.contains("missing field `from`"), "{text}");
    let text = error_message::<Trip>(&json!({"from": {"city": "Bonn"}}));
    assert!(text.contains("missing field `zip`"), "{text}");
}

#[test]
fn errors_name_fields_of_flattened_and_tagged_types() {
    let text = error_message::<Flat>(&json!({"a": 1, "city": "Bonn", "zip": "x"}));
    assert!(text.starts_with("invalid arguments: zip: "), "{text}");
    let text = error_message::<Shape>(&json!({"kind": "square", "side": "x"}));
    assert!(
        text.starts_with("invalid arguments: kind or side: "),
        "{text}"
    );
    let text = error_message::<Shape>(&json!({"kind": "star"}));
    assert!(text.contains("kind: unknown variant `star`"), "{text}");
}

#[test]
fn arguments_that_are_not_an_object_are_rejected() {
    let text = error_message::<Trip>(&json!("Bonn"));
    assert!(text.starts_with("invalid arguments: "), "{text}");
}

thread_local! {
    /// How many fields [`Zeros`] has decoded.
    static DECODED_FIELDS: Cell<usize> = const { Cell::new(0) };
}

/// Any number of fields that must all be zero.
#[derive(Debug)]
struct Zeros;

impl<'de> Deserialize<'de> for Zeros {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = BTreeMap::<String, u64>::deserialize(deserializer)?;
        DECODED_FIELDS.set(DECODED_FIELDS.get() + fields.len());
        match fields.values().find(|value| **value != 0) {
            Some(value) => Err(serde::de::Error::custom(format!("{value} is not zero"))),
            None => Ok(Self),
        }
    }
}

/// Each suspect costs one more decoding: with all fields as suspects, the cost would be quadratic.
#[test]
fn the_search_for_the_field_is_not_quadratic() {
    for count in [1000, 2000] {
        let mut arguments: BTreeMap<String, u64> =
            (0..count).map(|n| (format!("a{n}"), 0)).collect();
        arguments.insert("z".to_owned(), 1);
        DECODED_FIELDS.set(0);
        let text = error_message::<Zeros>(&json!(arguments));
        assert!(text.contains("1 is not zero"), "{text}");
        let most = (MAX_SUSPECT_FIELDS + 3) * arguments.len();
        assert!(
            DECODED_FIELDS.get() <= most,
            "{} > {most}",
            DECODED_FIELDS.get()
        );
        // Proves that the counter works.
        assert!(DECODED_FIELDS.get() > MAX_SUSPECT_FIELDS * count);
    }
}

#[test]
fn a_schema_contains_what_a_model_needs() {
    let schema = schema_of::<Trip>().expect("an object");
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["required"], json!(["from"]));
    let from = &schema["properties"]["from"];
    assert_eq!(from["description"], "Where it begins");
    assert_eq!(from["required"], json!(["city", "zip"]));
    for noise in ["$schema", "title", "$defs"] {
        assert_eq!(schema.get(noise), None, "{noise}");
    }
}

#[test]
fn schemas_are_objects() {
    assert_eq!(schema_of::<Value>(), Some(json!({"type": "object"})));
    let nothing = schema_of::<NoArguments>().expect("an object");
    assert_eq!(nothing["type"], "object");
    let shape = schema_of::<Shape>().expect("an object");
    assert_eq!(shape["type"], "object");
    assert_eq!(shape["oneOf"].as_array().map(Vec::len), Some(2));
    let map = schema_of::<BTreeMap<String, u8>>().expect("an object");
    assert_eq!(map["type"], "object");
    assert_eq!(schema_of::<String>(), None);
    assert_eq!(schema_of::<Vec<u8>>(), None);
    assert_eq!(schema_of::<()>(), None);
}
