//! Tools with schemas and names that providers refuse, against a server that does.

use super::*;

use serde_json::{Value, json};

/// Schemas as extensions and other programs have them.
fn corpus() -> Vec<(&'static str, Value)> {
    // Flat table: a name and a schema each.
    let mut recursive = json!({"type": "object", "properties": {"tree": {"$ref": "#/$defs/Node"}}});
    recursive["$defs"]["Node"] = json!({"type": "object", "properties": {
        "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}});
    let mut deep = json!({"type": "string"});
    for _ in 0..40 {
        deep = json!({"type": "object", "properties": {"down": deep}});
    }
    let many: serde_json::Map<String, Value> = (0..1200)
        .map(|n| {
            (
                format!("field_{n}"),
                json!({"type": "string", "enum": ["a", "b"]}),
            )
        })
        .collect();
    vec![
        (
            "top any",
            json!({"anyOf": [{"type": "object", "properties": {"a": {"type": "string"}},
            "required": ["a"]}, {"type": "object", "properties": {"b": {"type": "integer"}}}]}),
        ),
        (
            "top.one",
            json!({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}),
        ),
        (
            "top/all",
            json!({"allOf": [{"properties": {"a": {"type": "string"}}},
            {"properties": {"b": {"type": "array"}}, "required": ["b"]}]}),
        ),
        (
            "top:not",
            json!({"type": "object", "not": {"required": ["x"]}}),
        ),
        (
            "untyped",
            json!({"properties": {"a": {"description": "anything"}, "b": {"type": "any"}}}),
        ),
        (
            "9lists",
            json!({"type": "object", "properties": {"a": {"type": "array"},
            "b": {"type": "array", "items": {}}, "c": {"type": ["array", "null"]},
            "d": {"type": "array", "items": [{"type": "string"}, {"type": "number"}]},
            "e": {"type": "array", "prefixItems": [{"type": "string"}], "items": false}}}),
        ),
        (
            "ключи",
            json!({"type": "object", "properties": {"user name": {"type": "string"},
            "ключ": {"type": "object", "properties": {"@id": {"type": "string"}}},
            "$filter": {"type": "string"}, "": {"type": "string"}}, "required": ["user name"]}),
        ),
        ("recursive", recursive),
        (
            "itself",
            json!({"type": "object", "properties": {"next": {"$ref": "#"}}}),
        ),
        (
            "deep",
            json!({"type": "object", "properties": {"deep": deep}}),
        ),
        (
            "booleans",
            json!({"type": "object", "properties": {"a": true, "b": false},
            "additionalProperties": {"type": "string"}}),
        ),
        (
            "values",
            json!({"type": "object", "properties": {"a": {"const": 1},
            "b": {"enum": [1, "two", null, true]}, "c": {"type": ["string", "null"],
            "enum": ["x", "", null]}, "d": {"type": "integer", "enum": [1, 2]}}}),
        ),
        (
            "formats",
            json!({"type": "object", "properties": {
            "a": {"type": "string", "format": "uri"}, "b": {"type": "string", "format": "uuid"},
            "c": {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5},
            "d": {"type": "integer", "minimum": 0, "exclusiveMinimum": true}}}),
        ),
        (
            "conditions",
            json!({"type": "object", "properties": {"a": {"type": "string"}},
            "if": {"properties": {"a": {"const": "x"}}}, "then": {"required": ["a"]},
            "dependentRequired": {"a": ["b"]}, "patternProperties": {"^x-": {"type": "string"}}}),
        ),
        ("wide", json!({"type": "object", "properties": many})),
        ("nothing", json!({})),
        ("null", Value::Null),
    ]
}

fn tool(name: &str, schema: &Value) -> Arc<ToolDefinition> {
    Arc::new(ToolDefinition {
        name: name.to_owned(),
        description: format!("the tool {name}"),
        parameters: serde_json::value::to_raw_value(schema).unwrap(),
        effect: ToolEffect::Changes,
    })
}

fn strict(tools: &[(&str, Value)]) -> impl Iterator<Item = Subject> {
    WIRES.into_iter().map(|(wire, ours)| {
        let server = ModelServer::strict();
        Subject {
            wire,
            ours,
            client: client(wire, ours, wire.provider(), &server),
            server,
            tools: tools
                .iter()
                .map(|(name, schema)| tool(name, schema))
                .collect(),
        }
    })
}

/// The declarations of a request: the name and the schema of each tool.
fn declared(request: &RecordedRequest) -> Vec<(String, Value)> {
    let tools = match request.wire {
        testkit::Wire::Gemini => &request.body["tools"][0]["functionDeclarations"],
        _ => &request.body["tools"],
    };
    let declared = tools.as_array().unwrap().iter().map(|tool| {
        let tool = tool.get("function").unwrap_or(tool);
        let schema = tool.get("parameters").or(tool.get("input_schema"));
        let name = tool["name"].as_str().unwrap().to_owned();
        (name, schema.cloned().unwrap_or_default())
    });
    declared.collect()
}

#[test]
fn the_server_refuses_what_providers_refuse() {
    for (name, schema) in corpus().into_iter().filter(|(name, _)| *name != "nothing") {
        let bodies = [
            (
                testkit::Wire::Anthropic,
                json!({"tools": [{"name": name, "input_schema": schema}]}),
            ),
            (
                testkit::Wire::OpenAi,
                json!({"tools": [{"function":
                {"name": name, "parameters": schema}}]}),
            ),
            (
                testkit::Wire::OpenAiResponses,
                json!({"tools": [{"name": name,
                "parameters": schema}]}),
            ),
            (
                testkit::Wire::Gemini,
                json!({"tools": [{"functionDeclarations": [
                {"name": name, "parameters": schema}]}]}),
            ),
        ];
        let refused = bodies
            .iter()
            .filter(|(wire, body)| testkit::refusal(*wire, body).is_some());
        let expected = if name == "wide" { 0 } else { 1 };
        assert!(refused.count() >= expected, "{name} tests nothing");
    }
}

#[tokio::test]
async fn odd_tools_are_declared_as_the_wire_takes_them() {
    for subject in strict(&corpus()) {
        let events = subject.ask("say:1").await.complete();
        let notices = events
            .iter()
            .filter(|event| matches!(event, ModelEvent::Notice(_)));
        assert_eq!(notices.count(), 0, "all of them can be declared");
        let declared = declared(&subject.last_request());
        assert_eq!(declared.len(), subject.tools.len(), "{:?}", subject.wire);
        // Each one alone, as well: a request says only what is wrong first.
        for case in corpus() {
            for alone in strict(std::slice::from_ref(&case)).filter(|s| s.wire == subject.wire) {
                alone.ask("say:1").await.complete();
            }
        }
    }
}

#[tokio::test]
async fn calls_come_back_under_their_true_names() {
    let schema = json!({"type": "object", "properties": {
        "file path": {"type": "string"},
        "edits": {"type": "array", "items": {"type": "object",
            "properties": {"old text": {"type": "string"}}}}}});
    let tools = [("read", json!({})), ("my server/read file", schema)];
    for subject in strict(&tools) {
        subject.ask("say:1").await.complete();
        let (name, schema) = declared(&subject.last_request()).remove(1);
        let properties = schema["properties"].as_object().unwrap();
        let key = properties.keys().find(|key| key.contains("path")).unwrap();
        let items = schema["properties"]["edits"]["items"]["properties"]
            .as_object()
            .unwrap();
        let inner = items.keys().next().unwrap();
        let arguments = json!({key: "a b", "edits": [{inner: "file path"}]});
        let directive = format!("tool:{name}:{arguments}");

        let events = subject.ask(&directive).await.complete();
        let answer = assembled(&events);
        let call = calls_of(&answer).remove(0);
        assert_eq!(call.name, "my server/read file", "{:?}", subject.wire);
        let given: Value = serde_json::from_str(call.arguments.json_or_empty()).unwrap();
        let expected = json!({"file path": "a b", "edits": [{"old text": "file path"}]});
        assert_eq!(given, expected, "{:?}", subject.wire);

        let calls = calls_of(&answer);
        let messages = [user(&directive), answer, results(&calls, "done")];
        subject.send(&messages).await.complete();
        let sent = serde_json::to_string(subject.last_request().messages()).unwrap();
        assert!(!sent.contains("my server"), "{:?}: {sent}", subject.wire);
        let wire_key =
            sent.matches(&format!("{key}\"")).count() + sent.matches(&format!("{key}\\\"")).count();
        assert!(wire_key >= 2, "in the prompt and in the call: {sent}");
        assert!(!sent.contains("old text"), "{:?}: {sent}", subject.wire);
    }
}

#[tokio::test]
async fn names_stay_the_same_when_tools_come_and_go() {
    let tools = [("a b", json!({})), ("a c", json!({}))];
    for mut subject in strict(&tools) {
        subject.ask("say:1").await.complete();
        let first = declared(&subject.last_request());
        subject.tools.push(tool("late", &json!({})));
        subject.ask("say:1").await.complete();
        let second = declared(&subject.last_request());
        assert_eq!(second[..2], first[..], "{:?}", subject.wire);
    }
}

#[tokio::test]
async fn a_tool_that_cannot_be_declared_is_left_out_and_named_once() {
    let tools = [
        ("text only", json!({"type": "string"})),
        ("read", json!({})),
    ];
    for subject in strict(&tools) {
        let events = subject.ask("say:1").await.complete();
        let notices: Vec<&String> = events
            .iter()
            .filter_map(|event| match event {
                ModelEvent::Notice(notice) => Some(notice),
                _ => None,
            })
            .collect();
        assert_eq!(notices.len(), 1);
        assert!(notices[0].contains("\"text only\""), "{notices:?}");
        assert_eq!(subject.last_request().tool_names(), ["read"]);
        let events = subject.ask("say:1").await.complete();
        assert!(
            !events
                .iter()
                .any(|event| matches!(event, ModelEvent::Notice(_)))
        );
    }
}

/// A conversation in which other providers made the calls.
fn foreign_calls() -> Vec<Arc<Message>> {
    let long = format!("call_{}", "x".repeat(100));
    let ids = [
        "toolu_01A09q90qw90lq917835lq9",
        "functions.read:0",
        &long,
        "call_0",
        "D681PevKs",
    ];
    let mut messages = vec![user("say:1")];
    for ids in [&ids[..], &["call_0"], &["call_0", "gemini_x"]] {
        let calls: Vec<ToolCall> = ids
            .iter()
            .map(|id| ToolCall {
                id: (*id).into(),
                name: "read".to_owned(),
                arguments: Arguments::empty(),
            })
            .collect();
        let blocks = calls.iter().cloned().map(ContentBlock::ToolCall);
        messages.push(message(Role::Assistant, blocks.collect()));
        messages.push(results(&calls, "done"));
    }
    messages
}

#[tokio::test]
async fn ids_of_other_providers_fit() {
    for subject in strict(&[("read", json!({}))]) {
        let messages = foreign_calls();
        subject.send(&messages).await.complete();
        let first = subject.last_request().messages().to_vec();
        // A client that has cached nothing writes the same.
        let fresh = client(
            subject.wire,
            subject.ours,
            subject.wire.provider(),
            &subject.server,
        );
        collect(fresh.stream(subject.request(&messages)))
            .await
            .complete();
        assert_eq!(
            subject.last_request().messages(),
            first,
            "{:?}",
            subject.wire
        );
    }
}

#[tokio::test]
async fn mistral_takes_nine_letters_and_digits() {
    let mistral = zot_provider::provider("mistral").unwrap();
    for model in ["mistral-large-latest", "codestral-2508"] {
        let server = ModelServer::strict();
        let wire = testkit::Wire::OpenAi;
        let client = client(wire, mistral.wire, "mistral", &server);
        let messages = foreign_calls();
        let tools = [tool("read", &json!({}))];
        let request = ModelRequest {
            model,
            system: "be good",
            messages: &messages,
            tools: &tools,
            reasoning: None,
            max_output: 100,
            sampling: Sampling::default(),
        };
        collect(client.stream(request)).await.complete();
        let sent = serde_json::to_string(&server.requests()[0].body).unwrap();
        assert!(sent.contains(r#""id":"D681PevKs""#), "its own stay: {sent}");
    }
}
