use serde_json::json;

use super::*;

#[test]
fn annotated_arguments_become_headers() {
    let schema = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "where": {"type": "object", "properties": {
            "count": {"type": ["integer", "null"], "x-mcp-header": "Count"},
        }},
        "x-mcp-header": {"type": "boolean", "x-mcp-header": "Odd"},
        "sample": {"type": "object", "default": {"x-mcp-header": "data"}},
        "query": {"type": "string"},
    }});
    let parameters = HeaderParameters::of_schema(&schema).unwrap();
    let values = |arguments| {
        let mut values = parameters.values(&arguments);
        values.sort();
        values
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        values(json!({"region": "x", "where": {"count": -7}, "x-mcp-header": true, "query": "q"})),
        [
            pair("Count", "-7"),
            pair("Odd", "true"),
            pair("Region", "x")
        ]
    );
    assert_eq!(values(json!({"region": null, "where": 3})), []);
}

#[test]
fn annotations_that_cannot_be_followed_are_refused() {
    let property = |schema: Value| json!({"properties": {"a": schema}});
    let twice = json!({"properties": {
        "a": {"type": "string", "x-mcp-header": "Region"},
        "b": {"type": "string", "x-mcp-header": "region"},
    }});
    let below = |keyword: &str| {
        json!({"properties": {"a": {
            keyword: [{"properties": {"b": {"type": "string", "x-mcp-header": "B"}}}]
        }}})
    };
    let mut deep = json!({"type": "string"});
    for _ in 0..100 {
        deep = json!({"items": deep});
    }
    for (schema, expected) in [
        (
            property(json!({"type": "string", "x-mcp-header": ""})),
            InvalidAnnotation::Name(String::new()),
        ),
        (
            property(json!({"type": "string", "x-mcp-header": "a b"})),
            InvalidAnnotation::Name("a b".to_owned()),
        ),
        (
            property(json!({"type": "string", "x-mcp-header": "a\r\nb"})),
            InvalidAnnotation::Name("a\r\nb".to_owned()),
        ),
        (
            property(json!({"type": "string", "x-mcp-header": 3})),
            InvalidAnnotation::Name("3".to_owned()),
        ),
        (
            property(json!({"type": "number", "x-mcp-header": "N"})),
            InvalidAnnotation::Type("N".to_owned()),
        ),
        (
            property(json!({"type": "object", "x-mcp-header": "N"})),
            InvalidAnnotation::Type("N".to_owned()),
        ),
        (
            property(json!({"x-mcp-header": "N"})),
            InvalidAnnotation::Type("N".to_owned()),
        ),
        (
            property(json!({"type": "array", "items": {"type": "string", "x-mcp-header": "N"}})),
            InvalidAnnotation::Place,
        ),
        (
            json!({"type": "string", "x-mcp-header": "N"}),
            InvalidAnnotation::Place,
        ),
        (
            json!({"$defs": {"a": {"type": "string", "x-mcp-header": "N"}}}),
            InvalidAnnotation::Place,
        ),
        (below("oneOf"), InvalidAnnotation::Place),
        (below("allOf"), InvalidAnnotation::Place),
        (twice, InvalidAnnotation::Twice("region".to_owned())),
        (deep, InvalidAnnotation::Depth),
    ] {
        assert_eq!(
            HeaderParameters::of_schema(&schema),
            Err(expected),
            "{schema}"
        );
    }
}
