//! Side questions to the built-in stand-in.

use crate::{AgentEvent, Config, ModelChoice, Runtime};

#[tokio::test]
async fn a_side_question_leaves_no_trace_and_runs_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = Runtime::new(Config {
        model: ModelChoice::provider("offline"),
        cwd: Some(directory.path().to_owned()),
        home: Some(directory.path().join("home")),
        ..Config::default()
    })
    .unwrap();
    let mut events = runtime.prompt("hello", Vec::new()).unwrap();
    while events.next().await.is_some() {}
    let before = runtime.full_messages();
    // Even during a prompt.
    let prompt = runtime.prompt("hello again", Vec::new()).unwrap();
    let mut aside = runtime.ask_aside("run: touch made.txt");
    let spent_before = runtime.cost();
    let (mut answer, mut spent) = (String::new(), 0);
    while let Some(event) = aside.next().await {
        match event {
            AgentEvent::TextDelta(delta) => answer.push_str(&delta),
            AgentEvent::UsageReported { turn, .. } => spent += turn.output,
            _ => {}
        }
    }
    drop(prompt);
    assert!(spent > 0);
    let cost = runtime.cost();
    assert_eq!(cost.output, spent_before.output + spent);
    let usage = runtime.usage();
    assert_eq!(usage.total, cost);
    assert_eq!(
        usage
            .turns
            .iter()
            .map(|turn| turn.usage.output)
            .sum::<u64>(),
        cost.output
    );
    assert!(!answer.is_empty());
    assert_eq!(runtime.full_messages(), before);
    assert!(!directory.path().join("made.txt").exists());
}
