//! Commands that people know from the original.

use std::fs;

use super::Terminal;

fn prompts(terminal: &Terminal) -> Vec<String> {
    let requests = terminal.server.requests();
    requests
        .iter()
        .map(testkit::RecordedRequest::prompt)
        .collect()
}

#[test]
fn study_lets_the_model_read_the_project() {
    let terminal = Terminal::open("MODEL --no-session");
    terminal.wait_for("/help");
    terminal.type_line("/study");
    terminal.wait_until("a request", |_| !prompts(&terminal).is_empty());
    let asked = prompts(&terminal).pop().expect("a prompt");
    assert!(asked.starts_with("Study the working directory"), "{asked}");
    terminal.wait_for("ok");
    terminal.type_line("/study src/main.rs");
    terminal.wait_until("a second one", |_| prompts(&terminal).len() == 2);
    let asked = prompts(&terminal).pop().expect("a prompt");
    assert!(asked.contains("\"src/main.rs\""), "{asked}");
}

#[test]
fn yolo_turns_confirmations_off() {
    let terminal = Terminal::open("--provider offline --no-yolo");
    terminal.wait_for("asks before tools");
    terminal.type_line("/yolo");
    terminal.wait_for("tools run without asking");
    terminal.type_line("run: echo unasked");
    terminal.wait_for("exit code 0");
    terminal.type_line("/yolo");
    terminal.wait_for("tools already run without asking");
}

#[test]
fn settings_are_toggled_and_stored() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    terminal.type_line("/settings");
    terminal.wait_for("settings:");
    terminal.wait_for("keep_scrollback");
    // The list stays open and shows the change.
    terminal.press("Enter");
    terminal.wait_for("zot asks before every tool");
    terminal.wait_for("on   ask before tools run");
    terminal.type_text("keep");
    terminal.press("Enter");
    let settings = terminal.workdir.zot_home().join("config.json");
    let kept = || fs::read_to_string(&settings).unwrap_or_default();
    terminal.wait_until("the setting", |_| {
        kept().contains("\"keep_scrollback\": false")
    });
    terminal.press("Escape");
    terminal.wait_until("the end of the list", |screen| {
        !screen.contains("settings:")
    });
    terminal.type_line("run: echo asked");
    terminal.wait_for("may zot run bash?");
}

/// The copy has the messages before the chosen prompt, which can be edited.
#[test]
fn a_fork_ends_where_the_user_chooses() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    for word in ["first", "second", "third"] {
        terminal.type_line(&format!("run: echo {word}"));
        terminal.wait_for(&format!("echo {word} ended with exit code 0"));
    }
    terminal.type_line("/session fork");
    terminal.wait_for("fork before:");
    terminal.wait_for("the whole conversation");
    terminal.type_text("third");
    terminal.wait_for("▸ 3  run: echo third");
    terminal.press("Enter");
    terminal.wait_for("resumed a conversation of 8 messages");
    terminal.wait_for("❯ run: echo third");
    // By number, and as a whole.
    terminal.press("C-u");
    terminal.type_line("/session fork 2");
    terminal.wait_for("resumed a conversation of 4 messages");
}

#[test]
fn an_imported_session_is_continued() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    terminal.type_line("run: echo first");
    terminal.wait_for("exit code 0");
    terminal.type_line("/session export talk.zotsession");
    terminal.wait_for("talk.zotsession");
    terminal.wait_until("the file", |_| {
        terminal.workdir.path().join("talk.zotsession").exists()
    });
    terminal.type_line("/clear");
    terminal.wait_for("a new conversation");
    terminal.type_line("/session import gone.zotsession");
    terminal.wait_for("No such file");
    terminal.type_line("/session import talk.zotsession");
    terminal.wait_for("resumed a conversation of 4 messages");
}

/// As in the original, `--resume` needs no value, and a prompt may follow.
#[test]
fn a_prompt_after_resume_is_sent_to_the_chosen_session() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    terminal.type_line("run: echo the first");
    terminal.wait_for("exit code 0");
    terminal.type_line("/exit");
    terminal.wait_for_shell();
    terminal.type_line("clear");
    terminal.type_line(&format!("{} -r 'run: echo the second'", terminal.command));
    terminal.wait_for("resume:");
    terminal.press("Enter");
    terminal.wait_for("resumed a conversation of 4 messages");
    terminal.wait_for("echo the second ended with exit code 0");
    terminal.type_line("/exit");
    terminal.wait_for_shell();
    // If none is chosen, the prompt is in the editor, unsent.
    terminal.type_line("clear");
    terminal.type_line(&format!("{} -r 'run: echo the third'", terminal.command));
    terminal.wait_for("resume:");
    terminal.press("Escape");
    terminal.wait_for("❯ run: echo the third");
}
