//! The transcript on its own screen.

use super::*;

impl Terminal {
    fn is_covered(&self) -> bool {
        let output = self.tmux(&["display-message", "-p", "#{alternate_on}"]);
        String::from_utf8_lossy(&output.stdout).trim() == "1"
    }

    fn wait_for_chat(&self) {
        self.wait_until("the chat", |_| !self.is_covered());
        self.wait_until("the editor", |screen| screen.contains("\n❯"));
    }
}

#[test]
fn scrolled_content_is_unfolded_in_the_transcript() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    terminal.type_line("run: seq 101 160");
    terminal.wait_for("exit code 0 and printed");
    terminal.type_line("run: true");
    terminal.wait_for("true ended with exit code 0");
    terminal.type_line("run: seq -f 'other %g' 1 3");
    terminal.wait_for("other 3");
    let settled = |screen: &str| !screen.contains("esc to stop");
    terminal.wait_until("rest", settled);
    let before = terminal.everything();
    terminal.press("C-o");
    terminal.wait_until("what was folded", |screen| {
        terminal.is_covered() && screen.contains("│ 120")
    });
    terminal.type_text("/148");
    terminal.press("Enter");
    terminal.wait_until("what was found", |screen| screen.contains("│ 160"));
    terminal.press("g");
    terminal.wait_for("/help for commands and keys");
    terminal.press("q");
    terminal.wait_for_chat();
    assert_eq!(terminal.everything(), before);
    terminal.press("PPage");
    terminal.wait_until("the transcript", |_| terminal.is_covered());
    // Resized meanwhile, the chat is still in place.
    terminal.tmux(&["resize-window", "-x", "80", "-y", "20"]);
    terminal.wait_until("another size", |screen| {
        let last = screen.trim_end().lines().last().unwrap_or_default();
        last.starts_with("lines ") && screen.lines().count() == 20
    });
    terminal.press("Escape");
    terminal.wait_for_chat();
    terminal.type_line("run: echo after");
    terminal.wait_for("echo after ended with exit code 0");
    let everything = terminal.everything();
    let after = |text: &str| {
        everything
            .lines()
            .filter(|line| line.trim_end() == text)
            .count()
    };
    for line in ["│ 101", "│ 160", "│ other 1", "│ other 3", "❯ run: true"] {
        assert_eq!(after(line), 1, "{line}\n{everything}");
    }
    assert_eq!(after("│ 130"), 0, "{everything}");
}

#[test]
fn leaving_from_the_transcript_restores_the_terminal() {
    let terminal = Terminal::open("--provider offline; echo code=$?");
    terminal.wait_for("/help");
    terminal.press("PPage");
    terminal.wait_until("the transcript", |_| terminal.is_covered());
    let process = terminal.process();
    let ended = Command::new("kill").args(["-TERM", &process]).status();
    assert!(ended.unwrap().success());
    terminal.wait_for("code=143");
    assert!(!terminal.is_covered());
    assert!(
        terminal
            .everything()
            .contains("/help for commands and keys")
    );
}
