//! Questions that tools ask a person.

use std::sync::Arc;

use zot_conversation::ToolEffect::Changes;
use zot_conversation::{Answer, JsonObject, Question, QuestionKind, Tool, ToolOutput};

use crate::support::model::{answer, calls};
use crate::support::tools::tool;
use crate::support::{Scene, Setup, check, settle};

/// Asks for a colour, and returns the answer as text.
fn asking() -> Arc<dyn Tool> {
    tool("ask", Changes, |invocation| {
        Box::pin(async move {
            let schema = JsonObject::parse(r#"{"type":"object"}"#).unwrap();
            let question = Question {
                origin: "paint".to_owned(),
                message: "which colour?".to_owned(),
                kind: QuestionKind::Form { schema },
            };
            match invocation.questions.ask(question).await {
                Answer::Accept { content } => {
                    let content = content.map(|content| content.as_str().to_owned());
                    ToolOutput::text(content.unwrap_or_default())
                }
                Answer::Decline => ToolOutput::error("declined"),
                Answer::Cancel => ToolOutput::error("cancelled"),
            }
        })
    })
}

fn scene() -> Scene {
    Setup {
        scripts: vec![calls(&[("c1", "ask", "{}")]), answer("fine")],
        tools: vec![asking()],
        ..Setup::default()
    }
    .build()
}

/// The events between the model's two answers.
fn tool_events(events: &[String]) -> Vec<String> {
    let of_tools = |line: &&String| line.starts_with("question") || line.starts_with("tool_result");
    events.iter().filter(of_tools).cloned().collect()
}

#[tokio::test(start_paused = true)]
async fn are_declined_at_once_where_nobody_answers() {
    let events = scene().prompt("hi").await;
    check(&tool_events(&events), r#"tool_result c1 error "declined""#);
}

#[tokio::test(start_paused = true)]
async fn reach_the_person_and_the_answer_reaches_the_tool() {
    let scene = scene();
    scene.agent.accept_questions();
    let content = JsonObject::parse(r#"{"colour":"red"}"#).unwrap();
    let answer = async {
        settle().await;
        let accepted = Answer::Accept {
            content: Some(content),
        };
        let id = "question_1".into();
        scene.agent.answer(&id, accepted.clone()).unwrap();
        assert!(scene.agent.answer(&id, accepted).is_err(), "only once");
    };
    let events = scene.prompt_while("hi", answer).await;
    check(
        &tool_events(&events),
        r#"
        question question_1 c1 "which colour?"
        tool_result c1 ok "{\"colour\":\"red\"}"
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn an_abort_ends_the_wait() {
    let scene = scene();
    scene.agent.accept_questions();
    let events = scene.prompt_and_abort("hi", settle()).await;
    check(
        &tool_events(&events),
        r#"
        question question_1 c1 "which colour?"
        tool_result c1 error "cancelled"
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn a_person_who_leaves_declines() {
    let scene = scene();
    scene.agent.accept_questions();
    let leave = async {
        settle().await;
        scene.agent.decline_questions();
    };
    let events = scene.prompt_while("hi", leave).await;
    check(
        &tool_events(&events),
        r#"
        question question_1 c1 "which colour?"
        tool_result c1 error "declined"
        "#,
    );
}
