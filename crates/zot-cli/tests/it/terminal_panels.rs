//! Panels of extensions in a real terminal: opened, drawn, typed into, resized, closed, crashed.

use serde_json::json;
use testkit::{InstalledExtension, ModelServer, ScriptedExtension, Wire, Workdir, ZotCommand};

use crate::terminal::Terminal;

/// A panel that shows its size and the last key. `k` makes it crash, `f` draw ten thousand times,
/// `q` close.
const PROGRAM: &str = r#"
import json, sys, os
def say(**frame):
    sys.stdout.write(json.dumps(frame) + "\n"); sys.stdout.flush()
name = os.path.basename(os.getcwd())
state = {"size": "unknown", "key": "none"}
def view():
    lines = ["size " + state["size"], "key " + state["key"], "\x1b[31mred\x1b[0m \x1b[2J\x1b]0;owned\x07text", "x" * 500]
    return {"title": "Panel of " + name, "lines": lines, "footer": "q closes"}
say(type="hello", name=name, version="1.0.0", capabilities=["commands"])
say(type="register_command", name=name, description="opens \x1b[2J a panel")
say(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    kind = frame["type"]
    if kind == "command_invoked":
        say(type="command_response", id=frame["id"], action="open_panel", open_panel=dict(view(), id="p"))
        # Sent with the same breath: it must not come before the panel is open.
        state["key"] = "none yet"
        say(type="panel_render", panel_id="p", **view())
    elif kind == "panel_resize":
        state["size"] = "%dx%d" % (frame["width"], frame["height"])
        say(type="panel_render", panel_id="p", **view())
    elif kind == "panel_key":
        state["key"] = frame["key"] + " " + json.dumps(frame.get("text", ""))
        pressed = frame["text"] if frame["key"] == "rune" else ""
        if pressed == "k":
            os._exit(3)
        if pressed == "q":
            say(type="panel_close", panel_id="p")
            continue
        if pressed == "f":
            for number in range(400):
                state["key"] = "flood %d" % number
                say(type="panel_render", panel_id="p", **view())
        say(type="panel_render", panel_id="p", **view())
    elif kind == "panel_close":
        say(type="notify", level="info", message="the user closed it")
    elif kind == "shutdown":
        say(type="shutdown_ack")
        break
"#;

/// Returns extensions with these names, and the arguments that load them.
fn installed(names: &[&str]) -> (Workdir, Vec<InstalledExtension>, String) {
    let place = Workdir::with_files("panels");
    let mut arguments = String::from("--no-ext");
    let mut extensions = Vec::new();
    for name in names {
        let extension = ScriptedExtension::new(name, [])
            .manifest("name", json!(name))
            .install(&place.extensions());
        extension.write("scripted.py", PROGRAM);
        arguments.push_str(&format!(" --ext {}", extension.directory().display()));
        extensions.push(extension);
    }
    (place, extensions, arguments)
}

#[test]
fn a_panel_is_opened_typed_into_resized_and_closed() {
    let (_place, _extensions, arguments) = installed(&["board"]);
    let terminal = Terminal::open(&format!("--provider offline {arguments}"));
    terminal.wait_for("/help");
    terminal.type_line("/board");
    let screen = terminal.wait_for("│ size 98x26");
    assert!(screen.contains("┌ Panel of board ─"), "{screen}");
    assert!(screen.contains("│ key none yet"), "{screen}");
    assert!(screen.contains("│ red text"), "{screen}");
    assert!(screen.contains("└ q closes · esc closes"), "{screen}");
    for (key, shown) in [
        ("Down", r#"key down """#),
        ("x", r#"key rune "x""#),
        ("Space", r#"key rune " ""#),
        ("C-a", r#"key ctrl+a """#),
        ("M-x", r#"key alt+x """#),
        ("BTab", r#"key shift+tab """#),
        ("F5", r#"key f5 """#),
        ("C-Left", r#"key ctrl+left """#),
        ("PPage", r#"key pageup """#),
    ] {
        terminal.press(key);
        terminal.wait_for(shown);
    }
    terminal.tmux(&["set-buffer", "two\nlines"]);
    terminal.tmux(&["paste-buffer", "-p"]);
    terminal.wait_for(r#"key paste "two\nlines""#);
    terminal.tmux(&["resize-window", "-x", "40", "-y", "10"]);
    let screen = terminal.wait_for("│ size 38x6");
    assert!(
        screen.lines().all(|line| line.chars().count() <= 40),
        "{screen}"
    );
    terminal.press("f");
    terminal.wait_for("key flood 399");
    terminal.press("q");
    terminal.wait_until("the editor", |screen| {
        !screen.contains("│ size") && screen.contains("offline")
    });
    // The extension learns that the user closed it.
    terminal.type_line("/board");
    terminal.wait_for("│ size 38x6");
    terminal.press("Escape");
    let screen = terminal.wait_for("board: the user closed it");
    assert!(!screen.contains("│ size"), "{screen}");
    terminal.type_line("/board");
    terminal.wait_for("│ size 38x6");
    terminal.press("C-c");
    terminal.wait_until("no panel", |screen| !screen.contains("│ size"));
    terminal.type_line("/exit");
    terminal.wait_for_shell();
}

#[test]
fn the_panel_of_a_dead_extension_is_closed() {
    let (_place, _extensions, arguments) = installed(&["board"]);
    let terminal = Terminal::open(&format!("--provider offline {arguments}"));
    terminal.wait_for("/help");
    terminal.type_line("/board");
    terminal.wait_for("│ size 98x26");
    terminal.press("k");
    terminal.wait_until("no panel", |screen| !screen.contains("│ size"));
    terminal.type_line("run: echo still here");
    terminal.wait_for("exit code 0");
}

#[test]
fn an_answer_continues_behind_a_panel_and_a_question_is_on_top() {
    let (_place, _extensions, arguments) = installed(&["board", "other"]);
    let terminal = Terminal::open(&format!("MODEL --no-yolo {arguments}"));
    terminal.wait_for("/help");
    terminal.type_line("slow:500:10");
    terminal.wait_for("esc to stop");
    terminal.type_line("/board");
    terminal.wait_for("│ size 98x26");
    terminal.press("C-c");
    terminal.wait_for("board: the user closed it");
    terminal.type_line(r#"tool:bash:{"command":"echo asked > asked.txt"}"#);
    terminal.type_line("/board");
    terminal.wait_for("┌ Panel of board");
    terminal.wait_for("may zot run bash?");
    terminal.press("y");
    let screen = terminal.wait_for("┌ Panel of board");
    assert!(!screen.contains("may zot run"), "{screen}");
    terminal.wait_until("the file", |_| {
        terminal.workdir.read("asked.txt").as_deref() == Some("asked\n")
    });
    terminal.press("C-c");
    // Two panels on top of each other.
    terminal.wait_until("no panel", |screen| !screen.contains("┌ Panel"));
    terminal.type_line("/other");
    terminal.wait_for("┌ Panel of other");
    terminal.press("q");
    terminal.wait_until("no panel", |screen| !screen.contains("┌ Panel"));
}

/// The fixture does what the original's `todo` does with the same frames; the frames it was sent
/// are those of `fixtures/original/panel_frames.jsonl`.
#[test]
fn the_todo_list_of_the_original_works() {
    let place = Workdir::with_files("todo");
    let directory = copied("todo", &place.extensions());
    let terminal = Terminal::open(&format!(
        "--provider offline --no-ext --ext {}",
        directory.display()
    ));
    terminal.wait_for("/help");
    terminal.type_line("/todo");
    terminal.wait_for("│ > [ ] Water the plants");
    // Its last line, so that all of it is drawn; it explains what esc does.
    let screen = terminal.wait_for("esc close");
    assert!(screen.contains("┌ Todos (0/1 done)"), "{screen}");
    assert!(
        screen.contains("esc close") && !screen.contains("esc closes"),
        "{screen}"
    );
    terminal.type_text("a");
    terminal.wait_for("Add todo");
    terminal.type_text("buy É");
    terminal.wait_for("buy É|");
    terminal.press("BSpace");
    terminal.type_text("M");
    terminal.wait_for("buy M|");
    terminal.press("Enter");
    terminal.wait_for("│ > [ ] buy M");
    terminal.press("Up");
    terminal.wait_for("│ > [ ] Water the plants");
    terminal.press("Down");
    terminal.wait_for("│ > [ ] buy M");
    terminal.press("PPage");
    terminal.wait_for("│ > [ ] Water the plants");
    terminal.type_text("x");
    terminal.wait_for("│ > [x] Water the plants");
    for key in ["NPage", "Left", "Right", "Home", "End", "Tab", "DC"] {
        terminal.press(key);
    }
    terminal.wait_for("│ > [ ] buy M");
    terminal.press("Escape");
    terminal.wait_until("no panel", |screen| !screen.contains("Todos ("));
    let expected = std::fs::read_to_string(fixture("panel_frames.jsonl")).unwrap();
    testkit::poll_until("all keys have arrived", || {
        panel_frames(&directory) == frames(&expected)
    });
    // The keys go to the chat again, and the list is in its place.
    terminal.type_line("/todo");
    terminal.wait_for("│ > [ ] buy M");
    terminal.press("Escape");
    terminal.wait_until("no panel", |screen| !screen.contains("Todos ("));
    terminal.type_line("/exit");
    terminal.wait_for_shell();
}

/// A client may use other names of keys; the extension gets the names it knows.
#[test]
fn the_todo_list_of_the_original_works_over_the_pipe() {
    let (workdir, server) = (Workdir::with_files("todo"), ModelServer::start());
    let directory = copied("todo", &workdir.extensions());
    let mut zot = ZotCommand::rpc(crate::support::binary(), &workdir, &server, Wire::OpenAi)
        .arguments(["--no-ext", "--ext"])
        .argument(&directory)
        .spawn();
    let opened = zot.call(json!({"id": "o", "type": "invoke_command", "name": "todo"}));
    assert_eq!(opened["data"]["open_panel"]["id"], "todos-main");
    let mut press = |key: &str, text: &str| {
        let sent = zot.call(json!({
            "id": key, "type": "panel_key", "extension": "todo-panel", "panel_id": "todos-main",
            "key": key, "text": text,
        }));
        assert_eq!(sent["success"], true, "{sent}");
    };
    press("rune", "a");
    // The names of earlier clients.
    for (key, text) in [
        ("b", "b"),
        ("u", ""),
        ("y", "y"),
        ("space", " "),
        ("É", "É"),
    ] {
        press(key, text);
    }
    press("backspace", "");
    press("rune", "M");
    for key in [
        "enter", "up", "down", "pgup", "x", "pgdown", "left", "right", "home", "end", "tab",
        "delete",
    ] {
        press(key, "");
    }
    press("esc", "");
    let closed = zot.event("ext_panel_close");
    assert_eq!(closed["panel_id"], "todos-main");
    let expected = std::fs::read_to_string(fixture("panel_frames.jsonl")).unwrap();
    testkit::poll_until("all keys have arrived", || {
        panel_frames(&directory) == frames(&expected)
    });
}

fn fixture(name: &str) -> std::path::PathBuf {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/original");
    std::path::Path::new(directory).join(name)
}

/// Returns a copy of an extension in the fixtures, because it writes to its own directory.
fn copied(name: &str, parent: &std::path::Path) -> std::path::PathBuf {
    let directory = parent.join(name);
    std::fs::create_dir_all(&directory).unwrap();
    for file in std::fs::read_dir(fixture("extensions").join(name)).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), directory.join(file.file_name())).unwrap();
    }
    directory
}

fn frames(text: &str) -> Vec<serde_json::Value> {
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    lines.collect()
}

/// Returns the events that the extension got for its panel, without its size.
fn panel_frames(directory: &std::path::Path) -> Vec<serde_json::Value> {
    let log = std::fs::read_to_string(directory.join("frames.log")).unwrap_or_default();
    let log = frames(&log).into_iter();
    log.filter(|frame| frame["type"] == "panel_key" || frame["type"] == "panel_close")
        .collect()
}
