//! What people try who have not read the documents, or know another program.

use zot_sdk::sessions::IfChanged;

use super::*;

fn enter(chat: &mut Chat, text: &str) -> Vec<Effect> {
    chat.write(text);
    chat.press(KeyCode::Escape);
    chat.press(KeyCode::Enter)
}

fn usage(chat: &mut Chat, input: u64, cost_usd: f64) {
    let counts = json!({"input": input, "output": 0, "cache_read": 0, "cache_write": 0, "cost_usd": cost_usd});
    let mut event = counts.clone();
    event["type"] = json!("usage");
    event["cumulative"] = counts;
    chat.event(event);
}

fn ready(columns: u16, rows: u16) -> Chat {
    let mut chat = Chat::new(columns, rows);
    chat.input(Input::Commands(vec![("todo".to_owned(), String::new())]));
    chat
}

fn sends_prompt(effects: &[Effect]) -> bool {
    effects
        .iter()
        .any(|effect| matches!(effect, Effect::Agent(AgentEffect::Prompt(_))))
}

#[test]
fn an_unknown_command_is_not_sent_as_a_prompt() {
    for (typed, hint) in [
        ("/modle", "did you mean /model?"),
        ("/Help", "did you mean /help?"),
        ("/todoo x", "did you mean /todo?"),
        ("/frobnicate", "/help lists all commands."),
    ] {
        let mut chat = ready(120, 24);
        let effects = enter(&mut chat, typed);
        assert!(!sends_prompt(&effects), "{typed}: {effects:?}");
        let name = typed.split(' ').next().unwrap();
        let remark =
            format!("unknown command {name}: {hint} Put a space before it to send it as text");
        assert!(chat.rows().contains(&remark), "{:?}", chat.rows());
        assert_eq!(chat.app.composer.editor.text(), typed);
    }
}

#[test]
fn paths_and_text_after_a_space_are_prompts() {
    for typed in ["/etc/hosts is odd", " /modle", "/usr/bin"] {
        let mut chat = ready(80, 24);
        let effects = enter(&mut chat, typed);
        assert!(sends_prompt(&effects), "{typed}: {effects:?}");
    }
}

#[test]
fn a_single_exclamation_mark_is_not_sent() {
    let mut chat = ready(80, 24);
    assert_eq!(enter(&mut chat, "! "), []);
    assert!(chat.rows().contains(&"! takes a command: !ls".to_owned()));
    assert_eq!(chat.app.composer.editor.text(), "! ");
}

#[test]
fn a_remark_is_hidden_by_the_next_line_or_when_it_no_longer_applies() {
    let mut chat = ready(80, 24);
    chat.prompt("go");
    enter(&mut chat, "/compact");
    let remark = "zot is working: press esc first".to_owned();
    assert!(chat.rows().contains(&remark));
    chat.input(Input::WorkEnded);
    assert!(!chat.rows().contains(&remark), "{:?}", chat.rows());
    chat.input(Input::Listed(Listed::Prompts(Vec::new())));
    assert!(chat.rows().contains(&"no prompts yet".to_owned()));
    enter(&mut chat, "/cost");
    assert!(!chat.rows().contains(&"no prompts yet".to_owned()));
}

#[test]
fn a_new_conversation_has_an_empty_context_and_keeps_the_cost() {
    let mut chat = ready(80, 24);
    chat.prompt("go");
    usage(&mut chat, 100, 0.5);
    chat.input(Input::WorkEnded);
    let footer = |chat: &Chat| chat.rows().last().cloned().unwrap_or_default();
    assert!(footer(&chat).contains("context 10 %"), "{}", footer(&chat));
    // Another model does not change the conversation.
    let info = Info {
        context_used: 0,
        ..chat.app.context.info.clone()
    };
    chat.input(Input::Info(info));
    assert!(footer(&chat).contains("context 10 %"), "{}", footer(&chat));
    enter(&mut chat, "/clear");
    assert!(!footer(&chat).contains("context"), "{}", footer(&chat));
    enter(&mut chat, "/cost");
    let rows = chat.rows();
    assert!(
        rows.iter().any(|row| row.contains("$0.5000 for 1 turn ·")),
        "{rows:?}"
    );
}

#[test]
fn the_answer_of_a_resumed_conversation_is_copied() {
    let mut chat = ready(80, 24);
    let messages = json!([
        {"role": "user", "time": "", "content": [{"type": "text", "text": "one"}]},
        {"role": "assistant", "time": "", "content": [{"type": "text", "text": "first"}]},
        {"role": "assistant", "time": "", "content": [{"type": "text", "text": "second"}]},
    ]);
    let earlier = |messages: &serde_json::Value| Input::Earlier {
        title: String::new(),
        messages: reported::messages(messages.clone()),
    };
    chat.input(earlier(&messages));
    // Looking at an earlier part changes nothing.
    chat.input(earlier(&json!([messages[1]])));
    let effects = enter(&mut chat, "/copy");
    assert!(
        effects.contains(&Effect::Terminal(TerminalEffect::Copy("second".to_owned()))),
        "{effects:?}"
    );
    enter(&mut chat, "/context");
    let message = "· how much is used is known after the next answer".to_owned();
    assert!(chat.rows().contains(&message), "{:?}", chat.rows());
}

#[test]
fn a_truncated_answer_is_reported() {
    let mut chat = ready(80, 24);
    chat.prompt("go");
    chat.delta("cut o");
    chat.event(json!({"type": "assistant_message", "time": "", "content": []}));
    chat.event(json!({"type": "turn_end", "stop": "length"}));
    let rows = chat.rows();
    assert!(
        rows.iter()
            .any(|row| row.contains("cut off at the model's output limit")),
        "{rows:?}"
    );
}

#[test]
fn a_retry_shows_the_message_of_the_server() {
    let mut chat = ready(100, 24);
    chat.prompt("go");
    chat.event(json!({"type": "retry", "failures": 1, "wait_ms": 2_000,
        "message": "openai: http 429: {\"error\":{\"message\":\"too many requests\"}}"}));
    let rows = chat.rows();
    assert!(
        rows.iter()
            .any(|row| row.ends_with("http 429: too many requests")),
        "{rows:?}"
    );
}

#[test]
fn undo_takes_only_numbers() {
    for wrong in ["/undo abc", "/undo 0", "/undo -1"] {
        let mut chat = ready(80, 24);
        let effects = enter(&mut chat, wrong);
        let runs = effects
            .iter()
            .any(|effect| matches!(effect, Effect::Session(_)));
        assert!(!runs, "{wrong}: {effects:?}");
        let message = "/undo takes a number of prompts: /undo 2".to_owned();
        assert!(chat.rows().contains(&message), "{:?}", chat.rows());
    }
    let mut chat = ready(80, 24);
    let effects = enter(&mut chat, "/undo 2 --force");
    let expected = Effect::Session(SessionEffect::Undo {
        prompts: 2,
        if_changed: IfChanged::Overwrite,
    });
    assert!(effects.contains(&expected), "{effects:?}");
}

#[test]
fn a_call_is_visible_on_the_smallest_screen() {
    let mut chat = Chat::new(20, 5);
    chat.prompt("go");
    chat.event(json!({"type": "tool_use_start", "id": "c1", "name": "bash"}));
    let args = json!({"command": "rm -r everything that there is"});
    chat.event(json!({"type": "tool_call", "id": "c1", "name": "bash", "args": args}));
    chat.event(
        json!({"type": "tool_confirm", "id": "c1", "name": "bash", "args": args,
        "preview": "rm -r everything that there is"}),
    );
    let rows = chat.rows();
    assert_eq!(rows[0], "may zot run bash?", "{rows:?}");
    assert_eq!(rows[2], "  rm -r everything", "{rows:?}");
    assert_eq!(rows[4], "y e a s n · esc", "{rows:?}");
}

#[test]
fn a_paste_between_two_interrupts_cancels_leaving() {
    let mut chat = ready(80, 24);
    chat.control('c');
    chat.input(Input::Paste("text".to_owned()));
    assert!(!chat.rows().contains(&"ctrl+c again to leave".to_owned()));
    assert!(!chat.control('c').contains(&Effect::Quit));
}

#[test]
fn a_prompt_with_an_image_is_one_message_now_and_later() {
    let content = json!([
        {"type": "text", "text": "look"},
        {"type": "image", "mime_type": "image/png", "bytes": 75},
    ]);
    let shown = ["❯ look", "  [image: image/png, 75 bytes]"];
    let mut chat = ready(80, 24);
    chat.event(json!({"type": "user_message", "time": "", "content": content}));
    assert_eq!(chat.rows()[3..5], shown);
    let mut chat = ready(80, 24);
    let messages = json!([{"role": "user", "time": "", "content": content}]);
    chat.input(Input::Earlier {
        title: "again".to_owned(),
        messages: reported::messages(messages),
    });
    assert_eq!(chat.rows()[5..7], shown, "{:?}", chat.rows());
}

#[test]
fn the_remark_about_a_running_command_ends_with_it() {
    let mut chat = ready(80, 24);
    enter(&mut chat, "!sleep 5");
    enter(&mut chat, "!echo");
    let remark = "a command is running: esc stops it".to_owned();
    assert!(chat.rows().contains(&remark), "{:?}", chat.rows());
    chat.input(Input::Shell(ShellInput::Ended(ShellOutput {
        command: "sleep 5".to_owned(),
        output: String::new(),
        ending: "exit code 0".to_owned(),
    })));
    assert!(!chat.rows().contains(&remark), "{:?}", chat.rows());
}

#[test]
fn an_empty_answer_is_reported() {
    let message = "✗ the model returned no answer".to_owned();
    let mut chat = ready(80, 24);
    chat.prompt("go");
    chat.event(json!({"type": "turn_end", "stop": "end"}));
    assert!(chat.rows().contains(&message), "{:?}", chat.rows());
    let mut chat = ready(80, 24);
    chat.prompt("go");
    chat.delta("something");
    chat.event(json!({"type": "assistant_message", "time": "", "content": []}));
    chat.event(json!({"type": "turn_end", "stop": "end"}));
    assert!(!chat.rows().contains(&message), "{:?}", chat.rows());
}
