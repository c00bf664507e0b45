use super::{Function, MAX_FUNCTION_LINES, functions, problems};

fn names_and_lines(text: &str) -> Vec<(String, usize, usize)> {
    let entry = |function: Function| (function.name, function.line, function.lines);
    functions(text).into_iter().map(entry).collect()
}

fn check(text: &str, expected: &[(&str, usize, usize)]) {
    let expected: Vec<(String, usize, usize)> = expected
        .iter()
        .map(|(name, line, lines)| ((*name).to_owned(), *line, *lines))
        .collect();
    assert_eq!(names_and_lines(text), expected, "{text}");
}

#[test]
fn functions_are_found_from_their_signature_to_their_brace() {
    check("fn one() {}\n", &[("one", 1, 1)]);
    check(
        "pub async fn two<T>(\n    a: [u8; 2],\n) -> impl Fn() -> T\nwhere\n    T: Clone,\n{\n    a\n}\n",
        &[("two", 1, 8)],
    );
    check(
        "trait A {\n    fn declared(&self);\n    fn given(&self) {\n    }\n}\n",
        &[("given", 3, 2)],
    );
    check(
        "fn outer() {\n    fn inner() {\n    }\n    let f: fn(u8) = g;\n}\n",
        &[("inner", 2, 2), ("outer", 1, 5)],
    );
}

#[test]
fn braces_in_literals_and_comments_do_not_count() {
    for literal in [
        r#""}""#,
        r#""\"}""#,
        r##"r"}""##,
        r###"r#"}"}"#"###,
        r##"br"\}""##,
        "'}'",
        r"'\''",
        r"b'}'",
        "/* } */ 0",
        "0 // }",
        "x::<'a, '_>('}')",
        "'\u{1f600}'",
    ] {
        check(
            &format!("fn f() {{\n    g(\n    {literal}\n    );\n}}\nfn h() {{}}\n"),
            &[("f", 1, 5), ("h", 6, 1)],
        );
    }
}

#[test]
fn the_limit_is_inclusive_and_flat_tables_are_exempt() {
    let workdir = testkit::Workdir::new("functions");
    let function = |body: &str, lines: usize| {
        format!("fn f() {{\n{body}{}}}\n", "    x();\n".repeat(lines - 2))
    };
    let longer = function("", MAX_FUNCTION_LINES + 1);
    workdir.write("crates/a/src/allowed.rs", function("", MAX_FUNCTION_LINES));
    workdir.write("crates/a/src/long.rs", &longer);
    workdir.write("crates/a/tests/it/long.rs", &longer);
    let table = function("    // Flat table: one line for each key.\n", 200);
    workdir.write("crates/a/src/table.rs", &table);
    let found = problems(&workdir.path()).unwrap();
    assert_eq!(
        found,
        [
            "crates/a/src/long.rs:1: f has 81 lines: split it, 80 is the most",
            "crates/a/tests/it/long.rs:1: f has 81 lines: split it, 80 is the most",
        ]
    );
}
