use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use zot_conversation::{Message, Timestamp, Usage};

use super::{FindError, Library, Scope};
use crate::{Durability, SessionLog, SessionMeta};

fn session(root: &Path, cwd: &str, text: &str) -> SessionLog {
    let meta = SessionMeta::new(cwd.into(), "openai".into(), "gpt-4o".into());
    let log = SessionLog::announce(root, meta, Durability::ProcessEnd).unwrap();
    say(&log, text);
    log
}

fn say(log: &SessionLog, text: &str) {
    log.append_message(&Arc::new(Message::user_text(text, Timestamp::UNIX_EPOCH)))
        .unwrap();
}

fn titles(library: &Library, scope: Scope<'_>) -> Vec<String> {
    let list = library.list(scope).unwrap();
    list.into_iter().map(|summary| summary.title).collect()
}

#[test]
fn the_newest_comes_first_and_other_directories_only_when_asked_for() {
    let root = tempfile::tempdir().unwrap();
    let library = Library::new(root.path());
    assert_eq!(titles(&library, Scope::All), Vec::<String>::new());
    assert_eq!(library.newest("/work").unwrap(), None);
    let first = session(root.path(), "/work", "first\n  question");
    let second = session(root.path(), "/work", "second");
    let elsewhere = session(root.path(), "/other", "elsewhere");
    for (log, second) in [(&first, 1), (&second, 2), (&elsewhere, 3)] {
        let file = fs::File::options().append(true).open(log.path()).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(second))
            .unwrap();
    }
    assert_eq!(
        titles(&library, Scope::Directory("/work")),
        ["second", "first question"]
    );
    assert_eq!(
        titles(&library, Scope::All),
        ["elsewhere", "second", "first question"]
    );
    say(&first, "more");
    assert_eq!(
        titles(&library, Scope::All),
        ["first question", "elsewhere", "second"]
    );
    let newest = library.newest("/work").unwrap();
    assert_eq!(newest.as_deref(), Some(first.path()));
}

#[test]
fn the_index_is_made_again_and_never_believed_over_a_file() {
    let root = tempfile::tempdir().unwrap();
    let library = Library::new(root.path());
    let log = session(root.path(), "/work", "hello");
    let usage = Usage {
        input: 5,
        cost_usd: 0.25,
        ..Usage::default()
    };
    log.append_usage(&usage, &usage).unwrap();
    let before = library.list(Scope::All).unwrap();
    assert_eq!(before[0].messages, 1);
    assert_eq!(before[0].cost_usd, 0.25);
    assert_eq!(before[0].path, log.path());
    let index = root.path().join("index.jsonl");
    assert!(index.is_file());
    assert_eq!(library.list(Scope::All).unwrap(), before, "from the index");

    fs::write(&index, "garbage\n{\"v\":1}\n").unwrap();
    assert_eq!(library.list(Scope::All).unwrap(), before);
    fs::remove_file(&index).unwrap();
    assert_eq!(library.list(Scope::Directory("/work")).unwrap(), before);

    // An index that remembers something else about a file that has changed.
    say(&log, "again");
    let after = library.list(Scope::All).unwrap();
    assert_eq!(after[0].messages, 2);
    fs::remove_file(log.path()).unwrap();
    assert_eq!(library.list(Scope::All).unwrap(), []);
    assert_eq!(fs::read_to_string(&index).unwrap(), "");
}

#[test]
fn a_session_is_found_by_its_path_and_by_the_beginning_of_its_id() {
    let root = tempfile::tempdir().unwrap();
    let library = Library::new(root.path());
    let log = session(root.path(), "/work", "one");
    let id = log.meta().id.clone();
    for wanted in [&id[..2], &id[..8], &id[..13], &id] {
        assert_eq!(library.find(wanted).unwrap(), log.path(), "{wanted}");
    }
    let path = log.path().to_str().unwrap();
    assert_eq!(library.find(path).unwrap(), log.path());
    for wanted in ["", "zzzz", &format!("{}-nothing", &id[..8])] {
        assert!(
            matches!(library.find(wanted), Err(FindError::NotFound { .. })),
            "{wanted}"
        );
    }
    // Two with the same beginning.
    let twin = SessionMeta {
        id: format!("{}-twin", &id[..8]),
        started: Timestamp::UNIX_EPOCH,
        ..log.meta().clone()
    };
    let twin = SessionLog::announce(root.path(), twin, Durability::ProcessEnd).unwrap();
    say(&twin, "two");
    assert!(matches!(
        library.find(&id[..4]),
        Err(FindError::Ambiguous { .. })
    ));
    assert_eq!(library.find(&id).unwrap(), log.path());
}

#[test]
fn a_damaged_session_is_listed_and_an_empty_file_is_not() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("0123456789abcdef");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("empty.jsonl"), "").unwrap();
    fs::write(directory.join("bad.jsonl"), "garbage\n").unwrap();
    fs::write(directory.join("unrelated.txt"), "x").unwrap();
    let list = Library::new(root.path()).list(Scope::All).unwrap();
    assert_eq!(list.len(), 1);
    assert!(list[0].damaged);
    assert_eq!(list[0].id, "bad");
}

#[test]
fn a_conversation_that_came_as_a_whole_is_listed() {
    let root = tempfile::tempdir().unwrap();
    let meta = SessionMeta::new("/work".into(), "p".into(), "m".into());
    let log = SessionLog::announce(root.path(), meta, Durability::ProcessEnd).unwrap();
    let message = Message::user_text("from elsewhere", Timestamp::UNIX_EPOCH);
    log.append_replacement(&[Arc::new(message)]).unwrap();
    let list = Library::new(root.path()).list(Scope::All).unwrap();
    assert_eq!(list[0].title, "from elsewhere");
    assert_eq!((list[0].messages, list[0].prompts), (1, 1));
}

#[test]
fn a_session_that_is_open_is_not_deleted() {
    let root = tempfile::tempdir().unwrap();
    let library = Library::new(root.path());
    let log = session(root.path(), "/work", "one");
    let path = log.path().to_owned();
    assert!(library.delete(&path).is_err());
    drop(log);
    let beside = path.with_extension("files");
    fs::create_dir(&beside).unwrap();
    library.delete(&path).unwrap();
    assert!(!path.exists() && !beside.exists());
    assert!(!path.parent().unwrap().exists(), "nor an empty directory");
}
