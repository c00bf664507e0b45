//! Model output on a real terminal and in a pipe.

use testkit::{ModelServer, Wire, assert_harmless, run_at_terminal};

use crate::installation::{Installation, text};

const HOSTILE: &str = "ab\u{1b}]0;PWNED\u{7}cd\u{1b}[2J\u{9b}31mef\u{202e}gh";
const SHOWN: &str = "abcdef·gh";

#[test]
fn the_client_prints_no_terminal_control_sequences() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let _up = installation.up();
    let prompt = format!("split:1:raw:{HOSTILE}");
    for arguments in [&["cli", &prompt][..], &["cli", "--stream", &prompt]] {
        let ended = run_at_terminal(installation.command(arguments));
        let shown = String::from_utf8(ended.output).unwrap();
        assert_eq!(shown, format!("{SHOWN}\n"), "{arguments:?}");
        let piped = installation.run(arguments);
        assert_eq!(text(&piped.stdout), format!("{HOSTILE}\n"));
    }
    let refused = format!("err:400:{HOSTILE}");
    let ended = run_at_terminal(installation.command(&["cli", &refused]));
    assert_harmless("the error", &ended.errors);
    assert!(!ended.errors.is_empty());
    let flag = format!("--{HOSTILE}");
    let ended = run_at_terminal(installation.command(&[&flag]));
    assert_harmless("the usage", &ended.errors);
    assert!(String::from_utf8_lossy(&ended.errors).contains(SHOWN));
}
