mod streaming;

use super::*;
use crate::style::Theme;
use crate::text::Line;

fn texts(lines: &[Line]) -> Vec<String> {
    lines.iter().map(Line::text).collect()
}

fn rendered(text: &str, columns: usize) -> Vec<String> {
    texts(&render(text, columns, &Theme::DARK))
}

#[test]
fn blocks_are_separated() {
    assert_eq!(
        rendered("# Title\nText *that* `goes`\non.\n\n> quoted\n> twice", 40),
        ["Title", "", "Text that goes on.", "", "│ quoted twice"]
    );
}

#[test]
fn lists_have_marks_and_hanging_indents() {
    assert_eq!(
        rendered("- one two three\n- four\n  1. five\n  2. six\n\nafter", 11),
        [
            "• one two",
            "  three",
            "• four",
            "  1. five",
            "  2. six",
            "",
            "after"
        ]
    );
    assert_eq!(
        rendered("- [x] done\n- [ ] open", 20),
        ["• [x] done", "• [ ] open"]
    );
    assert_eq!(rendered("3. three\n4. four", 20), ["3. three", "4. four"]);
}

#[test]
fn loose_items_are_separated() {
    assert_eq!(rendered("- a\n\n- b", 20), ["• a", "", "• b"]);
    assert_eq!(
        rendered("- a\n\n  more\n- b", 20),
        ["• a", "  ", "  more", "• b"]
    );
}

#[test]
fn code_keeps_its_lines() {
    assert_eq!(
        rendered("```rust\nfn main() {\n    x\n}\n```", 8),
        ["  fn main() {", "      x", "  }"]
    );
}

#[test]
fn links_show_their_address() {
    assert_eq!(rendered("[here](http://a.b)", 40), ["here (http://a.b)"]);
    assert_eq!(rendered("<http://a.b>", 40), ["http://a.b"]);
}

#[test]
fn tables_fit_the_screen() {
    let table = "| a | long heading |\n|---|---|\n| 1 | x |\n| 22 | yy |";
    assert_eq!(
        rendered(table, 40),
        [
            "a   │ long heading",
            "────┼─────────────",
            "1   │ x",
            "22  │ yy"
        ]
    );
    for columns in 8..30 {
        for line in rendered(table, columns) {
            assert!(
                line.chars().count() <= columns.max(9),
                "{line:?} in {columns}"
            );
        }
    }
}

#[test]
fn cells_are_aligned_and_wrap_when_they_are_too_wide() {
    let table = "| name | what it is | n |\n|:---|:-:|---:|\n| a | some words that need room | 1 |\n| b | x | 22 |";
    assert_eq!(
        rendered(table, 26),
        [
            "name │  what it is   │   n",
            "─────┼───────────────┼────",
            "a    │  some words   │   1",
            "     │   that need   │ ",
            "     │     room      │ ",
            "b    │       x       │  22"
        ]
    );
}

#[test]
fn output_of_a_model_cannot_control_the_terminal() {
    let lines = rendered("a\x1b[2Jb `\x1b]0;t\x07c`\n\n```\n\x1b[31mx\n```", 40);
    assert!(!lines.concat().contains('\x1b'), "{lines:?}");
}

const SAMPLE: &str = "# A title\n\nSome text with **bold** words\nand more.\n\n- one\n- two\n\n  still two\n- three\n\n```rust\nfn main() {\n\n    let x = \"y\"; /* a\n b */\n}\n```\n\nAfter it.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n1. x\n\n2. y\n\n> quote\n\nlast words";

/// Feeds `text` in pieces and returns all final lines.
fn streamed(text: &str, cut: usize) -> Vec<String> {
    let mut stream = MarkdownStream::default();
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let length = rest
            .char_indices()
            .nth(cut)
            .map_or(rest.len(), |(at, _)| at);
        let (piece, remaining) = rest.split_at(length);
        lines.extend(stream.push(piece, 30, &Theme::DARK));
        stream.tail(30, &Theme::DARK);
        rest = remaining;
    }
    lines.extend(stream.finish(30, &Theme::DARK));
    texts(&lines)
}

#[test]
fn splits_of_a_stream_do_not_matter() {
    let whole = streamed(SAMPLE, SAMPLE.len());
    for cut in 1..40 {
        assert_eq!(streamed(SAMPLE, cut), whole, "{cut}");
    }
}

#[test]
fn a_streamed_text_looks_like_one_rendered_at_once() {
    assert_eq!(streamed(SAMPLE, 7), rendered(SAMPLE, 30));
}

#[test]
fn finished_blocks_leave_the_tail() {
    let mut stream = MarkdownStream::default();
    assert_eq!(stream.push("one\n\n", 30, &Theme::DARK), []);
    assert_eq!(texts(&stream.push("two\n", 30, &Theme::DARK)), ["one"]);
    assert_eq!(texts(&stream.tail(30, &Theme::DARK)), ["", "two"]);
    assert_eq!(
        texts(&stream.push("```\ncode\nmo", 30, &Theme::DARK)),
        ["", "two", "", "  code"]
    );
    assert_eq!(texts(&stream.tail(30, &Theme::DARK)), ["  mo"]);
    assert_eq!(texts(&stream.finish(30, &Theme::DARK)), ["  mo"]);
}

/// However long a block is, little of it is rendered again, and the result is the same.
#[test]
fn a_long_block_is_cut_invisibly() {
    let words = [
        "plain",
        "**bold",
        "words**",
        "and",
        "`code`",
        "a",
        "[link](http://a.b)",
        "wörter,",
    ];
    let words: Vec<_> = words.iter().cycle().take(3_000).copied().collect();
    let items = |gap: &str| -> String {
        let item = |number| format!("- item {number} with *some* words that need two lines{gap}");
        (0..400).map(item).collect()
    };
    for text in [
        words.join(" "),
        words.join("\n"),
        items("\n"),
        items("\n\n"),
        "word".repeat(2_000),
    ] {
        let mut stream = MarkdownStream::default();
        let mut lines = Vec::new();
        let mut longest = 0;
        for piece in text.split_inclusive(' ') {
            lines.extend(stream.push(piece, 30, &Theme::DARK));
            longest = longest.max(stream.tail(30, &Theme::DARK).len());
        }
        lines.extend(stream.finish(30, &Theme::DARK));
        assert_eq!(texts(&lines), rendered(&text, 30));
        if text.contains(' ') {
            assert!(longest < 200, "{longest}");
        }
    }
}
