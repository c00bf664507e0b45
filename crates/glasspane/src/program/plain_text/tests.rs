use super::{clip, plain, width};

#[test]
fn terminal_control_sequences_are_removed() {
    let hostile = "\u{1b}[2Jred\u{1b}]0;title\u{7}\u{9b}31m\u{7f}\u{202e}txt\r\n\tend\u{8}";
    let shown = plain(hostile);
    assert!(!shown.chars().any(char::is_control), "{shown:?}");
    assert!(!shown.contains('\u{202e}'));
    assert!(
        shown.starts_with("red") && shown.ends_with(" end·"),
        "{shown:?}"
    );
}

#[test]
fn ordinary_text_stays() {
    assert_eq!(plain("naïve 日本 🙂"), "naïve 日本 🙂");
}

#[test]
fn clipping_counts_columns() {
    assert_eq!(width("日本"), 4);
    assert_eq!(clip("hello", 5), "hello");
    assert_eq!(clip("hello", 4), "hel…");
    assert_eq!(clip("日本語", 5), "日本…");
    assert_eq!(clip("日本語", 4), "日…");
    assert_eq!(clip("hello", 0), "");
}
