//! Pickers with a preview.

use std::os::unix::fs::PermissionsExt as _;

use super::Terminal;

/// Starts zot again, on an empty screen.
fn begin_again(terminal: &Terminal) {
    terminal.type_line(&format!("clear; {}", terminal.command));
    terminal.wait_until("another chat", |screen| {
        screen.starts_with("zot ") && screen.contains("\n❯")
    });
}

#[test]
fn a_session_is_previewed_before_it_is_continued() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    for command in ["echo the first", "echo the second"] {
        terminal.type_line(&format!("run: {command}"));
        terminal.wait_for(&format!("{command} ended with exit code 0"));
    }
    // An exact name wins, although /sessions matches as well.
    terminal.type_text("/session");
    terminal.wait_for("▸ /session ");
    terminal.press("Enter");
    terminal.wait_for("including 2 prompts");
    terminal.type_line("/session export out.md");
    terminal.wait_for("out.md: 8 messages");
    let exported = terminal.workdir.read("out.md").unwrap();
    assert!(exported.contains("echo the second"), "{exported}");
    terminal.type_line("/exit");
    terminal.wait_for_shell();
    begin_again(&terminal);
    terminal.type_line("/sessions");
    terminal.wait_for("resume:");
    terminal.type_text("the first");
    let screen = terminal.wait_for("│ ❯ run: echo the second");
    for part in [
        "│ ❯ run: echo the first",
        "UTC · ",
        " prompts",
        "│ offline · offline",
    ] {
        assert!(screen.contains(part), "{part:?} is not in\n{screen}");
    }
    terminal.press("Enter");
    terminal.wait_for("resumed a conversation of 8 messages");
}

/// A file is previewed, unless it must not be read.
#[test]
fn files_are_previewed_before_they_are_mentioned() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    let directory = terminal.workdir.path();
    std::fs::write(directory.join("main.rs"), "fn main() {}\n\u{1b}[2J").unwrap();
    let pipe = directory.join("waiting");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    terminal.type_text("see @waiting");
    terminal.wait_for("│ named pipe, not read");
    terminal.press("C-u");
    terminal.type_text("see @main");
    let screen = terminal.wait_for("│ fn main() {}");
    assert!(screen.contains("│ 17 bytes"), "{screen}");
    // On a narrow screen the preview is below the list.
    terminal.tmux(&["resize-window", "-x", "60", "-y", "24"]);
    terminal.wait_until("the preview below", |screen| {
        screen.lines().any(|line| line == "│ fn main() {}")
    });
    terminal.tmux(&["resize-window", "-x", "60", "-y", "12"]);
    terminal.wait_until("the list alone", |screen| {
        screen.contains("▸ main.rs") && !screen.contains('│')
    });
    terminal.press("Enter");
    terminal.wait_for("❯ see @main.rs");
}

#[test]
fn skills_themes_and_providers_are_chosen_from_lists() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    terminal.type_line("/skills");
    terminal.wait_for("│ built in · about");
    terminal.press("Enter");
    terminal.wait_for("❯ use the skill write-zot-extension:");
    terminal.press("C-u");
    terminal.type_line("/theme");
    terminal.wait_for("│ A heading with code and a link");
    terminal.type_text("light");
    terminal.wait_for("▸ light");
    terminal.press("Enter");
    terminal.wait_until("no list", |screen| !screen.contains("theme:"));
    terminal.type_line("/logout");
    terminal.wait_for("no credentials are stored");
    let secret = "sk-very-secret-indeed";
    let home = terminal.workdir.zot_home();
    let kept = format!(r#"{{"openai":{{"type":"api_key","key":"{secret}"}}}}"#);
    let file = home.join("auth.json");
    std::fs::write(&file, kept).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    terminal.type_line("/login");
    terminal.wait_for("log in to:");
    terminal.type_text("openai");
    let screen = terminal.wait_for("│ key in auth.json");
    assert!(!screen.contains("deed"), "{screen}");
    terminal.press("Escape");
    terminal.wait_until("no list", |screen| !screen.contains("log in to:"));
    terminal.type_line("/logout");
    terminal.wait_for("log out of:");
    terminal.wait_for("▸ openai  key in auth.json");
    terminal.press("Enter");
    terminal.wait_for("Forgot the credential of openai");
}

/// Choosing a session that another chat has open changes nothing.
#[test]
fn a_session_in_use_cannot_be_opened() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    terminal.type_line("run: echo mine");
    terminal.wait_for("exit code 0");
    // Another chat while the first is suspended.
    terminal.press("C-z");
    terminal.wait_for_shell();
    begin_again(&terminal);
    terminal.type_line("/sessions");
    terminal.wait_for("▸ ");
    terminal.press("Enter");
    terminal.wait_for("nothing was read or written");
    terminal.type_line("run: echo still here");
    terminal.wait_for("echo still here ended with exit code 0");
}

/// Named pipes in place of ignore files neither hang the list of files nor keep the chat from ending.
#[test]
fn files_are_listed_next_to_named_pipes() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    let directory = terminal.workdir.path();
    std::fs::write(directory.join("main.rs"), "").unwrap();
    for name in [".gitignore", ".ignore"] {
        let made = std::process::Command::new("mkfifo")
            .arg(directory.join(name))
            .status();
        assert!(made.unwrap().success());
    }
    terminal.type_text("@main");
    terminal.wait_for("▸ main.rs");
    terminal.press("C-u");
    terminal.type_line("/exit");
    terminal.wait_for_shell();
}
