use super::*;

fn wrapped(text: &str, columns: usize, indent: usize) -> Vec<String> {
    let lines = wrap(&Line::plain(text), columns, indent);
    lines.iter().map(Line::text).collect()
}

#[test]
fn lines_break_at_spaces() {
    assert_eq!(wrapped("one two three", 7, 0), ["one two", "three"]);
    assert_eq!(wrapped("one two three", 8, 0), ["one two", "three"]);
    assert_eq!(wrapped("short", 10, 0), ["short"]);
    assert_eq!(wrapped("", 10, 0), [""]);
    assert_eq!(wrapped("a    b", 3, 0), ["a", "b"]);
}

#[test]
fn later_lines_are_indented() {
    assert_eq!(wrapped("- one two three", 9, 2), ["- one two", "  three"]);
}

#[test]
fn a_long_word_is_split() {
    assert_eq!(wrapped("abcdefgh", 3, 0), ["abc", "def", "gh"]);
    assert_eq!(wrapped("x abcdefgh", 4, 0), ["x", "abcd", "efgh"]);
}

#[test]
fn wide_characters_and_clusters_are_not_split() {
    assert_eq!(wrapped("日本語", 4, 0), ["日本", "語"]);
    let family = "👨‍👩‍👧";
    assert_eq!(wrapped(&family.repeat(2), 2, 0), [family, family]);
    let accent = "e\u{301}";
    assert_eq!(
        wrapped(&accent.repeat(4), 2, 0),
        [accent.repeat(2), accent.repeat(2)]
    );
}

#[test]
fn wrapped_lines_fit_the_columns() {
    for text in ["a bb ccc dddd eeeee", "日本 語のテキスト x", "👨‍👩‍👧 ab👍🏽cd"]
    {
        for columns in 2..12 {
            for line in wrapped(text, columns, 1) {
                // One cluster is never cut, however narrow the screen.
                let is_one = line.trim().graphemes(true).count() == 1;
                let fits = width(&line) <= columns || is_one && joined_width(&line) <= columns;
                assert!(fits, "{line:?} in {columns}");
            }
        }
    }
}

#[test]
fn a_word_of_two_styles_is_one_word() {
    let mut line = Line::plain("one two");
    line.push("three", Style::PLAIN.bold());
    let lines = wrap(&line, 8, 0);
    // "twothree" would fit on a separate line, but a style may begin within a word.
    assert_eq!(
        lines
            .iter()
            .map(Line::text)
            .collect::<Vec<_>>()
            .concat()
            .replace(' ', ""),
        "onetwothree"
    );
}

#[test]
fn escape_sequences_are_removed() {
    assert_eq!(clean("a\x1b[31mred\x1b[0m"), "ared");
    assert_eq!(clean("\x1b]0;title\x07x\x1b]8;;http://a\x1b\\y"), "xy");
    assert_eq!(clean("a\tb"), "a    b");
    assert_eq!(clean("bell\x07 back\x08"), "bell· back·");
    assert_eq!(clean("\u{9b}2Jx"), "x");
    assert_eq!(clean("a\u{202e}b"), "a·b");
    assert_eq!(clean("\x1bPq#0\x1b\\z"), "z");
    assert_eq!(clean("\x1b"), "");
    assert_eq!(clean("\x1b[12"), "");
    assert_eq!(clean("\x1b(Bok"), "ok");
}

#[test]
fn long_lines_are_clipped_with_a_mark() {
    assert_eq!(Line::plain("abcdef").clipped(4).text(), "abc…");
    assert_eq!(Line::plain("日本語").clipped(4).text(), "日…");
    assert_eq!(Line::plain("abc").clipped(3).text(), "abc");
}

#[test]
fn an_unterminated_sequence_hides_nothing_after_it() {
    assert_eq!(
        clean("a\x1b]0;title without an end b"),
        "a0;title without an end b"
    );
    assert_eq!(clean("a\x1b[12日本"), "a12日本");
    assert_eq!(clean("\x1b]x\x1b]y\u{9d}z"), "xyz");
}

#[test]
fn marks_do_not_pile_up() {
    let piled = format!(
        "e{}x{}",
        "\u{301}".repeat(10_000),
        "\u{200b}".repeat(10_000)
    );
    assert_eq!(clean(&piled).chars().count(), 2 + 2 * 16);
    assert_eq!(width(&clean(&piled)), 2);
    let flag = "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}";
    assert_eq!(clean(flag), flag);
}

#[test]
fn colours_become_styles() {
    let red = Style::PLAIN.color(crate::style::Color::Ansi(1));
    let line = from_sgr("a\x1b[31mb\x1b[1;39mc\x1b[md\x1b[38;5;300;31", Style::PLAIN);
    let spans: Vec<_> = line
        .0
        .iter()
        .map(|span| (span.text.as_str(), span.style))
        .collect();
    assert_eq!(
        spans,
        [
            ("a", Style::PLAIN),
            ("b", red),
            ("c", Style::PLAIN.bold()),
            ("d", Style::PLAIN),
        ]
    );
}
