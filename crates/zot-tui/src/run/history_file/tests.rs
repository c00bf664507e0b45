use super::*;
use crate::editor::{Edit, Editor};

fn content(entries: &[Draft]) -> Vec<String> {
    entries.iter().map(Draft::content).collect()
}

#[test]
fn prompts_are_saved_with_their_pastes_and_broken_lines_are_skipped() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("below/history.jsonl");
    let mut editor = Editor::default();
    editor.apply(Edit::Insert("see ".to_owned()));
    editor.apply(Edit::Paste("line\n".repeat(20)));
    append(&path, &editor.draft()).unwrap();
    append(&path, &"two\nlines".into()).unwrap();
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"{\"broken\n[1]\n\"text\"\n").unwrap();
    editor.set("");
    editor.apply(Edit::Paste("!not a command".to_owned()));
    append(&path, &editor.draft()).unwrap();
    let entries = read(&path);
    let pasted = format!("see {}", "line\n".repeat(20));
    assert_eq!(
        content(&entries),
        [&pasted, "two\nlines", "text", "!not a command"]
    );
    assert_eq!(entries[0].title(), "see [pasted 20 lines]");
    assert!(entries[3].begins_pasted() && !entries[2].begins_pasted());
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn concurrent_chats_lose_no_prompt_and_the_file_stays_bounded() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("history.jsonl");
    let filler = format!("{}\n", json!("x".repeat(1_000)));
    fs::write(&path, filler.repeat(4_300)).unwrap();
    std::thread::scope(|scope| {
        for chat in 0..4 {
            let path = &path;
            scope.spawn(move || {
                for number in 0..50 {
                    append(path, &format!("{chat} {number}").into()).unwrap();
                }
            });
        }
    });
    let entries = content(&read(&path));
    for chat in 0..4 {
        let own = entries
            .iter()
            .filter(|text| text.starts_with(&format!("{chat} ")));
        let expected: Vec<String> = (0..50).map(|number| format!("{chat} {number}")).collect();
        assert_eq!(own.cloned().collect::<Vec<_>>(), expected);
    }
    assert!(fs::metadata(&path).unwrap().len() < MAX_HISTORY_FILE_BYTES);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
}
