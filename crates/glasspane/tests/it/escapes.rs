//! The output of agents at a real terminal.

use std::io::Write as _;

use testkit::{assert_harmless, run_at_terminal};

use super::glasspane;

const HOSTILE: &str = "ab\u{1b}]0;PWNED\u{7}cd\u{1b}[2J\u{9b}31mef\u{202e}gh";
const SHOWN: &str = "abcdef·gh";

/// Writes the output of an agent to a file.
fn events() -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let text = serde_json::to_string(HOSTILE).unwrap();
    for line in [
        r#"{"type":"turn_start","step":1}"#.to_owned(),
        format!(r#"{{"type":"text_delta","delta":{text}}}"#),
        format!(
            r#"{{"type":"assistant_message","content":[{{"type":"text","text":{text}}}],"time":"x"}}"#
        ),
        r#"{"type":"turn_end","stop":"end"}"#.to_owned(),
        r#"{"type":"done"}"#.to_owned(),
    ] {
        writeln!(file, "{line}").unwrap();
    }
    file
}

#[test]
fn records_at_a_terminal_are_escaped() {
    let command = glasspane(&["tail", "--source", "zot", "--agent", HOSTILE]);
    let ended = run_at_terminal(command);
    assert_harmless("tail", &ended.output);
    let text = String::from_utf8(ended.output).unwrap();
    for line in text.lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(record["agent"], HOSTILE);
    }
    let piped = glasspane(&["tail", "--source", "zot", "--agent", HOSTILE])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&piped.stdout).contains('\u{9b}'));
}

#[test]
fn agents_cannot_control_the_terminal() {
    let file = events();
    let script = format!(
        "cat {}; printf 'x\\033]0;PWNED\\007y\\233z\\n' >&2",
        file.path().display()
    );
    for arguments in [
        &["run", "--", "sh", "-c", &script][..],
        &["run", "--json", "--", "sh", "-c", &script],
    ] {
        let ended = run_at_terminal(glasspane(arguments));
        assert_harmless("run", &ended.output);
        assert_harmless("run", &ended.errors);
        let text = String::from_utf8_lossy(&ended.output).into_owned();
        assert!(text.contains(SHOWN) || text.contains("\\u202egh"), "{text}");
    }
    let ended = run_at_terminal(glasspane(&["run", "--", HOSTILE]));
    assert_harmless("run", &ended.output);
    assert_harmless("run", &ended.errors);
}
