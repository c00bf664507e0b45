//! A streamed text ends up looking like one rendered as a whole.

use proptest::prelude::*;

use super::*;

const WORDS: &[&str] = &[
    "word",
    "**bold**",
    "*it*",
    "`code`",
    "[link](http://a.b)",
    "日本",
    "a_b",
    "100 %",
    "<b>",
    "e.g.",
    "~~no~~",
    "&amp;",
];
const CODE: &[&str] = &[
    "fn x() {",
    "",
    "    y",
    "# no heading",
    "- no item",
    "/*",
    "*/",
];

fn words() -> impl Strategy<Value = String> + Clone {
    prop::collection::vec(prop::sample::select(WORDS), 1..14).prop_map(|words| words.join(" "))
}

fn code() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(CODE), 0..6).prop_map(|lines| lines.join("\n"))
}

/// Generates a list whose items are built by `item` from their number and a text.
fn list(item: fn(usize, &str) -> String, gap: &'static str) -> impl Strategy<Value = String> {
    prop::collection::vec(words(), 1..4).prop_map(move |texts| {
        let items = texts.iter().enumerate();
        let items: Vec<_> = items.map(|(number, text)| item(number, text)).collect();
        items.join(gap)
    })
}

/// Generates a block as models write them.
fn block() -> impl Strategy<Value = String> {
    prop_oneof![
        words(),
        (1..4usize, words()).prop_map(|(level, text)| format!("{} {text}", "#".repeat(level))),
        list(|_, text| format!("- {text}"), "\n"),
        list(|_, text| format!("- {text}\n  - {text}\n    1. x"), "\n"),
        list(|number, text| format!("{}. {text}", number + 1), "\n"),
        list(|_, text| format!("- [x] {text}"), "\n\n"),
        words().prop_map(|text| format!("> {text}\n> more")),
        (words(), words()).prop_map(|(a, b)| format!("| a | b |\n|---|:-:|\n| {a} | {b} |")),
        code().prop_map(|code| format!("```rust\n{code}\n```")),
        code().prop_map(|code| format!("~~~\n{code}\n~~~")),
        (words(), code()).prop_map(|(text, code)| format!("{text}\n```\n{code}\n```")),
        Just("---".to_owned()),
        words().prop_map(|text| format!("{text}  \nafter a hard break\\\nand another")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn streaming_matches_rendering_as_a_whole(blocks in prop::collection::vec(block(), 1..6), cut in 1..9usize) {
        let text = blocks.join("\n\n");
        let whole = texts(&render_answer(&text, 30, &Theme::DARK));
        prop_assert_eq!(streamed(&text, cut), whole, "{}", text);
    }

    #[test]
    fn only_code_is_wider_than_the_columns(
        blocks in prop::collection::vec(block(), 1..4),
        columns in 12..60usize,
    ) {
        let text = blocks.join("\n\n");
        prop_assume!(!text.contains("```") && !text.contains("~~~\n"));
        for line in render(&text, columns, &Theme::DARK) {
            prop_assert!(line.width() <= columns, "{}: {:?}", line.width(), line.text());
        }
    }
}

/// Lines of code are final immediately: the ten-thousandth costs no more than the first.
#[test]
fn a_block_of_ten_thousand_lines_is_rendered_once() {
    let mut stream = MarkdownStream::default();
    let mut count = stream.push("```rust\n", 80, &Theme::DARK).len();
    for number in 0..10_000 {
        let line = format!("let x{number} = \"text\"; // said\n");
        count += stream.push(&line, 80, &Theme::DARK).len();
        assert_eq!(stream.tail(80, &Theme::DARK), []);
    }
    count += stream.push("```\n", 80, &Theme::DARK).len();
    assert_eq!(count, 10_000);
}
