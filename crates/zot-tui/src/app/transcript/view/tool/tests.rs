use super::*;
use crate::app::Arguments;

/// Returns a finished command as text.
fn shown(output: &str, is_unfolded: bool) -> Vec<String> {
    let tool = Tool {
        id: String::new(),
        name: "bash".to_owned(),
        arguments: Arguments::from(r#"{"command":"cat a"}"#),
        output: output.to_owned(),
        state: ToolState::Succeeded,
        started_ms: 0,
        took_ms: 0,
    };
    let lines = finished(&tool, 60, &Theme::DARK, is_unfolded);
    let text = |line: Line| line.0.iter().map(|span| span.text.as_str()).collect();
    lines.into_iter().map(text).collect()
}

#[test]
fn unfolded_items_keep_their_blank_lines() {
    let output = "$ cat a\n\none\n\n  two\n\n[exit 0]  Took 0.1s";
    let edge = ["╭ bash  cat a", "╰ exit 0 · 0.1s"];
    assert_eq!(
        shown(output, true),
        [edge[0], "│ one", "│ ", "│   two", edge[1]]
    );
    assert_eq!(shown(output, false), [edge[0], "│ one", "│   two", edge[1]]);
}

#[test]
fn overwritten_progress_is_shown_when_unfolded() {
    let output = "$ cat a\n\n10%\r20%\r30%\r\ndone\r\n\n[exit 0]  Took 0.1s";
    let edge = ["╭ bash  cat a", "╰ exit 0 · 0.1s"];
    assert_eq!(shown(output, false), [edge[0], "│ 30%", "│ done", edge[1]]);
    assert_eq!(
        shown(output, true),
        [edge[0], "│ 10%", "│ 20%", "│ 30%", "│ done", edge[1]]
    );
    let (lines, _) = printed("10%\r20%", &Theme::DARK);
    assert_eq!(lines[0].0[0].text, "20%");
}

#[test]
fn a_stopped_command_has_no_exit_code() {
    let shown = shown("$ cat a\n\n[exit -1]  Took 2.0s", false);
    assert_eq!(shown, ["╭ bash  cat a", "╰ killed · 2.0s"]);
}

#[test]
fn binary_output_is_shown_as_dots() {
    let bytes: Vec<u8> = (0..=255_u8).cycle().take(3_000).collect();
    let output = String::from_utf8_lossy(&bytes);
    assert!(is_binary(&output));
    assert!(
        readable(&output, true)
            .chars()
            .all(|c| c == '·' || (' '..='~').contains(&c))
    );
    for text in [
        "",
        "plain\n\u{1b}[31mred\u{1b}[0m\r\n",
        "ünï 日本 🎉",
        "one \u{fffd} in many letters",
    ] {
        assert!(!is_binary(text), "{text:?}");
        assert_eq!(readable(text, false), text);
    }
}
