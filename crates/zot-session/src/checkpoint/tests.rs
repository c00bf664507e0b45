use std::fs;
use std::path::Path;

use zot_conversation::Timestamp;
use zot_files::Durability;

use super::{Before, Checkpoints, FileOutcome, IfChanged, directory_of};

/// Changes a file as a tool does.
fn change(checkpoints: &Checkpoints, path: &Path, after: &str) {
    let before = fs::read(path).ok();
    let before = match &before {
        Some(content) => Before::Content(content),
        None => Before::Missing,
    };
    let number = checkpoints
        .keep("write", path, before, after.as_bytes())
        .unwrap();
    fs::write(path, after).unwrap();
    checkpoints.record_made(number, path);
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

#[test]
fn the_changes_of_a_prompt_are_undone_together_and_then_those_before() {
    let directory = tempfile::tempdir().unwrap();
    let session = directory.path().join("s.jsonl");
    let (old, new) = (directory.path().join("old"), directory.path().join("new"));
    fs::write(&old, "0").unwrap();
    let checkpoints = Checkpoints::beside(&session, Durability::ProcessEnd);
    assert!(!directory_of(&session).exists(), "nothing before a change");
    checkpoints.begin_prompt(at(1));
    change(&checkpoints, &old, "1");
    checkpoints.begin_prompt(at(2));
    change(&checkpoints, &old, "2");
    change(&checkpoints, &old, "3");
    change(&checkpoints, &new, "made");

    // Another process, later.
    let checkpoints = Checkpoints::beside(&session, Durability::ProcessEnd);
    let undone = checkpoints.undo(1, IfChanged::Refuse).unwrap();
    assert_eq!(undone.prompts, [at(2)]);
    let outcomes: Vec<_> = undone
        .files
        .iter()
        .map(|file| (file.path.clone(), file.changes, file.outcome.clone()))
        .collect();
    assert_eq!(
        outcomes,
        [
            (old.clone(), 2, FileOutcome::Restored),
            (new.clone(), 1, FileOutcome::Removed)
        ]
    );
    assert_eq!(fs::read_to_string(&old).unwrap(), "1");
    assert!(!new.exists());

    checkpoints.undo(1, IfChanged::Refuse).unwrap();
    assert_eq!(fs::read_to_string(&old).unwrap(), "0");
    let nothing = checkpoints.undo(1, IfChanged::Refuse).unwrap();
    assert!(nothing.files.is_empty() && nothing.prompts.is_empty());
}

#[test]
fn a_file_that_was_changed_since_is_left_alone_or_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f");
    fs::write(&path, "theirs").unwrap();
    let checkpoints =
        Checkpoints::beside(&directory.path().join("s.jsonl"), Durability::ProcessEnd);
    change(&checkpoints, &path, "tool's");
    fs::write(&path, "mine").unwrap();
    let refused = checkpoints.undo(1, IfChanged::Refuse).unwrap();
    assert_eq!(refused.files[0].outcome, FileOutcome::ChangedSince);
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");

    let forced = checkpoints.undo(1, IfChanged::Overwrite).unwrap();
    let FileOutcome::Overwritten { kept } = &forced.files[0].outcome else {
        panic!("{forced:?}");
    };
    assert_eq!(fs::read_to_string(kept).unwrap(), "mine");
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
}

#[test]
fn what_was_never_changed_or_never_kept_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let (spared, huge) = (
        directory.path().join("spared"),
        directory.path().join("huge"),
    );
    fs::write(&spared, "as it was").unwrap();
    fs::write(&huge, "x").unwrap();
    let checkpoints =
        Checkpoints::beside(&directory.path().join("s.jsonl"), Durability::ProcessEnd);
    // Killed between keeping and changing.
    checkpoints
        .keep("edit", &spared, Before::Content(b"as it was"), b"new")
        .unwrap();
    checkpoints
        .keep("write", &huge, Before::Unknown, b"x")
        .unwrap();
    let undone = checkpoints.undo(1, IfChanged::Refuse).unwrap();
    assert_eq!(undone.files[0].outcome, FileOutcome::Unchanged);
    assert_eq!(undone.files[1].outcome, FileOutcome::NotKept);
    assert_eq!(fs::read_to_string(&huge).unwrap(), "x");
}

#[test]
fn a_torn_record_and_a_damaged_copy_are_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let session = directory.path().join("s.jsonl");
    let path = directory.path().join("f");
    fs::write(&path, "before").unwrap();
    let checkpoints = Checkpoints::beside(&session, Durability::ProcessEnd);
    change(&checkpoints, &path, "one");
    let changes = directory_of(&session).join("changes.jsonl");
    let mut text = fs::read_to_string(&changes).unwrap();
    text.push_str("{\"type\":\"change\",\"chan");
    fs::write(&changes, text).unwrap();
    change(&checkpoints, &path, "two");
    assert_eq!(checkpoints.changes().unwrap().len(), 2);

    for object in fs::read_dir(directory_of(&session).join("objects")).unwrap() {
        fs::write(object.unwrap().path(), "other").unwrap();
    }
    let undone = checkpoints.undo(1, IfChanged::Refuse).unwrap();
    assert!(
        matches!(&undone.files[0].outcome, FileOutcome::Failed { reason } if reason.contains("damaged"))
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "two");
}

#[test]
fn what_is_kept_for_undo_is_as_durable_as_the_session() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, "0").unwrap();
    for (durability, first, second) in [
        (Durability::ProcessEnd, 0, 0),
        // The content, its name, the change and the note of what it left; at first also the names of
        // the directory, of the objects in it and of the list of changes.
        (Durability::PowerLoss, 7, 4),
    ] {
        let session = directory.path().join(format!("{durability:?}.jsonl"));
        let checkpoints = Checkpoints::beside(&session, durability);
        for (after, expected) in [("1", first), ("2", second)] {
            let before = Durability::syncs();
            change(&checkpoints, &path, after);
            assert_eq!(Durability::syncs() - before, expected, "{durability:?}");
        }
        assert_eq!(checkpoints.changes().unwrap().len(), 2);
        fs::write(&path, "0").unwrap();
    }
}
