//! `/confirm` in a real terminal.

use super::Terminal;

/// Without arguments it shows the state; an unknown tool changes nothing.
#[test]
fn confirm_without_arguments_only_shows_the_state() {
    let terminal = Terminal::open("--provider offline --no-yolo");
    terminal.wait_for("· asks before tools");
    terminal.type_line("/confirm");
    terminal.wait_for("zot asks before every tool. /confirm off stops asking");
    terminal.type_line("/confirm of");
    terminal.wait_for("unknown tool of");
    terminal.wait_for("· asks before tools");
    terminal.type_line("run: echo hi");
    terminal.wait_for("may zot run bash?");
    terminal.press("a");
    terminal.wait_for("exit code 0");
    terminal.type_line("/confirm");
    terminal.wait_for("but you have allowed every call to bash");
    terminal.type_line("/confirm off");
    terminal.wait_for("approvals are off: tools run without asking");
    terminal.wait_until("the footer", |screen| {
        !screen.trim_end().ends_with("asks before tools")
    });
}

#[test]
fn approvals_carry_over_to_another_conversation() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    terminal.type_line("hello");
    terminal.wait_for("stand-in");
    terminal.type_line("/confirm bash");
    terminal.wait_for("· asks before bash");

    terminal.type_line("/session fork");
    terminal.wait_until("the copy", |_| {
        let everything = terminal.everything();
        everything.contains("resumed a conversation")
    });
    terminal.wait_for("· asks before bash");
    terminal.type_line("run: echo hi");
    terminal.wait_for("may zot run bash?");
    terminal.press("Escape");
    terminal.wait_for("the user said no");
}
