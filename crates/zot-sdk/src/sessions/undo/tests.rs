use std::fs;

use zot_session::{FileOutcome, IfChanged};

use super::UndoError;
use crate::{Config, ModelChoice, Persistence, Runtime};

fn runtime(directory: &std::path::Path, persistence: Persistence) -> Runtime {
    Runtime::new(Config {
        model: ModelChoice::provider("offline"),
        cwd: Some(directory.to_owned()),
        home: Some(directory.join("home")),
        session: persistence.into(),
        ..Config::default()
    })
    .unwrap()
}

async fn prompt(runtime: &Runtime, text: &str) {
    let mut events = runtime.prompt(text, Vec::new()).unwrap();
    while events.next().await.is_some() {}
}

#[tokio::test]
async fn a_resumed_runtime_undoes_earlier_changes() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.txt");
    fs::write(&file, "before").unwrap();
    let first = runtime(directory.path(), Persistence::SessionFile);
    prompt(&first, "write a.txt: after").await;
    assert_eq!(fs::read_to_string(&file).unwrap(), "after");
    let id = first.session().unwrap().id.clone();
    assert_eq!(first.session().unwrap().resumed_messages, 0);
    let count = first.state().message_count;
    // Releases the session.
    drop(first);

    let second = runtime(directory.path(), Persistence::Resume(id.clone()));
    let session = second.session().unwrap();
    assert_eq!(session.id, id);
    assert_eq!(session.resumed_messages, count);
    assert!(session.report.is_clean());
    let report = second.undo(1, IfChanged::Refuse).unwrap();
    assert_eq!(report.undone.files[0].outcome, FileOutcome::Restored);
    assert_eq!(fs::read_to_string(&file).unwrap(), "before");
    assert!(report.not_covered.is_empty());
}

#[tokio::test]
async fn without_a_session_there_is_nothing_to_undo() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = runtime(directory.path(), Persistence::Never);
    assert!(runtime.session().is_none());
    assert!(matches!(
        runtime.undo(1, IfChanged::Refuse),
        Err(UndoError::NoSession)
    ));
}
