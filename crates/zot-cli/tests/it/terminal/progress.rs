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

/// Returns everything that is written to the terminal by `line`, in which ZOT is a run that takes
/// longer than the line stays hidden.
fn written(line: &str) -> String {
    let terminal = Terminal::open("--version");
    terminal.wait_for_shell();
    let record = terminal.record("written");
    let model = terminal.server.url(Wire::OpenAi);
    let arguments = format!(
        "-p -n --no-session --provider openai --model gpt-4o --api-key x --base-url {model} slow:3:300"
    );
    let zot = terminal.command.replace("--version", &arguments);
    terminal.type_line(&line.replace("ZOT", &zot));
    terminal.wait_for("\nalpha beta gamm");
    terminal.wait_for_shell();
    String::from_utf8_lossy(&std::fs::read(record).unwrap()).into_owned()
}

#[test]
fn the_line_is_drawn_only_in_the_foreground_of_a_capable_terminal() {
    let progress = "gpt-4o · ";
    let shown = written("ZOT");
    assert!(shown.contains(progress), "{shown:?}");
    for line in ["TERM=dumb ZOT", "ZOT & wait", "ZOT 2> errors"] {
        let shown = written(line);
        assert!(!shown.contains(progress), "{line}: {shown:?}");
    }
}
