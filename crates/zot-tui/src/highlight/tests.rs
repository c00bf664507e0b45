use super::*;

/// Returns a letter for each character: `k` keyword, `s` string, `n` number, `c` comment, `.` plain.
fn marks(language: &str, lines: &[&str]) -> Vec<String> {
    let theme = Theme::DARK;
    let mut highlighter = Highlighter::new(language);
    let mark = |style: Style| match style {
        style if style == theme.keyword => 'k',
        style if style == theme.string => 's',
        style if style == theme.number => 'n',
        style if style == theme.comment => 'c',
        _ => '.',
    };
    lines
        .iter()
        .map(|text| {
            let line = highlighter.line(text, &theme);
            assert_eq!(&line.text(), text);
            let spans = line.0.iter();
            spans
                .flat_map(|span| span.text.chars().map(|_| mark(span.style)))
                .collect()
        })
        .collect()
}

#[test]
fn rust_is_coloured() {
    assert_eq!(
        marks("rust", &[r#"let x = "a\"b"; // 1"#]),
        ["kkk.....ssssss..cccc"]
    );
    assert_eq!(marks("rs", &["fn f(n: u8) -> 42"]), ["kk.............nn"]);
}

#[test]
fn a_block_comment_spans_lines() {
    assert_eq!(
        marks("c", &["a /* b", "c", "d */ e"]),
        ["..cccc", "c", "cccc.."]
    );
}

#[test]
fn other_languages_have_other_rules() {
    assert_eq!(marks("python", &["def f(): # x"]), ["kkk......ccc"]);
    assert_eq!(marks("sql", &["SELECT 'a'"]), ["kkkkkk.sss"]);
    assert_eq!(marks("unknown", &["def 'a' 1"]), ["........."]);
}

#[test]
fn an_unfinished_string_ends_with_its_line() {
    assert_eq!(marks("js", &["'abc", "let"]), ["ssss", "kkk"]);
}
