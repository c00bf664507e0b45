//! The server of `zot mcp serve --http` with the tools that the official conformance suite calls, for
//! `scripts/mcp-conformance`. Serves until it is killed.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use zot_conversation::{
    Answer, BoxFuture, ContentBlock, JsonObject, Question, QuestionKind, Tool, ToolDefinition,
    ToolEffect, ToolInvocation, ToolOutput,
};
use zot_mcp_server::{HttpServer, ServeOptions, Service, Shutdown, Token};
use zot_sdk::{Config, Image, ModelChoice};

/// A red image of one pixel.
const IMAGE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/// What a tool of the suite does.
#[derive(Clone, Copy)]
enum Behaviour {
    Text,
    Image,
    Fail,
    Progress,
    /// Asks for the fields of a form, so many times.
    Ask(fn() -> Value, u32),
}

struct SuiteTool {
    definition: Arc<ToolDefinition>,
    behaviour: Behaviour,
}

fn names() -> Value {
    json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})
}

fn users() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        },
        "required": ["username", "email"],
    })
}

fn consents() -> Value {
    json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]})
}

fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": true},
        },
    })
}

fn choices() -> Value {
    let titled = |noun: &str| {
        json!([
            {"const": "value1", "title": format!("First {noun}")},
            {"const": "value2", "title": format!("Second {noun}")},
            {"const": "value3", "title": format!("Third {noun}")},
        ])
    };
    let options = json!(["option1", "option2", "option3"]);
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": options},
            "titledSingle": {"type": "string", "oneOf": titled("Option")},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
        },
    })
}

const TOOLS: [(&str, Behaviour); 14] = [
    ("test_simple_text", Behaviour::Text),
    ("test_logging_tool", Behaviour::Text),
    ("test_image_content", Behaviour::Image),
    ("test_error_handling", Behaviour::Fail),
    ("test_tool_with_progress", Behaviour::Progress),
    ("test_elicitation", Behaviour::Ask(users, 1)),
    (
        "test_elicitation_sep1034_defaults",
        Behaviour::Ask(defaults, 1),
    ),
    ("test_elicitation_sep1330_enums", Behaviour::Ask(choices, 1)),
    ("test_streaming_elicitation", Behaviour::Ask(names, 1)),
    (
        "test_input_required_result_elicitation",
        Behaviour::Ask(names, 1),
    ),
    (
        "test_input_required_result_request_state",
        Behaviour::Ask(consents, 1),
    ),
    (
        "test_input_required_result_tampered_state",
        Behaviour::Ask(consents, 1),
    ),
    (
        "test_input_required_result_capabilities",
        Behaviour::Ask(consents, 1),
    ),
    (
        "test_input_required_result_multi_round",
        Behaviour::Ask(names, 2),
    ),
];

impl Tool for SuiteTool {
    fn definition(&self) -> &Arc<ToolDefinition> {
        &self.definition
    }

    fn run<'a>(&'a self, invocation: ToolInvocation<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match self.behaviour {
                Behaviour::Text => ToolOutput::text("This is a simple text response for testing."),
                Behaviour::Fail => {
                    ToolOutput::error("This tool intentionally returns an error for testing")
                }
                Behaviour::Image => image(),
                Behaviour::Progress => {
                    for step in ["begun", "half done", "done"] {
                        invocation.progress.report(step.to_owned()).await;
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                    ToolOutput::text("done")
                }
                Behaviour::Ask(schema, times) => ask(&invocation, schema(), times).await,
            }
        })
    }
}

fn image() -> ToolOutput {
    let data = STANDARD.decode(IMAGE).unwrap_or_default();
    ToolOutput {
        is_error: false,
        content: vec![ContentBlock::Image(Image {
            mime_type: "image/png".to_owned(),
            data: data.into(),
        })],
        contacts: Vec::new(),
    }
}

async fn ask(invocation: &ToolInvocation<'_>, schema: Value, times: u32) -> ToolOutput {
    let mut said = String::new();
    for _ in 0..times {
        let Ok(schema) = JsonObject::parse(&schema.to_string()) else {
            return ToolOutput::error("the schema is not an object");
        };
        let question = Question {
            origin: "the suite".to_owned(),
            message: "Please provide your information".to_owned(),
            kind: QuestionKind::Form { schema },
        };
        said = match invocation.questions.ask(question).await {
            Answer::Accept { content } => {
                let content = content.as_ref().map_or("{}", JsonObject::as_str);
                format!("state-ok: action=accept, content={content}")
            }
            Answer::Decline => "state-ok: action=decline".to_owned(),
            Answer::Cancel => "state-ok: action=cancel".to_owned(),
        };
    }
    ToolOutput::text(said)
}

fn suite_tool((name, behaviour): (&str, Behaviour)) -> Arc<dyn Tool> {
    let parameters = to_raw_value(&json!({"type": "object"}));
    Arc::new(SuiteTool {
        definition: Arc::new(ToolDefinition {
            name: name.to_owned(),
            description: "A tool of the conformance suite".to_owned(),
            parameters: parameters.unwrap_or_else(|_| RawValue::NULL.to_owned()),
            effect: ToolEffect::ReadOnly,
        }),
        behaviour,
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let service = Service::new(ServeOptions {
        config: Config {
            model: ModelChoice::provider("offline"),
            ..Config::default()
        },
        tools: None,
        offered: TOOLS.into_iter().map(suite_tool).collect(),
    })?;
    let token = Token::random()?;
    let secret = token.as_str().to_owned();
    zot_stdio::executor::run(|_| async move {
        let server = HttpServer::bind(([127, 0, 0, 1], 0).into(), service, token).await?;
        let mut output = zot_terminal::stdout();
        writeln!(output, "{}\nAuthorization: Bearer {secret}", server.url())?;
        output.flush()?;
        server.run(Shutdown::default()).await;
        Ok(())
    })?
}
