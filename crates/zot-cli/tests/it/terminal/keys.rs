//! Keys entered in the terminal: in the chat with `/login`, and with `zot login`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::Terminal;
use crate::support::website::{Website, browse};

const GOOD: &str = "sk-good-0123456789abcdefghijklmnop";
const WRONG: &str = "sk-wrong-9876543210zyxwvutsrqpon";

/// Returns a provider that accepts one key and refuses prompts.
fn provider() -> Website {
    Website::start(|asked| match asked.headers.get("authorization") {
        Some(key) if key == &format!("Bearer {GOOD}") && asked.target == "/v1/models" => {
            (200, r#"{"data":[{"id":"gpt-5"}]}"#.to_owned())
        }
        _ => (401, r#"{"error":{"message":"no such key"}}"#.to_owned()),
    })
}

/// Opens a terminal whose output is recorded, with `openai` at `provider`.
fn terminal(provider: &Website, arguments: &str) -> (Terminal, PathBuf) {
    let providers = json!({"providers": {"openai": {"baseUrl": format!("{}/v1", provider.url())}}});
    let terminal = Terminal::open_prepared("", arguments, |_, workdir| {
        fs::create_dir_all(workdir.zot_home()).unwrap();
        let path = workdir.zot_home().join("providers.json");
        fs::write(path, providers.to_string()).unwrap();
    });
    let bytes = terminal.workdir.path().join("every-byte");
    let pipe = format!("cat >> {}", bytes.display());
    terminal.tmux(&["pipe-pane", "-o", &pipe]);
    (terminal, bytes)
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.path().is_dir() {
            true => found.extend(files_below(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

/// Checks that `key` is nowhere but in `auth.json`.
fn assert_unseen(terminal: &Terminal, bytes: &Path, key: &str) {
    let everything = terminal.everything();
    assert!(!everything.contains(key), "{everything}");
    let written = String::from_utf8_lossy(&fs::read(bytes).unwrap_or_default()).into_owned();
    assert!(!written.contains(key), "{written:?}");
    let title = terminal.tmux(&["display-message", "-p", "#{pane_title} #{window_name}"]);
    assert!(!String::from_utf8_lossy(&title.stdout).contains(key));
    let home = terminal.workdir.zot_home();
    let files = files_below(&home)
        .into_iter()
        .chain(files_below(&terminal.workdir.path()));
    for file in files.filter(|file| !file.ends_with("auth.json")) {
        let content = fs::read(&file).unwrap_or_default();
        assert!(
            !String::from_utf8_lossy(&content).contains(key),
            "{}",
            file.display()
        );
    }
}

fn kept(terminal: &Terminal) -> Value {
    let path = terminal.workdir.zot_home().join("auth.json");
    let text = fs::read_to_string(path).unwrap_or_else(|_| "{}".to_owned());
    serde_json::from_str(&text).unwrap()
}

/// Pastes like a terminal with bracketed paste.
fn paste(terminal: &Terminal, text: &str) {
    terminal.tmux(&["set-buffer", "-b", "pasted", text]);
    terminal.tmux(&["paste-buffer", "-p", "-r", "-d", "-b", "pasted"]);
}

#[test]
fn a_key_entered_in_the_chat_is_never_shown() {
    let provider = provider();
    let (terminal, bytes) = terminal(&provider, "");
    terminal.wait_for("/help for commands and keys");
    terminal.type_line("!echo waits");
    terminal.wait_for("[!echo waits 1 line]");
    // Typed ahead: no character may end up in the editor.
    terminal.type_line("/login openai");
    terminal.type_text(WRONG);
    terminal.wait_until("bullets", |screen| {
        screen.contains(&format!("key of openai: {}", "•".repeat(WRONG.len())))
    });
    terminal.press("Enter");
    terminal.wait_for("openai refuses the key (http 401); the key was not stored");
    assert_eq!(kept(&terminal), json!({}));
    // Another key can be entered immediately.
    paste(&terminal, &format!("{GOOD}\n"));
    terminal.wait_until("bullets", |screen| screen.contains(&"•".repeat(GOOD.len())));
    terminal.press("Enter");
    terminal.wait_for("openai key …mnop");
    terminal.wait_until("the chat again", |screen| {
        screen.trim_end().lines().rev().nth(1) == Some("❯")
    });
    let path = terminal.workdir.zot_home().join("auth.json");
    assert_eq!(
        fs::metadata(path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(kept(&terminal)["openai"]["api_key"], GOOD);
    // The same conversation continues, with the output that waited for its next prompt.
    terminal.wait_for("attached to the next prompt: [!echo waits 1 line]");
    terminal.type_line("the first prompt with it");
    terminal.wait_until("a request", |_| {
        let asked = provider.asked();
        asked.iter().any(|asked| {
            asked.target != "/v1/models"
                && asked.headers.get("authorization") == Some(&format!("Bearer {GOOD}"))
        })
    });
    terminal.press("Escape");
    terminal.press("C-c");
    terminal.wait_for("ctrl+c again to leave");
    terminal.press("C-c");
    terminal.wait_for_shell();
    for key in [GOOD, WRONG] {
        assert_unseen(&terminal, &bytes, key);
    }
}

#[test]
fn esc_cancels_and_forgets_the_typed_key() {
    let provider = provider();
    let (terminal, bytes) = terminal(&provider, "--provider offline");
    terminal.wait_for("/help");
    terminal.type_line("/login openai");
    terminal.wait_for("key of openai:");
    terminal.type_text(GOOD);
    terminal.wait_for("••••");
    terminal.press("Escape");
    terminal.wait_for("login to openai cancelled");
    terminal.wait_until("the editor, empty", |screen| {
        screen.trim_end().lines().rev().nth(1) == Some("❯")
    });
    // A key typed as an argument, or instead of the provider, is neither repeated nor stored.
    for line in [format!("/login openai {GOOD}"), format!("/login {WRONG}")] {
        terminal.type_text(&line);
        terminal.wait_for(&line);
        // The key was visible while it was typed; from here on it must not be.
        terminal.press("Enter");
        terminal.wait_until("gone", |screen| !screen.contains(&line));
    }
    terminal.wait_for("do not type a key into the prompt");
    terminal.wait_for("unknown provider");
    terminal.type_line("run: echo still here");
    terminal.wait_for("exit code 0");
    assert_eq!(kept(&terminal), json!({}));
    assert_eq!(provider.asked().len(), 0);
    fs::write(&bytes, "").unwrap();
    for key in [GOOD, WRONG] {
        assert_unseen(&terminal, &bytes, key);
    }
}

/// The page works as well.
#[test]
fn the_page_accepts_the_key_for_the_chat_too() {
    let provider = provider();
    let (terminal, bytes) = terminal(&provider, "--provider offline");
    terminal.wait_for("/help");
    terminal.type_line("/login openai");
    let screen = terminal.wait_for("http://127.0.0.1:");
    let line = screen
        .lines()
        .find(|line| line.contains("http://127.0.0.1:"));
    let page = line.unwrap().trim();
    let response = browse(page, Some(&format!("key={GOOD}")));
    assert!(response.contains("it works"), "{response}");
    terminal.wait_for("openai key …mnop");
    terminal.wait_for("this conversation keeps using offline");
    assert_eq!(kept(&terminal)["openai"]["api_key"], GOOD);
    assert_unseen(&terminal, &bytes, GOOD);
}

#[test]
fn the_command_asks_in_the_terminal_and_restores_it() {
    let provider = provider();
    for ending in ["kept", "Escape", "C-c", "TERM"] {
        let (terminal, bytes) = terminal(&provider, "login openai; echo code=$?");
        terminal.wait_for("key of openai:");
        paste(&terminal, GOOD);
        terminal.wait_for("••••");
        let code = match ending {
            "kept" => {
                terminal.press("Enter");
                terminal.wait_for("it works, 1 model)");
                0
            }
            "TERM" => {
                let process = terminal.process();
                let ended = Command::new("kill").args(["-TERM", &process]).status();
                assert!(ended.unwrap().success());
                143
            }
            key => {
                terminal.press(key);
                130
            }
        };
        terminal.wait_for(&format!("code={code}"));
        terminal.type_line("stty -a | grep -o ' icanon'; stty -a | grep -o ' echo '; echo shown");
        let screen = terminal.wait_for("\nshown");
        assert!(screen.contains("\n echo"), "{ending}: {screen}");
        assert!(screen.contains("\n icanon"), "{ending}: {screen}");
        let expected = match ending {
            "kept" => json!(GOOD),
            _ => Value::Null,
        };
        assert_eq!(kept(&terminal)["openai"]["api_key"], expected, "{ending}");
        assert_unseen(&terminal, &bytes, GOOD);
    }
}

#[test]
fn the_command_asks_for_the_provider_and_for_another_key() {
    let provider = provider();
    let (terminal, bytes) = terminal(&provider, "login; echo code=$?");
    terminal.wait_for("provider:");
    terminal.type_line("nobody");
    terminal.wait_for("Enter one of these providers");
    terminal.type_line("openai");
    terminal.wait_for("key of openai:");
    terminal.type_line(WRONG);
    terminal.wait_for("refuses the key");
    terminal.type_line(GOOD);
    terminal.wait_for("code=0");
    assert_eq!(kept(&terminal)["openai"]["api_key"], GOOD);
    for key in [GOOD, WRONG] {
        assert_unseen(&terminal, &bytes, key);
    }
    terminal.type_line("clear");
    // With --stdin at a terminal it does not echo either.
    terminal.type_line(&terminal.command.replace("login;", "login openai --stdin;"));
    terminal.wait_for("key of openai:");
    terminal.press("Escape");
    terminal.wait_for("code=130");
}
