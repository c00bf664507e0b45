use super::parse::{Parsed, parse};

fn parsed(text: &str) -> Parsed {
    parse(text, &|name| {
        (name == "SET").then(|| "from the process".to_owned())
    })
}

#[test]
fn values_as_python_dotenv_reads_them() {
    for (text, expected) in [
        ("K=v", "v"),
        ("\u{feff}K=v", "v"),
        ("  K = v  \r\n", "v"),
        ("export K=v", "v"),
        ("export\tK=v", "v"),
        ("'K'=v", "v"),
        ("K=", ""),
        ("K=# no value", ""),
        ("K= # no value", ""),
        ("K=v # comment", "v"),
        ("K=v#w", "v#w"),
        ("K=a b  c", "a b  c"),
        ("K='a # b' # comment", "a # b"),
        ("K=\"a # b\"", "a # b"),
        (r#"K="a\n\t\"b\" \\ \x""#, "a\n\t\"b\" \\ \\x"),
        (r"K='a\n\'b\' \\'", r"a\n'b' \"),
        ("K='two\nlines'", "two\nlines"),
        ("K=one\nK=two", "two"),
        (
            "A=1\nK=${A}-${SET}-${NONE}-${NONE:-else}",
            "1-from the process--else",
        ),
        ("SET=file\nK=${SET}", "from the process"),
        ("K=${open", "${open"),
        ("K=é", "é"),
        ("# c\n\n  # d\nK=v", "v"),
        ("exportK=x\nK=v", "v"),
    ] {
        let found = parsed(text);
        assert_eq!(
            found.variables.get("K").map(String::as_str),
            Some(expected),
            "{text:?}"
        );
        assert_eq!(found.bad_lines, [0; 0], "{text:?}");
    }
}

#[test]
fn invalid_lines_are_skipped_and_reported() {
    let found = parsed("A=1\nnot an assignment\nB='open\nC=3\n");
    assert_eq!(found.bad_lines, [2, 3]);
    assert_eq!(found.variables.len(), 2);
    assert_eq!(found.variables["C"], "3");
    let found = parsed("=v\nK='v' more\nNAME\nA=1");
    assert_eq!(found.bad_lines, [1, 2]);
    assert_eq!(found.variables.into_keys().collect::<Vec<_>>(), ["A"]);
}
