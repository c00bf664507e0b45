use std::fs;
use std::path::Path;

use crate::wire::Role;
use crate::{AgentEvent, Config, ModelChoice, Persistence, Runtime};

/// The interval of cuts after which the conversation also continues.
const PROMPTED: usize = 211;

fn runtime(directory: &Path, session: &Path) -> Runtime {
    Runtime::new(Config {
        model: ModelChoice::provider("offline"),
        cwd: Some(directory.to_owned()),
        home: Some(directory.join("home")),
        session: Persistence::File(session.to_owned()).into(),
        ..Config::default()
    })
    .unwrap()
}

async fn prompt(runtime: &Runtime, text: &str) {
    let mut events = runtime.prompt(text, Vec::new()).unwrap();
    while let Some(event) = events.next().await {
        assert!(!matches!(event, AgentEvent::Failed(_)), "{event:?}");
    }
}

#[tokio::test]
async fn a_session_cut_at_any_byte_resumes_with_all_complete_messages() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.jsonl");
    let recorded = runtime(directory.path(), &path);
    prompt(&recorded, "write a.txt: one").await;
    prompt(&recorded, "run: echo two").await;
    let messages = serde_json::to_value(recorded.full_messages()).unwrap();
    let messages = messages.as_array().unwrap();
    drop(recorded);
    let bytes = fs::read(&path).unwrap();
    let mut ends = Vec::new();
    let mut position = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        position += line.len();
        if line.starts_with(br#"{"type":"message""#) {
            // A record without its line feed is complete.
            ends.push(position - 1);
        }
    }
    assert_eq!(ends.len(), messages.len());
    let cut_path = directory.path().join("cut.jsonl");
    for cut in 0..=bytes.len() {
        fs::write(&cut_path, &bytes[..cut]).unwrap();
        let runtime = runtime(directory.path(), &cut_path);
        let complete = ends.iter().filter(|end| **end <= cut).count();
        let opened = serde_json::to_value(runtime.full_messages()).unwrap();
        let opened = opened.as_array().unwrap();
        assert_eq!(opened[..complete], messages[..complete], "cut at {cut}");
        // A call whose result is cut off has an error as its result.
        let repaired = opened.len() - complete;
        assert!(repaired <= 1, "cut at {cut}");
        if repaired == 1 {
            let last = runtime.messages().pop().unwrap();
            assert_eq!(last.role, Role::Tool, "cut at {cut}");
        }
        if cut.is_multiple_of(PROMPTED) {
            prompt(&runtime, "run: echo more").await;
            assert_eq!(fs::read(&cut_path).unwrap()[..cut], bytes[..cut]);
        }
    }
}
