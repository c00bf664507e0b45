//! A dumb terminal, which only prints lines.

use super::*;

impl Terminal {
    /// Waits until zot shows its prompt.
    fn wait_for_prompt(&self) {
        self.wait_until("the prompt", |screen| {
            screen.trim_end().lines().last().map(str::trim_end) == Some(">")
        });
    }

    /// Records the output from now on in a file.
    pub(super) fn record(&self, name: &str) -> std::path::PathBuf {
        let path = self.workdir.path().join(name);
        self.tmux(&["pipe-pane", &format!("cat >> '{}'", path.display())]);
        path
    }
}

#[test]
fn a_chat_of_lines_writes_no_escape_sequence() {
    for variables in ["TERM=dumb", "env -u TERM"] {
        let terminal = Terminal::open_with(variables, "MODEL --no-yolo");
        terminal.wait_for_prompt();
        terminal.press("C-d");
        terminal.wait_for_shell();
        let record = terminal.record("written");
        terminal.type_line(&terminal.command);
        terminal.wait_for_prompt();
        terminal.type_line("lines:3:0:paragraphs");
        terminal.wait_for("numbered line 3.");
        terminal.wait_for_prompt();
        terminal.type_line("/nonsense");
        terminal.wait_for("unknown command /nonsense");
        terminal.type_line("!echo shell-$((1+1))");
        terminal.wait_for("│ shell-2");
        terminal.type_line("one \\");
        terminal.type_line("two");
        terminal.wait_for("\nok");
        terminal.wait_for_prompt();
        terminal.type_line("slow:2000:20");
        terminal.wait_for("alpha beta");
        terminal.press("C-c");
        terminal.wait_for("· stopped");
        terminal.wait_for_prompt();
        terminal.type_line("/model");
        terminal.wait_for("type the command followed by one of these");
        terminal.press("C-d");
        terminal.wait_for("to continue: zot --resume ");
        terminal.wait_for_shell();
        let written = std::fs::read(&record).unwrap();
        let text = String::from_utf8_lossy(&written);
        assert!(text.contains("/help for commands and keys"), "{text}");
        assert!(!written.contains(&0x1b), "{text:?}");
        for number in 1..=3 {
            let line = format!("numbered line {number}.");
            assert_eq!(text.matches(&line).count(), 1, "{text}");
        }
    }
}

#[test]
fn questions_are_answered_by_lines() {
    let terminal = Terminal::open_with("TERM=dumb", "MODEL --no-yolo");
    terminal.wait_for_prompt();
    terminal.type_line(r#"tool:bash:{"command":"echo made > made.txt"}"#);
    terminal.wait_for("may zot run bash?");
    // Other text is not an answer.
    terminal.type_line("yes but later");
    terminal.wait_until("the question again", |screen| {
        screen.matches("may zot run bash?").count() == 2
    });
    assert_eq!(terminal.workdir.read("made.txt"), None);
    terminal.type_line("y");
    terminal.wait_for("running bash  echo made > made.txt");
    terminal.wait_for_prompt();
    assert_eq!(terminal.workdir.read("made.txt").as_deref(), Some("made\n"));
    terminal.type_line(r#"tool:bash:{"command":"echo no > refused.txt"}"#);
    terminal.wait_until("the question", |screen| {
        screen.matches("may zot run bash?").count() == 3
    });
    terminal.type_line("n not today");
    terminal.wait_for("the user said no: not today");
    terminal.wait_for_prompt();
    assert_eq!(terminal.workdir.read("refused.txt"), None);
    terminal.type_line("/exit");
    terminal.wait_for_shell();
}

#[test]
fn a_step_limit_is_a_question_and_a_key_is_not_asked_for() {
    let terminal = Terminal::open_with("TERM=dumb", "MODEL --no-session --max-steps 2");
    terminal.wait_for_prompt();
    terminal.type_line("loop:5:read:{\"path\":\"a.txt\"}");
    let question = "continue for 2 steps more?";
    terminal.wait_for(question);
    terminal.type_line("perhaps");
    terminal.wait_until("the question again", |screen| {
        screen.matches(question).count() == 2
    });
    assert_eq!(terminal.server.requests().len(), 2);
    terminal.type_line("n");
    terminal.wait_for("stopped at the limit of 2 steps");
    terminal.wait_for_prompt();
    terminal.type_line("/login openai");
    terminal.wait_for("this terminal would show the key");
    terminal.type_line("/exit");
    terminal.wait_for_shell();
}
