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
}

/// Returns the text before the cursor after moving up (`u`) and down (`d`) by rows of `columns`.
fn moved<'a>(editor: &'a mut Editor, keys: &str, columns: usize) -> &'a str {
    for key in keys.chars() {
        editor.move_row(if key == 'u' { -1 } else { 1 }, columns);
    }
    editor.before_cursor()
}

#[test]
fn up_and_down_go_by_rows_of_the_screen_and_keep_the_column() {
    let up = |text: &str, keys: &str, columns| {
        let mut editor = written(text);
        moved(&mut editor, keys, columns).to_owned()
    };
    assert_eq!(up("first\nse\nthird", "u", 40), "first\nse");
    assert_eq!(up("first\nse\nthird", "uu", 40), "first");
    assert_eq!(up("first\nse\nthird", "uudd", 40), "first\nse\nthird");
    // Positions are columns, not characters: wide ones take two.
    assert_eq!(up("日本語\nabcd", "u", 40), "日本");
    assert_eq!(up("abcdef\n日本", "u", 40), "abcd");
    // Within one long line.
    assert_eq!(up("abcdefghij", "u", 4), "abcdef");
    assert_eq!(up("abcdefghij", "uud", 4), "abcdef");
    assert_eq!(up("ab\ncdefgh", "u", 4), "ab\ncd");
    // The cursor has room after a full line.
    assert_eq!(up("abcd\nefgh", "u", 4), "abcd");
    let mut editor = written("abc");
    assert!(!editor.move_row(-1, 40) && !editor.move_row(1, 40));
}

#[test]
fn words_end_at_punctuation_and_ctrl_w_deletes_to_whitespace() {
    let left = |text: &str| with(text, &[Edit::WordLeft]).before_cursor().to_owned();
    assert_eq!(left("see src/main.rs"), "see src/main.");
    assert_eq!(left("see src/main."), "see src/");
    assert_eq!(left("snake_case"), "");
    assert_eq!(left("I don't"), "I ");
    assert_eq!(left("say 你好"), "say 你");
    assert_eq!(left("ok 👍🏽"), "ok ");
    assert_eq!(left("e\u{301}te\u{301} e\u{301}"), "e\u{301}te\u{301} ");
    let right = |text: &str| {
        let editor = with(text, &[Edit::TextStart, Edit::WordRight]);
        editor.before_cursor().to_owned()
    };
    assert_eq!(right("main.rs: x"), "main");
    assert_eq!(right(".rs: x"), ".rs");
    assert_eq!(right("  two words"), "  two");
    assert_eq!(right("你好"), "你");
    let cut = |text: &str| with(text, &[Edit::DeleteToSpaceLeft]).content();
    assert_eq!(cut("see src/main.rs  "), "see ");
    assert_eq!(cut("one\n"), "one");
    assert_eq!(cut("one\n two"), "one\n ");
    assert_eq!(cut(""), "");
}

#[test]
fn a_chip_is_one_word_and_one_step() {
    let mut editor = written("see");
    editor.apply(Edit::Paste("line\n".repeat(20)));
    editor.apply(Edit::Insert("it".to_owned()));
    editor.apply(Edit::DeleteToSpaceLeft);
    assert_eq!(
        editor.layout(40, &Theme::DARK).rows[0].text(),
        "see[pasted 20 lines]"
    );
    editor.apply(Edit::Left);
    assert_eq!(editor.before_cursor(), "see");
    editor.apply(Edit::WordRight);
    editor.apply(Edit::DeleteWordLeft);
    assert_eq!(editor.content(), "see");
    // Killed text survives sending, and is not mixed up with later pastes.
    editor.take();
    editor.apply(Edit::Paste("other\n".repeat(30)));
    editor.apply(Edit::Yank);
    let expected = format!("{}{}", "other\n".repeat(30), "line\n".repeat(20));
    assert_eq!(editor.content(), expected);
    assert_eq!(
        editor.layout(60, &Theme::DARK).rows[0].text(),
        "[pasted 30 lines][pasted 20 lines]"
    );
}

#[test]
fn a_draft_is_restored_with_its_chips() {
    let mut editor = Editor::default();
    for count in [20, 30] {
        editor.apply(Edit::Paste("line\n".repeat(count)));
        editor.apply(Edit::Insert(" and ".to_owned()));
    }
    let draft = editor.take();
    assert_eq!(draft.title(), "[pasted 20 lines] and [pasted 30 lines] and");
    // In an editor that already has other chips, directly and from a file.
    editor.apply(Edit::Paste("mine\n".repeat(9)));
    let (text, pasted) = draft.parts();
    let pasted = pasted.into_iter().map(str::to_owned).collect();
    let from_file = Draft::restored(text, pasted, false);
    for one in [draft.clone(), from_file] {
        editor.set(one);
        assert_eq!(editor.content(), draft.content());
        assert_eq!(editor.draft().title(), draft.title());
    }
    editor.apply(Edit::Undo);
    editor.apply(Edit::Undo);
    assert_eq!(editor.content(), "mine\n".repeat(9));
}

#[test]
fn text_from_an_external_editor_keeps_its_chips() {
    let mut editor = written("see ");
    let long = "line\n".repeat(20);
    editor.apply(Edit::Paste(long.clone()));
    editor.set_edited(format!("look at {long}please"));
    assert_eq!(editor.draft().title(), "look at [pasted 20 lines]please");
    assert_eq!(editor.content(), format!("look at {long}please"));
    editor.set_edited("x".repeat(MAX_INLINE_BYTES + 1));
    assert_eq!(editor.draft().title(), "[pasted 65537 characters]");
    editor.apply(Edit::Undo);
    assert_eq!(editor.content(), format!("look at {long}please"));
}

#[test]
fn a_paste_becomes_plain_text() {
    let pasted = |text: &str| {
        let mut editor = Editor::default();
        editor.apply(Edit::Paste(text.to_owned()));
        editor
    };
    assert_eq!(
        pasted("\x1b[31mred\x1b[0m\tx\x07 \u{100000}end \x1b]0;title").content(),
        "red\tx end ]0;title"
    );
    assert!(pasted("/help").begins_pasted());
    assert!(!written("/help").begins_pasted());
    let mut editor = pasted("help");
    editor.apply(Edit::TextStart);
    editor.apply(Edit::Insert("/".to_owned()));
    assert!(!editor.begins_pasted());
    let mut editor = with("x", &[Edit::Paste("!rm".to_owned()), Edit::TextStart]);
    assert!(!editor.begins_pasted());
    editor.apply(Edit::Delete);
    assert_eq!(editor.content(), "!rm");
    assert!(editor.begins_pasted());
    editor.apply(Edit::Undo);
    assert!(!editor.begins_pasted());
}

#[test]
fn a_large_paste_does_not_slow_down_later_keys() {
    const KEYS: usize = 200;
    let mut editor = Editor::default();
    editor.apply(Edit::Paste("0123456789abcde\n".repeat(640 * 1024)));
    let pasted = Arc::clone(&editor.chips[0].text);
    let mark = editor.text.len();
    assert!(mark <= 4, "the text holds a mark for the paste");
    for typed in 1..=KEYS {
        editor.apply(Edit::Insert("x".to_owned()));
        // A key copies and lays out the text, never the paste.
        assert_eq!(editor.text.len(), mark + typed);
        let rows = editor.layout(80, &Theme::DARK).rows;
        let shown: usize = rows.iter().map(|row| row.text().len()).sum();
        assert!(shown < typed + 40, "{shown} bytes are laid out");
        let draft = editor.draft();
        assert!(draft.text.len() == mark + typed);
        assert!(Arc::ptr_eq(&draft.chips[0].text, &pasted));
    }
    let undo_bytes: usize = editor.undo_steps.iter().map(|step| step.text.len()).sum();
    assert!(
        undo_bytes <= editor.undo_steps.len() * (mark + KEYS),
        "{undo_bytes} bytes can be undone"
    );
    assert_eq!(editor.content().len(), pasted.len() + KEYS);
}

#[test]
fn two_clusters_are_swapped() {
    let check = |text: &str, edits: &[Edit]| with(text, edits).content();
    assert_eq!(check("teh", &[Edit::Transpose]), "the");
    assert_eq!(check("a👍🏽", &[Edit::Transpose]), "👍🏽a");
    assert_eq!(check("ab", &[Edit::Left, Edit::Transpose]), "ba");
    assert_eq!(check("a", &[Edit::Transpose]), "a");
    assert_eq!(check("x\na", &[Edit::Transpose]), "x\na");
    assert_eq!(check("", &[Edit::Transpose]), "");
}

#[test]
fn deletions_in_a_row_are_undone_together_and_the_line_break_is_killed_at_its_ends() {
    let mut editor = with("one two", &[Edit::Backspace, Edit::Backspace]);
    editor.apply(Edit::Undo);
    assert_eq!(editor.content(), "one two");
    let editor = with("one\ntwo", &[Edit::LineStart, Edit::KillToLineStart]);
    assert_eq!(editor.content(), "onetwo");
    let editor = with(
        "one\ntwo",
        &[Edit::TextStart, Edit::LineEnd, Edit::KillToLineEnd],
    );
    assert_eq!(editor.content(), "onetwo");
}

#[test]
fn kills_can_be_yanked_and_older_ones_too() {
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
    assert_eq!(editor.take().content(), format!("see {long}"));
    assert!(editor.is_empty());
}

#[test]
fn a_short_paste_is_text_with_unix_line_ends() {
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
    // The cursor has a column after a full row.
    assert_eq!(rows("abcd"), ["abcd"]);
    assert_eq!(layout("abcd").cursor, (0, 4));
    assert_eq!(rows("日本語"), ["日本", "語"]);
    assert_eq!(rows("a\n\nb"), ["a", "", "b"]);
}

#[test]
fn no_sequence_of_edits_breaks_the_editor() {
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
        TextStart,
        TextEnd,
        Transpose,
        DeleteToSpaceLeft,
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
        editor.move_row(if state & 1024 == 0 { 1 } else { -1 }, 7);
        assert!(editor.text.is_char_boundary(editor.cursor));
    }
}
