//! A limit on steps in the chat: a question, not an error.

use super::Terminal;

const QUESTION: &str = "the limit of 2 steps is reached: continue for 2 steps more?";

#[test]
fn a_limit_on_steps_is_asked_about_and_raised() {
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
fn a_limit_on_steps_that_stands_ends_the_prompt_without_an_error() {
    let terminal = Terminal::open("MODEL --no-session --max-steps 2");
    terminal.wait_for("/help");
    terminal.type_line("loop:5:read:{\"path\":\"a.txt\"}");
    terminal.wait_for(QUESTION);
    terminal.press("n");
    terminal.wait_for("stopped at the limit of 2 steps");
    let everything = terminal.everything();
    assert!(!everything.contains('✗'), "{everything}");
    // Every prompt has as many, and stopping it while it asks is stopping it.
    terminal.type_line("loop:5:read:{\"path\":\"b.txt\"}");
    terminal.wait_for(QUESTION);
    assert_eq!(terminal.server.requests().len(), 4);
    terminal.press("C-c");
    terminal.wait_for("stopped");
    terminal.wait_until("the end", |screen| !screen.contains(QUESTION));
    terminal.type_line("say:2");
    terminal.wait_for("alpha beta");
}
