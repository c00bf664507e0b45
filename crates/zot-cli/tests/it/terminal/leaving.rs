//! The conversation stays on the screen, whatever ends the chat.

use std::process::Command;

use super::Terminal;

fn check(leave: impl Fn(&Terminal)) {
    let terminal = Terminal::open("MODEL slow:400:20");
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

#[test]
fn the_cost_and_how_to_continue_are_printed() {
    let terminal = Terminal::open("MODEL say:3");
    terminal.wait_for("context");
    terminal.press("C-d");
    let screen = terminal.wait_for("to continue: zot --resume ");
    terminal.wait_for_shell();
    let line = screen
        .lines()
        .find(|line| line.contains("to continue"))
        .unwrap();
    assert!(line.starts_with("cost $0.0"), "{line}");
    let id = line.rsplit(' ').next().unwrap();
    let command = terminal.command.replace("say:3", &format!("--resume {id}"));
    terminal.type_line("clear");
    terminal.type_line(&command);
    terminal.wait_for("resumed a conversation of 2 messages");
}

#[test]
fn an_empty_conversation_prints_nothing() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    terminal.press("C-d");
    terminal.wait_for_shell();
    let screen = terminal.everything();
    assert!(
        !screen.contains("to continue") && !screen.contains('$'),
        "{screen}"
    );
    terminal.type_line("clear");
    terminal.type_line(&format!("{} 'run: true'", terminal.command));
    terminal.wait_for("ended with exit code 0");
    terminal.type_line("/exit");
    terminal.wait_for("\nto continue: zot --resume ");
    assert!(!terminal.screen().contains("$0.0"));
}
