//! Text in any script does not break the layout.

use super::*;

/// Hebrew, Arabic with marks, Chinese, Thai, composed emoji, stacked marks.
const TEXTS: [&str; 8] = [
    "שלום עולם, זה משפט ארוך למדי שנשבר לכמה שורות על מסך צר",
    "مرحبًا بالعالم، هذه جملةٌ طويلةٌ بما يكفي لتنكسر إلى أسطر",
    "你好世界，这是一句足够长的话，在窄的屏幕上会断成好几行，每行都不能太宽。",
    "สวัสดีชาวโลก นี่คือประโยคที่ยาวพอที่จะแบ่งเป็นหลายบรรทัด",
    "👩‍👩‍👧‍👦 family 🏳️‍🌈 flag 🇩🇪🇯🇵 regions 👍🏽 tone 🧑‍🚀 again 👩‍👩‍👧‍👦 and again 👩‍👩‍👧‍👦",
    "e\u{301}a\u{308}\u{304} Z̸̢͍̺̼̀̊a̵͓͆l̷̘̈́g̶̣̈ȏ̷̪ text with many marks on its letters, one after the other",
    "mixed עברית and English ועוד 数字 123 together in one line that is long",
    "tricks \u{202e}desrever\u{202c} \u{2066}isolated\u{2069} and\u{200b}zero\u{200d}width\u{feff}end",
];

/// Asserts that no row of the screen has spilled into the next.
fn check_rows(chat: &Chat, columns: usize) {
    let rows = chat.rows();
    assert_eq!(
        rows.last().map(String::as_str),
        Some("test-model"),
        "{rows:#?}"
    );
    let screen = chat.terminal.screen();
    let count = screen.size().0.get();
    for row in 0..count {
        assert!(!screen.row_wrapped(row), "row {row} is too wide: {rows:#?}");
    }
    assert!(rows.iter().all(|row| row.chars().count() <= columns * 4));
}

#[test]
fn answers_prompts_and_output_stay_within_the_screen() {
    for columns in [20, 33, 40] {
        for text in TEXTS {
            let mut chat = Chat::new(columns, 30);
            chat.prompt(text);
            chat.delta(&format!("{text}\n\n- {text}\n\n> {text}\n\n"));
            chat.delta(&format!("| a | b |\n|---|---|\n| {text} | x |\n\n"));
            chat.event(
                json!({"type": "tool_call", "id": "c1", "name": "bash", "args": {"command": text}}),
            );
            chat.event(json!({"type": "tool_progress", "id": "c1", "text": format!("{text}\n")}));
            check_rows(&chat, columns.into());
            chat.event(json!({"type": "tool_result", "id": "c1", "is_error": false, "content": [{"type": "text", "text": text}]}));
            chat.event(json!({"type": "assistant_message", "time": "", "content": []}));
            chat.input(Input::WorkEnded);
            check_rows(&chat, columns.into());
        }
    }
}

#[test]
fn the_editor_stays_within_the_screen() {
    for text in TEXTS {
        let mut chat = Chat::new(40, 20);
        chat.input(Input::Paste(text.to_owned()));
        check_rows(&chat, 40);
        for _ in 0..12 {
            chat.press(KeyCode::Left);
            chat.write("x");
            check_rows(&chat, 40);
        }
        for _ in 0..200 {
            chat.press(KeyCode::Backspace);
            chat.press(KeyCode::Delete);
        }
        check_rows(&chat, 40);
        assert!(chat.app.composer.editor.is_empty(), "{text}");
    }
}

/// Right-to-left text is written in logical order; terminals reorder it.
#[test]
fn the_order_of_characters_is_kept() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("go");
    chat.delta("אבג דהו 123\n\n");
    chat.delta("x");
    assert!(
        chat.rows().contains(&"אבג דהו 123".to_owned()),
        "{:?}",
        chat.rows()
    );
}

#[test]
fn the_cursor_comes_after_wide_characters() {
    let mut chat = Chat::new(40, 20);
    chat.write("你好");
    let (_, column) = chat.terminal.screen().cursor_position();
    assert_eq!(column, 6);
    chat.press(KeyCode::Left);
    let (_, column) = chat.terminal.screen().cursor_position();
    assert_eq!(column, 4);
}
