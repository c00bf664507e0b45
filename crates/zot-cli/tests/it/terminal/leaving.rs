//! What was said stays on the screen, whatever ends the chat.

use std::process::Command;

use super::Terminal;

fn check(leave: impl Fn(&Terminal)) {
    let Some(terminal) = Terminal::open("MODEL slow:400:20") else {
        return;
    };
    terminal.wait_for("alpha beta gamm delta");
    leave(&terminal);
    terminal.wait_for_shell();
    let all = terminal.everything();
    assert!(all.contains("alpha beta gamm delta"), "{all}");
    assert!(all.contains("· stopped"), "{all}");
    assert!(!all.contains("esc to stop"), "{all}");
}

#[test]
fn in_the_middle_of_an_answer_by_a_command() {
    check(|terminal| terminal.type_line("/exit"));
}

#[test]
fn in_the_middle_of_an_answer_by_a_signal() {
    check(|terminal| {
        let sent = Command::new("kill").arg(terminal.process()).status();
        assert!(sent.unwrap().success());
    });
}
