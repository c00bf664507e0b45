use super::*;
use crate::style::Theme;

fn written(text: &str) -> Editor {
    let mut editor = Editor::default();
    editor.apply(Edit::Insert(text.to_owned()));
    editor
}

fn with(text: &str, edits: &[Edit]) -> Editor {
    let mut editor = written(text);
    for edit in edits {
        editor.apply(edit.clone());
    }
    editor
}

#[test]
fn the_cursor_moves_by_clusters_words_and_lines() {
    let editor = with(
        "ab 👨‍👩‍👧 cd",
        &[Edit::Left, Edit::Left, Edit::Left, Edit::Left],
    );
    assert_eq!(editor.before_cursor(), "ab ");
    let editor = with("one two-three", &[Edit::WordLeft]);
    assert_eq!(editor.before_cursor(), "one two-");
    let editor = with("one two", &[Edit::LineStart, Edit::WordRight]);
    assert_eq!(editor.before_cursor(), "one");
    let editor = with("first\nse\nthird", &[Edit::Up, Edit::Up]);
    assert_eq!(editor.before_cursor(), "first");
    let editor = with(
        "first\nse\nthird",
        &[Edit::Up, Edit::Up, Edit::Down, Edit::Down],
    );
    assert_eq!(editor.before_cursor(), "first\nse\nthird");
}

#[test]
fn what_is_killed_can_be_yanked_and_older_kills_too() {
    let mut editor = with(
        "one two three",
        &[Edit::DeleteWordLeft, Edit::DeleteWordLeft],
    );
    assert_eq!(editor.content(), "one ");
    editor.apply(Edit::Yank);
    assert_eq!(editor.content(), "one two three");
    editor.apply(Edit::LineStart);
    editor.apply(Edit::KillToLineEnd);
    assert_eq!(editor.content(), "");
    editor.apply(Edit::Yank);
    assert_eq!(editor.content(), "one two three");
    editor.apply(Edit::YankOlder);
    assert_eq!(editor.content(), "two three");
}

#[test]
fn undo_goes_back_word_by_word_and_redo_forward() {
    let mut editor = Editor::default();
    for character in "one two".chars() {
        editor.apply(Edit::Insert(character.to_string()));
    }
    editor.apply(Edit::Undo);
    assert_eq!(editor.content(), "one");
    editor.apply(Edit::Undo);
    assert_eq!(editor.content(), "");
    editor.apply(Edit::Undo);
    editor.apply(Edit::Redo);
    editor.apply(Edit::Redo);
    assert_eq!(editor.content(), "one two");
}

#[test]
fn a_long_paste_is_a_chip_until_it_is_sent() {
    let long = "line\n".repeat(20);
    let mut editor = written("see ");
    editor.apply(Edit::Paste(long.clone()));
    assert_eq!(editor.content(), format!("see {long}"));
    let layout = editor.layout(40, &Theme::DARK);
    assert_eq!(layout.rows[0].text(), "see [pasted 20 lines]");
    assert_eq!(layout.cursor, (0, 21));
    editor.apply(Edit::Backspace);
    assert_eq!(editor.content(), "see ");
    editor.apply(Edit::Undo);
    assert_eq!(editor.take(), format!("see {long}"));
    assert!(editor.is_empty());
}

#[test]
fn a_short_paste_is_text_with_its_line_ends_mended() {
    let mut editor = Editor::default();
    editor.apply(Edit::Paste("a\r\nb\rc".to_owned()));
    assert_eq!(editor.content(), "a\nb\nc");
}

#[test]
fn rows_break_where_they_are_full() {
    let layout = |text: &str| written(text).layout(4, &Theme::DARK);
    let rows =
        |text: &str| -> Vec<String> { layout(text).rows.iter().map(|row| row.text()).collect() };
    assert_eq!(rows("abcdef"), ["abcd", "ef"]);
    assert_eq!(layout("abcdef").cursor, (1, 2));
    // The cursor needs a place, too.
    assert_eq!(rows("abcd"), ["abcd", ""]);
    assert_eq!(layout("abcd").cursor, (1, 0));
    assert_eq!(rows("日本語"), ["日本", "語"]);
    assert_eq!(rows("a\n\nb"), ["a", "", "b"]);
}

#[test]
fn no_sequence_of_edits_breaks_it() {
    use Edit::*;
    let edits = [
        Insert("é".into()),
        Insert("👍🏽 x".into()),
        Newline,
        Backspace,
        Delete,
        Left,
        Right,
        WordLeft,
        WordRight,
        LineStart,
        LineEnd,
        Up,
        Down,
        DeleteWordLeft,
        DeleteWordRight,
        KillToLineEnd,
        KillToLineStart,
        Yank,
        YankOlder,
        Undo,
        Redo,
        Paste("p\n".repeat(30)),
    ];
    let mut state = 7u64;
    let mut editor = Editor::default();
    for _ in 0..20_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let edit = &edits[(state >> 33) as usize % edits.len()];
        editor.apply(edit.clone());
        assert!(editor.text.is_char_boundary(editor.cursor));
        if editor.text.len() > 4_000 {
            editor.take();
        }
        editor.layout(7, &Theme::DARK);
    }
}
