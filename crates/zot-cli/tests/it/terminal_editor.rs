//! Editing in the chat, also while it works, in a real terminal.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use testkit::Workdir;

use crate::terminal::Terminal;

/// Creates a program of the user in its own directory.
fn program(name: &str, script: &str) -> (Workdir, PathBuf) {
    let directory = Workdir::new("programs");
    let path = directory.path().join(name);
    directory.write(name, format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    (directory, path)
}

fn signal(name: &str, process: &str) {
    let sent = Command::new("kill").args([name, process]).status();
    assert!(sent.unwrap().success());
}

/// Puts text into the terminal as a paste.
fn paste(terminal: &Terminal, text: &str, options: &[&str]) {
    let file = terminal.workdir.zot_home().join("pasted");
    fs::write(&file, text).unwrap();
    terminal.tmux(&["load-buffer", &file.display().to_string()]);
    terminal.tmux(&[&["paste-buffer"], options].concat());
}

/// Returns the rows of the editor.
fn written(screen: &str) -> String {
    let start = screen.rfind('❯').unwrap_or(0);
    let rows: Vec<&str> = screen[start..].trim_end().lines().collect();
    rows[..rows.len().saturating_sub(1)].join("\n")
}

fn wait_for_written(terminal: &Terminal, text: &str) {
    terminal.wait_until(text, |screen| written(screen) == text);
}

#[test]
fn the_answer_continues_while_the_editor_is_open() {
    let script = "echo \"$1\" > started; until [ -e go ]; do sleep 0.05; done; \
                  printf 'and more\\n' >> \"$2\"";
    let (_directory, editor) = program("editor", script);
    let variables = format!("EDITOR='{} --wait'", editor.display());
    let terminal = Terminal::open_with(&variables, "MODEL slow:100:20");
    terminal.wait_for("alpha beta");
    terminal.type_text("draft ");
    wait_for_written(&terminal, "❯ draft");
    terminal.press("C-g");
    terminal.wait_until("the editor", |_| {
        terminal.workdir.read("started").as_deref() == Some("--wait\n")
    });
    // An interrupt goes to the editor now.
    signal("-INT", &terminal.process());
    // The answer is stored although it is not visible.
    terminal.wait_until("the answer", |_| {
        let sessions = terminal.workdir.zot_home().join("sessions");
        let found = Command::new("grep")
            .args(["-rq", "iota alpha"])
            .arg(sessions)
            .status();
        found.unwrap().success()
    });
    fs::write(terminal.workdir.path().join("go"), "").unwrap();
    let screen = terminal.wait_until("the text", |screen| {
        written(screen) == "❯ draft and more" && screen.contains("context")
    });
    assert_eq!(screen.matches("alpha").count(), 13, "{screen}");
    assert!(!screen.contains("esc to stop"), "{screen}");
    assert!(!screen.contains("again to leave"), "{screen}");
}

#[test]
fn an_editor_that_fails_changes_nothing() {
    let (_directory, editor) = program("editor", "echo lost > \"$1\"; exit 3");
    let terminal = Terminal::open_with(
        &format!("VISUAL='{}'", editor.display()),
        "--provider offline",
    );
    terminal.wait_for("/help");
    terminal.type_text("kept");
    wait_for_written(&terminal, "❯ kept");
    terminal.press("C-g");
    terminal.wait_for("failed (exit status: 3)");
    wait_for_written(&terminal, "❯ kept");
}

#[test]
fn a_paste_of_any_size_is_a_chip_and_runs_nothing() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    // In many reads, with line ends of other systems.
    paste(
        &terminal,
        &"!touch a file\r\n".repeat(100_000),
        &["-p", "-r"],
    );
    terminal.type_text(" then this");
    wait_for_written(&terminal, "❯ [pasted 100000 lines] then this");
    terminal.press("Home");
    terminal.press("Delete");
    wait_for_written(&terminal, "❯  then this");
    terminal.press("C-u");
    terminal.press("End");
    terminal.press("C-u");
    paste(&terminal, "/exit", &["-p"]);
    wait_for_written(&terminal, "❯ /exit");
    terminal.press("Enter");
    terminal.wait_for("These are the requests I understand");
}

/// Lines typed by a script, or ahead of a slow machine, are not a paste.
#[test]
fn lines_that_arrive_together_are_separate_prompts() {
    let terminal = Terminal::open("MODEL");
    terminal.wait_for("/help");
    terminal.tmux(&[
        "send-keys",
        "say:2",
        "Enter",
        "say:3",
        "Enter",
        "half a line",
    ]);
    wait_for_written(&terminal, "❯ half a line");
    let screen = terminal.wait_until("both", |screen| {
        screen.contains("❯ say:2")
            && screen.contains("❯ say:3")
            && screen.contains("alpha beta gamm")
    });
    assert!(!screen.contains("queued"), "{screen}");
}

#[test]
fn dropped_files_are_mentioned() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    let place = terminal.workdir.path();
    fs::write(place.join("a b.md"), "text").unwrap();
    let place = place.display();
    paste(
        &terminal,
        &format!("'{place}/a b.md' {place}/a.txt "),
        &["-p"],
    );
    wait_for_written(&terminal, "❯ @\"a b.md\" @a.txt");
}

#[test]
fn a_shell_command_is_shown_and_sent_with_the_next_prompt() {
    let terminal = Terminal::open("MODEL");
    terminal.wait_for("/help");
    terminal.type_line("!echo begun; sleep 600 & echo $! > child; wait");
    terminal.wait_for("│ begun");
    let child = || terminal.workdir.read("child").unwrap_or_default();
    terminal.wait_until("the child", |_| child().ends_with('\n'));
    let child = child();
    terminal.press("Escape");
    terminal.wait_for("╰ stopped");
    let state = Command::new("ps")
        .args(["-o", "stat=", "-p", child.trim()])
        .output();
    let state = String::from_utf8_lossy(&state.unwrap().stdout)
        .trim()
        .to_owned();
    // Its end may not have been noticed yet.
    assert!(state.is_empty() || state.starts_with('Z'), "{state}");
    terminal.type_line("!echo seen-by-the-model; exit 3");
    terminal.wait_for("╰ exit code 3");
    assert_eq!(terminal.server.requests().len(), 0);
    terminal.type_line("say:3");
    terminal.wait_for("alpha beta gamm");
    let request = terminal.server.requests()[0].body.to_string();
    assert!(request.contains("exit 3` (exit code 3):"), "{request}");
    assert!(request.contains("seen-by-the-model"), "{request}");
    assert!(request.contains("(stopped):"), "{request}");
}

#[test]
fn an_interrupt_signal_acts_like_the_key() {
    let terminal = Terminal::open("MODEL slow:2000:5");
    terminal.wait_for("alpha beta");
    let process = terminal.process();
    signal("-INT", &process);
    terminal.wait_for("ctrl+c again to leave");
    terminal.wait_until("the stop", |screen| !screen.contains("esc to stop"));
    terminal.wait_until("the end of the offer", |screen| {
        !screen.contains("ctrl+c again")
    });
    signal("-INT", &process);
    terminal.wait_for("ctrl+c again to leave");
    signal("-INT", &process);
    terminal.wait_for_shell();
}

#[test]
fn queued_prompts_are_shown_and_can_be_taken_back() {
    let terminal = Terminal::open("MODEL slow:2000:5");
    terminal.wait_for("alpha beta");
    terminal.wait_for("tokens/s");
    terminal.type_line("say:3");
    terminal.wait_for("queued: say:3");
    terminal.type_text("half");
    terminal.press("M-Up");
    wait_for_written(&terminal, "❯ say:3\n  half");
    terminal.press("C-c");
    terminal.wait_until("rest", |screen| !screen.contains("esc to stop"));
    wait_for_written(&terminal, "❯");
    assert_eq!(terminal.server.requests().len(), 1);
}

#[test]
fn the_chat_shows_what_it_waits_for() {
    let terminal = Terminal::open("MODEL");
    terminal.wait_for("/help");
    terminal.type_line("retryafter:2:say:3");
    terminal.wait_for("retrying in 1s");
    terminal.wait_for("openai: http 503");
    let screen = terminal.wait_for("alpha beta gamm");
    assert!(!screen.contains("retrying"), "{screen}");
    terminal.type_line("errheaders:429:3:retry-after=1");
    terminal.wait_for("openai: http 429");
    terminal.wait_until("an answer", |screen| {
        !screen.contains("retrying") && screen.contains("beta ok")
    });
    assert!(!terminal.screen().contains('✗'), "{}", terminal.screen());
    for text in ["COMPACT-HANG", "two", "three"] {
        terminal.type_line(text);
        terminal.wait_for(&format!("❯ {text}"));
        terminal.wait_until("rest", |screen| !screen.contains("esc to stop"));
    }
    terminal.type_line("overflow:1:say:3");
    terminal.wait_for("compacting the conversation");
    terminal.press("Escape");
    terminal.wait_until("the stop", |screen| !screen.contains("esc to stop"));
}

#[test]
fn history_is_searched_and_shared_with_other_chats() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    terminal.type_text("!echo first");
    terminal.press("C-j");
    terminal.type_line("echo second");
    terminal.wait_for("╰ exit code 0");
    terminal.type_line("!echo other");
    terminal.wait_until("both", |screen| {
        screen.matches("╰ exit code 0").count() == 2
    });
    terminal.type_text("draft");
    terminal.press("C-r");
    terminal.type_text("SECOND");
    let screen = terminal.wait_for("history: SECOND");
    assert!(screen.contains("▸ !echo first ⏎ echo second"), "{screen}");
    terminal.press("Enter");
    wait_for_written(&terminal, "❯ !echo first\n  echo second");
    terminal.press("C-_");
    wait_for_written(&terminal, "❯ draft");
}

#[test]
fn the_cursor_is_where_the_text_is_on_a_small_screen() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    terminal.tmux(&["resize-window", "-x", "40", "-y", "10"]);
    terminal.wait_until("the smaller screen", |screen| screen.lines().count() <= 10);
    let cursor = || {
        let place = terminal.tmux(&["display-message", "-p", "#{cursor_x}"]);
        String::from_utf8_lossy(&place.stdout).trim().to_owned()
    };
    terminal.type_text(&"日本語".repeat(7));
    terminal.wait_until("a second row", |screen| {
        written(screen) == format!("❯ {}\n  {}", "日本語".repeat(6), "日本語")
    });
    assert_eq!(cursor(), "8");
    terminal.press("Up");
    terminal.type_text("e\u{301}");
    terminal.wait_until("the letter", |screen| screen.contains("語e\u{301}日"));
    assert_eq!(cursor(), "9");
    terminal.press("BSpace");
    terminal.press("BSpace");
    terminal.wait_until("what is left", |screen| {
        written(screen).starts_with("❯ 日本日本語")
    });
    assert_eq!(cursor(), "6");
}

/// As a confined command could put them into the virtual environment of a project.
#[test]
fn programs_in_the_working_directory_are_not_used() {
    let terminal = Terminal::open_prepared(
        "EDITOR='myeditor -w' PATH=$PWD/.venv/bin:$PATH",
        "--provider offline",
        |_, workdir| {
            for name in ["bash", "sh", "tmux", "myeditor"] {
                let program = format!(".venv/bin/{name}");
                workdir.write(&program, "#!/bin/sh\necho \"$0\" >> started\n");
                let mode = fs::Permissions::from_mode(0o755);
                fs::set_permissions(workdir.path().join(program), mode).unwrap();
            }
        },
    );
    terminal.wait_for("/help");
    terminal.type_line("!echo $((40 + 2)) done");
    terminal.wait_for("42 done");
    terminal.press("C-g");
    terminal
        .wait_for("start myeditor -w: myeditor is not in PATH outside of the working directory");
    assert_eq!(terminal.workdir.read("started"), None);
}
