//! What is sent with a prompt: chips in the editor and in the conversation.

use serde_json::json;
use zot_sdk::context::{Outcome, Part};

use super::*;

fn lines(count: usize, end: &str) -> String {
    let lines: Vec<String> = (1..=count).map(|number| format!("line {number}")).collect();
    lines.join(end)
}

fn report_prompt(chat: &mut Chat, text: &str) {
    chat.event(
        json!({"type": "user_message", "time": "", "content": [{"type": "text", "text": text}]}),
    );
}

fn shows(chat: &mut Chat, row: &str) -> bool {
    chat.everything().iter().any(|other| other == row)
}

fn output(command: &str, output: &str) -> ShellOutput {
    ShellOutput {
        command: command.to_owned(),
        output: output.to_owned(),
        ending: "exit code 0".to_owned(),
    }
}

fn run(chat: &mut Chat, command: &str, printed: &str) {
    chat.write(&format!("!{command}"));
    chat.press(KeyCode::Enter);
    chat.input(Input::Shell(ShellInput::Ended(output(command, printed))));
}

#[test]
fn lines_of_a_paste_are_counted() {
    for (pasted, label) in [
        (lines(42, "\n"), "[pasted 42 lines]"),
        (lines(42, "\n") + "\n", "[pasted 42 lines]"),
        (lines(42, "\r\n"), "[pasted 42 lines]"),
        (lines(42, "\r\n") + "\r\n", "[pasted 42 lines]"),
        (lines(42, "\r"), "[pasted 42 lines]"),
        ("x".repeat(900), "[pasted 900 characters]"),
        ("x".repeat(900) + "\n", "[pasted 900 characters]"),
        ("é".repeat(900), "[pasted 900 characters]"),
    ] {
        let mut chat = Chat::new(80, 24);
        chat.input(Input::Paste(pasted));
        assert!(shows(&mut chat, &format!("❯ {label}")), "{:?}", chat.rows());
    }
}

#[test]
fn pastes_and_typed_text_are_shown_in_place() {
    let mut chat = Chat::new(80, 24);
    chat.write("first ");
    chat.input(Input::Paste(lines(42, "\n") + "\n"));
    chat.write(" between ");
    chat.input(Input::Paste(lines(9, "\r\n")));
    chat.write(" and the question");
    let row = "❯ first [pasted 42 lines] between [pasted 9 lines] and the question";
    assert!(shows(&mut chat, row), "{:?}", chat.rows());
    let effects = chat.press(KeyCode::Enter);
    let Some(Effect::Agent(AgentEffect::Prompt(prompt))) = effects.last() else {
        panic!("{effects:?}");
    };
    let text = prompt.text.clone();
    assert_eq!(text.lines().count(), 42 + 9, "{text}");
    report_prompt(&mut chat, &text);
    assert_eq!(
        chat.everything()
            .iter()
            .filter(|other| *other == row)
            .count(),
        1
    );
    // All of it can be unfolded.
    chat.control('o');
    assert!(shows(&mut chat, "  line 20"), "{:?}", chat.everything());
}

/// The pastes in prompts of an earlier chat are unknown.
#[test]
fn the_end_of_a_long_prompt_is_visible() {
    let mut chat = Chat::new(80, 24);
    report_prompt(&mut chat, &format!("{}\nand the question", lines(42, "\n")));
    assert!(shows(&mut chat, "❯ line 1"));
    assert!(
        shows(&mut chat, "  … 31 more lines (ctrl+o)"),
        "{:?}",
        chat.rows()
    );
    assert!(shows(&mut chat, "  and the question"));
    assert!(!shows(&mut chat, "  line 20"));
}

#[test]
fn files_are_chips_in_the_editor_and_in_the_conversation() {
    let mut chat = Chat::new(80, 24);
    let part = |name: &str, outcome| Part {
        name: name.to_owned(),
        outcome,
    };
    let missing = || Outcome::NotAttached {
        reason: "no such file".to_owned(),
    };
    let effects = chat.write("see @a.txt and @gone.txt ");
    let asked: Vec<&Effect> = effects
        .iter()
        .filter(|effect| matches!(effect, Effect::Query(Query::Mentions { .. })))
        .collect();
    // Once for each complete name.
    assert_eq!(asked.len(), 2, "{asked:?}");
    let parts = vec![
        part("a.txt", Outcome::File { bytes: 19 }),
        part("gone.txt", missing()),
    ];
    chat.input(Input::Mentions {
        names: vec!["a.txt".to_owned()],
        parts: Vec::new(),
    });
    chat.input(Input::Mentions {
        names: ["a.txt", "gone.txt"].map(str::to_owned).to_vec(),
        parts: parts.clone(),
    });
    assert!(
        shows(&mut chat, "attached: [a.txt 19 B]"),
        "{:?}",
        chat.rows()
    );
    assert!(shows(&mut chat, "not attached: gone.txt: no such file"));
    chat.press(KeyCode::Enter);
    let typed = "see @a.txt and @gone.txt ".to_owned();
    chat.input(Input::Mentioned {
        content: typed.clone(),
        parts,
    });
    assert!(
        !shows(&mut chat, "attached: [a.txt 19 B]"),
        "{:?}",
        chat.rows()
    );
    let sent = format!("{typed}\n\n[a.txt, attached by the user]\n```\nsecret of the file\n```");
    report_prompt(&mut chat, &sent);
    assert!(shows(&mut chat, "❯ see @a.txt and @gone.txt"));
    assert!(shows(&mut chat, "  [a.txt 19 B]"), "{:?}", chat.rows());
    assert!(shows(&mut chat, "  not attached: gone.txt: no such file"));
    assert!(!shows(&mut chat, "  secret of the file"));
    chat.control('o');
    assert!(shows(&mut chat, "  secret of the file"));
}

#[test]
fn a_resumed_prompt_has_its_chips() {
    let mut chat = Chat::new(80, 24);
    let text = format!(
        "why?\n\n{}\n\n[src, a directory attached by the user]\n```\na\nb\n```\n\n\
         [p.png: an image, attached by the user]\n\n[b.dat: a binary file of 5 bytes, not attached]",
        output("make test", "one\ntwo\n").for_model()
    );
    let message = json!({"role": "user", "time": "", "content": [
        {"type": "text", "text": text}, {"type": "image", "mime_type": "image/png", "bytes": 2048},
    ]});
    chat.input(Input::Earlier {
        title: "earlier".to_owned(),
        messages: reported::messages(json!([message])),
    });
    assert!(shows(&mut chat, "❯ why?"), "{:?}", chat.rows());
    assert!(
        shows(
            &mut chat,
            "  [!make test 2 lines] [src 2 entries] [p.png image 2.0 KiB]"
        ),
        "{:?}",
        chat.rows()
    );
    assert!(shows(
        &mut chat,
        "  not attached: b.dat: a binary file of 5 bytes"
    ));
}

#[test]
fn attached_output_is_dropped_by_a_key_and_by_a_new_conversation() {
    let mut chat = Chat::new(80, 24);
    run(&mut chat, "one", "1\n");
    run(&mut chat, "two", "1\n2\n");
    assert!(
        shows(
            &mut chat,
            "attached to the next prompt: [!one 1 line] [!two 2 lines] · ctrl+x drops it"
        ),
        "{:?}",
        chat.rows()
    );
    chat.control('x');
    assert!(
        shows(
            &mut chat,
            "attached to the next prompt: [!one 1 line] · ctrl+x drops it"
        ),
        "{:?}",
        chat.rows()
    );
    // A command that is still running belongs to the old conversation too.
    chat.write("!three");
    chat.press(KeyCode::Enter);
    chat.write("/clear");
    chat.press(KeyCode::Escape);
    assert_eq!(
        chat.press(KeyCode::Enter).last(),
        Some(&Effect::Agent(AgentEffect::Clear))
    );
    chat.input(Input::Shell(ShellInput::Ended(output("three", "3\n"))));
    let has_attached = |chat: &mut Chat| {
        let rows = chat.rows();
        rows.iter().any(|row| row.contains("attached to the next"))
    };
    assert!(!has_attached(&mut chat), "{:?}", chat.rows());
    chat.write("hello");
    let effects = chat.press(KeyCode::Enter);
    assert_eq!(
        effects.last(),
        Some(&Effect::Agent(AgentEffect::Prompt(Prompt::typed("hello"))))
    );
    chat.input(Input::WorkEnded);
    run(&mut chat, "four", "4\n");
    assert!(has_attached(&mut chat));
}
