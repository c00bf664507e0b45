//! Every frame, in both directions.

use std::sync::{Arc, Mutex};

use serde::Deserialize;
use zot_ext::schemars::{self, JsonSchema};
use zot_ext::testing::TestHost;
use zot_ext::{
    AssistantMessage, CommandAction, Extension, ExtensionFrame, HelloAck, Level, NoArguments,
    Panel, PanelInput, Response, SessionStart, ToolCall, ToolResult, TurnEnd, TurnStart, Value,
    Verdict, json,
};

#[derive(Deserialize, JsonSchema)]
struct City {
    /// Which city
    city: String,
}

/// What handlers saw, for tests to look at.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn add(&self, what: impl Into<String>) {
        self.0
            .lock()
            .expect("nobody panics with it")
            .push(what.into());
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().expect("nobody panics with it").clone()
    }
}

fn as_json(frames: &[ExtensionFrame]) -> Vec<Value> {
    let value = |frame| serde_json::to_value(frame).expect("is JSON");
    frames.iter().map(value).collect()
}

#[tokio::test]
async fn the_introduction_says_everything_in_order() {
    let extension = Extension::new("all", "1.2.3")
        .tool(
            "weather",
            "Current weather.",
            async |City { city }: City| city,
        )
        .command("hello", "say hi", async |_| Response::noop())
        .intercept_assistant_message(async |_, _| Verdict::allow())
        .intercept_tool_call(async |_, _| Verdict::allow())
        .hold_text()
        .on(async |_: TurnEnd, _| {})
        .on(async |_: SessionStart, _| {})
        .on(async |_: TurnEnd, _| {});
    let host = TestHost::start(extension).await.expect("starts");
    assert_eq!(
        as_json(&host.frames()),
        [
            json!({
                "type": "hello", "name": "all", "version": "1.2.3",
                "capabilities": ["commands", "tools", "events"],
            }),
            json!({"type": "register_command", "name": "hello", "description": "say hi"}),
            json!({
                "type": "register_tool", "name": "weather", "description": "Current weather.",
                "schema": {
                    "type": "object",
                    "properties": {"city": {"type": "string", "description": "Which city"}},
                    "required": ["city"],
                },
            }),
            json!({
                "type": "subscribe", "events": ["session_start", "turn_end"],
                "intercept": ["tool_call", "assistant_message"], "hold_text": true,
            }),
            json!({"type": "ready"}),
        ]
    );
    assert_eq!(host.commands(), [("hello".to_owned(), "say hi".to_owned())]);
    assert_eq!(host.tools()[0].schema["required"], json!(["city"]));
    assert!(host.subscription().expect("is subscribed").hold_text);
}

#[tokio::test]
async fn an_extension_without_events_does_not_subscribe() {
    let host = TestHost::start(Extension::new("bare", "1"))
        .await
        .expect("starts");
    assert_eq!(
        as_json(&host.frames()),
        [
            json!({"type": "hello", "name": "bare", "version": "1"}),
            json!({"type": "ready"}),
        ]
    );
    assert_eq!(host.subscription(), None);
    host.shutdown().await.expect("ends");
}

#[tokio::test]
async fn commands_answer_with_every_action() {
    let extension = Extension::new("commands", "1")
        .command("prompt", "", async |args| Response::prompt(args))
        .command("insert", "", async |args| Response::insert(args))
        .command("display", "", async |args| Response::display(args))
        .command("panel", "", async |args: String| {
            Response::open_panel(
                Panel::new("p")
                    .title("T")
                    .line(args)
                    .lines(["b", "c"])
                    .footer("F"),
            )
        })
        .command("noop", "", async |_| {})
        .command("wrong", "", async |args| Response::error(args))
        .command("fails", "", async |_| "x".parse::<u8>().map(|_| ()));
    let host = TestHost::start(extension).await.expect("starts");
    for (name, expected) in [
        ("prompt", Response::prompt("a b")),
        ("insert", Response::insert("a b")),
        ("display", Response::display("a b")),
        ("noop", Response::noop()),
        ("wrong", Response::error("a b")),
        ("fails", Response::error("invalid digit found in string")),
        (
            "missing",
            Response::error("there is no command \"missing\""),
        ),
    ] {
        assert_eq!(host.invoke(name, "a b").await.expect("answers"), expected);
    }
    let response = host.invoke("panel", "a").await.expect("answers");
    let CommandAction::OpenPanel { open_panel } = response.action() else {
        panic!("{response:?}");
    };
    assert_eq!(open_panel.id, "p");
    assert_eq!(open_panel.content.title, "T");
    assert_eq!(open_panel.content.lines, ["a", "b", "c"]);
    assert_eq!(open_panel.content.footer, "F");
}

#[tokio::test]
async fn tools_give_text_json_images_and_errors() {
    let extension = Extension::new("tools", "1")
        .tool("text", "", async |City { city }: City| city)
        .tool("static", "", async |_: NoArguments| "fixed")
        .tool("json", "", async |args: Value| args)
        .tool("nothing", "", async |_: NoArguments| {})
        .tool("image", "", async |_: NoArguments| {
            ToolResult::text("look").with_image("image/png", b"\x89PNG")
        })
        .tool("fails", "", async |_: NoArguments| {
            "x".parse::<u8>().map(|n| n.to_string())
        })
        .tool_with_schema(
            "raw",
            "",
            json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
            async |args: Value, _| args["n"].to_string(),
        );
    let host = TestHost::start(extension).await.expect("starts");
    let call = async |name, args| host.call_tool(name, args).await.expect("answers");
    assert_eq!(
        call("text", json!({"city": "Köln"})).await,
        ToolResult::text("Köln")
    );
    assert_eq!(call("static", json!({})).await, ToolResult::text("fixed"));
    assert_eq!(
        call("json", json!({"a": [1]})).await,
        ToolResult::text("{\"a\":[1]}")
    );
    assert!(!call("nothing", json!({})).await.is_error());
    assert_eq!(call("raw", json!({"n": 3})).await, ToolResult::text("3"));
    assert_eq!(
        call("fails", json!({})).await,
        ToolResult::error("invalid digit found in string")
    );
    let image = call("image", json!({})).await;
    assert_eq!(image.blocks()[0].text, "look");
    assert_eq!(image.blocks()[1].kind, "image");
    assert_eq!(image.blocks()[1].mime_type, "image/png");
    assert_eq!(image.blocks()[1].data, "iVBORw==");
    assert_eq!(
        call("missing", json!({})).await,
        ToolResult::error("there is no tool \"missing\"")
    );
    assert_eq!(
        call("text", json!({"city": 5})).await,
        ToolResult::error("invalid arguments: city: invalid type: integer `5`, expected a string")
    );
    let missing = call("text", json!({})).await;
    assert!(missing.is_error());
    assert!(
        missing.to_text().contains("missing field `city`"),
        "{missing:?}"
    );
}

#[tokio::test]
async fn events_reach_the_handlers_of_their_kind() {
    let seen = Seen::default();
    let note = |prefix: &'static str| {
        let seen = seen.clone();
        move |text: String| seen.add(format!("{prefix} {text}"))
    };
    let (start, turn, end) = (note("session"), note("turn"), note("end"));
    let (call, message) = (note("call"), note("message"));
    let extension = Extension::new("events", "1")
        .on(async move |_: SessionStart, _| start(String::new()))
        .on(async move |event: TurnStart, _| turn(event.step.to_string()))
        .on(async move |event: TurnEnd, _| end(format!("{} {:?}", event.stop, event.error)))
        .on(async move |event: ToolCall, _| {
            call(format!("{} {} {}", event.id, event.name, event.args));
        })
        .on(async move |event: AssistantMessage, context| {
            message(event.text);
            context.notify(Level::Success, "seen");
        });
    let host = TestHost::start(extension).await.expect("starts");
    host.emit(SessionStart).await;
    host.emit(TurnStart { step: 2 }).await;
    host.emit(TurnEnd {
        stop: "error".to_owned(),
        error: Some("no".to_owned()),
    })
    .await;
    host.emit(ToolCall::new("bash", json!({"command": "ls"})))
        .await;
    host.emit(AssistantMessage {
        text: "hi".to_owned(),
    })
    .await;
    let notifications = host.notified(1).await.expect("notifies");
    assert_eq!(notifications[0].level, "success");
    assert_eq!(
        seen.all(),
        [
            "session ",
            "turn 2",
            "end error Some(\"no\")",
            "call  bash {\"command\":\"ls\"}",
            "message hi"
        ]
    );
}

#[tokio::test]
async fn interceptors_decide() {
    let extension = Extension::new("guard", "1")
        .intercept_tool_call(async |call, _| match call.name.as_str() {
            "bash" => Verdict::block("no shells"),
            "read" => Verdict::modify(json!({"path": "/dev/null"})),
            _ => Verdict::allow(),
        })
        .intercept_turn_start(async |turn, _| {
            if turn.step > 3 {
                Verdict::block("enough")
            } else {
                Verdict::allow()
            }
        })
        .intercept_assistant_message(async |message, _| {
            Verdict::replace(message.text.replace("secret", "***"))
        });
    let host = TestHost::start(extension).await.expect("starts");
    let call = async |name| {
        host.intercept(ToolCall::new(name, json!({})))
            .await
            .expect("answers")
    };
    assert_eq!(call("bash").await, Verdict::block("no shells"));
    assert_eq!(
        call("read").await,
        Verdict::modify(json!({"path": "/dev/null"}))
    );
    assert_eq!(call("write").await, Verdict::allow());
    let turn = async |step| host.intercept(TurnStart { step }).await.expect("answers");
    assert_eq!(turn(3).await, Verdict::allow());
    assert_eq!(turn(4).await, Verdict::block("enough"));
    let message = AssistantMessage {
        text: "the secret".to_owned(),
    };
    assert_eq!(
        host.intercept(message).await.expect("answers"),
        Verdict::replace("the ***")
    );
    // Not registered, but answered all the same.
    assert_eq!(
        host.intercept(SessionStart).await.expect("answers"),
        Verdict::allow()
    );
}

#[tokio::test]
async fn panels_get_their_input_and_are_drawn() {
    let extension =
        Extension::new("panels", "1").panel("todo", async |input, context| match input {
            PanelInput::Key { key, .. } if key == "esc" => context.close_panel("todo"),
            other => {
                context.render_panel(&Panel::new("todo").title("T").line(format!("{other:?}")))
            }
        });
    let host = TestHost::start(extension).await.expect("starts");
    host.panel_key("todo", "x", "X").await;
    host.panel_key("unknown", "x", "X").await;
    host.panel_input(
        "todo",
        PanelInput::Resize {
            width: 80,
            height: 24,
        },
    )
    .await;
    host.panel_input("todo", PanelInput::Close).await;
    let drawn = async |count| {
        let panel = host.panel_drawn("todo", count).await.expect("is drawn");
        panel.content().lines[0].clone()
    };
    assert_eq!(drawn(1).await, "Key { key: \"x\", text: \"X\" }");
    assert_eq!(drawn(2).await, "Resize { width: 80, height: 24 }");
    assert_eq!(drawn(3).await, "Close");
    host.panel_key("todo", "esc", "").await;
    host.panel_closed("todo").await.expect("is closed");
}

#[tokio::test]
async fn the_context_knows_the_host_and_notifies() {
    let extension = Extension::new("context", "1");
    let outside = extension.context();
    outside.notify(Level::Warn, "before the start");
    let extension = extension
        .command_with("where", "", async |_, context| {
            let host = context.host();
            context.log("to the log");
            for level in [Level::Info, Level::Error] {
                context.notify(level, format!("{} {}", host.model, host.data_dir));
            }
        })
        .tool_with("where", "", async |_: NoArguments, context| {
            context.host().cwd.clone()
        });
    let introduction = HelloAck {
        model: "m".to_owned(),
        cwd: "/work".to_owned(),
        data_dir: "/data".to_owned(),
        ..HelloAck::default()
    };
    let host = TestHost::start_as(extension, introduction)
        .await
        .expect("starts");
    host.invoke("where", "").await.expect("answers");
    let said: Vec<_> = host
        .notifications()
        .into_iter()
        .map(|said| (said.level, said.message))
        .collect();
    let expected = [
        ("warn", "before the start"),
        ("info", "m /data"),
        ("error", "m /data"),
    ];
    assert_eq!(
        said,
        expected.map(|(level, text)| (level.to_owned(), text.to_owned()))
    );
    let result = host.call_tool("where", json!({})).await.expect("answers");
    assert_eq!(result.to_text(), "/work");
    // What was sent before the start comes after the introduction.
    let first = as_json(&host.frames()[..1]);
    assert_eq!(first[0]["type"], "hello");
    outside.notify(Level::Info, "from elsewhere");
    assert_eq!(
        host.notified(4).await.expect("notifies")[3].message,
        "from elsewhere"
    );
}

#[tokio::test]
async fn frames_that_cannot_be_read_do_no_harm() {
    let extension = Extension::new("tough", "1").tool("echo", "", async |args: Value| args);
    let host = TestHost::start(extension).await.expect("starts");
    for line in [
        "not json\n",
        "\n",
        " \r\n",
        "[]\n",
        "{}\n",
        "{\"type\":\"of the future\",\"id\":\"1\"}\n",
        "{\"type\":\"event\",\"event\":\"of the future\"}\n",
        "{\"type\":\"tool_call\"}\n",
        "{\"type\":\"panel_key\",\"panel_id\":\"p\",\"key\":\"x\"}\n",
    ] {
        host.send_line(line).await;
    }
    host.send_line(b"\xff\xfe\n".to_vec()).await;
    // Invalid requests with an id are answered.
    host.send_line("{\"type\":\"tool_call\",\"id\":\"a\"}\n")
        .await;
    host.send_line("{\"type\":\"command_invoked\",\"id\":\"b\",\"name\":7}\n")
        .await;
    host.send_line("{\"type\":\"event_intercept\",\"id\":\"c\",\"event\":\"new\"}\n")
        .await;
    let result = host
        .call_tool("echo", json!({"x": 1}))
        .await
        .expect("answers");
    assert_eq!(result, ToolResult::text("{\"x\":1}"));
    let frames = as_json(&host.frames());
    let answer = |id: &str| {
        frames
            .iter()
            .find(|frame| frame["id"] == id)
            .expect("is answered")
    };
    assert_eq!(answer("a")["is_error"], true);
    assert_eq!(answer("a")["content"][0]["text"], "name: is missing");
    assert!(
        answer("b")["error"]
            .as_str()
            .expect("a text")
            .starts_with("name: ")
    );
    assert_eq!(
        *answer("c"),
        json!({"type": "event_intercept_response", "id": "c"})
    );
    host.shutdown().await.expect("ends");
}

#[tokio::test]
async fn a_line_that_is_too_long_is_skipped() {
    let extension = Extension::new("tough", "1").tool("echo", "", async |args: Value| args);
    let host = TestHost::start(extension).await.expect("starts");
    host.send_line("x".repeat(zot_wire::MAX_WIRE_LINE_BYTES + 1))
        .await;
    host.send_line("\n").await;
    let result = host.call_tool("echo", json!({})).await.expect("answers");
    assert_eq!(result, ToolResult::text("{}"));
}
