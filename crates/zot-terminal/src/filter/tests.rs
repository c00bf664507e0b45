use proptest::prelude::*;

use super::{Filter, Layout, clean};
use crate::is_obeyed;

fn text(text: &str) -> String {
    clean(text, Layout::TEXT)
}

#[test]
fn ordinary_text_is_unchanged() {
    for ordinary in [
        "naïve 日本 🙂\n\ttab\n",
        "👩‍👩‍👧 e\u{301} नमस्ते שלום",
        "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    ] {
        assert_eq!(text(ordinary), ordinary);
    }
}

#[test]
fn sequences_are_dropped_whole() {
    for (hostile, shown) in [
        ("a\u{1b}[31mb", "ab"),
        ("a\u{1b}[?1049hb", "ab"),
        ("a\u{9b}2Jb", "ab"),
        ("a\u{1b}]0;title\u{7}b", "ab"),
        ("a\u{1b}]8;;https://x\u{1b}\\b", "ab"),
        ("a\u{9d}52;c;AAAA\u{9c}b", "ab"),
        ("a\u{1b}P1$r0m\u{1b}\\b", "ab"),
        ("a\u{1b}_Gf=100;AAAA\u{1b}\\b", "ab"),
        ("a\u{1b}kname\u{1b}\\b", "ab"),
        ("a\u{1b}(0b", "ab"),
        ("a\u{1b}#8b", "ab"),
        ("a\u{1b}cb\u{1b}7", "ab"),
        ("a\u{1b}", "a"),
        ("a\u{1b}[3", "a"),
        ("a\u{1b}\u{1b}[31mb", "ab"),
    ] {
        assert_eq!(text(hostile), shown, "{hostile:?}");
    }
}

#[test]
fn unterminated_sequences_hide_nothing() {
    assert_eq!(text("a\u{1b}]0;all the rest"), "a0;all the rest");
    assert_eq!(text("a\u{1b}]0;b\nnext\u{7}"), "a0;b\nnext·");
    assert_eq!(text("a\u{1b}[31日"), "a31日");
    assert_eq!(text("\u{1b}]0;a\u{1b}[1mb"), "0;ab");
    let long = "x".repeat(super::MAX_CONTROL_STRING_BYTES + 10);
    assert_eq!(text(&format!("\u{1b}]{long}\u{7}")), format!("{long}·"));
    let many = "\u{9d}".repeat(100_000);
    assert_eq!(text(&many), "");
}

#[test]
fn other_obeyed_characters_are_marked() {
    assert_eq!(text("a\u{8}\u{7f}\u{85}b"), "a···b");
    assert_eq!(text("a\u{202e}b\u{2066}c\u{feff}d"), "a·b·c·d");
    assert_eq!(text("a\u{e0041}b"), "a·b");
    assert_eq!(text("x").len(), 1);
    let marks = "\u{301}".repeat(40);
    assert_eq!(text(&format!("e{marks}")).chars().count(), 17);
}

#[test]
fn a_carriage_return_overwrites_nothing() {
    assert_eq!(text("safe\revil"), "safe·evil");
    assert_eq!(text("one\r\ntwo\r\r\n"), "one\ntwo\n");
    assert_eq!(text("end\r"), "end");
    assert_eq!(
        clean("one\r\ntwo\tthree\rfour", Layout::LINE),
        "one two three four"
    );
}

proptest! {
    #[test]
    fn splits_do_not_change_the_result(
        pieces in prop::collection::vec(prop_oneof![
            Just("\u{1b}"), Just("["), Just("]"), Just("0;t"), Just("\u{7}"), Just("\\"), Just("m"),
            Just("\n"), Just("\r"), Just("é"), Just("\u{9b}"), Just("\u{9d}"), Just("\u{202e}"),
            Just("text"), Just("P"), Just("("), Just("🏴"), Just("\u{e0041}"),
        ], 0..24)
    ) {
        let whole = pieces.concat();
        let mut filter = Filter::new(Layout::TEXT);
        let mut shown = String::new();
        for character in whole.chars() {
            filter.push(character.encode_utf8(&mut [0; 4]), &mut shown);
        }
        filter.finish(&mut shown);
        prop_assert_eq!(&shown, &text(&whole));
        let without_tags = shown.chars().filter(|c| !matches!(c, '\u{e0000}'..='\u{e007f}'));
        prop_assert!(!without_tags.clone().any(is_obeyed), "{:?}", shown);
    }
}
