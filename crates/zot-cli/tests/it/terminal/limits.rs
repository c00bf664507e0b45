//! The step limit in the chat: a question, not an error.

use super::Terminal;

const QUESTION: &str = "the limit of 2 steps is reached: continue for 2 steps more?";

#[test]
fn a_step_limit_can_be_raised_when_reached() {
    for flag in ["--max-steps 2", "--max-process-steps 2"] {
        let terminal = Terminal::open(&format!("MODEL --no-session {flag}"));
        terminal.wait_for("/help");
        terminal.type_line("loop:5:read:{\"path\":\"a.txt\"}");
        terminal.wait_for(QUESTION);
        assert_eq!(terminal.server.requests().len(), 2, "{flag}");
        terminal.press("y");
        terminal.wait_until("two more", |screen| {
            screen.contains(QUESTION) && terminal.server.requests().len() == 4
        });
        terminal.press("a");
        terminal.wait_until("the end", |screen| {
            !screen.contains("esc to stop") && terminal.server.requests().len() == 6
        });
        let everything = terminal.everything();
        assert!(!everything.contains('✗'), "{everything}");
    }
}

#[test]
fn a_step_limit_that_is_kept_ends_the_prompt_without_an_error() {
    let terminal = Terminal::open("MODEL --no-session --max-steps 2");
    terminal.wait_for("/help");
    terminal.type_line("loop:5:read:{\"path\":\"a.txt\"}");
    terminal.wait_for(QUESTION);
    terminal.press("n");
    terminal.wait_for("stopped at the limit of 2 steps");
    let everything = terminal.everything();
    assert!(!everything.contains('✗'), "{everything}");
    // Every prompt has its own limit, and the question can be interrupted.
    terminal.type_line("loop:5:read:{\"path\":\"b.txt\"}");
    terminal.wait_for(QUESTION);
    assert_eq!(terminal.server.requests().len(), 4);
    terminal.press("C-c");
    terminal.wait_for("stopped");
    terminal.wait_until("the end", |screen| !screen.contains(QUESTION));
    terminal.type_line("say:2");
    terminal.wait_for("alpha beta");
}
