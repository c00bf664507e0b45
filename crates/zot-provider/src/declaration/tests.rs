use proptest::prelude::*;
use serde_json::{Value, json};
use testkit::{Wire, refusal};
use zot_conversation::ToolEffect;

use super::*;

const DIALECTS: [(Wire, Dialect, &str); 4] = [
    (Wire::OpenAi, Dialect::OpenAi, "openai"),
    (Wire::Anthropic, Dialect::Anthropic, "anthropic"),
    (Wire::OpenAiResponses, Dialect::OpenAi, "openai-responses"),
    (Wire::Gemini, Dialect::Gemini, "gemini"),
];

fn tool(name: &str, schema: &Value) -> Arc<ToolDefinition> {
    Arc::new(ToolDefinition {
        name: name.to_owned(),
        description: "does something".to_owned(),
        parameters: serde_json::value::to_raw_value(schema).unwrap(),
        effect: ToolEffect::Changes,
    })
}

/// The tools of a request as `wire` has them.
fn body(wire: Wire, declarations: &Declarations) -> Value {
    let tools = declarations.tools.iter().map(|tool| {
        let (name, description) = (&tool.name, &tool.description);
        let parameters = serde_json::to_value(&tool.parameters).unwrap();
        match wire {
            Wire::OpenAi => json!({"type": "function", "function": {
                "name": name, "description": description, "parameters": parameters}}),
            Wire::Anthropic => {
                json!({"name": name, "description": description, "input_schema": parameters})
            }
            Wire::OpenAiResponses => json!({"type": "function", "strict": false,
                "name": name, "description": description, "parameters": parameters}),
            Wire::Gemini if tool.parameters.is_absent() => {
                json!({"name": name, "description": description})
            }
            Wire::Gemini => {
                json!({"name": name, "description": description, "parameters": parameters})
            }
        }
    });
    let tools: Vec<Value> = tools.collect();
    match wire {
        Wire::Gemini => json!({"tools": [{"functionDeclarations": tools}]}),
        _ => json!({"tools": tools}),
    }
}

/// Declares `schema` everywhere; no wire may refuse it.
#[track_caller]
fn check_accepted(schema: &Value) {
    for (wire, dialect, provider) in DIALECTS {
        let declarations = Declarations::new(dialect, provider, &[tool("t", schema)]);
        let body = body(wire, &declarations);
        assert_eq!(refusal(wire, &body), None, "{wire:?}: {schema}\n{body}");
    }
}

fn written(dialect: Dialect, schema: &Value) -> (Value, String) {
    let declarations = Declarations::new(dialect, "p", &[tool("t", schema)]);
    assert_eq!(declarations.notices, [""; 0], "{schema}");
    let tool = &declarations.tools[0];
    let parameters = serde_json::to_value(&tool.parameters).unwrap();
    (parameters, tool.description.clone())
}

#[track_caller]
fn check(dialect: Dialect, schema: &Value, expected: &Value) {
    assert_eq!(written(dialect, schema).0, *expected, "{schema}");
}

/// `{"type": "object"}` with these properties.
fn object(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

#[test]
fn what_every_wire_takes_is_sent_as_it_came() {
    let text = r#"{"type":"object", "properties":{"z":{"description":"d","type":"string","minLength":1},
        "a":{"type":["integer","null"],"minimum":0,"default":3},
        "l":{"items":{"type":"string","format":"uri"},"type":"array","maxItems":4},
        "m":{"type":"string","enum":["b","a"]},
        "c":{"anyOf":[{"type":"string"},{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]}]}
        },"required":["z"],"additionalProperties":false}"#;
    let tool = Arc::new(ToolDefinition {
        parameters: RawValue::from_string(text.to_owned()).unwrap(),
        ..ToolDefinition::clone(&tool("t", &json!({})))
    });
    for dialect in [Dialect::Anthropic, Dialect::OpenAi] {
        let declarations = Declarations::new(dialect, "openai", &[Arc::clone(&tool)]);
        let sent = serde_json::to_string(&declarations.tools[0].parameters).unwrap();
        assert_eq!(sent, text);
        assert!(declarations.naming.is_plain());
    }
}

#[test]
fn alternatives_at_the_top_become_one_object() {
    let schema = json!({"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "file"}, "path": {"type": "string"}},
         "required": ["kind", "path"]},
        {"type": "object", "properties": {"kind": {"const": "url"}, "url": {"type": "string"}},
         "required": ["kind", "url"]},
    ]});
    let merged = json!({"type": "object", "properties": {
        "kind": {"type": "string", "enum": ["file", "url"]},
        "path": {"type": "string"}, "url": {"type": "string"},
    }, "required": ["kind"]});
    for dialect in [Dialect::Anthropic, Dialect::OpenAi, Dialect::Gemini] {
        check(dialect, &schema, &merged);
        let description = written(dialect, &schema).1;
        let said = r#"kind = "file" and path; kind = "url" and url"#;
        assert!(description.contains(said), "{description}");
    }
    // Constraints on properties that are given beside them.
    let schema = json!({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
    let (sent, description) = written(Dialect::Anthropic, &schema);
    let plain = object(json!({"a": {"type": "string"}, "b": {"type": "string"}}));
    assert_eq!(sent, plain);
    assert!(
        description.contains("one of these sets of arguments: a; b"),
        "{description}"
    );
}

#[test]
fn all_of_is_merged_completely() {
    let schema = json!({
        "allOf": [
            {"$ref": "#/$defs/Base"},
            {"properties": {"at": {"properties": {"line": {"type": "integer", "minimum": 1}},
                "required": ["line"]}, "n": {"maximum": 9}}, "required": ["n"]},
        ],
        "properties": {"own": {"type": "boolean"}},
        "$defs": {"Base": {"type": "object", "properties": {
            "at": {"type": "object", "properties": {"file": {"type": "string"}},
                "required": ["file"]},
            "n": {"type": "integer", "minimum": 2},
        }, "required": ["at"]}},
    });
    let expected = json!({"type": "object", "properties": {
        "own": {"type": "boolean"},
        "at": {"type": "object", "properties": {"file": {"type": "string"},
            "line": {"type": "integer", "minimum": 1}}, "required": ["file", "line"]},
        "n": {"type": "integer", "minimum": 2, "maximum": 9},
    }, "required": ["at", "n"]});
    for dialect in [Dialect::Anthropic, Dialect::OpenAi, Dialect::Gemini] {
        check(dialect, &schema, &expected);
    }
}

#[test]
fn what_google_refuses_goes_into_descriptions() {
    check(
        Dialect::Gemini,
        &json!({"$schema": "x", "type": "object", "additionalProperties": false,
            "properties": {
                "a": {"type": ["string", "null"], "format": "uri", "default": "x"},
                "b": {"type": "integer", "enum": [1, 2], "format": "int64"},
                "c": {"const": "fixed"},
                "d": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "e": {"oneOf": [{"type": "string"}, {"type": "integer"}], "description": "both"},
                "f": {"type": "array"},
                "g": {"type": "array", "items": {}},
                "h": {"enum": ["x", "", null]},
                "i": {"type": "object", "additionalProperties": {"type": "integer"}},
                "j": {"type": ["string", "number"], "exclusiveMinimum": 0},
            }, "required": ["a", "missing"]}),
        &json!({"type": "object", "properties": {
            "a": {"type": "string", "nullable": true,
                "description": "Default: \"x\". Format: uri."},
            "b": {"type": "integer", "format": "int64", "description": "One of 1, 2."},
            "c": {"type": "string", "enum": ["fixed"]},
            "d": {"type": "string", "nullable": true},
            "e": {"anyOf": [{"type": "string", "description": "both"},
                {"type": "integer"}]},
            "f": {"type": "array", "items": {"type": "string"}},
            "g": {"type": "array", "items": {"type": "string"}},
            "h": {"type": "string", "enum": ["x"], "nullable": true,
                "description": "May be empty."},
            "i": {"type": "object",
                "description": "Keys are chosen freely, each with a value of type integer."},
            "j": {"anyOf": [{"type": "string"},
                {"type": "number", "description": "Greater than 0."}]},
        }, "required": ["a"]}),
    );
}

#[test]
fn untyped_values_can_be_anything_for_google() {
    let (sent, _) = written(
        Dialect::Gemini,
        &object(json!({"v": {"type": "any"}, "w": true})),
    );
    for name in ["v", "w"] {
        let choices = sent["properties"][name]["anyOf"].as_array().unwrap();
        let types: Vec<&str> = choices
            .iter()
            .map(|c| c["type"].as_str().unwrap())
            .collect();
        assert_eq!(types, ["string", "number", "boolean", "object", "array"]);
    }
}

#[test]
fn no_parameters_are_left_out_for_google() {
    for schema in [
        json!({"type": "object", "properties": {}}),
        json!({}),
        json!(true),
    ] {
        let declarations = Declarations::new(Dialect::Gemini, "gemini", &[tool("t", &schema)]);
        assert!(declarations.tools[0].parameters.is_absent());
    }
    let empty = json!({"type": "object", "properties": {}});
    check(Dialect::OpenAi, &json!({"type": "object"}), &empty);
    check(Dialect::OpenAi, &json!(true), &empty);
}

#[test]
fn recursive_schemas_end_and_stay_recognisable() {
    let schema = json!({"properties": {"tree": {"$ref": "#/$defs/Node"}, "b": {"$ref": "other.json"}},
        "$defs": {"Node": {"type": "object", "required": ["value"], "properties": {
            "value": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}}});
    for dialect in [Dialect::Anthropic, Dialect::OpenAi, Dialect::Gemini] {
        let (sent, _) = written(dialect, &schema);
        let node = &sent["properties"]["tree"];
        assert_eq!(node["required"], json!(["value"]));
        let within = &node["properties"]["children"]["items"];
        assert_eq!(within["properties"]["value"], json!({"type": "string"}));
        let last = &within["properties"]["children"]["items"];
        assert_eq!(last["type"], "object");
        assert_eq!(last["description"], "Another Node.");
        assert!(!sent.to_string().contains("$ref"));
    }
    check_accepted(&json!({"properties": {"next": {"$ref": "#"}}}));
    check_accepted(&json!({"$ref": "#"}));
    check_accepted(&json!({"allOf": [{"$ref": "#"}, {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}]}));
}

#[test]
fn tuples_become_lists_that_say_their_order() {
    let schema = object(json!({"at": {"type": "array", "items": [
        {"type": "number", "title": "latitude"}, {"type": "number", "title": "longitude"}],
        "additionalItems": false, "minItems": 2}}));
    let (sent, _) = written(Dialect::OpenAi, &schema);
    let at = &sent["properties"]["at"];
    assert_eq!((&at["minItems"], &at["maxItems"]), (&json!(2), &json!(2)));
    assert_eq!(
        at["description"],
        "Items in this order: number (latitude), number (longitude)."
    );
    check_accepted(&schema);
}

#[test]
fn odd_keys_are_renamed_and_come_back() {
    let schema = object(json!({
        "user name": {"type": "string"}, "user_name": {"type": "string"},
        "名前": {"type": "string"},
        "list": {"type": "array", "items": {"anyOf": [
            {"type": "object", "properties": {"@type": {"type": "string"}}, "required": ["@type"]},
            {"type": "string"}]}},
        "free": {"type": "object", "additionalProperties": {"type": "object",
            "properties": {"$id": {"type": "string"}}}},
    }));
    let arguments = r#"{"user name":"a","user_name":"b","名前":"c","list":[{"@type":"t"},"@type"],"free":{"user name":{"$id":"1"},"_type":{}}}"#;
    for (wire, dialect, provider) in DIALECTS {
        let declarations = Declarations::new(dialect, provider, &[tool("t", &schema)]);
        assert_eq!(refusal(wire, &body(wire, &declarations)), None);
        let naming = &declarations.naming;
        let sent = naming
            .arguments("t", &Arguments::from_model_text(arguments))
            .text()
            .to_owned();
        let value: Value = serde_json::from_str(&sent).unwrap();
        assert_eq!(value["user_name"], "b");
        assert_eq!(value["list"][0]["_type"], "t");
        assert_eq!(value["list"][1], "@type", "data, not a key");
        assert_eq!(value["free"]["user name"]["_id"], "1");
        assert_eq!(naming.original_arguments("t", sent), arguments);
        // What the model may write is what was declared.
        let shown = serde_json::to_value(&declarations.tools[0].parameters).unwrap();
        for key in value.as_object().unwrap().keys() {
            assert!(shown["properties"].get(key).is_some(), "{key}: {shown}");
        }
    }
}

#[test]
fn names_are_adapted_one_to_one_and_come_back() {
    let long = "x".repeat(100);
    let longer = format!("{long}y");
    let names = [
        "read",
        "a.b",
        "a b",
        "a_b",
        "名",
        "名前",
        "",
        "1st",
        "_",
        &long,
        &longer,
        "mcp/server:tool",
    ];
    let tools: Vec<_> = names.iter().map(|name| tool(name, &json!({}))).collect();
    for (wire, dialect, provider) in DIALECTS {
        let declarations = Declarations::new(dialect, provider, &tools);
        assert_eq!(refusal(wire, &body(wire, &declarations)), None);
        let naming = &declarations.naming;
        for (name, declared) in names.iter().zip(&declarations.tools) {
            assert_eq!(naming.tool(name), declared.name);
            assert_eq!(naming.original_tool(&declared.name), *name);
        }
        assert_eq!(naming.tool("read"), "read");
        assert_eq!(naming.tool("a_b"), "a_b");
        let again = Declarations::new(dialect, provider, &tools);
        assert_eq!(again.naming, declarations.naming);
        // A tool that is gone.
        assert!(dialect.names().accepts(&naming.tool("gone away")));
    }
}

#[test]
fn what_cannot_be_declared_is_left_out_by_name() {
    let wide: serde_json::Map<String, Value> = (0..2500)
        .map(|n| {
            (
                format!("property{n}"),
                json!({"type": "string", "description": "d".repeat(80)}),
            )
        })
        .collect();
    for schema in [
        json!({"type": "string"}),
        json!("object"),
        json!([]),
        json!(false),
        json!({"oneOf": [{"type": "array"}]}),
        object(Value::Object(wide)),
    ] {
        let tools = [tool("bad", &schema), tool("good", &json!({}))];
        for (_, dialect, provider) in DIALECTS {
            let declarations = Declarations::new(dialect, provider, &tools);
            assert_eq!(declarations.tools.len(), 1);
            assert_eq!(declarations.tools[0].name, "good");
            let notices = declarations.take_notices();
            assert_eq!(notices.len(), 1, "{notices:?}");
            assert!(notices[0].contains("\"bad\"") && notices[0].contains(provider));
            assert!(declarations.take_notices().is_empty(), "told once");
        }
    }
}

#[test]
fn large_schemas_are_declared_less_deep() {
    let leaf: serde_json::Map<String, Value> = (0..60)
        .map(|n| {
            (
                format!("p{n}"),
                json!({"type": "string", "description": "d".repeat(60)}),
            )
        })
        .collect();
    let leaf = object(Value::Object(leaf));
    let groups: serde_json::Map<String, Value> = (0..20)
        .map(|n| (format!("g{n}"), object(json!({"inner": leaf}))))
        .collect();
    let schema = object(Value::Object(groups));
    check_accepted(&schema);
    let (sent, _) = written(Dialect::Anthropic, &schema);
    assert_eq!(sent["properties"].as_object().unwrap().len(), 20);
}

#[test]
fn openai_takes_so_many_tools_and_so_long_descriptions() {
    let mut tools: Vec<_> = (0..130)
        .map(|n| tool(&format!("t{n}"), &json!({})))
        .collect();
    let words = "many words ".repeat(200);
    tools[0] = Arc::new(ToolDefinition {
        description: words.clone(),
        ..ToolDefinition::clone(&tools[0])
    });
    let declarations = Declarations::new(Dialect::OpenAi, "openai", &tools);
    assert_eq!(
        refusal(Wire::OpenAi, &body(Wire::OpenAi, &declarations)),
        None
    );
    assert_eq!(declarations.notices.len(), 2);
    let first = &declarations.tools[0];
    let parameters = serde_json::to_value(&first.parameters).unwrap();
    let rest = parameters["description"].as_str().unwrap();
    assert_eq!(format!("{} {rest}", first.description), words);
    // Compatible servers have other limits.
    let declarations = Declarations::new(Dialect::OpenAi, "vllm", &tools);
    assert_eq!(declarations.tools.len(), 130);
}

#[test]
fn declarations_are_made_once_for_a_list_of_tools() {
    let mut cache = DeclarationCache::default();
    let tools = [tool("a b", &json!({}))];
    let first = cache.get(Dialect::OpenAi, "p", &tools);
    assert!(Arc::ptr_eq(
        &first,
        &cache.get(Dialect::OpenAi, "p", &tools)
    ));
    assert!(Arc::ptr_eq(&first, &cache.get(Dialect::OpenAi, "p", &[])));
    assert!(first.of(&[]).is_empty());
    let more = [Arc::clone(&tools[0]), tool("c", &json!({}))];
    let second = cache.get(Dialect::OpenAi, "p", &more);
    assert_eq!(second.tools.len(), 2);
    assert!(Arc::ptr_eq(&first.naming, &second.naming), "the same names");
}

/// Schemas as the world has them, and worse.
pub(crate) fn nasty() -> Vec<Value> {
    vec![
        json!({"anyOf": [{"type": "object", "properties": {"a": {}}}, {"type": "null"}]}),
        json!({"type": "object", "allOf": [{"if": {"properties": {"a": {"const": 1}}},
            "then": {"required": ["b"], "properties": {"b": {"type": "string"}}}}]}),
        json!({"type": ["object", "null"], "properties": {"a": {"type": []}}}),
        json!({"properties": {"a": {"type": "array", "items": []}, "b": {"items": true}}}),
        json!({"properties": {"a": {"type": ["array", "string"]}, "b": {"prefixItems": [{}]}}}),
        json!({"type": "object", "properties": {"a": {"required": true, "type": "string"}}}),
        json!({"type": "object", "properties": {"a": {"minimum": 0, "exclusiveMinimum": true}}}),
        json!({"type": "object", "properties": {"a": {"minimum": "0", "minLength": -1}}}),
        json!({"type": "object", "properties": null, "required": "a"}),
        json!({"type": "object", "required": ["a", "a", 3]}),
        json!({"type": "object", "enum": [{"a": 1}]}),
        json!({"type": "object", "not": {"required": ["a"]}, "properties": {"a": false, "b": true}}),
        json!({"type": "object", "properties": {"a": {"enum": []}, "b": {"enum": [1, "x", null, {}]}}}),
        json!({"type": "object", "properties": {"a": {"type": "string", "enum": [1, 2]}}}),
        json!({"type": "object", "patternProperties": {"^x": {"type": "string"}},
            "additionalProperties": false}),
        json!({"type": "object", "properties": {"a": {"$ref": "#/definitions/a~1b%20c"}},
            "definitions": {"a/b c": {"type": "integer", "nullable": true}}}),
        json!({"type": "object", "properties": {"a": {"type": "null"}, "b": {"const": null}}}),
        json!({"type": "object", "properties": {"": {}, "a b": {}, "$ref": {"type": "string"}}}),
        json!({"type": "object", "dependentRequired": {"a": ["b"]}, "propertyNames": {"maxLength": 3}}),
        json!({"type": "object", "unevaluatedProperties": false, "$dynamicRef": "#n",
            "$defs": {"n": {"$dynamicAnchor": "n", "properties": {"q": {"type": "int"}}}}}),
        json!({"type": "OBJECT", "properties": {"A": {"type": "STRING", "format": "enum",
            "enum": ["A"]}}}),
        json!([1, 2]),
        json!(null),
    ]
}

#[test]
fn no_wire_refuses_what_the_world_has() {
    for schema in nasty() {
        check_accepted(&schema);
        check_accepted(&object(
            json!({"within": schema, "list": {"type": "array", "items": schema}}),
        ));
    }
    let mut deep = json!({"type": "string"});
    for level in 0..100 {
        deep = match level % 3 {
            0 => object(json!({"a": deep})),
            1 => json!({"type": "array", "items": deep}),
            _ => json!({"anyOf": [deep, {"type": "integer"}]}),
        };
    }
    check_accepted(&object(json!({"deep": deep})));
    // Each level doubles what it refers to.
    let mut definitions = serde_json::Map::new();
    for level in 0..40 {
        let next = format!("#/$defs/d{}", level + 1);
        definitions.insert(
            format!("d{level}"),
            json!({"properties": {"l": {"$ref": next}, "r": {"$ref": next}},
                "anyOf": [{"$ref": next}, {"required": ["l"]}, {"required": ["r"]}]}),
        );
    }
    check_accepted(&json!({"$ref": "#/$defs/d0", "$defs": definitions}));
}

/// Keywords with values of the right form, of the wrong form, and nested.
fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(json!(1.5)),
        Just(Value::Null),
        "[a-z $.\u{e9}]{0,6}".prop_map(Value::from),
        prop::sample::select(vec![
            "string",
            "object",
            "array",
            "null",
            "integer",
            "any",
            "#",
            "#/properties/a",
            "#/$defs/a",
            "#/allOf/0",
            "http://x",
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        let keyword = prop::sample::select(vec![
            "type",
            "properties",
            "items",
            "anyOf",
            "oneOf",
            "allOf",
            "$ref",
            "$defs",
            "enum",
            "const",
            "required",
            "additionalProperties",
            "not",
            "if",
            "then",
            "else",
            "format",
            "minimum",
            "exclusiveMaximum",
            "minLength",
            "maxItems",
            "prefixItems",
            "default",
            "description",
            "title",
            "pattern",
            "patternProperties",
            "nullable",
            "multipleOf",
            "uniqueItems",
            "a",
            "odd key",
            "minProperties",
            "examples",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keyword, inner), 0..6).prop_map(|fields| {
                let fields = fields
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value));
                Value::Object(fields.collect())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_value_as_a_schema_is_declared_or_left_out(schema in any_schema()) {
        check_accepted(&schema);
        check_accepted(&object(json!({"within": schema})));
    }

    #[test]
    fn any_names_are_distinguished(names in prop::collection::hash_set(".{0,80}", 0..8)) {
        let tools: Vec<_> = names.iter().map(|name| tool(name, &json!({}))).collect();
        for (wire, dialect, provider) in DIALECTS {
            let declarations = Declarations::new(dialect, provider, &tools);
            prop_assert_eq!(refusal(wire, &body(wire, &declarations)), None);
            for (name, declared) in names.iter().zip(&declarations.tools) {
                prop_assert_eq!(declarations.naming.original_tool(&declared.name), name);
            }
        }
    }

    #[test]
    fn any_keys_come_back(
        keys in prop::collection::hash_set(".{0,70}", 1..6),
        further in prop::collection::hash_set("[a-z_ ]{0,4}", 0..4),
    ) {
        let keys: Vec<String> = keys.into_iter().chain(further).collect();
        let properties: serde_json::Map<String, Value> =
            keys.iter().map(|key| (key.clone(), json!({"type": "string"}))).collect();
        let arguments: serde_json::Map<String, Value> =
            keys.iter().map(|key| (key.clone(), key.clone().into())).collect();
        let text = Value::Object(arguments).to_string();
        let tools = [tool("t", &object(Value::Object(properties)))];
        for (_, dialect, provider) in DIALECTS {
            let naming = Declarations::new(dialect, provider, &tools).naming;
            let given = Arguments::from_model_text(&text);
            let sent = naming.arguments("t", &given).text().to_owned();
            prop_assert_eq!(naming.original_arguments("t", sent), text.clone());
        }
    }
}
