//! The chat after keys and events, as a terminal emulator shows it.

mod approvals;
mod chips;
mod first_steps;
mod hostile;
mod images;
mod mcp;
mod panels;
mod picker;
mod questions;
mod redraw;
mod reported;
mod resizing;
mod small;
mod snapshots;
mod unicode;
mod working;
mod writing;

use serde_json::json;
use zot_sdk::sandbox::Level;
use zot_sdk::wire::Event;
use zot_sdk::{AgentEvent, ApprovalScope, Decision};

use super::*;
use crate::renderer::Renderer;
use crate::style::{Depth, Style};

/// The chat on a screen.
struct Chat {
    app: App,
    renderer: Renderer,
    terminal: vt100::Parser,
    now_ms: u64,
}

impl Chat {
    fn new(columns: u16, rows: u16) -> Self {
        let info = Info {
            provider: "test".to_owned(),
            model: "test-model".to_owned(),
            cwd: "/work".to_owned(),
            version: "1".to_owned(),
            context_window: 1_000,
            ..Info::default()
        };
        let size = (usize::from(columns), usize::from(rows));
        let mut chat = Self {
            app: App::new(Theme::DARK, size.0, size.1, info, History::default()),
            renderer: Renderer::new(Depth::None),
            terminal: vt100::Parser::new(
                rows.try_into().unwrap(),
                columns.try_into().unwrap(),
                5_000,
            ),
            now_ms: 1_000,
        };
        chat.draw();
        chat
    }

    fn input(&mut self, input: Input) -> Vec<Effect> {
        let effects = self.app.update(self.now_ms, input);
        self.draw();
        effects
    }

    fn draw(&mut self) {
        let (_, rows) = self.app.size();
        let bytes = self
            .renderer
            .draw(self.app.frame(self.renderer.above()), rows);
        self.terminal.process(bytes.as_bytes());
    }

    fn press(&mut self, code: KeyCode) -> Vec<Effect> {
        self.input(Input::Key(Key::plain(code)))
    }

    fn control(&mut self, letter: char) -> Vec<Effect> {
        self.input(Input::Key(Key::control(letter)))
    }

    fn write(&mut self, text: &str) -> Vec<Effect> {
        let presses = text.chars().map(KeyCode::Character);
        presses.flat_map(|code| self.press(code)).collect()
    }

    fn event(&mut self, event: serde_json::Value) {
        self.input(reported::input(event));
    }

    fn delta(&mut self, text: &str) {
        self.event(json!({"type": "text_delta", "delta": text}));
    }

    fn prompt(&mut self, text: &str) {
        self.write(text);
        let effects = self.press(KeyCode::Enter);
        assert!(
            effects.contains(&Effect::Agent(AgentEffect::Prompt(Prompt::typed(text)))),
            "{effects:?}"
        );
        self.event(json!({"type": "user_message", "time": "", "content": [{"type": "text", "text": text}]}));
        self.event(json!({"type": "assistant_start"}));
    }

    fn rows(&self) -> Vec<String> {
        let screen = self.terminal.screen();
        let rows = screen.rows(0, screen.size().1.get());
        let mut rows: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    fn everything(&mut self) -> Vec<String> {
        let columns = self.terminal.screen().size().1.get();
        self.terminal.screen_mut().set_scrollback(usize::MAX);
        let count = self.terminal.screen().scrollback();
        let mut all = Vec::new();
        for offset in (1..=count).rev() {
            self.terminal.screen_mut().set_scrollback(offset);
            let first = self.terminal.screen().rows(0, columns).next();
            all.extend(first.map(|row| row.trim_end().to_owned()));
        }
        self.terminal.screen_mut().set_scrollback(0);
        all.extend(self.rows());
        all
    }
}

#[test]
fn a_whole_turn_at_80_by_24() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("list the files");
    chat.delta("I will **look**.\n\n");
    chat.event(json!({"type": "tool_use_start", "id": "c1", "name": "bash"}));
    chat.event(json!({"type": "tool_use_args", "id": "c1", "delta": "{\"command\":\"ls -"}));
    assert_eq!(
        chat.rows(),
        [
            "zot 1  test-model · /work",
            "/help for commands and keys",
            "",
            "❯ list the files",
            "",
            "I will look.",
            "",
            "─ bash  ls -",
            "",
            "⠇ writing a call 0s · esc to stop",
            "❯",
            "test-model",
        ]
    );
    chat.event(
        json!({"type": "tool_call", "id": "c1", "name": "bash", "args": {"command": "ls -1"}}),
    );
    chat.event(json!({"type": "tool_progress", "id": "c1", "text": "a.txt\n"}));
    assert!(
        chat.rows().contains(&"│ a.txt".to_owned()),
        "{:?}",
        chat.rows()
    );
    let listing: String = (1..=9).map(|number| format!("file {number}\n")).collect();
    chat.event(json!({"type": "tool_result", "id": "c1", "is_error": false, "content": [{"type": "text", "text": listing}]}));
    chat.delta("There are *nine*.");
    chat.event(json!({"type": "assistant_message", "time": "", "content": []}));
    chat.event(json!({"type": "done"}));
    chat.input(Input::WorkEnded);
    assert_eq!(
        chat.rows()[5..],
        [
            "I will look.",
            "",
            "╭ bash  ls -1",
            "│ file 1",
            "│ file 2",
            "│ file 3",
            "│ … 2 more lines (ctrl+o)",
            "│ file 6",
            "│ file 7",
            "│ file 8",
            "│ file 9",
            "╰─",
            "",
            "There are nine.",
            "",
            "❯",
            "test-model",
        ]
    );
}

#[test]
fn a_retry_and_an_error_are_explained() {
    let mut chat = Chat::new(80, 24);
    chat.write("go");
    chat.press(KeyCode::Enter);
    chat.event(json!({"type": "retry", "failures": 1, "wait_ms": 4000, "message": "x: http 503"}));
    let line = "  attempt 1 failed, retrying in 4s: x: http 503".to_owned();
    assert!(chat.rows().contains(&line), "{:?}", chat.rows());
    chat.now_ms += 3_500;
    chat.input(Input::Tick);
    assert!(chat.rows().iter().any(|row| row.contains("retrying in 1s")));
    chat.event(json!({"type": "assistant_start"}));
    assert!(!chat.rows().iter().any(|row| row.contains("attempt")));
    chat.event(
        json!({"type": "error", "code": "unauthorized", "provider": "openai",
        "message": "openai: http 401: {\"error\":{\"message\":\"bad key\"}}"}),
    );
    let rows = chat.rows();
    let at = rows
        .iter()
        .position(|row| row == "✗ openai: http 401: bad key")
        .unwrap();
    assert_eq!(rows[at + 1], "  /login openai sets another key");
}

#[test]
fn a_small_screen_shows_the_end_and_the_scrollback_everything() {
    let mut chat = Chat::new(40, 10);
    chat.prompt("count");
    for number in 1..=30 {
        chat.delta(&format!("line {number}\n\n"));
    }
    chat.event(json!({"type": "assistant_message", "time": "", "content": []}));
    chat.input(Input::WorkEnded);
    let rows = chat.rows();
    assert!(
        rows.ends_with(&["❯".to_owned(), "test-model".to_owned()]),
        "{rows:?}"
    );
    let everything = chat.everything();
    let lines: Vec<_> = everything
        .iter()
        .filter(|row| row.starts_with("line "))
        .collect();
    assert_eq!(lines.len(), 30, "{everything:?}");
    assert_eq!(
        everything
            .iter()
            .filter(|row| row.contains("test-model"))
            .count(),
        2
    );
}

#[test]
fn a_write_grows_as_it_arrives_and_an_edit_is_a_diff() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("go");
    chat.event(json!({"type": "tool_use_start", "id": "c1", "name": "write"}));
    chat.event(json!({"type": "tool_use_args", "id": "c1", "delta": r#"{"path":"a.rs","content":"fn main() {\n  let"#}));
    let rows = chat.rows();
    assert!(rows.contains(&"╭ write  a.rs".to_owned()), "{rows:?}");
    assert!(rows.contains(&"│ fn main() {".to_owned()), "{rows:?}");
    chat.event(json!({"type": "tool_use_start", "id": "c2", "name": "edit"}));
    chat.event(json!({"type": "tool_use_args", "id": "c2", "delta": r#"{"path":"a.rs","edits":[{"oldText":"one","newText":"two"#}));
    let rows = chat.rows();
    assert!(
        rows.contains(&"│ -one".to_owned()) && rows.contains(&"│ +two".to_owned()),
        "{rows:?}"
    );
}

#[test]
fn prompts_queue_and_are_sent_in_order() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("first");
    chat.write("second");
    assert_eq!(
        chat.press(KeyCode::Enter),
        [Effect::Remember("second".into())]
    );
    chat.write("third");
    chat.press(KeyCode::Enter);
    assert!(chat.rows().contains(&"queued: third".to_owned()));
    assert_eq!(
        chat.input(Input::WorkEnded),
        [Effect::Agent(AgentEffect::Prompt(Prompt::typed("second")))]
    );
    assert_eq!(
        chat.input(Input::WorkEnded),
        [Effect::Agent(AgentEffect::Prompt(Prompt::typed("third")))]
    );
    assert_eq!(chat.input(Input::WorkEnded), []);
    chat.write("now");
    chat.app.status.begin_work(&chat.app.context, "thinking");
    assert_eq!(
        chat.control('s'),
        [
            Effect::Remember("now".into()),
            Effect::Agent(AgentEffect::Steer(Prompt::typed("now")))
        ]
    );
}

#[test]
fn escape_stops_and_keeps_the_partial_answer() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("go");
    chat.delta("half an ans");
    assert_eq!(
        chat.press(KeyCode::Escape),
        [Effect::Agent(AgentEffect::Cancel)]
    );
    assert_eq!(chat.press(KeyCode::Escape), []);
    chat.input(Input::WorkEnded);
    assert!(chat.rows().contains(&"half an ans".to_owned()));
}

#[test]
fn two_interrupts_leave_and_one_does_not() {
    let mut chat = Chat::new(80, 24);
    chat.write("text");
    assert_eq!(chat.control('c'), []);
    assert!(chat.app.composer.editor.is_empty());
    chat.now_ms += LEAVE_WINDOW_MS;
    assert_eq!(chat.control('c'), []);
    assert_eq!(chat.control('c'), [Effect::Quit]);
    assert_eq!(Chat::new(80, 24).control('d'), [Effect::Quit]);
}

#[test]
fn a_command_is_completed_and_run() {
    let mut chat = Chat::new(80, 24);
    chat.input(Input::Commands(vec![(
        "todo".to_owned(),
        "a list".to_owned(),
    )]));
    chat.write("/co");
    assert!(
        chat.rows().iter().any(|row| row.starts_with("▸ /compact")),
        "{:?}",
        chat.rows()
    );
    chat.press(KeyCode::Down);
    chat.press(KeyCode::Tab);
    assert_eq!(chat.app.composer.editor.text(), "/cost ");
    chat.press(KeyCode::Enter);
    assert!(
        chat.rows()
            .iter()
            .any(|row| row.contains("nothing spent yet"))
    );
    chat.write("/todo add milk");
    let effects = chat.press(KeyCode::Enter);
    assert!(
        effects.contains(&Effect::Extension(ExtensionEffect::Invoke {
            name: "todo".to_owned(),
            arguments: "add milk".to_owned()
        }))
    );
    chat.write("/etc/passwd is a file");
    let effects = chat.press(KeyCode::Enter);
    assert!(
        effects.contains(&Effect::Agent(AgentEffect::Prompt(Prompt::typed(
            "/etc/passwd is a file"
        )))),
        "{effects:?}"
    );
}

#[test]
fn a_file_is_picked() {
    let mut chat = Chat::new(80, 24);
    assert_eq!(chat.write("see @"), [Effect::Query(Query::Files)]);
    let files = Choices::named(["src/main.rs", "src/lib.rs", "a file.md"]);
    chat.input(Input::Listed(Listed::Files(FileList::complete(files))));
    // A partial list that arrives late.
    chat.input(Input::Listed(Listed::Files(FileList::partial(
        Choices::named(["src/"]),
    ))));
    chat.write("lib");
    chat.press(KeyCode::Enter);
    assert_eq!(chat.app.composer.editor.text(), "see @src/lib.rs ");
    chat.write("@file");
    chat.press(KeyCode::Tab);
    assert_eq!(
        chat.app.composer.editor.text(),
        "see @src/lib.rs @\"a file.md\" "
    );
}

#[test]
fn a_call_waits_for_approval() {
    let ask = || {
        let mut chat = Chat::new(80, 24);
        chat.prompt("go");
        chat.event(json!({"type": "tool_confirm", "id": "c1", "name": "bash", "args": {}, "preview": "rm -rf build"}));
        chat
    };
    let confirm = |decision| {
        [Effect::Agent(AgentEffect::Confirm {
            id: "c1".to_owned(),
            decision,
        })]
    };
    let mut chat = ask();
    assert!(
        chat.rows().contains(&"  rm -rf build".to_owned()),
        "{:?}",
        chat.rows()
    );
    assert_eq!(
        chat.press(KeyCode::Character('y')),
        confirm(Decision::allow())
    );
    let mut chat = ask();
    chat.press(KeyCode::Character('n'));
    chat.write("use trash");
    assert_eq!(
        chat.press(KeyCode::Enter),
        confirm(Decision::deny("the user said no: use trash"))
    );
    let mut chat = ask();
    assert_eq!(
        chat.press(KeyCode::Escape),
        confirm(Decision::deny("the user said no"))
    );
}

#[test]
fn a_resize_shows_the_same_at_the_new_width() {
    let mut chat = Chat::new(80, 24);
    chat.app.transcript.keeps_scrollback = false;
    chat.prompt("go");
    chat.delta("a rather long line that is broken when there is less room for it\n\nand more");
    chat.terminal
        .screen_mut()
        .set_size(12.try_into().unwrap(), 30.try_into().unwrap());
    chat.input(Input::Resized {
        columns: 30,
        rows: 12,
    });
    let rows = chat.rows();
    assert!(
        rows.contains(&"a rather long line that is".to_owned()),
        "{rows:?}"
    );
    assert!(rows.contains(&"and more".to_owned()), "{rows:?}");
    assert!(rows.iter().all(|row| row.chars().count() <= 30), "{rows:?}");
}

#[test]
fn output_of_a_tool_cannot_control_the_terminal() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("go");
    chat.event(
        json!({"type": "tool_call", "id": "c1", "name": "bash", "args": {"command": "x\u{1b}[2J"}}),
    );
    chat.event(
        json!({"type": "tool_progress", "id": "c1", "text": "\u{1b}]0;owned\u{7}\u{1b}[5;5Hx\n"}),
    );
    chat.event(json!({"type": "ext_notify", "extension": "e", "level": "info", "message": "\u{1b}[8mhidden"}));
    let bytes = chat.renderer.draw(chat.app.frame(0), 24);
    assert!(!bytes.contains("owned") && !bytes.contains("\x1b[8m"));
    assert!(chat.rows()[0].starts_with("zot 1"), "{:?}", chat.rows());
}

#[test]
fn history_comes_back_and_a_draft_is_kept() {
    let mut chat = Chat::new(80, 24);
    for text in ["one", "two"] {
        chat.prompt(text);
        chat.input(Input::WorkEnded);
    }
    chat.write("draft");
    chat.press(KeyCode::Up);
    chat.press(KeyCode::Up);
    assert_eq!(chat.app.composer.editor.text(), "one");
    chat.press(KeyCode::Up);
    assert_eq!(chat.app.composer.editor.text(), "one");
    chat.press(KeyCode::Down);
    chat.press(KeyCode::Down);
    assert_eq!(chat.app.composer.editor.text(), "draft");
}

/// The cost of a delta does not depend on the text before it.
#[test]
fn the_live_part_stays_small_however_long_the_answer() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("go");
    for number in 0..2_000 {
        chat.delta(&format!("paragraph {number} with some words\n\n"));
    }
    let tail = chat.app.transcript.tail(&chat.app.context);
    assert!(tail.len() < 4, "{tail:?}");
}

#[test]
fn an_allowed_call_is_not_asked_about_again() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("go");
    let ask = |chat: &mut Chat, id: &str, command: &str| {
        let event =
            json!({"type": "tool_confirm", "id": id, "name": "bash", "args": {"command": command}});
        chat.input(reported::input(event))
    };
    let allowed = |id: &str| {
        [Effect::Agent(AgentEffect::Confirm {
            id: id.to_owned(),
            decision: Decision::allow(),
        })]
    };
    assert_eq!(ask(&mut chat, "c1", "cargo test"), []);
    assert!(
        chat.rows()
            .contains(&"  zot asks before every tool (/confirm)".to_owned()),
        "{:?}",
        chat.rows()
    );
    assert_eq!(chat.press(KeyCode::Character('e')), allowed("c1"));
    assert_eq!(ask(&mut chat, "c2", "cargo test"), allowed("c2"));
    assert_eq!(ask(&mut chat, "c3", "cargo test --all"), []);
    assert_eq!(chat.press(KeyCode::Character('y')), allowed("c3"));
    assert_eq!(ask(&mut chat, "c4", "cargo test --all"), []);
}

#[test]
fn confirm_switches_approvals_and_describes_them_without_an_argument() {
    let mut chat = Chat::new(80, 24);
    // The loop accepts every scope whose tools exist.
    let mut confirm = |text: &str| {
        chat.write(text);
        chat.press(KeyCode::Escape);
        let effects = chat.press(KeyCode::Enter);
        let scope = effects.into_iter().find_map(|effect| match effect {
            Effect::Agent(AgentEffect::SetApproval(scope)) => Some(scope),
            _ => None,
        });
        if let Some(scope) = scope.clone() {
            chat.input(Input::Approval(scope));
        }
        let footer = chat.rows().pop().unwrap();
        (scope, footer, chat.everything().join("\n"))
    };
    let off = "· approvals are off: tools run without asking.";
    let (scope, footer, screen) = confirm("/confirm");
    assert_eq!((scope, footer.as_str()), (None, "test-model"));
    assert!(screen.contains(off), "{screen}");
    for word in ["on", "ON"] {
        let (scope, footer, screen) = confirm(&format!("/confirm {word}"));
        assert_eq!(scope, Some(ApprovalScope::AllTools));
        assert_eq!(footer, "test-model · asks before tools");
        assert!(screen.contains("· zot asks before every tool."), "{screen}");
    }
    // Without an argument it changes nothing.
    for _ in 0..3 {
        let (scope, footer, _) = confirm("/confirm");
        assert_eq!(scope, None);
        assert_eq!(footer, "test-model · asks before tools");
    }
    let (scope, footer, _) = confirm("/confirm bash, write");
    let names = ["bash", "write"].map(str::to_owned).to_vec();
    assert_eq!(scope, Some(ApprovalScope::Tools(names)));
    assert_eq!(footer, "test-model · asks before bash, write");
    let (scope, footer, screen) = confirm("/confirm off");
    assert_eq!(scope, Some(ApprovalScope::Nothing));
    assert_eq!(footer, "test-model");
    assert_eq!(screen.matches(off).count(), 2, "{screen}");
}

#[test]
fn jail_and_sandbox_are_requested_and_shown() {
    let mut chat = Chat::new(80, 24);
    for (text, effect) in [
        ("/jail", Effect::Agent(AgentEffect::Jail)),
        ("/unjail", Effect::Agent(AgentEffect::Unjail)),
        ("/sandbox", Effect::Agent(AgentEffect::Sandbox(None))),
        (
            "/sandbox read-only",
            Effect::Agent(AgentEffect::Sandbox(Some(Level::ReadOnly))),
        ),
    ] {
        chat.write(text);
        chat.press(KeyCode::Escape);
        assert_eq!(chat.press(KeyCode::Enter).last(), Some(&effect));
    }
    chat.input(Input::Info(Info {
        model: "test-model".to_owned(),
        is_jailed: true,
        ..Info::default()
    }));
    assert_eq!(chat.rows().pop().unwrap(), "test-model · jailed");
    chat.input(Input::Info(Info {
        model: "test-model".to_owned(),
        sandbox: Level::Workspace,
        ..Info::default()
    }));
    assert_eq!(chat.rows().pop().unwrap(), "test-model · sandbox workspace");
    chat.write("/sandbox strict");
    chat.press(KeyCode::Escape);
    chat.press(KeyCode::Enter);
    let screen = chat.rows().join("\n");
    assert!(
        screen.contains("use off, workspace or read-only"),
        "{screen}"
    );
}

#[test]
fn a_side_question_is_answered_while_a_prompt_runs() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("go");
    chat.delta("working on it");
    chat.write("/btw why?");
    let effects = chat.press(KeyCode::Enter);
    assert!(
        effects.contains(&Effect::Agent(AgentEffect::Aside("why?".to_owned()))),
        "{effects:?}"
    );
    let aside = |chat: &mut Chat, text: &str| {
        let event = json!({"type": "text_delta", "delta": text});
        chat.input(reported::aside(event));
    };
    aside(&mut chat, "Because *so*.");
    let rows = chat.rows();
    assert!(rows.contains(&"│ btw why?".to_owned()), "{rows:?}");
    assert!(rows.contains(&"│ Because so.".to_owned()), "{rows:?}");
    let sum = json!({"input": 0, "output": 0, "cache_read": 0, "cache_write": 0, "cost_usd": 0.5});
    let usage = json!({"type": "usage", "input": 9, "output": 1, "cache_read": 0, "cache_write": 0, "cost_usd": 0.5,
        "cumulative": sum});
    chat.input(reported::aside(usage));
    // The first escape ends the side question, the second the work.
    assert_eq!(
        chat.press(KeyCode::Escape),
        [Effect::Agent(AgentEffect::CancelAside)]
    );
    assert!(chat.rows().contains(&"│ Because so.".to_owned()));
    assert_eq!(
        chat.press(KeyCode::Escape),
        [Effect::Agent(AgentEffect::Cancel)]
    );
    chat.write("/cost");
    chat.press(KeyCode::Enter);
    let rows = chat.rows();
    let line = "$0.5000 of it for side questions (/btw × 1)";
    assert!(rows.iter().any(|row| row.contains(line)), "{rows:?}");
}

#[test]
fn an_earlier_part_is_shown_again() {
    let mut chat = Chat::new(80, 24);
    chat.write("/jump");
    assert!(
        chat.press(KeyCode::Enter)
            .contains(&Effect::Query(Query::Prompts))
    );
    let prompts = ["1  fix the bug", "2  say more"].map(str::to_owned);
    chat.input(Input::Listed(Listed::Prompts(prompts.to_vec())));
    chat.write("bug");
    assert_eq!(
        chat.press(KeyCode::Enter),
        [Effect::Query(Query::Reprint(0))]
    );
    let messages = json!([
        {"role": "user", "time": "", "content": [{"type": "text", "text": "fix the bug"}]},
        {"role": "assistant", "time": "", "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_call", "id": "c1", "name": "bash", "args": {"command": "ls"}},
        ]},
        {"role": "tool", "time": "", "content": [
            {"type": "tool_result", "call_id": "c1", "is_error": false, "content": [{"type": "text", "text": "a.txt"}]},
        ]},
    ]);
    chat.input(Input::Earlier {
        title: "prompt 1 of 2, again:".to_owned(),
        messages: reported::messages(messages),
    });
    let rows = chat.rows();
    let start = rows
        .iter()
        .position(|row| row.starts_with("· prompt 1"))
        .unwrap();
    assert_eq!(
        rows[start + 2..start + 7],
        ["❯ fix the bug", "", "I look.", "", "╭ bash  ls"]
    );
    assert_eq!(rows[start + 7], "│ a.txt");
}

#[test]
fn thinking_is_shown_and_folded() {
    let mut chat = Chat::new(40, 24);
    chat.prompt("go");
    for piece in [
        "First I ",
        "look.\nThen I think about what there is to see.",
    ] {
        chat.event(json!({"type": "thinking_delta", "delta": piece}));
    }
    let rows = chat.rows();
    assert!(rows.contains(&"✻ First I look.".to_owned()), "{rows:?}");
    assert!(
        rows.contains(&"  Then I think about what there is to".to_owned()),
        "{rows:?}"
    );
    chat.delta("The answer.");
    let rows = chat.rows();
    assert!(
        rows.contains(&"✻ First I look.… (ctrl+o)".to_owned()),
        "{rows:?}"
    );
    assert!(!rows.iter().any(|row| row.contains("Then I")), "{rows:?}");
    chat.control('o');
    let rows = chat.rows();
    let start = rows.iter().position(|row| row.starts_with('✻')).unwrap();
    assert_eq!(
        rows[start..start + 5],
        [
            "✻ First I look.",
            "  Then I think about what there is to",
            "  see.",
            "",
            "The answer."
        ]
    );
}

/// Parallel calls ask in parallel.
#[test]
fn parallel_calls_are_asked_about_one_by_one() {
    let begin = || {
        let mut chat = Chat::new(80, 24);
        chat.prompt("go");
        for (id, tool) in [("c1", "read"), ("c2", "read"), ("c3", "bash")] {
            chat.event(json!({"type": "tool_call", "id": id, "name": tool, "args": {}}));
            chat.event(json!({"type": "tool_confirm", "id": id, "name": tool, "args": {"n": id}, "preview": format!("about {id}")}));
        }
        chat
    };
    let asked = |chat: &Chat, id: &str| chat.rows().contains(&format!("  about {id}"));
    let ids = |effects: Vec<Effect>| -> Vec<String> {
        let confirmed = effects.into_iter().map(|effect| match effect {
            Effect::Agent(AgentEffect::Confirm { id, .. }) => id,
            other => panic!("{other:?}"),
        });
        confirmed.collect()
    };
    let mut chat = begin();
    assert!(asked(&chat, "c1"));
    assert_eq!(ids(chat.press(KeyCode::Character('y'))), ["c1"]);
    assert!(asked(&chat, "c2"));
    // The second ends before the user has answered.
    chat.event(json!({"type": "tool_result", "id": "c2", "is_error": true, "content": []}));
    assert!(asked(&chat, "c3"));
    let mut chat = begin();
    assert_eq!(ids(chat.press(KeyCode::Character('a'))), ["c1", "c2"]);
    assert!(asked(&chat, "c3"));
    let mut chat = begin();
    assert_eq!(ids(chat.press(KeyCode::Character('s'))), ["c1", "c2", "c3"]);
}
