use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{fixture, glasspane, stderr, stdout};

#[test]
fn without_a_terminal_the_table_is_printed_once() {
    let output = glasspane(&["top", "--file", &fixture("pi-json.jsonl"), "--file"])
        .arg(fixture("seed-placeholder-key.jsonl"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(
        lines[0].starts_with("2 agents  0 working  0 waiting for approval  1 done  1 failed"),
        "{text}"
    );
    // Failed agents need attention.
    assert!(lines[2].ends_with("deepseek: http 401: ..."), "{text}");
}

#[test]
fn usage_errors_explain_the_usage() {
    for (arguments, hint) in [
        (vec!["top"], "--file FILE"),
        (
            vec!["top", "--connect", "/x", "--file", "y"],
            "cannot be combined with other agents",
        ),
        (vec!["top", "--socket"], "needs a terminal"),
    ] {
        let output = glasspane(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(hint), "{}", stderr(&output));
    }
    let output = glasspane(&["top", "--connect", "/no/such/socket"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("glasspane serve"),
        "{}",
        stderr(&output)
    );
}

/// A tmux session, killed when dropped.
struct Terminal {
    server: String,
}

impl Terminal {
    fn start(name: &str, command: &str) -> Self {
        let terminal = Self {
            server: format!("glasspane-{name}-{}", std::process::id()),
        };
        let shell = format!("{command}; echo left $?; stty -a; read wait");
        let words = [
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "120",
            "-y",
            "12",
            &shell,
        ];
        terminal.tmux(&words);
        terminal
    }

    fn tmux(&self, words: &[&str]) -> String {
        let output = Command::new("tmux")
            .args(["-L", &self.server])
            .args(words)
            .output()
            .expect("this test needs tmux: install it, or run scripts/test, which does");
        stdout(&output)
    }

    fn keys(&self, keys: &str) {
        self.tmux(&["send-keys", keys]);
    }

    /// Waits until the screen shows all of `expected`.
    fn shows(&self, expected: &[&str]) -> String {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let screen = self.tmux(&["capture-pane", "-p"]);
            if expected.iter().all(|text| screen.contains(text)) {
                return screen;
            }
            assert!(Instant::now() < deadline, "no {expected:?} in\n{screen}");
            sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let mut tmux = Command::new("tmux");
        let _ = tmux.args(["-L", &self.server, "kill-server"]).output();
    }
}

fn live(name: &str) -> Terminal {
    let program = env!("CARGO_BIN_EXE_glasspane");
    let (one, two) = (fixture("pi-json.jsonl"), fixture("codex-exec.jsonl"));
    let command =
        format!("{program} top --file {one} --file {two} --agent busy='echo $$ >&2; sleep 1000'");
    Terminal::start(name, &command)
}

#[test]
fn it_sorts_filters_and_restores_the_terminal() {
    let terminal = live("keys");
    terminal.shows(&[
        "3 agents",
        "busy",
        "starting",
        "pi-json.jsonl",
        "sort (attention)",
    ]);
    terminal.keys("s");
    terminal.shows(&["sort (arrival)"]);
    terminal.keys("/");
    terminal.keys("codex");
    let screen = terminal.shows(&["filter: codex_"]);
    assert!(
        screen.contains("codex-exec.jsonl") && !screen.contains("pi-json.jsonl"),
        "{screen}"
    );
    terminal.keys("Enter");
    terminal.keys("q");
    let screen = terminal.shows(&["left 0", " echo "]);
    assert!(!screen.contains("AGENT"), "{screen}");
}

#[test]
fn a_signal_restores_the_terminal_too() {
    let terminal = live("signal");
    terminal.shows(&["3 agents"]);
    let pane = terminal.tmux(&["display-message", "-p", "#{pane_pid}"]);
    let children = Command::new("pgrep")
        .args(["-P", pane.trim(), "glasspane"])
        .output()
        .unwrap();
    let id = stdout(&children).trim().parse().unwrap();
    kill_process(Pid::from_raw(id).unwrap(), Signal::TERM).unwrap();
    terminal.shows(&["left 143", " echo "]);
}

/// Writes the lines of an agent to a file.
fn recorded(directory: &std::path::Path, name: &str, lines: &[&str]) -> String {
    let path = directory.join(name);
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn it_shows_running_tools_and_approvals() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let done = recorded(
        path,
        "done.jsonl",
        &[
            r#"{"type":"user_message","content":"translate"}"#,
            r#"{"type":"done"}"#,
        ],
    );
    let busy = recorded(
        path,
        "busy.jsonl",
        &[
            r#"{"type":"user_message","content":"mend the lexer"}"#,
            r#"{"type":"turn_start","step":1}"#,
            r#"{"type":"tool_use_start","id":"c1","name":"read"}"#,
            r#"{"type":"tool_call","id":"c1","name":"read","args":{"path":"Cargo.lock"}}"#,
            r#"{"type":"tool_result","id":"c1","content":"winnow 0.7","is_error":false}"#,
            r#"{"type":"tool_use_start","id":"c2","name":"bash"}"#,
            r#"{"type":"tool_use_args","id":"c2","delta":"{\"command\":\"cargo te"}"#,
            r#"{"type":"tool_use_args","id":"c2","delta":"st\u001b[2J\"}"}"#,
        ],
    );
    let waits = recorded(
        path,
        "waits.jsonl",
        &[
            r#"{"type":"turn_start","step":1}"#,
            r#"{"type":"tool_use_start","id":"c1","name":"bash"}"#,
            r#"{"type":"tool_confirm","id":"c1","name":"bash","args":{"command":"rm -r build"},"preview":"rm -r build"}"#,
        ],
    );
    let program = env!("CARGO_BIN_EXE_glasspane");
    let command = format!("{program} top --file {done} --file {busy} --file {waits}");
    let terminal = Terminal::start("calls", &command);
    let screen = terminal.shows(&["waiting for approval", "bash: rm -r build", "cargo test"]);
    assert!(!screen.contains('\u{1b}'), "{screen}");
    let position = |name: &str| screen.find(name).unwrap_or(usize::MAX);
    assert!(
        position("waits.jsonl") < position("busy.jsonl")
            && position("busy.jsonl") < position("done.jsonl"),
        "{screen}"
    );
    // Words of the prompt, of a running command, and of a result that is no longer shown.
    for filter in ["lexer", "CARGO running", "winnow", "bash cargo.lock"] {
        terminal.keys("/");
        terminal.keys(filter);
        let screen = terminal.shows(&[&format!("filter: {filter}_")]);
        assert!(
            screen.contains("busy.jsonl") && !screen.contains("waits.jsonl"),
            "{filter}: {screen}"
        );
        terminal.keys("Escape");
        terminal.shows(&["waits.jsonl"]);
    }
}
