//! Questions of tools: who asks is visible, nothing is sent by accident, no page is opened unasked.

use serde_json::{Value, json};
use zot_sdk::{Answer, JsonObject, Question, QuestionId, QuestionKind};

use super::*;

fn ask(chat: &mut Chat, id: &str, kind: QuestionKind, message: &str) {
    chat.input(Input::Agent(AgentEvent::QuestionAsked {
        id: QuestionId::from(id),
        call: "call-1".into(),
        question: Question {
            origin: "weather".to_owned(),
            message: message.to_owned(),
            kind,
        },
    }));
}

fn form(chat: &mut Chat, message: &str, schema: &str) {
    let schema = JsonObject::parse(schema).unwrap();
    ask(chat, "q1", QuestionKind::Form { schema }, message);
}

fn page(chat: &mut Chat, url: &str) {
    let kind = QuestionKind::Url {
        url: url.to_owned(),
    };
    ask(chat, "q1", kind, "Please sign in");
}

fn answers(effects: &[Effect]) -> Vec<Answer> {
    let answers = effects.iter().filter_map(|effect| match effect {
        Effect::Agent(AgentEffect::Answer { answer, .. }) => Some(answer.clone()),
        _ => None,
    });
    answers.collect()
}

fn accepted(effects: &[Effect]) -> Value {
    match answers(effects).as_slice() {
        [
            Answer::Accept {
                content: Some(content),
            },
        ] => serde_json::from_str(content.as_str()).unwrap(),
        other => panic!("expected one accepted form, got {other:?}"),
    }
}

const CONTACT: &str = r#"{"type":"object","properties":{
    "name":{"type":"string","title":"Full name","description":"As on the passport"},
    "email":{"type":"string","format":"email"},
    "nights":{"type":"integer","minimum":1,"maximum":9,"default":2},
    "room":{"type":"string","enum":["single","double"],"default":"single"},
    "extras":{"type":"array","items":{"type":"string","enum":["breakfast","parking","sauna"]}},
    "smoker":{"type":"boolean"}},"required":["name","email"]}"#;

#[test]
fn a_form_is_filled_in_reviewed_and_sent() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("book");
    form(&mut chat, "Who is travelling?", CONTACT);
    assert_eq!(
        chat.rows()[4..],
        [
            "",
            "weather asks",
            "  what you enter is sent to weather: never enter a password or key",
            "  Who is travelling?",
            "▸ Full name  required",
            "    As on the passport",
            "  email      required, an email address",
            "  nights     2",
            "  room       single",
            "  extras     optional",
            "  smoker     optional",
            "  [send]",
            "  [decline]",
            "enter next · up, down · ctrl+s sends · esc cancel",
        ]
    );
    chat.write("Ada");
    chat.press(KeyCode::Enter);
    chat.write("nobody");
    chat.press(KeyCode::Enter);
    let screen = chat.rows().join("\n");
    assert!(screen.contains("    expected an email address"), "{screen}");
    chat.press(KeyCode::Up);
    chat.write("@example.com");
    chat.press(KeyCode::Tab);
    chat.press(KeyCode::Backspace);
    chat.write("3");
    chat.press(KeyCode::Down);
    assert!(
        chat.rows()
            .join("\n")
            .contains("▸ room       ● single  ○ double")
    );
    chat.press(KeyCode::Right);
    chat.press(KeyCode::Down);
    chat.press(KeyCode::Character(' '));
    chat.press(KeyCode::Character('s'));
    chat.press(KeyCode::Character(' '));
    assert!(
        chat.rows()
            .join("\n")
            .contains("■ breakfast  □ parking  ■ sauna")
    );
    chat.press(KeyCode::Down);
    chat.write("n");
    assert_eq!(chat.press(KeyCode::Down), Vec::new());
    assert_eq!(
        chat.rows()[7..],
        [
            "  Who is travelling?",
            "  Full name  Ada",
            "    As on the passport",
            "  email      nobody@example.com",
            "  nights     3",
            "  room       double",
            "  extras     breakfast, sauna",
            "  smoker     no",
            "▸ [send]",
            "  [decline]",
            "enter chooses · up, down · ctrl+s sends · esc cancel",
        ]
    );
    let effects = chat.press(KeyCode::Enter);
    assert_eq!(
        accepted(&effects),
        json!({"name": "Ada", "email": "nobody@example.com", "nights": 3, "room": "double",
            "extras": ["breakfast", "sauna"], "smoker": false})
    );
    // The editor is back.
    assert!(!chat.rows().join("\n").contains("weather asks"));
}

#[test]
fn nothing_is_sent_while_a_value_is_missing_or_wrong() {
    let mut chat = Chat::new(80, 24);
    form(&mut chat, "Who?", CONTACT);
    assert!(answers(&chat.control('s')).is_empty());
    let screen = chat.rows().join("\n");
    assert!(screen.contains("this has to be filled in"), "{screen}");
    assert!(screen.contains("▸ Full name"), "{screen}");
    chat.write("Ada");
    chat.press(KeyCode::Down);
    chat.write("a@b");
    chat.press(KeyCode::Down);
    chat.write("0");
    assert!(answers(&chat.control('s')).is_empty());
    let screen = chat.rows().join("\n");
    assert!(
        screen.contains("expected a whole number, 1 to 9"),
        "{screen}"
    );
    chat.press(KeyCode::Backspace);
    // What is optional and empty is left out.
    assert_eq!(
        accepted(&chat.control('s')),
        json!({"name": "Ada", "email": "a@b", "nights": 2, "room": "single"})
    );
}

#[test]
fn declining_and_cancelling_are_different() {
    let mut chat = Chat::new(80, 24);
    form(&mut chat, "Who?", CONTACT);
    assert_eq!(answers(&chat.press(KeyCode::Escape)), [Answer::Cancel]);
    form(&mut chat, "Sure?", "{}");
    chat.press(KeyCode::Down);
    assert_eq!(answers(&chat.press(KeyCode::Enter)), [Answer::Decline]);
    form(&mut chat, "Sure?", "{}");
    assert_eq!(accepted(&chat.press(KeyCode::Enter)), json!({}));
}

#[test]
fn questions_wait_for_each_other_and_end_with_their_call() {
    let mut chat = Chat::new(80, 24);
    form(&mut chat, "first", "{}");
    form(&mut chat, "second", "{}");
    assert!(chat.rows().join("\n").contains("  first"));
    chat.press(KeyCode::Escape);
    assert!(chat.rows().join("\n").contains("  second"));
    chat.event(json!({"type": "tool_result", "id": "call-1", "name": "weather__x", "content": [], "is_error": true}));
    assert!(!chat.rows().join("\n").contains("weather asks"));
    form(&mut chat, "third", "{}");
    chat.input(Input::WorkEnded);
    assert!(!chat.rows().join("\n").contains("weather asks"));
    // A server cannot pile questions up.
    form(&mut chat, "shown", "{}");
    let mut cancelled = 0;
    for _ in 0..40 {
        let schema = JsonObject::parse("{}").unwrap();
        let effects = chat.input(Input::Agent(AgentEvent::QuestionAsked {
            id: QuestionId::from("more"),
            call: "call-2".into(),
            question: Question {
                origin: "weather".to_owned(),
                message: String::new(),
                kind: QuestionKind::Form { schema },
            },
        }));
        cancelled += answers(&effects).len();
    }
    assert_eq!(cancelled, 8);
}

#[test]
fn someone_who_is_typing_does_not_answer() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("go");
    chat.write("and then");
    page(&mut chat, "https://example.com/login");
    // These are meant for the editor.
    assert!(answers(&chat.write("o yes no")).is_empty());
    assert!(answers(&chat.press(KeyCode::Enter)).is_empty());
    assert!(chat.rows().join("\n").contains("❯ and theno yes no"));
    chat.now_ms += 1_000;
    assert_eq!(answers(&chat.write("n")), [Answer::Decline]);
}

#[test]
fn a_page_is_shown_whole_and_opened_only_when_told() {
    let url = format!(
        "https://login.bank.example@evil.example/{}?end",
        "path/".repeat(60)
    );
    for (columns, rows) in [(80, 24), (40, 10)] {
        let mut chat = Chat::new(columns, rows);
        page(&mut chat, &url);
        let screen = chat.rows().join("\n");
        assert!(screen.contains("it leads to evil.example"), "{screen}");
        assert!(
            screen.contains("careful: what comes before the @"),
            "{screen}"
        );
        let mut seen = String::new();
        for _ in 0..20 {
            seen = chat.rows().join("\n") + &seen;
            chat.press(KeyCode::PageUp);
        }
        let seen = seen.replace([' ', '\n'], "");
        assert!(seen.contains("https://login.bank.example@"), "{seen}");
        assert!(seen.contains("/path/?end"), "{seen}");
        assert!(answers(&chat.press(KeyCode::Enter)).is_empty());
        assert_eq!(
            chat.write("c"),
            [Effect::Terminal(TerminalEffect::Copy(url.clone()))]
        );
        let effects = chat.write("o");
        assert_eq!(
            effects[0],
            Effect::Terminal(TerminalEffect::OpenPage(url.clone()))
        );
        assert_eq!(answers(&effects), [Answer::Accept { content: None }]);
    }
    // What is not a web page cannot be opened at all.
    let mut chat = Chat::new(80, 24);
    page(&mut chat, "file:///etc/passwd");
    assert_eq!(chat.write("oy"), Vec::new());
    assert_eq!(answers(&chat.write("n")), [Answer::Decline]);
}

#[test]
fn a_hostile_form_stays_on_the_screen() {
    let long = "x".repeat(5_000);
    let schema = json!({"properties": {
        "a": {"type": "string", "title": "\u{1b}[2J\u{202e}gpj.exe", "description": long},
        "b": {"type": "string", "enum": vec!["option"; 300]},
        "c": {"type": "object"}}, "required": ["a"]});
    for (columns, rows) in [(80, 24), (40, 10), (12, 5)] {
        let mut chat = Chat::new(columns, rows);
        form(
            &mut chat,
            &"very long message ".repeat(300),
            &schema.to_string(),
        );
        let shown = chat.rows().len();
        assert!(shown <= usize::from(rows), "{shown} rows");
        let screen = chat.rows().join("\n");
        assert!(!screen.contains('\u{202e}'), "{screen}");
        chat.write("text");
        chat.press(KeyCode::Tab);
        chat.press(KeyCode::Tab);
        assert!(
            chat.rows().join("\n").contains("▸ [send]"),
            "{:?}",
            chat.rows()
        );
        assert_eq!(accepted(&chat.press(KeyCode::Enter)), json!({"a": "text"}));
    }
    let mut chat = Chat::new(80, 24);
    form(
        &mut chat,
        "Nest",
        r#"{"properties":{"c":{"type":"object"}},"required":["c"]}"#,
    );
    let screen = chat.rows().join("\n");
    assert!(
        screen.contains("\"c\" is required, but of a kind that zot does not know"),
        "{screen}"
    );
    assert!(answers(&chat.control('s')).is_empty());
    assert_eq!(answers(&chat.press(KeyCode::Enter)), [Answer::Decline]);
}

#[test]
fn a_long_text_scrolls_within_its_field() {
    let mut chat = Chat::new(40, 12);
    form(
        &mut chat,
        "Say",
        r#"{"properties":{"t":{"type":"string","maxLength":500}}}"#,
    );
    chat.input(Input::Paste("0123456789".repeat(10) + "end"));
    let screen = chat.rows().join("\n");
    assert!(
        screen.contains("…") && screen.contains("789end"),
        "{screen}"
    );
    let (row, column) = chat.terminal.screen().cursor_position();
    assert!(chat.rows()[usize::from(row)].ends_with("end"));
    assert!(column < 40);
    assert_eq!(
        accepted(&chat.control('s')),
        json!({"t": "0123456789".repeat(10) + "end"})
    );
}

#[test]
fn lines_answer_a_form_where_there_are_only_lines() {
    let mut chat = Chat::new(80, 24);
    form(&mut chat, "Who?", CONTACT);
    let line = |chat: &mut Chat, text: &str| chat.input(Input::Line(text.to_owned()));
    let prompt = |chat: &Chat| chat.app.questions.current.as_ref().unwrap().line_prompt();
    assert!(prompt(&chat)[1].contains("weather asks"));
    line(&mut chat, "");
    assert!(prompt(&chat)[0].contains("this has to be filled in"));
    line(&mut chat, "Ada");
    line(&mut chat, "ada@example.com");
    assert!(
        prompt(&chat)[1].contains("enter keeps 2"),
        "{:?}",
        prompt(&chat)
    );
    line(&mut chat, "");
    line(&mut chat, "2");
    line(&mut chat, "1, sauna");
    line(&mut chat, "yes");
    assert_eq!(
        prompt(&chat).last().unwrap(),
        "y send this · n no · /cancel"
    );
    assert_eq!(
        accepted(&line(&mut chat, "y")),
        json!({"name": "Ada", "email": "ada@example.com", "nights": 2, "room": "double",
            "extras": ["breakfast", "sauna"], "smoker": true})
    );
    form(&mut chat, "Who?", CONTACT);
    assert_eq!(answers(&line(&mut chat, "/decline")), [Answer::Decline]);
    page(&mut chat, "https://example.com");
    assert_eq!(answers(&line(&mut chat, "n")), [Answer::Decline]);
}

/// As `bash` asks when the sandbox refused something.
const OBSTACLE: &str = r#"{"type":"object","properties":{"choice":{"type":"string",
    "title":"Run it again?","oneOf":[
    {"const":"once","title":"Yes, outside of the sandbox, this time only"},
    {"const":"session","title":"Session: yes, and allow connecting to static.crates.io:443"},
    {"const":"project","title":"Project: yes, and always allow connecting to static.crates.io:443"},
    {"const":"no","title":"No"}],"default":"no"}},"required":["choice"]}"#;

fn obstacle(chat: &mut Chat) {
    chat.input(Input::Agent(AgentEvent::QuestionAsked {
        id: QuestionId::from("q1"),
        call: "call-1".into(),
        question: Question {
            origin: "sandbox".to_owned(),
            message:
                "The sandbox (level workspace) refused connecting to static.crates.io:443. The \
                      command: cargo fetch"
                    .to_owned(),
            kind: QuestionKind::Form {
                schema: JsonObject::parse(OBSTACLE).unwrap(),
            },
        },
    }));
}

#[test]
fn several_of_the_options_below_one_another_can_be_chosen() {
    let first = "an option that takes more than half of a line of the screen";
    let schema = json!({"properties": {
        "name": {"type": "string"},
        "several": {"type": "array", "items": {"enum": [first, "second", "third"]}}}});
    let mut chat = Chat::new(80, 24);
    form(&mut chat, "Which?", &schema.to_string());
    for key in [
        KeyCode::Down,
        KeyCode::Character(' '),
        KeyCode::Down,
        KeyCode::Down,
    ] {
        chat.press(key);
    }
    chat.press(KeyCode::Character(' '));
    chat.press(KeyCode::Down);
    let screen = chat.rows().join("\n");
    assert!(screen.contains("▸ [send]"), "{screen}");
    for _ in 0..4 {
        chat.press(KeyCode::Up);
    }
    let screen = chat.rows().join("\n");
    assert!(screen.contains("▸ name"), "{screen}");
    assert_eq!(
        accepted(&chat.control('s')),
        json!({"several": [first, "third"]})
    );
}

#[test]
fn the_sandbox_asks_with_every_choice_in_sight() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("fetch");
    obstacle(&mut chat);
    assert_eq!(
        chat.rows()[5..],
        [
            "sandbox asks",
            "  The sandbox (level workspace) refused connecting to static.crates.io:443. The",
            "  command: cargo fetch",
            "▸ Run it again?  ○ Yes, outside of the sandbox, this time only",
            "                 ○ Session: yes, and allow connecting to static.crates.io:443",
            "                 ○ Project: yes, and always allow connecting to static.crates.i…",
            "                 ● No",
            "  [send]",
            "  [decline]",
            "up, down choose · enter next · ctrl+s sends · esc cancel",
        ]
    );
    // Pressing only enter allows nothing.
    let effects = [KeyCode::Enter, KeyCode::Enter].map(|key| chat.press(key));
    assert_eq!(accepted(&effects[1]), json!({"choice": "no"}));

    obstacle(&mut chat);
    chat.press(KeyCode::Left);
    chat.press(KeyCode::Left);
    let effects = [KeyCode::Enter, KeyCode::Enter].map(|key| chat.press(key));
    assert_eq!(accepted(&effects[1]), json!({"choice": "session"}));

    // Options below one another are chosen with up and down as well. The first is not left upwards, where
    // [decline] would be.
    for (ups, choice) in [(1, "project"), (2, "session"), (3, "once"), (5, "once")] {
        obstacle(&mut chat);
        for _ in 0..ups {
            chat.press(KeyCode::Up);
        }
        let effects = [KeyCode::Enter, KeyCode::Enter].map(|key| chat.press(key));
        assert_eq!(accepted(&effects[1]), json!({"choice": choice}));
    }
    obstacle(&mut chat);
    for key in [KeyCode::Up, KeyCode::Up, KeyCode::Down, KeyCode::Down] {
        chat.press(key);
    }
    assert!(chat.rows().join("\n").contains("● No"));
    chat.press(KeyCode::Down);
    assert!(chat.rows().join("\n").contains("▸ [send]"));
    chat.press(KeyCode::Up);
    assert!(chat.rows().join("\n").contains("▸ Run it again?"));
    chat.press(KeyCode::Escape);

    // On a wide screen, No does not hide at the end of another line.
    let mut wide = Chat::new(120, 24);
    wide.prompt("fetch");
    obstacle(&mut wide);
    assert!(wide.rows().contains(&format!("{}● No", " ".repeat(17))));

    let mut narrow = Chat::new(40, 16);
    narrow.prompt("fetch");
    obstacle(&mut narrow);
    let screen = narrow.rows().join("\n");
    for words in ["○ Yes, outside", "○ Session: yes", "○ Project: yes", "● No"] {
        assert!(screen.contains(words), "{words}:\n{screen}");
    }
}
