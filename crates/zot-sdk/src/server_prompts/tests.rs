use zot_conversation::{ContentBlock, Role};
use zot_mcp::{PromptArgument, PromptInfo, PromptMessage};

use super::{Filling, PromptCommand, commands, text};

fn prompt(server: &str, name: &str, arguments: &[(&str, bool)]) -> PromptInfo {
    PromptInfo {
        server: server.to_owned(),
        name: name.to_owned(),
        title: None,
        description: Some("Plans\n  a trip".to_owned()),
        arguments: arguments
            .iter()
            .map(|(name, required)| PromptArgument {
                name: (*name).to_owned(),
                description: None,
                required: *required,
            })
            .collect(),
    }
}

fn trip() -> PromptCommand {
    let arguments = [("city", true), ("days", false), ("note", false)];
    commands(&["weather"], vec![prompt("weather", "trip", &arguments)]).remove(0)
}

fn check(typed: &str, expected: &[(&str, &str)]) {
    let arguments = trip().fill(typed).unwrap().arguments;
    let arguments: Vec<_> = arguments
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(arguments, expected, "{typed}");
}

#[test]
fn a_prompt_is_a_command_of_its_server() {
    let prompts = vec![
        prompt("my docs", "sum up!", &[]),
        prompt("weather", "trip", &[]),
        prompt("gone", "x", &[]),
    ];
    let commands = commands(&["weather", "my docs"], prompts);
    let names: Vec<_> = commands
        .iter()
        .map(|command| command.name.as_str())
        .collect();
    assert_eq!(names, ["weather__trip", "my_docs__sum_up_"]);
    let entry = trip().entry();
    assert_eq!(entry.description, "CITY [DAYS] [NOTE]  Plans a trip");
    assert_eq!(entry.source.as_deref(), Some("mcp"));
}

#[test]
fn arguments_go_by_place_or_by_name() {
    check("Rome", &[("city", "Rome")]);
    check("Rome 3", &[("city", "Rome"), ("days", "3")]);
    check(
        "'New York' 3 and bring the dog",
        &[
            ("city", "New York"),
            ("days", "3"),
            ("note", "and bring the dog"),
        ],
    );
    check("days=3 Rome", &[("city", "Rome"), ("days", "3")]);
    check(
        "note=\"a=b c\" city=Rome 3",
        &[("city", "Rome"), ("days", "3"), ("note", "a=b c")],
    );
    // Not an argument's name.
    check("x=y", &[("city", "x=y")]);
    let error = trip().fill("days=3").unwrap_err();
    assert_eq!(
        error.to_string(),
        "/weather__trip needs city: /weather__trip CITY [DAYS] [NOTE]"
    );
}

#[test]
fn text_after_a_prompt_without_arguments_is_added_to_it() {
    let command = commands(&["a"], vec![prompt("a", "b", &[])]).remove(0);
    let filling = command.fill(" in 'short' words ").unwrap();
    let expected = Filling {
        added: "in 'short' words".to_owned(),
        ..Filling::default()
    };
    assert_eq!(filling, expected);
    let message = |role, text: &str| PromptMessage {
        role,
        content: vec![ContentBlock::Text(text.to_owned())],
    };
    let question = message(Role::User, "Explain.\n");
    assert_eq!(
        text(std::slice::from_ref(&question), &filling.added),
        "Explain.\n\nin 'short' words"
    );
    assert_eq!(
        text(&[question, message(Role::Assistant, "Sure.")], ""),
        "[user]\n\nExplain.\n\n[assistant]\n\nSure."
    );
}
