use std::os::unix::fs::PermissionsExt;

use proptest::prelude::{ProptestConfig, any, prop, prop_assert_eq, prop_assume, proptest};
use serde_json::json;

use super::replacement::{EditError, Replacement, apply};
use crate::test_support::Expected::{Error, Text};
use crate::test_support::{Workspace, make_fifo};

fn replacement(old: &str, new: &str) -> Replacement {
    Replacement {
        old: old.to_owned(),
        new: new.to_owned(),
    }
}

/// Applies edits and gives the file back, or the error's text.
fn edited(original: &str, edits: &[(&str, &str)]) -> String {
    let replacements: Vec<Replacement> = edits
        .iter()
        .map(|(old, new)| replacement(old, new))
        .collect();
    match apply("f", original.as_bytes(), &replacements) {
        Ok(bytes) => String::from_utf8(bytes).unwrap(),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn recorded_variants() {
    let workspace = Workspace::recorded();
    // Flat table: a file, edits and what the original returned.
    for (path, edits, expected) in [
        (
            "a.txt",
            json!([{"oldText": "two", "newText": "TWO"}]),
            Text(" one\n-two\n+TWO\n three\n four\n \n"),
        ),
        (
            "a.txt",
            json!([{"oldText": "nope", "newText": "x"}]),
            Error("edit 1: oldText not found in a.txt"),
        ),
        (
            "dup.txt",
            json!([{"oldText": "x = 1", "newText": "y"}]),
            Error("edit 1: oldText matches 2 times (must be unique) in dup.txt"),
        ),
        (
            "a.txt",
            json!([{"oldText": "one\nTWO", "newText": "1"}, {"oldText": "TWO\nthree", "newText": "2"}]),
            Error("edits overlap; merge them into one edit"),
        ),
        (
            "a.txt",
            json!([{"oldText": "four", "newText": "4"}, {"oldText": "one", "newText": "1"}]),
            Text("-one\n+1\n TWO\n three\n-four\n+4\n \n"),
        ),
        (
            // The original showed every line as changed.
            "crlf.txt",
            json!([{"oldText": "line1\nline2", "newText": "L1\nL2"}]),
            Text("-line1\n-line2\n+L1\n+L2\n line3\n \n"),
        ),
        ("a.txt", json!([]), Error("at least one edit is required")),
        ("a.txt", json!(null), Error("at least one edit is required")),
        (
            "missing.txt",
            json!([{"oldText": "a", "newText": "b"}]),
            Error("open <cwd>/missing.txt: no such file or directory"),
        ),
        (
            "a.txt",
            json!([{"oldText": "", "newText": "b"}]),
            Error("edit 1: oldText must not be empty"),
        ),
        (
            "a.txt",
            json!([{"oldText": "1", "newText": "1"}]),
            Error("edit 1: oldText equals newText"),
        ),
        (
            "sub",
            json!([{"oldText": "a", "newText": "b"}]),
            Error("read <cwd>/sub: is a directory"),
        ),
        (
            "long.txt",
            json!([{"oldText": "line 10\n", "newText": "LINE TEN\n"}, {"oldText": "line 2000\n", "newText": ""}]),
            Text(concat!(
                " line 7\n line 8\n line 9\n-line 10\n+LINE TEN\n line 11\n line 12\n line 13\n",
                "...\n...\n line 1997\n line 1998\n line 1999\n-line 2000\n",
                " line 2001\n line 2002\n line 2003\n...\n"
            )),
        ),
        (
            "a.txt",
            json!("x"),
            Error("invalid args: edits must be an array, got a string"),
        ),
        (
            "nonl.txt",
            json!([{"oldText": "newline", "newText": "nl"}]),
            Text("-no newline at end\n+no nl at end\n"),
        ),
        (
            "",
            json!([{"oldText": "a", "newText": "b"}]),
            Error("path is required"),
        ),
        (
            "a.txt",
            json!([{"oldText": "TWO", "newText": 2}]),
            Error("invalid args: edit 1: newText must be a string, got a number"),
        ),
        (
            "a.txt",
            json!([{"oldText": "TWO"}]),
            Error("edit 1: newText is required; give \"\" to delete oldText"),
        ),
        (
            "a.txt",
            json!(["TWO"]),
            Error("invalid args: edit 1 must be an object, got a string"),
        ),
    ] {
        workspace
            .check("edit", json!({"path": path, "edits": edits}), expected)
            .await;
    }
    assert_eq!(
        workspace.content("crlf.txt"),
        b"\xef\xbb\xbfL1\r\nL2\r\nline3\r\n"
    );
    assert_eq!(workspace.content("a.txt"), b"1\nTWO\nthree\n4\n");
}

#[tokio::test]
async fn a_diff_has_no_nul() {
    let workspace = Workspace::recorded();
    let edits = json!([{"oldText": "cd", "newText": "ef"}]);
    let arguments = json!({"path": "bin.dat", "edits": edits});
    workspace
        .check("edit", arguments, Text("-ab\u{fffd}cd\n+ab\u{fffd}ef\n"))
        .await;
    assert_eq!(workspace.content("bin.dat"), b"ab\0ef");
}

#[test]
fn line_ends_and_byte_order_mark_are_kept() {
    for (original, old, new, expected) in [
        ("a\r\nb\r\nc", "b", "x\ny", "a\r\nx\r\ny\r\nc"),
        ("a\r\nb\r\nc", "a\r\nb", "x\r\ny", "x\r\ny\r\nc"),
        ("a\r\nb\r\n", "\nb", "\nB", "a\r\nB\r\n"),
        ("a\r\nb\r\n", "a\n", "", "b\r\n"),
        // Mixed line ends: each place keeps its own, the rest is not touched.
        ("a\r\nb\nc\r\nd\n", "b\n", "x\ny\n", "a\r\nx\ny\nc\r\nd\n"),
        ("a\r\nb\nc\r\nd\n", "c\n", "x\ny\n", "a\r\nb\nx\r\ny\r\nd\n"),
        // A model that believes in CR LF where there is none.
        ("a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"),
        // Explicit carriage returns in new text for a plain file are meant.
        ("a\nb\n", "b", "x\r\ny", "a\nx\r\ny\n"),
        // A lone carriage return is not a line end.
        ("a\rb\n", "a\rb", "c", "c\n"),
        ("\u{feff}a\nb\n", "\u{feff}a", "\u{feff}x", "\u{feff}x\nb\n"),
        ("\u{feff}a\nb\n", "a", "x", "\u{feff}x\nb\n"),
    ] {
        assert_eq!(
            edited(original, &[(old, new)]),
            expected,
            "{original:?} {old:?}"
        );
    }
}

#[test]
fn matches_that_overlap_themselves_are_not_unique() {
    let message = "edit 1: oldText matches 2 times (must be unique) in f";
    assert_eq!(edited("aaa", &[("aa", "b")]), message);
}

#[test]
fn edits_refer_to_the_original_and_may_touch() {
    assert_eq!(edited("abcd", &[("cd", "ab"), ("ab", "cd")]), "cdab");
    assert_eq!(edited("abc", &[("b", "a"), ("c", "b")]), "aab");
}

#[test]
fn bytes_that_are_not_text_survive() {
    let bytes = apply("f", b"\xff\xfe one \x80", &[replacement("one", "two")]);
    assert_eq!(bytes.unwrap(), b"\xff\xfe two \x80");
}

#[test]
fn a_missing_text_gets_a_hint() {
    let original = "fn main() {\n    let total = 1;\n    print(total);\n}\n";
    for (old, new, hint) in [
        (
            "let total  = 1;",
            "x",
            "the file differs only in white space at line 2:\n    let total = 1;",
        ),
        (
            "fn main() {\n\tlet total = 1;\n",
            "x",
            "the file differs only in white space at lines 1-2:\nfn main() {\n    let total = 1;",
        ),
        (
            "    let total = 1;\n    return total;\n",
            "x",
            "the beginning of oldText is at line 2, but line 3 of the file is:\n    print(total);",
        ),
        (
            "let totals = 1;",
            "x",
            "the closest match is line 2:\n    let total = 1;",
        ),
        (
            "nothing of the kind",
            "print(total);",
            "newText is already in the file; was this edit made before?",
        ),
    ] {
        assert_eq!(
            edited(original, &[(old, new)]),
            format!("edit 1: oldText not found in f\n{hint}")
        );
    }
    assert_eq!(
        edited(original, &[("struct Unrelated;", "x")]),
        "edit 1: oldText not found in f"
    );
}

#[tokio::test]
async fn mode_and_links_are_kept_and_fifos_refused() {
    let workspace = Workspace::recorded();
    let path = workspace.path("a.txt");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    std::os::unix::fs::symlink("a.txt", workspace.path("link")).unwrap();
    make_fifo(&workspace.path("fifo"));
    let edits = json!([{"oldText": "two", "newText": "2"}]);
    workspace
        .check(
            "edit",
            json!({"path": "link", "edits": edits}),
            Text(" one\n-two\n+2\n three\n four\n \n"),
        )
        .await;
    assert!(workspace.path("link").is_symlink());
    assert_eq!(workspace.content("a.txt"), b"one\n2\nthree\nfour\n");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o750);
    workspace
        .check(
            "edit",
            json!({"path": "fifo", "edits": edits}),
            Error("<cwd>/fifo is a named pipe, not a regular file"),
        )
        .await;
}

#[tokio::test]
async fn a_failing_edit_changes_nothing() {
    let workspace = Workspace::recorded();
    let edits = json!([{"oldText": "one", "newText": "1"}, {"oldText": "absent", "newText": "2"}]);
    let output = workspace
        .call("edit", json!({"path": "a.txt", "edits": edits}))
        .await;
    assert!(
        output
            .joined_text()
            .starts_with("edit 2: oldText not found in a.txt")
    );
    assert_eq!(workspace.content("a.txt"), b"one\ntwo\nthree\nfour\n");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Pieces that are made unique by a number are replaced as by naive replacement, one by one.
    #[test]
    fn equals_naive_replacement(
        pieces in prop::collection::vec(("[ab\n]{0,6}", "[ab\n]{0,6}", any::<bool>()), 1..8),
        carriage_returns in any::<bool>(),
        mark in any::<bool>(),
        reverse in any::<bool>(),
    ) {
        let line_end = if carriage_returns { "\r\n" } else { "\n" };
        let mut original = if mark { "\u{feff}".to_owned() } else { String::new() };
        original.push_str(line_end);
        let mut expected = original.clone();
        let mut edits = Vec::new();
        for (index, (old, new, replaced)) in pieces.iter().enumerate() {
            let old = format!("<{index}{old}>");
            original.push_str(&old.replace('\n', line_end));
            if *replaced {
                expected.push_str(&new.replace('\n', line_end));
                edits.push(replacement(&old, new));
            } else {
                expected.push_str(&old.replace('\n', line_end));
            }
        }
        prop_assume!(!edits.is_empty());
        if reverse {
            edits.reverse();
        }
        let edited = apply("f", original.as_bytes(), &edits).map(|bytes| String::from_utf8(bytes).unwrap());
        prop_assert_eq!(edited, Ok(expected));
    }

    /// On any text at all: a single edit is the naive replacement or is refused for its reason.
    #[test]
    fn one_edit_on_any_text(text in "[ab\n]{0,30}", old in "[ab\n]{1,4}", new in "[ab\n]{0,4}") {
        prop_assume!(old != new);
        let starts = (0..text.len()).filter(|&at| text[at..].starts_with(&old)).count();
        match apply("f", text.as_bytes(), &[replacement(&old, &new)]) {
            Ok(edited) => {
                prop_assert_eq!(starts, 1);
                prop_assert_eq!(String::from_utf8(edited).unwrap(), text.replacen(&old, &new, 1));
            }
            Err(EditError::NotFound { .. }) => prop_assert_eq!(starts, 0),
            Err(error) => prop_assert_eq!(starts > 1, true, "{}", error),
        }
    }
}
