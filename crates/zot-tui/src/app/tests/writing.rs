//! What keys and pastes do to the text in the editor.

use super::*;

fn alt(chat: &mut Chat, code: KeyCode) -> Vec<Effect> {
    chat.input(Input::Key(Key {
        alt: true,
        ..Key::plain(code)
    }))
}

fn control(chat: &mut Chat, code: KeyCode) -> Vec<Effect> {
    chat.input(Input::Key(Key {
        control: true,
        ..Key::plain(code)
    }))
}

fn send(chat: &mut Chat, text: &str) {
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            chat.control('j');
        }
        chat.write(line);
    }
    chat.press(KeyCode::Enter);
    chat.input(Input::WorkEnded);
}

/// Returns the editor's rows on the screen.
fn editor_rows(chat: &Chat) -> Vec<String> {
    let rows = chat.rows();
    let start = rows.iter().rposition(|row| row.starts_with('❯')).unwrap();
    rows[start..rows.len() - 1].to_vec()
}

fn cursor(chat: &Chat) -> (usize, usize) {
    let (row, column) = chat.terminal.screen().cursor_position();
    (row.into(), column.into())
}

#[test]
fn history_keeps_the_draft_and_edited_entries() {
    let mut chat = Chat::new(80, 24);
    for text in ["first", "two\nlines", "third"] {
        send(&mut chat, text);
    }
    chat.write("a draft");
    chat.press(KeyCode::Up);
    assert_eq!(chat.app.composer.editor.text(), "third");
    chat.write("!");
    // Moves through the lines of an entry first.
    for expected in ["two\nlines", "two\nlines", "first", "first"] {
        chat.press(KeyCode::Up);
        assert_eq!(chat.app.composer.editor.text(), expected);
    }
    for expected in ["two\nlines", "third!", "a draft", "a draft"] {
        chat.press(KeyCode::Down);
        assert_eq!(chat.app.composer.editor.text(), expected);
    }
    assert_eq!(editor_rows(&chat), ["❯ a draft"]);
}

#[test]
fn ctrl_r_searches_history_newest_first() {
    let mut chat = Chat::new(80, 24);
    assert_eq!(chat.control('r'), []);
    for text in [
        "fix the parser",
        "write docs",
        "fix\nthe lexer",
        "fix the parser",
    ] {
        send(&mut chat, text);
    }
    chat.write("draft");
    chat.control('r');
    let offered = |chat: &Chat| -> Vec<String> {
        let rows = chat.rows();
        let title = rows.iter().position(|row| row.starts_with("history:"));
        rows[title.unwrap() + 1..rows.len() - 1].to_vec()
    };
    assert_eq!(
        offered(&chat),
        ["▸ fix the parser", "  fix ⏎ the lexer", "  write docs"]
    );
    chat.write("the FIX");
    assert_eq!(offered(&chat), ["▸ fix the parser", "  fix ⏎ the lexer"]);
    chat.control('r');
    assert_eq!(chat.press(KeyCode::Enter), []);
    assert_eq!(chat.app.composer.editor.text(), "fix\nthe lexer");
    chat.control('_');
    assert_eq!(chat.app.composer.editor.text(), "draft");
    chat.control('r');
    chat.press(KeyCode::Escape);
    assert_eq!(chat.app.composer.editor.text(), "draft");
}

#[test]
fn undo_and_redo_have_keys() {
    let mut chat = Chat::new(80, 24);
    chat.write("one two");
    chat.control('_');
    assert_eq!(chat.app.composer.editor.text(), "one");
    alt(&mut chat, KeyCode::Character('_'));
    assert_eq!(chat.app.composer.editor.text(), "one two");
    chat.control('_');
    alt(&mut chat, KeyCode::Character('z'));
    assert_eq!(chat.app.composer.editor.text(), "one two");
    chat.control('_');
    let redo = Key {
        shift: true,
        ..Key::control('z')
    };
    assert_eq!(chat.input(Input::Key(redo)), []);
    assert_eq!(chat.app.composer.editor.text(), "one two");
    assert_eq!(
        chat.control('z'),
        [Effect::Terminal(TerminalEffect::Suspend)]
    );
}

#[test]
fn keys_move_to_the_ends_of_lines_and_of_the_text() {
    let mut chat = Chat::new(80, 24);
    chat.input(Input::Paste("one\ntwo\nthree".to_owned()));
    let top = cursor(&chat).0 - 2;
    chat.press(KeyCode::Up);
    chat.press(KeyCode::Home);
    assert_eq!(cursor(&chat), (top + 1, 2));
    chat.press(KeyCode::End);
    assert_eq!(cursor(&chat), (top + 1, 5));
    control(&mut chat, KeyCode::Home);
    assert_eq!(cursor(&chat), (top, 2));
    control(&mut chat, KeyCode::End);
    assert_eq!(cursor(&chat), (top + 2, 7));
    alt(&mut chat, KeyCode::Character('<'));
    chat.control('d');
    assert_eq!(chat.app.composer.editor.text(), "ne\ntwo\nthree");
    alt(&mut chat, KeyCode::Character('d'));
    chat.press(KeyCode::Delete);
    assert_eq!(chat.app.composer.editor.text(), "two\nthree");
}

#[test]
fn a_paste_opens_no_list_and_runs_nothing() {
    let prompts = |effects: &[Effect]| {
        let prompts = effects.iter().filter_map(|effect| match effect {
            Effect::Agent(AgentEffect::Prompt(prompt)) => Some(prompt.text.clone()),
            _ => None,
        });
        prompts.collect::<Vec<_>>()
    };
    for text in ["/exit", "!rm -rf /", "@src", "/help\nme"] {
        let mut chat = Chat::new(80, 24);
        assert_eq!(chat.input(Input::Paste(text.to_owned())), []);
        assert!(chat.app.picker.list().is_none(), "{text}");
        chat.write(" x");
        assert!(chat.app.picker.list().is_none(), "{text}");
        let effects = chat.press(KeyCode::Enter);
        assert_eq!(prompts(&effects), [format!("{text} x")]);
        chat.input(Input::WorkEnded);
        // The same applies when it is recalled from the history.
        chat.press(KeyCode::Up);
        let effects = chat.press(KeyCode::Enter);
        assert_eq!(prompts(&effects), [format!("{text} x")]);
    }
    let mut chat = Chat::new(80, 24);
    chat.write("/h");
    assert!(chat.app.picker.list().is_some());
    chat.input(Input::Paste("elp".to_owned()));
    assert!(chat.app.picker.list().is_none());
    assert_eq!(prompts(&chat.press(KeyCode::Enter)), [] as [&str; 0]);
    assert!(
        chat.everything()
            .iter()
            .any(|row| row.starts_with("  /help "))
    );
}

#[test]
fn files_are_mentioned_by_typed_text_not_by_pastes() {
    let mut chat = Chat::new(80, 24);
    chat.write("see @a.txt ");
    chat.input(Input::Paste("@b.txt\n".repeat(20)));
    let effects = chat.press(KeyCode::Enter);
    let Some(Effect::Agent(AgentEffect::Prompt(prompt))) = effects.last() else {
        panic!("{effects:?}");
    };
    assert!(prompt.text.ends_with("@b.txt\n"));
    assert_eq!(prompt.mentions.as_deref(), Some("see @a.txt "));
}

#[test]
fn a_paste_goes_to_whatever_receives_the_keys() {
    let mut chat = Chat::new(80, 24);
    chat.input(Input::Listed(Listed::Models(vec![
        "small".to_owned(),
        "large".to_owned(),
    ])));
    chat.input(Input::Paste("large\n".to_owned()));
    assert_eq!(
        chat.press(KeyCode::Enter),
        [Effect::Agent(AgentEffect::SetModel("large".to_owned()))]
    );
    assert!(chat.app.composer.editor.is_empty());
}

#[test]
fn chips_survive_the_history() {
    let mut chat = Chat::new(80, 24);
    chat.write("see ");
    let long = "line\n".repeat(20);
    chat.input(Input::Paste(long.clone()));
    chat.press(KeyCode::Enter);
    chat.input(Input::WorkEnded);
    chat.press(KeyCode::Up);
    assert_eq!(editor_rows(&chat), ["❯ see [pasted 20 lines]"]);
    let effects = chat.press(KeyCode::Enter);
    let text = format!("see {long}");
    assert!(
        matches!(effects.last(), Some(Effect::Agent(AgentEffect::Prompt(prompt))) if prompt.text == text),
        "{effects:?}"
    );
}

#[test]
fn the_editor_scrolls_with_the_cursor_on_a_small_screen() {
    let mut chat = Chat::new(40, 10);
    let lines: Vec<String> = (1..=8).map(|number| format!("line {number}")).collect();
    chat.input(Input::Paste(lines.join("\n")));
    let shown = |chat: &Chat| -> Vec<String> {
        let rows = chat.rows();
        let rows = rows.iter().filter(|row| row.contains("line "));
        rows.map(|row| row.trim_start_matches(['❯', ' ']).to_owned())
            .collect()
    };
    assert_eq!(shown(&chat), lines[5..]);
    for _ in 0..7 {
        chat.press(KeyCode::Up);
    }
    assert_eq!(shown(&chat), lines[..3]);
    let row = cursor(&chat).0;
    assert_eq!(chat.rows()[row], "❯ line 1");
}

#[test]
fn a_full_row_leaves_a_column_for_the_cursor() {
    let mut chat = Chat::new(40, 10);
    chat.write(&"x".repeat(37));
    let (row, column) = cursor(&chat);
    assert_eq!(column, 39);
    chat.write("日");
    assert_eq!(cursor(&chat), (row + 1, 4));
    chat.press(KeyCode::Up);
    assert_eq!(cursor(&chat), (row, 4));
    chat.press(KeyCode::Home);
    chat.press(KeyCode::Delete);
    assert_eq!(editor_rows(&chat)[0].chars().count(), 38);
}

#[test]
fn text_from_an_external_editor_can_be_undone() {
    let mut chat = Chat::new(80, 24);
    chat.write("draft");
    assert_eq!(
        chat.control('g'),
        [Effect::Terminal(TerminalEffect::OpenEditor(
            "draft".to_owned()
        ))]
    );
    chat.input(Input::Edited("better\ntext\n".to_owned()));
    assert_eq!(editor_rows(&chat), ["❯ better", "  text"]);
    chat.input(Input::Edited("\n".to_owned()));
    assert!(chat.app.composer.editor.is_empty());
    chat.control('_');
    assert_eq!(chat.app.composer.editor.text(), "better\ntext");
}

#[test]
fn typing_after_an_interrupt_cancels_leaving() {
    let mut chat = Chat::new(80, 24);
    chat.write("wrong");
    chat.control('c');
    assert!(chat.rows().contains(&"ctrl+c again to leave".to_owned()));
    chat.write("also wrong");
    assert!(!chat.rows().contains(&"ctrl+c again to leave".to_owned()));
    assert_eq!(chat.control('c'), []);
    chat.now_ms += LEAVE_WINDOW_MS;
    chat.input(Input::Tick);
    assert!(!chat.rows().contains(&"ctrl+c again to leave".to_owned()));
    chat.control('_');
    assert_eq!(chat.app.composer.editor.text(), "also wrong");
}
