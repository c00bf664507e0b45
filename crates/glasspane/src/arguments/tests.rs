use super::{MAX_SUMMARY_CHARACTERS, is_object, one_line, summary, words};

#[test]
fn the_main_argument_comes_first() {
    for (arguments, expected) in [
        (r#"{"command":"cargo test"}"#, "cargo test"),
        (
            r#"{"timeout":5000,"command":"cargo test","quiet":true}"#,
            "cargo test  timeout=5000  quiet=true",
        ),
        (
            r#"{"content":"fn main() {}","path":"src/main.rs"}"#,
            "src/main.rs  content=fn main() {}",
        ),
        (r#"{"path":"src","pattern":"fn \\w+"}"#, r"fn \w+  path=src"),
        (r#"{"query":"weather","limit":3}"#, "weather  limit=3"),
        (r#"{"file_path":"a b.txt"}"#, "a b.txt"),
        (
            r#"{"command":["bash","-lc","ls | wc -l"],"workdir":"/x"}"#,
            "ls | wc -l  workdir=/x",
        ),
        (r#"{"command":["git","status"]}"#, "git status"),
        // Unknown names: the first argument that is not empty.
        (r#"{"empty":"","widget":{"a":[1,2]}}"#, r#"{"a":[1,2]}"#),
        (r#"{}"#, ""),
        ("", ""),
        // Not an object.
        ("cargo build", "cargo build"),
        (r#""quoted \"text\"""#, "quoted \"text\""),
        (r#"["a","b"]"#, "a b"),
        ("/bin/bash -lc 'echo hi'", "echo hi"),
        (r"bash -c 'echo '\''hi'\'' | wc'", "echo 'hi' | wc"),
        ("bash -lc 'a' 'b'", "bash -lc 'a' 'b'"),
        ("bash script.sh 'c'", "bash script.sh 'c'"),
        (
            r#"{"command":"/bin/zsh -lc 'ls'","cwd":"/x"}"#,
            "ls  cwd=/x",
        ),
        ("[1, 2]", "[1, 2]"),
    ] {
        assert_eq!(summary(arguments), expected, "{arguments}");
    }
}

#[test]
fn incomplete_arguments_are_summarised() {
    let whole = r#"{"note":"é\u00e9\ud83d\ude00\n","command":"say \"hi\"","list":["x",{"y":"}"}]}"#;
    for end in 0..=whole.len() {
        if whole.is_char_boundary(end) {
            summary(&whole[..end]);
        }
    }
    assert_eq!(summary(r#"{"command":"cargo te"#), "cargo te");
    assert_eq!(summary(r#"{"command":"a\"#), "a");
    assert_eq!(summary(r#"{"command":"a\u00"#), "a");
    assert_eq!(summary(r#"{"comm"#), "");
    assert_eq!(
        summary(whole),
        "say \"hi\"  note=éé😀  list=[\"x\",{\"y\":\"}\"}]"
    );
}

#[test]
fn control_and_direction_characters_are_replaced() {
    let line = summary("{\"command\":\"a\\u001b[2Jb\\u202ec\\u009b\u{200f}\\nd\\te\\u200b\"}");
    assert_eq!(line, "a\u{fffd}[2Jb\u{fffd}c\u{fffd}\u{fffd} d e\u{fffd}");
    assert_eq!(one_line("  a\r\n\r\n b  "), "a b");
    // A lone surrogate.
    assert_eq!(summary(r#"{"command":"x\ud800y"}"#), "x\u{fffd}y");
}

#[test]
fn the_summary_is_limited_in_length() {
    let line = summary(&format!(r#"{{"command":"{}"}}"#, "é".repeat(100_000)));
    assert_eq!(line.chars().count(), MAX_SUMMARY_CHARACTERS + 1);
    assert!(line.ends_with('…'));
}

#[test]
fn the_shell_of_a_long_script_is_removed_too() {
    let line = summary(&format!("/bin/bash -lc 'cd src\n{}'", "x".repeat(500)));
    assert!(line.starts_with("cd src xxx"), "{line}");
}

#[test]
fn words_have_no_json_punctuation() {
    assert_eq!(
        words(r#"{"command":"say \"hi\"\nls","n":1}"#),
        "command say \"hi\"\nls\nn 1"
    );
    assert!(is_object("{\"a\":"));
    assert!(!is_object("-buy milk\n+buy oat milk"));
}
