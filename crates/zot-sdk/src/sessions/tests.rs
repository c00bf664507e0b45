use std::fs;
use std::path::Path;

use super::{
    ExportFormat, ForkPoint, IfChanged, IfExists, OperationError, Scope, delete, export,
    export_to_file, find, fork, import, list, search, show, statistics, tree, undo,
};
use crate::config::ModelChoice;
use crate::{Config, Persistence, Runtime, SessionChoice, Workspace};

fn workspace(directory: &Path) -> Workspace {
    Workspace {
        zot_home: directory.join("home"),
        cwd: directory.to_owned(),
        user_home: None,
    }
}

/// Creates a session with `prompts` in the workspace and returns its id.
async fn session(workspace: &Workspace, prompts: &[&str]) -> String {
    let runtime = Runtime::new(Config {
        model: ModelChoice {
            provider: Some("offline".to_owned()),
            ..ModelChoice::default()
        },
        cwd: Some(workspace.cwd.clone()),
        home: Some(workspace.zot_home.clone()),
        session: SessionChoice {
            persistence: Persistence::SessionFile,
            ..SessionChoice::default()
        },
        ..Config::default()
    })
    .unwrap();
    for prompt in prompts {
        let mut events = runtime.prompt(prompt, Vec::new()).unwrap();
        while events.next().await.is_some() {}
    }
    runtime.session().unwrap().id.clone()
}

#[tokio::test]
async fn sessions_are_listed_searched_shown_and_added_up() {
    let directory = tempfile::tempdir().unwrap();
    let here = workspace(directory.path());
    let elsewhere = workspace(directory.path()).in_directory(&directory.path().join("elsewhere"));
    fs::create_dir(&elsewhere.cwd).unwrap();
    let id = session(&here, &["say pineapple"]).await;
    session(&elsewhere, &["say something", "say more"]).await;

    assert_eq!(list(&here, Scope::Here).unwrap().len(), 1);
    assert_eq!(list(&here, Scope::Everywhere).unwrap().len(), 2);
    let found = search(&here, "pineapple", Scope::Everywhere).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].session.id, id);
    assert!(
        search(&elsewhere, "pineapple", Scope::Here)
            .unwrap()
            .is_empty()
    );

    let shown = show(&here, &id[..6]).unwrap();
    assert_eq!(shown.path, find(&here, &id).unwrap());
    let overview = shown.overview().to_string();
    assert!(overview.contains(&format!("session    {id}")), "{overview}");
    assert!(
        overview.ends_with("messages   2, including 1 prompt"),
        "{overview}"
    );

    let all = statistics(&here, Scope::Everywhere).unwrap();
    assert_eq!((all.total.sessions, all.total.prompts), (2, 3));
    assert_eq!(all.by_model.values().map(|one| one.prompts).sum::<u64>(), 3);
}

#[tokio::test]
async fn a_fork_is_drawn_below_its_parent_and_deleted_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let here = workspace(directory.path());
    let id = session(&here, &["one", "two"]).await;
    let made = fork(&here, &id, ForkPoint::BeforePrompt(2)).unwrap();
    assert_eq!((made.parent.as_str(), made.messages), (id.as_str(), 2));
    let error = fork(&here, &id, ForkPoint::BeforePrompt(3)).unwrap_err();
    assert!(matches!(error, OperationError::Fork(_)), "{error}");

    let drawn = tree(&here, Scope::Here).unwrap();
    assert_eq!(drawn.roots.len(), 1);
    assert_eq!(drawn.roots[0].children[0].session.id, made.id);
    let drawn = drawn.to_string();
    let lines: Vec<&str> = drawn.lines().collect();
    assert!(lines[0].starts_with(&id[..8]), "{drawn}");
    assert!(
        lines[1].starts_with(&format!("└─ {}", &made.id[..8])),
        "{drawn}"
    );

    let unknown = [id.clone(), "no-such-session".to_owned()];
    assert!(delete(&here, &unknown).unwrap_err().deleted.is_empty());
    assert_eq!(list(&here, Scope::Here).unwrap().len(), 2);
    assert_eq!(delete(&here, &[id, made.id]).unwrap().len(), 2);
    assert!(list(&here, Scope::Here).unwrap().is_empty());
}

#[tokio::test]
async fn an_export_can_be_imported_and_does_not_overwrite() {
    let directory = tempfile::tempdir().unwrap();
    let here = workspace(directory.path());
    let id = session(&here, &["say pineapple"]).await;
    let file = Path::new("talk.zotsession");
    let format = ExportFormat::of_path(file).unwrap();
    let written = export_to_file(&here, &id, format, file, IfExists::Refuse).unwrap();
    let bytes = fs::read(directory.path().join(file)).unwrap();
    assert_eq!(written.bytes, bytes.len());
    assert!(!String::from_utf8(bytes).unwrap().contains(&here.cwd_text()));
    let refused = export_to_file(&here, &id, format, file, IfExists::Refuse).unwrap_err();
    assert!(
        matches!(refused, OperationError::Exists { .. }),
        "{refused}"
    );

    let made = import(&here, file).unwrap();
    assert_ne!(made.id, id);
    let markdown = export(&here, &made.id, ExportFormat::Markdown).unwrap();
    assert!(
        String::from_utf8(markdown.bytes)
            .unwrap()
            .contains("pineapple")
    );
}

#[tokio::test]
async fn undo_restores_files_of_the_newest_session() {
    let directory = tempfile::tempdir().unwrap();
    let here = workspace(directory.path());
    let error = undo(&here, None, 1, IfChanged::Refuse).unwrap_err();
    assert!(
        matches!(error, OperationError::NoSessionHere { .. }),
        "{error}"
    );
    let file = directory.path().join("a.txt");
    fs::write(&file, "before").unwrap();
    session(&here, &["write a.txt: after"]).await;
    assert_eq!(fs::read_to_string(&file).unwrap(), "after");
    let report = undo(&here, None, 1, IfChanged::Refuse).unwrap();
    assert!(report.is_complete());
    assert_eq!(
        report.to_string(),
        format!("restored  {}\n", file.display())
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "before");
    let again = undo(&here, None, 1, IfChanged::Refuse).unwrap();
    assert!(!again.is_complete());
}
