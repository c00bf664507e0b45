//! Calls that wait for approval: all of a call is visible, and nothing is decided by accident.

use serde_json::json;

use super::*;

fn ask(chat: &mut Chat, tool: &str, args: serde_json::Value, preview: Option<&str>) {
    let mut event = json!({"type": "tool_confirm", "id": "1", "name": tool, "args": args});
    if let Some(preview) = preview {
        event["preview"] = json!(preview);
    }
    chat.event(event);
}

fn bash(chat: &mut Chat, command: &str) {
    ask(chat, "bash", json!({"command": command}), Some(command));
}

fn decided(effects: &[Effect]) -> bool {
    let is_decision =
        |effect: &Effect| matches!(effect, Effect::Agent(AgentEffect::Confirm { .. }));
    effects.iter().any(is_decision)
}

/// Scrolls from the beginning to the end and collects what was seen.
fn seen(chat: &mut Chat) -> String {
    chat.press(KeyCode::Home);
    let mut seen = chat.rows().join("\n");
    for _ in 0..2_000 {
        let before = chat.rows();
        chat.press(KeyCode::Down);
        if chat.rows() == before {
            break;
        }
        seen.push_str(&chat.rows().join("\n"));
    }
    seen
}

#[test]
fn the_question_at_80_by_24_and_at_40_by_10() {
    let mut chat = Chat::new(80, 24);
    bash(&mut chat, "cargo test");
    assert_eq!(
        chat.rows()[3..],
        [
            "may zot run bash?",
            "  zot asks before every tool (/confirm)",
            "  cargo test",
            "y yes · e always exactly this · a always this tool · s everything from now on ·",
            "n no, with a reason · esc no · ctrl+o arguments",
        ]
    );
    let mut chat = Chat::new(40, 10);
    bash(&mut chat, "cargo test");
    assert_eq!(
        chat.rows()[3..],
        [
            "may zot run bash?",
            "  zot asks before every tool (/confirm)",
            "  cargo test",
            "y yes · e exactly this · a this tool · s",
            "all · n no… · esc no",
        ]
    );
}

#[test]
fn a_long_command_is_wrapped_not_cut() {
    for (columns, rows) in [(80, 24), (40, 10)] {
        let mut chat = Chat::new(columns, rows);
        bash(
            &mut chat,
            &format!("echo {}; rm -rf hidden-at-the-end", "x".repeat(300)),
        );
        let seen = seen(&mut chat);
        assert!(seen.contains("hidden-at-the-end"), "{seen}");
        let mut chat = Chat::new(columns, rows);
        bash(
            &mut chat,
            &format!("ls{}; rm -rf after-spaces", " ".repeat(3_000)),
        );
        assert!(self::seen(&mut chat).contains("after-spaces"));
        let mut chat = Chat::new(columns, rows);
        bash(&mut chat, &format!("ls{}rm -rf below", "\n".repeat(200)));
        let screen = chat.rows().join("\n");
        assert!(screen.contains("of 201"), "{screen}");
        assert!(screen.contains("y yes"), "{screen}");
        assert!(self::seen(&mut chat).contains("rm -rf below"));
    }
}

#[test]
fn all_of_a_long_diff_can_be_seen() {
    let diff: String = (0..500).map(|n| format!("+line number {n}\n")).collect();
    let mut chat = Chat::new(40, 10);
    ask(
        &mut chat,
        "write",
        json!({"path": "src/a.rs", "content": "…"}),
        Some(&diff),
    );
    let seen = seen(&mut chat);
    for number in 0..500 {
        assert!(seen.contains(&format!("+line number {number}")), "{number}");
    }
    assert!(seen.contains("  path: src/a.rs"), "{seen}");
    chat.press(KeyCode::Home);
    assert!(
        chat.rows().iter().any(|row| row.contains("path: src/a.rs")),
        "{:?}",
        chat.rows()
    );
    chat.press(KeyCode::PageDown);
    assert!(!chat.rows().iter().any(|row| row.contains("path: src/a.rs")));
    chat.press(KeyCode::End);
    assert!(
        chat.rows().iter().any(|row| row == "  +line number 499"),
        "{:?}",
        chat.rows()
    );
    // The arguments show what the preview leaves out.
    chat.control('o');
    let screen = chat.rows().join("");
    assert!(
        screen.contains(r#"{"content":"…","path":"src/a.rs"}"#),
        "{screen}"
    );
    assert!(decided(&chat.press(KeyCode::Character('y'))));
}

/// Control and invisible characters are written out.
#[test]
fn a_command_cannot_hide_a_part_of_itself() {
    for (command, shown) in [
        ("ls \x1b]0;; rm -rf ~ \x07 x", "ls ␛]0;; rm -rf ~ ␇ x"),
        ("ls # \x1b[8m; rm", "ls # ␛[8m; rm"),
        ("rm -rf ~\rls       ", "rm -rf ~␍ls"),
        ("a\u{202e}b", "a<U+202E>b"),
        ("a\u{200b}b\u{a0}c", "a<U+200B>b<U+00A0>c"),
        ("a\u{9b}2Jb", "a<U+009B>2Jb"),
        ("e\u{301} 日本 שלום नमस्ते", "e\u{301} 日本 שלום नमस्ते"),
    ] {
        let mut chat = Chat::new(80, 24);
        bash(&mut chat, command);
        let rows = chat.rows();
        assert!(
            rows.iter().any(|row| row.trim() == shown),
            "{shown:?} in {rows:?}"
        );
    }
}

#[test]
fn keys_with_modifiers_decide_nothing() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("go");
    chat.now_ms += 1_000;
    bash(&mut chat, "ls");
    for letter in ['y', 'e', 'a', 's', 'n', 'd', 'm', 'j'] {
        assert!(!decided(&chat.control(letter)), "ctrl+{letter}");
        assert!(
            !decided(&chat.input(Input::Key(Key::alt(letter)))),
            "alt+{letter}"
        );
        assert!(chat.app.approvals.current.is_some());
        assert!(
            chat.app
                .approvals
                .current
                .as_ref()
                .unwrap()
                .refusal
                .is_none()
        );
    }
    assert_eq!(
        chat.control('z'),
        [Effect::Terminal(TerminalEffect::Suspend)]
    );
    assert_eq!(chat.control('c'), [Effect::Agent(AgentEffect::Cancel)]);
}

#[test]
fn keys_in_the_middle_of_a_word_decide_nothing() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("go");
    chat.write("I sa");
    bash(&mut chat, "rm -rf /");
    chat.now_ms += 100;
    for letter in ['y', ' ', 'y', 'e', 's'] {
        chat.now_ms += 300;
        assert!(!decided(&chat.press(KeyCode::Character(letter))));
    }
    assert!(!decided(&chat.press(KeyCode::Enter)));
    assert_eq!(chat.app.composer.editor.text(), "I say yes");
    assert!(
        chat.rows().contains(&"❯ I say yes".to_owned()),
        "{:?}",
        chat.rows()
    );
    chat.now_ms += 1_000;
    assert!(decided(&chat.press(KeyCode::Character('y'))));
    assert_eq!(chat.app.composer.editor.text(), "I say yes");
}

#[test]
fn a_question_covers_a_panel_and_keys_for_the_panel_do_not_answer_it() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("go");
    chat.input(Input::Panel(PanelInput::Opened(PanelView {
        extension: "todo".to_owned(),
        id: "p".to_owned(),
        lines: vec!["milk".to_owned()],
        ..PanelView::default()
    })));
    chat.press(KeyCode::Character('y'));
    bash(&mut chat, "rm -rf /");
    let screen = chat.rows().join("\n");
    assert!(
        screen.contains("may zot run bash?") && !screen.contains("milk"),
        "{screen}"
    );
    chat.now_ms += 300;
    assert_eq!(chat.press(KeyCode::Character('y')), []);
    chat.now_ms += 1_000;
    assert!(decided(&chat.press(KeyCode::Character('y'))));
    assert!(chat.rows().contains(&"│ milk".to_owned()));
}

#[test]
fn a_refusal_with_a_long_reason_and_a_paste() {
    let mut chat = Chat::new(40, 10);
    bash(&mut chat, "ls");
    chat.press(KeyCode::Character('n'));
    chat.write("because ");
    chat.input(Input::Paste(
        "of a reason that is much longer than the line".to_owned(),
    ));
    let rows = chat.rows();
    assert!(
        rows.last().unwrap().ends_with("longer than the line"),
        "{rows:?}"
    );
    let effects = chat.press(KeyCode::Enter);
    let reason = "the user said no: because of a reason that is much longer than the line";
    let no = Effect::Agent(AgentEffect::Confirm {
        id: "1".to_owned(),
        decision: Decision::deny(reason),
    });
    assert_eq!(effects, [no]);
}

#[test]
fn a_resize_wraps_the_preview_again() {
    let mut chat = Chat::new(80, 24);
    bash(&mut chat, &"word ".repeat(40));
    chat.terminal
        .screen_mut()
        .set_size(12.try_into().unwrap(), 30.try_into().unwrap());
    chat.input(Input::Resized {
        columns: 30,
        rows: 12,
    });
    let rows = chat.rows();
    assert!(
        rows.contains(&"  word word word word word".to_owned()),
        "{rows:?}"
    );
}

/// The time the user takes to answer does not count as the tool's.
#[test]
fn the_time_of_a_tool_excludes_the_wait_for_approval() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("go");
    let call = |chat: &mut Chat, id: &str| {
        let args = json!({"path": format!("{id}.txt")});
        chat.event(json!({"type": "tool_call", "id": id, "name": "read", "args": args}));
        chat.event(json!({"type": "tool_confirm", "id": id, "name": "read", "args": args}));
    };
    let end = |chat: &mut Chat, id: &str| {
        chat.event(
            json!({"type": "tool_result", "id": id, "name": "read", "is_error": false,
                          "content": [{"type": "text", "text": "x"}]}),
        );
    };
    let has = |chat: &mut Chat, row: &str| chat.everything().iter().any(|other| other == row);
    call(&mut chat, "c1");
    call(&mut chat, "c2");
    chat.now_ms += 60_000;
    chat.input(Input::Tick);
    assert!(
        has(&mut chat, "╰ waiting for your approval"),
        "{:?}",
        chat.rows()
    );
    assert!(decided(&chat.press(KeyCode::Character('y'))));
    chat.now_ms += 2_000;
    end(&mut chat, "c1");
    assert!(has(&mut chat, "╰ 2.0s"), "{:?}", chat.everything());
    // The other one ends without an answer.
    chat.now_ms += 60_000;
    end(&mut chat, "c2");
    let times = |row: &String| row.starts_with("╰ ") && row.ends_with('s');
    assert_eq!(chat.everything().into_iter().filter(times).count(), 1);
}

#[test]
fn the_step_limit_asks_a_question() {
    let asked = |chat: &Chat| {
        let rows = chat.rows();
        let question = "the limit of 2 steps is reached: continue for 2 steps more?";
        rows.iter().any(|row| row == question)
    };
    for (key, more) in [('y', 2), ('a', u64::from(u32::MAX)), ('n', 0)] {
        let mut chat = Chat::new(80, 24);
        chat.prompt("go");
        chat.input(Input::Agent(AgentEvent::StepLimitReached { limit: 2 }));
        assert!(asked(&chat), "{:?}", chat.rows());
        assert_eq!(chat.press(KeyCode::Character('x')), []);
        let effects = chat.press(KeyCode::Character(key));
        assert_eq!(effects, [Effect::Agent(AgentEffect::AllowSteps(more))]);
        assert!(!asked(&chat));
    }
    // Ending the prompt at the limit is not an error.
    let mut chat = Chat::new(80, 24);
    chat.prompt("go");
    chat.input(Input::Agent(AgentEvent::StepLimitReached { limit: 2 }));
    assert_eq!(
        chat.press(KeyCode::Escape),
        [Effect::Agent(AgentEffect::AllowSteps(0))]
    );
    chat.event(json!({"type": "error", "message": "max steps (2) exceeded", "code": "max_steps"}));
    chat.input(Input::WorkEnded);
    let rows = chat.rows().join("\n");
    assert!(rows.contains("· stopped at the limit of 2 steps"), "{rows}");
    assert!(!rows.contains('✗'), "{rows}");
    // Keys typed into the editor are not answers.
    let mut chat = Chat::new(80, 24);
    chat.prompt("go");
    chat.write("the");
    chat.input(Input::Agent(AgentEvent::StepLimitReached { limit: 2 }));
    assert_eq!(chat.write("ny"), []);
    assert_eq!(chat.app.composer.editor.text(), "theny");
    chat.now_ms += 1_000;
    assert_eq!(chat.write("n"), [Effect::Agent(AgentEffect::AllowSteps(0))]);
}
