//! What users can do and see while something runs.

use super::*;

fn alt_up(chat: &mut Chat) {
    chat.input(Input::Key(Key {
        alt: true,
        ..Key::plain(KeyCode::Up)
    }));
}

fn queue(chat: &mut Chat, text: &str) {
    chat.write(text);
    chat.press(KeyCode::Enter);
}

#[test]
fn the_last_queued_prompt_can_be_edited() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("go");
    queue(&mut chat, "second");
    queue(&mut chat, "third");
    assert!(chat.rows().contains(&"alt+up to edit the last".to_owned()));
    chat.press(KeyCode::Up);
    assert_eq!(chat.app.composer.editor.text(), "third");
    assert!(!chat.rows().contains(&"queued: third".to_owned()));
    chat.write("!");
    // With text in the editor, up browses the history and alt+up the queue.
    alt_up(&mut chat);
    assert_eq!(chat.app.composer.editor.text(), "second\nthird!");
    assert!(!chat.rows().iter().any(|row| row.starts_with("queued:")));
    chat.press(KeyCode::Enter);
    let effects = chat.input(Input::WorkEnded);
    assert_eq!(
        effects,
        [Effect::Agent(AgentEffect::Prompt(Prompt::typed(
            "second\nthird!"
        )))]
    );
}

#[test]
fn steering_text_is_shown_until_it_is_delivered() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("go");
    chat.write("be brief");
    chat.control('s');
    assert!(chat.rows().contains(&"steers: be brief".to_owned()));
    chat.event(json!({"type": "user_message", "time": "", "content": [{"type": "text", "text": "be brief"}]}));
    let rows = chat.rows();
    assert!(!rows.contains(&"steers: be brief".to_owned()), "{rows:?}");
    assert!(rows.contains(&"❯ be brief".to_owned()), "{rows:?}");
    chat.press(KeyCode::Up);
    assert_eq!(chat.app.composer.editor.text(), "be brief");
}

#[test]
fn the_status_shows_time_rate_and_cost() {
    let mut chat = Chat::new(80, 24);
    chat.app.context.info.cost_usd = 1.0;
    chat.prompt("go");
    let usage =
        json!({"input": 1, "output": 1, "cache_read": 0, "cache_write": 0, "cost_usd": 0.25});
    let mut event = usage.clone();
    event["type"] = json!("usage");
    event["cumulative"] = usage;
    event["cumulative"]["cost_usd"] = json!(1.25);
    chat.event(event);
    chat.delta("x");
    chat.now_ms += 65_000;
    chat.delta(&"x".repeat(2_599));
    let status = |chat: &Chat| {
        let rows = chat.rows();
        let row = rows.iter().find(|row| row.contains("esc to stop"));
        row.map(|row| row.chars().skip(2).collect::<String>())
    };
    let whole = "writing 1m 05s · 10 tokens/s · $0.2500 · esc to stop";
    assert_eq!(status(&chat).as_deref(), Some(whole));
    chat.input(Input::Resized {
        columns: 40,
        rows: 24,
    });
    assert_eq!(
        status(&chat).as_deref(),
        Some("writing 1m 05s · esc to stop")
    );
}

#[test]
fn typing_while_an_answer_streams_is_not_lost() {
    let mut chat = Chat::new(40, 10);
    chat.prompt("go");
    for number in 0..200 {
        chat.delta(&format!("word{number} "));
        chat.write("x");
    }
    assert_eq!(chat.app.composer.editor.text(), "x".repeat(200));
    chat.input(Input::WorkEnded);
    assert_eq!(chat.app.composer.editor.text(), "x".repeat(200));
}

#[test]
fn a_shell_command_is_shown_and_attached_to_the_next_prompt() {
    let mut chat = Chat::new(80, 24);
    chat.write("!make test");
    let effects = chat.press(KeyCode::Enter);
    assert_eq!(
        effects,
        [
            Effect::Remember("!make test".into()),
            Effect::Shell(ShellEffect::Run("make test".to_owned()))
        ]
    );
    chat.input(Input::Shell(ShellInput::Progress("compiling\n".to_owned())));
    let rows = chat.rows();
    assert!(rows.contains(&"│ compiling".to_owned()), "{rows:?}");
    assert!(
        rows.iter().any(|row| row.contains("esc to stop")),
        "{rows:?}"
    );
    // Only one runs at a time, and the text stays.
    chat.write("!other");
    assert_eq!(chat.press(KeyCode::Enter), []);
    assert_eq!(chat.app.composer.editor.text(), "!other");
    chat.control('u');
    assert_eq!(
        chat.press(KeyCode::Escape),
        [Effect::Shell(ShellEffect::Cancel)]
    );
    assert_eq!(chat.press(KeyCode::Escape), []);
    let output = ShellOutput {
        command: "make test".to_owned(),
        output: "compiling\n```\n".to_owned(),
        ending: "exit code 2".to_owned(),
    };
    assert_eq!(
        chat.input(Input::Shell(ShellInput::Ended(output.clone()))),
        []
    );
    let rows = chat.rows();
    assert!(rows.contains(&"╰ exit code 2".to_owned()), "{rows:?}");
    let note = "attached to the next prompt: [!make test 2 lines] · ctrl+x drops it".to_owned();
    assert!(rows.contains(&note), "{rows:?}");
    chat.write("why?");
    let effects = chat.press(KeyCode::Enter);
    let Some(Effect::Agent(AgentEffect::Prompt(prompt))) = effects.last() else {
        panic!("{effects:?}");
    };
    assert_eq!(
        (prompt.text.as_str(), &prompt.attached[..]),
        ("why?", &[output][..])
    );
    assert_eq!(
        prompt.attached[0].for_model(),
        "I ran `make test` (exit code 2):\n\n````\ncompiling\n```\n````"
    );
    assert!(!chat.rows().contains(&note));
}

#[test]
fn an_interrupt_stops_the_command_and_the_prompt() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("go");
    queue(&mut chat, "!sleep 100");
    assert_eq!(
        chat.control('c'),
        [
            Effect::Shell(ShellEffect::Cancel),
            Effect::Agent(AgentEffect::Cancel)
        ]
    );
}

#[test]
fn a_compaction_within_a_prompt_is_reported() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("go");
    chat.input(Input::Agent(AgentEvent::CompactionStarted));
    let shows = |chat: &Chat, text: &str| chat.rows().iter().any(|row| row.contains(text));
    assert!(shows(&chat, "compacting the conversation 0s"));
    chat.event(json!({"type": "compact_done", "summary": "x"}));
    assert!(shows(&chat, "thinking 0s"));
}

/// A letter typed while a question comes up does not answer it.
#[test]
fn a_question_is_not_answered_in_the_middle_of_a_word() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("go");
    chat.write("st");
    chat.event(
        json!({"type": "tool_confirm", "id": "c1", "name": "bash", "args": {}, "preview": "rm"}),
    );
    assert_eq!(chat.write("ay"), []);
    assert_eq!(chat.app.composer.editor.text(), "stay");
    chat.now_ms += 1_000;
    let effects = chat.write("y");
    assert!(
        matches!(effects[..], [Effect::Agent(AgentEffect::Confirm { .. })]),
        "{effects:?}"
    );
    assert_eq!(chat.app.composer.editor.text(), "stay");
}

#[test]
fn a_long_side_answer_fits_the_screen() {
    let mut chat = Chat::new(40, 24);
    chat.write("/btw why?");
    chat.press(KeyCode::Enter);
    for number in 0..100 {
        let delta = format!("This is the {number}th reason of many.\n\n");
        chat.input(Input::Aside(AgentEvent::TextDelta(delta)));
    }
    let has = |chat: &Chat, row: &str| chat.rows().iter().any(|other| other == row);
    assert!(has(&chat, "│ This is the 99th reason of many."));
    assert!(!has(&chat, "│ This is the 90th reason of many."));
    chat.terminal
        .screen_mut()
        .set_size(24.try_into().unwrap(), 20.try_into().unwrap());
    chat.input(Input::Resized {
        columns: 20,
        rows: 24,
    });
    assert!(has(&chat, "│ This is the 99th"), "{:?}", chat.rows());
    assert!(has(&chat, "│ reason of many."));
    chat.press(KeyCode::Escape);
    let everything = chat.everything();
    assert!(everything.iter().any(|row| row == "│ This is the 0th"));
}
