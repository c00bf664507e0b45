//! `/model` in the chat: the choice is stored as the original stores it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::terminal::Terminal;

fn settings(terminal: &Terminal) -> String {
    let path = terminal.workdir.zot_home().join("config.json");
    fs::read_to_string(path).unwrap_or_default()
}

fn last_model(terminal: &Terminal) -> Value {
    let requests = terminal.server.requests();
    requests.last().unwrap().body["model"].clone()
}

#[test]
fn a_chosen_model_is_used_at_the_next_start() {
    let terminal = Terminal::open_prepared("", "", super::install);
    terminal.wait_for("/help");
    let before = settings(&terminal);
    terminal.type_line("/model fixture-large");
    let expected = before
        .replace(r#""provider": "","#, r#""provider": "openai","#)
        .replace(r#""model": "","#, r#""model": "fixture-large","#);
    terminal.wait_until("the choice", |_| settings(&terminal) == expected);
    terminal.type_line("/exit");
    terminal.wait_for_shell();

    // The old content of the screen must not be mistaken for the new chat.
    terminal.tmux(&["send-keys", "-R"]);
    terminal.type_line(&terminal.command);
    terminal.wait_for("/help");
    terminal.wait_for("fixture-large");
    terminal.type_line("say:1");
    terminal.wait_for("alpha");
    assert_eq!(last_model(&terminal), "fixture-large");
    terminal.type_line("/exit");
    terminal.wait_for_shell();

    // A flag overrides it without changing it; a new choice warns that the flag will win again.
    terminal.tmux(&["send-keys", "-R"]);
    terminal.type_line(&format!("{} --model gpt-4o", terminal.command));
    terminal.wait_for("/help");
    terminal.type_line("say:2");
    terminal.wait_for("alpha beta");
    assert_eq!(last_model(&terminal), "gpt-4o");
    assert_eq!(settings(&terminal), expected);
    terminal.type_line("/model gpt-4.1");
    terminal.wait_for("still override it");
    assert!(settings(&terminal).contains("gpt-4.1"));
}

#[test]
fn the_chat_reports_that_the_projects_model_wins() {
    let terminal = Terminal::open_prepared("", "", |server, workdir| {
        super::install(server, workdir);
        workdir.write(".zot/config.json", r#"{"model": "gpt-4o"}"#);
    });
    terminal.wait_for("/help");
    terminal.type_line("/model fixture-large");
    terminal.wait_for(".zot/config.json overrides the model");
    terminal.type_line("say:1");
    terminal.wait_for("alpha");
    assert_eq!(last_model(&terminal), "fixture-large");
}

#[test]
fn a_choice_that_cannot_be_stored_still_applies() {
    let terminal = Terminal::open_prepared("", "", super::install);
    terminal.wait_for("/help");
    let home = terminal.workdir.zot_home();
    let broken = "{ this is no longer JSON";
    fs::write(home.join("config.json"), broken).unwrap();
    terminal.type_line("/model fixture-large");
    terminal.wait_for("could not be saved for the next start");
    terminal.type_line("say:1");
    terminal.wait_for("alpha");
    assert_eq!(last_model(&terminal), "fixture-large");
    assert_eq!(settings(&terminal), broken);
    let mode = fs::metadata(home.join("auth.json"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}
