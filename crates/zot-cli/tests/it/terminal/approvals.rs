//! `/confirm` in a real terminal.

use super::Terminal;

#[test]
fn what_is_asked_about_is_the_same_in_another_conversation() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    terminal.type_line("hello");
    terminal.wait_for("stand-in");
    terminal.type_line("/confirm bash");
    terminal.wait_for("· asks before bash");

    terminal.type_line("/session fork");
    terminal.wait_until("the copy", |_| {
        let everything = terminal.everything();
        everything.contains("going on with a conversation")
    });
    terminal.wait_for("· asks before bash");
    terminal.type_line("run: echo hi");
    terminal.wait_for("may zot run bash?");
    terminal.press("Escape");
    terminal.wait_for("the user said no");
}
