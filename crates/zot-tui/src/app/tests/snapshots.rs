//! Whole screens with their scrollback, at two sizes, compared with files.
//!
//! `UPDATE_SNAPSHOTS=1 cargo nextest run -p zot-tui snapshots` updates them; read the diff.

use std::path::PathBuf;

use super::*;

/// A name, and the inputs that lead to the screen.
type Scene = (&'static str, fn(&mut Chat));

const SIZES: [(u16, u16); 2] = [(80, 24), (40, 10)];

const SCENES: [Scene; 16] = [
    ("greeting", |_| {}),
    ("markdown", markdown),
    ("streaming", |chat| {
        chat.prompt("tell me");
        chat.delta("# A plan\n\nFirst **this**, then\n\n- one\n- tw");
    }),
    ("tool-being-written", |chat| {
        chat.prompt("write it");
        chat.event(json!({"type": "tool_use_start", "id": "c1", "name": "write"}));
        let content = "fn main() {\\n    let answer = 42;\\n    println!(\\\"{answer}\\\");\\n";
        let delta = format!("{{\"path\":\"src/main.rs\",\"content\":\"{content}");
        chat.event(json!({"type": "tool_use_args", "id": "c1", "delta": delta}));
    }),
    ("tool-running", |chat| {
        chat.prompt("run it");
        call(chat, "c1", "bash", &json!({"command": "make test"}));
        let output: String = (1..=20).map(|line| format!("test {line} ok\n")).collect();
        chat.event(json!({"type": "tool_progress", "id": "c1", "text": output}));
        chat.now_ms += 3_000;
        chat.input(Input::Tick);
    }),
    ("tools-finished", |chat| {
        tools(chat);
    }),
    ("tools-unfolded", |chat| {
        tools(chat);
        chat.control('o');
    }),
    ("thinking", |chat| {
        chat.prompt("think");
        let thought = "First I look at the files, then at the tests.\nThen I decide.";
        chat.event(json!({"type": "thinking_delta", "delta": thought}));
        chat.delta("Done.");
        chat.event(json!({"type": "assistant_message", "time": "", "content": []}));
    }),
    ("approval", |chat| {
        chat.prompt("change it");
        call(chat, "c1", "edit", &json!({"path": "a.txt", "edits": []}));
        chat.event(
            json!({"type": "tool_confirm", "id": "c1", "name": "edit", "args": {"path": "a.txt"},
            "preview": "-one\n+two\n+three"}),
        );
    }),
    ("queue", |chat| {
        chat.prompt("first");
        chat.delta("I am at it");
        for text in ["second", "third"] {
            chat.write(text);
            chat.press(KeyCode::Enter);
        }
        chat.write("half a thou");
    }),
    ("errors", |chat| {
        chat.prompt("go");
        chat.event(json!({"type": "retry", "failures": 1, "wait_ms": 4000, "message": "openai: http 503: busy"}));
        chat.event(
            json!({"type": "error", "code": "rate_limited", "retry_after_ms": 20000,
            "message": "openai: http 429: {\"error\":{\"message\":\"slow down\"}}"}),
        );
    }),
    ("notes-of-extensions", |chat| {
        chat.event(json!({"type": "ext_notify", "extension": "lint", "level": "info", "message": "3 files are fine"}));
        chat.event(json!({"type": "ext_notify", "extension": "lint", "level": "error", "message": "1 file is not"}));
        chat.event(
            json!({"type": "ext_display", "extension": "todo", "text": "1. write tests\n2. rest"}),
        );
    }),
    ("panel", |chat| {
        let lines: Vec<String> = (1..=30).map(|line| format!("row {line}")).collect();
        chat.input(Input::Panel(PanelInput::Opened(PanelView {
            extension: "todo".to_owned(),
            id: "p".to_owned(),
            title: "To do".to_owned(),
            lines,
            footer: "j/k move".to_owned(),
        })));
    }),
    ("commands", |chat| {
        chat.write("/co");
    }),
    ("help", |chat| {
        chat.write("/help");
        chat.press(KeyCode::Enter);
    }),
    ("stopped", |chat| {
        chat.prompt("go on");
        chat.delta("This answer is cut");
        chat.press(KeyCode::Escape);
        chat.input(Input::WorkEnded);
    }),
];

fn markdown(chat: &mut Chat) {
    chat.prompt("explain");
    chat.delta(
        "# Plan\n\nHere is **what** I found in `src/main.rs`, see [the guide](https://example.com/guide):\n\n\
         1. The parser *allocates* twice\n   - once for the head\n   - once for the body\n2. Nothing is dropped\n\n\
         | file | lines | why |\n|:-----|------:|-----|\n| src/main.rs | 120 | parses twice |\n\
         | src/cache.rs | 8 | never dropped, which is a long story that no row can hold |\n\n\
         ```rust\nfn main() {\n    println!(\"hi\"); // said\n}\n```\n\n\
         > A quote that is long enough to be broken on most screens, at the very least on small ones.\n\n\
         - [x] done\n- [ ] open\n\n---\n\n日本語, 👩‍👩‍👧 and עברית.\n",
    );
    chat.event(json!({"type": "assistant_message", "time": "", "content": []}));
    chat.event(json!({"type": "usage", "input": 400, "output": 50, "cache_read": 0, "cache_write": 0,
        "cost_usd": 0.01, "cumulative": {"input": 400, "output": 50, "cache_read": 0, "cache_write": 0, "cost_usd": 0.01}}));
    chat.input(Input::WorkEnded);
}

fn tools(chat: &mut Chat) {
    chat.prompt("do it");
    let listing: String = (1..=12).map(|number| format!("file {number}\n")).collect();
    call(chat, "c1", "bash", &json!({"command": "ls"}));
    result(
        chat,
        "c1",
        false,
        &format!("$ ls\n\n{listing}\n[exit 0]  Took 0.1s"),
    );
    let edits = json!([{"oldText": "one", "newText": "two\nthree"}]);
    call(
        chat,
        "c2",
        "edit",
        &json!({"path": "a.txt", "edits": edits}),
    );
    result(chat, "c2", false, "edited");
    call(chat, "c3", "read", &json!({"path": "/nowhere"}));
    result(chat, "c3", true, "/nowhere: no such file");
    chat.input(Input::WorkEnded);
}

fn call(chat: &mut Chat, id: &str, name: &str, arguments: &serde_json::Value) {
    chat.event(json!({"type": "tool_call", "id": id, "name": name, "args": arguments}));
}

fn result(chat: &mut Chat, id: &str, is_error: bool, text: &str) {
    chat.event(
        json!({"type": "tool_result", "id": id, "is_error": is_error,
        "content": [{"type": "text", "text": text}]}),
    );
}

/// Returns the scrollback, a separator, and the screen.
fn shown(chat: &mut Chat) -> String {
    let all = chat.everything();
    let on_screen = chat.rows().len();
    let (above, screen) = all.split_at(all.len() - on_screen);
    let mut text = String::new();
    for row in above {
        text.push_str(&format!("{row}\n"));
    }
    text.push_str("=== screen ===\n");
    for row in screen {
        text.push_str(&format!("{row}\n"));
    }
    text
}

#[test]
fn every_scene_matches_its_snapshot() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/app/tests/snapshots");
    let is_update = std::env::var_os("UPDATE_SNAPSHOTS").is_some();
    let mut differing = Vec::new();
    for (name, play) in SCENES {
        for (columns, rows) in SIZES {
            let mut chat = Chat::new(columns, rows);
            play(&mut chat);
            let shown = shown(&mut chat);
            let file = directory.join(format!("{name}-{columns}x{rows}.txt"));
            if is_update {
                std::fs::write(&file, &shown).unwrap();
            }
            let expected = std::fs::read_to_string(&file).unwrap_or_default();
            if shown != expected {
                differing.push(format!("{}\n--- now:\n{shown}", file.display()));
            }
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}
