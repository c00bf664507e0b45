use super::{fixture, glasspane, stderr, stdout};

#[test]
fn without_a_terminal_the_table_is_printed_once() {
    let output = glasspane(&["top", "--file", &fixture("pi-json.jsonl"), "--file"])
        .arg(fixture("seed-placeholder-key.jsonl"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(
        lines[0].starts_with("2 agents  0 working  0 waiting for approval  1 done  1 failed"),
        "{text}"
    );
    assert!(lines[3].ends_with("deepseek: http 401: ..."), "{text}");
}

#[test]
fn wrong_usage_says_what_is_right() {
    for (arguments, hint) in [
        (vec!["top"], "--file FILE"),
        (
            vec!["top", "--connect", "/x", "--file", "y"],
            "no agents of its own",
        ),
        (vec!["top", "--socket"], "needs a terminal"),
    ] {
        let output = glasspane(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(hint), "{}", stderr(&output));
    }
    let output = glasspane(&["top", "--connect", "/no/such/socket"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("glasspane serve"),
        "{}",
        stderr(&output)
    );
}
