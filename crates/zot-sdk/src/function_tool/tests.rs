use std::sync::Mutex;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use zot_conversation::{Progress, ToolCallId};

use super::*;

#[derive(Deserialize, JsonSchema)]
struct City {
    /// Which city
    city: String,
}

#[derive(Default)]
struct Reports(Mutex<Vec<String>>);

impl Progress for Reports {
    fn report(&self, text: String) -> BoxFuture<'_, ()> {
        self.0.lock().unwrap().push(text);
        Box::pin(std::future::ready(()))
    }
}

async fn run(
    tool: &dyn Tool,
    arguments: Value,
    cancel: &CancellationToken,
) -> (ToolOutput, Vec<String>) {
    let reports = Reports::default();
    let arguments = RawValue::from_string(arguments.to_string()).unwrap();
    let output = tool
        .run(ToolInvocation {
            id: &ToolCallId::from("c1"),
            arguments: &arguments,
            progress: &reports,
            questions: &zot_conversation::NobodyAnswers,
            cancel,
        })
        .await;
    (output, reports.0.into_inner().unwrap())
}

fn weather() -> FunctionTool {
    FunctionTool::new("weather", "Current weather.", |args: City| async move {
        format!("{}: sunny", args.city)
    })
    .unwrap()
}

#[tokio::test]
async fn a_function_is_a_tool_with_the_schema_of_its_argument() {
    let weather = weather();
    let schema: Value = serde_json::from_str(weather.definition().parameters.get()).unwrap();
    assert_eq!(schema["properties"]["city"]["description"], "Which city");
    assert_eq!(schema["required"], json!(["city"]));
    assert_eq!(weather.definition().effect, ToolEffect::Changes);
    let (output, _) = run(&weather, json!({"city": "Bonn"}), &CancellationToken::new()).await;
    assert_eq!(output, ToolOutput::text("Bonn: sunny"));
}

#[tokio::test]
async fn invalid_arguments_are_refused_and_name_the_field() {
    let (output, _) = run(&weather(), json!({"city": 7}), &CancellationToken::new()).await;
    assert!(output.is_error);
    assert!(
        output
            .joined_text()
            .starts_with("invalid arguments: city: "),
        "{output:?}"
    );
}

#[tokio::test]
async fn an_error_is_an_error_result() {
    let tool = FunctionTool::new("fails", "", |_: City| async {
        Err::<String, _>("no such city")
    });
    let (output, _) = run(
        &tool.unwrap(),
        json!({"city": ""}),
        &CancellationToken::new(),
    )
    .await;
    assert_eq!(output, ToolOutput::error("no such city"));
}

#[tokio::test]
async fn progress_comes_before_the_result() {
    let tool = FunctionTool::with_context("slow", "", |_: City, context: ToolContext| async move {
        for piece in 0..100 {
            context.report(piece.to_string()).await;
        }
        context.call_id
    });
    let (output, reports) = run(
        &tool.unwrap(),
        json!({"city": ""}),
        &CancellationToken::new(),
    )
    .await;
    assert_eq!(output, ToolOutput::text("c1"));
    assert_eq!(reports.len(), 100);
}

#[tokio::test]
async fn a_cancelled_function_is_dropped() {
    let cancel = CancellationToken::new();
    let tool = FunctionTool::new("waits", "", |_: City| std::future::pending::<String>()).unwrap();
    cancel.cancel();
    let (output, _) = run(&tool, json!({"city": ""}), &cancel).await;
    assert_eq!(output, ToolOutput::error("cancelled"));
}

#[test]
fn invalid_names_and_arguments_are_refused() {
    fn made<A: serde::de::DeserializeOwned + JsonSchema>(name: &str) -> Option<InvalidTool> {
        FunctionTool::new(name, "", |_: A| async { "" }).err()
    }
    assert_eq!(made::<City>("good-name_1"), None);
    for name in ["", "with space", "ä", &"x".repeat(65)] {
        let tool = name.to_owned();
        assert_eq!(made::<City>(name), Some(InvalidTool::Name { tool }));
    }
    let tool = "list".to_owned();
    assert_eq!(
        made::<Vec<String>>("list"),
        Some(InvalidTool::ArgumentsNotAnObject { tool })
    );
}

struct Counter(std::sync::atomic::AtomicU32);

impl TypedTool for Counter {
    const NAME: &'static str = "count";
    const DESCRIPTION: &'static str = "Counts its calls.";
    const READ_ONLY: bool = true;
    type Arguments = City;
    type Output = String;

    async fn run(&self, arguments: City, _: ToolContext) -> String {
        let before = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        format!("{} {}", arguments.city, before + 1)
    }
}

#[tokio::test]
async fn a_type_is_a_tool_with_state() {
    let tool = FunctionTool::from_type(Counter(0.into()))
        .unwrap()
        .preview(|args: City| format!("count {}", args.city));
    assert_eq!(tool.definition().effect, ToolEffect::ReadOnly);
    let cancel = CancellationToken::new();
    run(&tool, json!({"city": "a"}), &cancel).await;
    let (output, _) = run(&tool, json!({"city": "b"}), &cancel).await;
    assert_eq!(output, ToolOutput::text("b 2"));
    let arguments = RawValue::from_string(r#"{"city":"b"}"#.to_owned()).unwrap();
    assert_eq!(Tool::preview(&tool, &arguments).as_deref(), Some("count b"));
}
