//! The line that `zot -p` shows while it works.

use super::*;

#[test]
fn a_line_shows_that_print_mode_works_and_is_gone_at_the_end() {
    let tool = r#"tool:bash:{"command":"cat gate; echo done"}"#;
    let arguments = format!("-p --no-session MODEL '{tool}'");
    let terminal = Terminal::open_prepared("", &arguments, |_, workdir| {
        let gate = workdir.path().join("gate");
        assert!(Command::new("mkfifo").arg(gate).status().unwrap().success());
    });
    terminal.wait_until("the line", |screen| {
        let mut lines = screen.lines();
        lines.any(|line| line.starts_with("gpt-4o · running bash · ") && line.ends_with(" s"))
    });
    std::fs::write(terminal.workdir.path().join("gate"), "").unwrap();
    terminal.wait_for_shell();
    let everything = terminal.everything();
    assert!(everything.contains("\nall done\n"), "{everything}");
    assert!(!everything.contains('·'), "{everything}");
}

/// A terminal that cannot erase a line gets none.
#[test]
fn a_dumb_terminal_shows_only_the_answer() {
    let terminal = Terminal::open_with("TERM=dumb", "-p --no-session MODEL slow:3:600");
    terminal.wait_until("the shell", |screen| {
        screen.trim_end().ends_with("shell>") && screen.contains("alpha")
    });
    let everything = terminal.everything();
    assert!(!everything.contains('·'), "{everything}");
}
