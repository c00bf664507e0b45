//! The chat in a real terminal: tmux types and captures the screen.

mod approvals;
mod chips;
mod first_words;
mod jail;
mod keys;
mod leaving;
mod limits;
mod logins;
mod mcp;
mod models;
mod original_commands;
mod pickers;
mod plain;
mod progress;
mod reading;
mod resizing;
mod restarting;

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use testkit::{ModelServer, Wire, Workdir};

use crate::support::binary;

const PATIENCE: Duration = Duration::from_secs(20);

/// Fails without tmux: a skipped test must not look like a passed one.
pub(crate) fn need_tmux() {
    let found = Command::new("tmux").arg("-V").output();
    assert!(
        found.is_ok(),
        "this test needs tmux: install it (apt-get install tmux, brew install tmux), or run \
         scripts/test, which does"
    );
}

/// A terminal with a shell, from which zot is started.
pub(crate) struct Terminal {
    name: String,
    pub(crate) server: ModelServer,
    pub(crate) workdir: Workdir,
    /// The command that started zot.
    pub(crate) command: String,
}

impl Terminal {
    /// Opens a terminal of 100×30 with zot in it.
    pub(crate) fn open(arguments: &str) -> Self {
        Self::open_with("", arguments)
    }

    /// Like `open`, with more variables.
    pub(crate) fn open_with(variables: &str, arguments: &str) -> Self {
        Self::open_prepared(variables, arguments, |_, _| {})
    }

    /// Like `open_with`, after `prepare` has set up the home.
    pub(crate) fn open_prepared(
        variables: &str,
        arguments: &str,
        prepare: impl FnOnce(&ModelServer, &Workdir),
    ) -> Self {
        need_tmux();
        let (server, workdir) = (ModelServer::start(), Workdir::with_files("work"));
        prepare(&server, &workdir);
        let place = workdir.path();
        let name = place.display().to_string().replace(['/', '.'], "_");
        let mut terminal = Self {
            name,
            server,
            workdir,
            command: String::new(),
        };
        let settings = terminal.workdir.zot_home().join("tmux.conf");
        std::fs::create_dir_all(terminal.workdir.zot_home()).unwrap();
        std::fs::write(
            &settings,
            "set -g default-shell /bin/sh\nset -s escape-time 10\n",
        )
        .unwrap();
        let shell = "env -i PS1='shell> ' TERM=screen-256color PATH=\"$PATH\" /bin/sh -i";
        let opened = Command::new("tmux")
            .args(["-L", &terminal.name, "-f"])
            .arg(&settings)
            .args(["new-session", "-d", "-x", "100", "-y", "30", "-c"])
            .arg(&place)
            .arg(shell)
            .output()
            .unwrap();
        assert!(opened.status.success(), "{opened:?}");
        terminal.wait_for("shell>");
        let command = format!(
            "{variables} HOME={} ZOT_HOME={} {} {arguments}",
            terminal.workdir.home().display(),
            terminal.workdir.zot_home().display(),
            binary().display(),
        );
        let command = command.replace(
            "MODEL",
            &format!(
                "--provider openai --model gpt-4o --api-key x --base-url {}",
                terminal.server.url(Wire::OpenAi)
            ),
        );
        terminal.type_line(&command);
        terminal.command = command;
        terminal
    }

    pub(crate) fn tmux(&self, arguments: &[&str]) -> Output {
        let output = Command::new("tmux")
            .args(["-L", &self.name])
            .args(arguments)
            .output();
        output.unwrap()
    }

    pub(crate) fn type_text(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    pub(crate) fn type_line(&self, text: &str) {
        self.type_text(text);
        self.press("Enter");
    }

    pub(crate) fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// Returns the id of zot's process.
    pub(crate) fn process(&self) -> String {
        let tty = self.tmux(&["display-message", "-p", "#{pane_tty}"]);
        let tty = String::from_utf8_lossy(&tty.stdout).trim().to_owned();
        let tty = tty.trim_start_matches("/dev/");
        let found = Command::new("pgrep").args(["-t", tty, "zot"]).output();
        String::from_utf8_lossy(&found.unwrap().stdout)
            .trim()
            .to_owned()
    }

    pub(crate) fn screen(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p"]).stdout).into_owned()
    }

    /// Returns the screen with everything that has scrolled away.
    pub(crate) fn everything(&self) -> String {
        let output = self.tmux(&["capture-pane", "-p", "-S", "-"]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Waits until zot has exited and the shell shows its prompt.
    pub(crate) fn wait_for_shell(&self) {
        self.wait_until("the shell", |screen| screen.trim_end().ends_with("shell>"));
    }

    pub(crate) fn wait_for(&self, text: &str) -> String {
        self.wait_until(text, |screen| screen.contains(text))
    }

    pub(crate) fn wait_until(&self, what: &str, condition: impl Fn(&str) -> bool) -> String {
        let started = Instant::now();
        loop {
            let screen = self.screen();
            if condition(&screen) {
                return screen;
            }
            assert!(
                started.elapsed() < PATIENCE,
                "{what:?} did not come:\n{screen}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

#[test]
fn a_conversation_with_a_tool_that_is_folded_and_unfolded() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help for commands and keys");
    terminal.type_line("run: seq 1 40");
    let screen = terminal.wait_for("exit code 0 and printed");
    assert!(screen.contains("╭ bash  seq 1 40"), "{screen}");
    assert!(screen.contains("more lines (ctrl+o)"), "{screen}");
    terminal.press("C-o");
    terminal.wait_until("unfolded", |screen| !screen.contains("(ctrl+o)"));
    terminal.type_line("/exit");
    terminal.wait_for_shell();
    let everything = terminal.everything();
    for number in 1..=40 {
        let line = format!("\n│ {number}\n");
        assert_eq!(everything.matches(&line).count(), 1, "{everything}");
    }
    assert_eq!(everything.matches("❯ run: seq 1 40").count(), 1);
    assert_eq!(everything.matches("context 3 %").count(), 0, "{everything}");
}

#[test]
fn an_answer_is_stopped_and_the_queue_continues() {
    let terminal = Terminal::open("MODEL slow:2000:5");
    terminal.wait_for("alpha beta");
    terminal.wait_for("esc to stop");
    terminal.type_line("say:3");
    terminal.wait_for("queued: say:3");
    terminal.press("Escape");
    let screen = terminal.wait_for("❯ say:3");
    assert!(!screen.contains("queued:"), "{screen}");
    terminal.wait_until("rest", |screen| !screen.contains("esc to stop"));
    terminal.type_line("/exit");
    terminal.wait_for_shell();
}

#[test]
fn suspending_restores_the_terminal_and_continuing_redraws() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    terminal.type_text("half a thought");
    terminal.wait_for("❯ half a thought");
    terminal.press("C-z");
    terminal.wait_for_shell();
    terminal.type_line("echo $((40+2)); stty -a | grep -o ' icanon'");
    let screen = terminal.wait_for("\n42\n");
    assert!(screen.contains(" icanon"), "{screen}");
    terminal.type_line("fg");
    terminal.wait_until("the editor", |screen| {
        screen
            .trim_end()
            .lines()
            .rev()
            .nth(1)
            .is_some_and(|line| line == "❯ half a thought")
    });
}

#[test]
fn the_terminal_is_restored_whatever_ends_the_chat() {
    for end in ["C-d", "twice", "TERM"] {
        let terminal = Terminal::open("--provider offline; echo code=$?");
        terminal.wait_for("/help");
        match end {
            "twice" => {
                terminal.press("C-c");
                terminal.wait_for("ctrl+c again to leave");
                terminal.press("C-c");
            }
            "TERM" => {
                let tty = terminal.tmux(&["display-message", "-p", "#{pane_tty}"]);
                let tty = String::from_utf8_lossy(&tty.stdout).trim().to_owned();
                let tty = tty.trim_start_matches("/dev/");
                let ended = Command::new("pkill")
                    .args(["-TERM", "-t", tty, "zot"])
                    .status();
                assert!(ended.unwrap().success());
            }
            key => terminal.press(key),
        }
        let code = if end == "TERM" { 143 } else { 0 };
        terminal.wait_for(&format!("code={code}"));
        terminal.type_line("stty -a | grep -o ' echo '; echo shown");
        let screen = terminal.wait_for("\nshown");
        assert!(screen.contains("\n echo"), "{end}: {screen}");
    }
}

#[test]
fn a_call_waits_for_confirmation() {
    let terminal = Terminal::open("--provider offline --no-yolo");
    terminal.wait_for("asks before tools");
    terminal.type_line("run: echo allowed > allowed.txt");
    terminal.wait_for("may zot run bash?");
    terminal.press("y");
    terminal.wait_for("exit code 0");
    assert_eq!(
        terminal.workdir.read("allowed.txt").as_deref(),
        Some("allowed\n")
    );
    terminal.type_line("run: echo refused > refused.txt");
    terminal.wait_for("may zot run bash?");
    terminal.press("n");
    terminal.type_line("not now");
    terminal.wait_for("the user said no: not now");
    assert_eq!(terminal.workdir.read("refused.txt"), None);
}

#[test]
fn confirmations_are_turned_on_in_the_chat_and_one_tool_is_always_allowed() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    terminal.type_line("/confirm on");
    terminal.wait_for("· asks before tools");
    terminal.type_line("run: echo again >> many.txt");
    terminal.wait_for("may zot run bash?");
    terminal.press("e");
    terminal.wait_for("exit code 0");
    terminal.type_line("run: echo again >> many.txt");
    terminal.wait_until("a second run", |_| {
        terminal.workdir.read("many.txt").as_deref() == Some("again\nagain\n")
    });
}

#[test]
fn two_parallel_calls_are_both_confirmed() {
    let terminal = Terminal::open("MODEL --no-yolo");
    terminal.wait_for("asks before tools");
    terminal.type_line(
        r#"multi:[{"name":"read","args":{"path":"a.txt"}},{"name":"read","args":{"path":"b.txt"}}]"#,
    );
    for path in ["a.txt", "b.txt"] {
        let question = format!(
            "may zot run read?\n  zot asks before every tool (/confirm)\n  {{\"path\":\"{path}\"}}"
        );
        terminal.wait_until(&question, |screen| screen.contains(&question));
        terminal.press("y");
    }
    terminal.wait_until("the end", |screen| {
        screen.contains("context") && !screen.contains("esc to stop")
    });
}

#[test]
fn a_side_question_and_the_transcript() {
    let terminal = Terminal::open("MODEL say:3");
    terminal.wait_for("context");
    terminal.type_line("/btw what is this?");
    terminal.wait_for("│ ok");
    terminal.type_line("/jump");
    terminal.wait_for("jump to:");
    let screen = terminal.wait_for("▸ 1  say:3");
    assert!(!screen.contains("2  "), "{screen}");
    terminal.press("Enter");
    terminal.wait_for("prompt 1 of 1, again:");
    terminal.type_line("/context");
    terminal.wait_for("tokens before the conversation");
    terminal.type_line("/skills");
    terminal.wait_for("│ built in");
}

#[test]
fn a_response_of_the_terminal_is_not_typed_text() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    for text in ["\u{1b}]11;rgb:ffff/ffff/ffff\u{1b}\\", "then text"] {
        terminal.type_text(text);
    }
    terminal.wait_for("❯ then text");
}

#[test]
fn a_custom_theme_is_used_and_a_broken_one_explained() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    let directory = terminal.workdir.zot_home().join("themes");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("mine.json"), r#"{"error": "green"}"#).unwrap();
    std::fs::write(directory.join("bad.json"), r#"{"akcent": "red"}"#).unwrap();
    terminal.type_line("/theme bad");
    terminal.wait_for("unknown role \"akcent\"");
    terminal.type_line("/theme none");
    terminal.wait_for("expected one of dark, light, bad, mine");
    terminal.type_line("/theme mine");
    let started = Instant::now();
    loop {
        let output = terminal.tmux(&["capture-pane", "-p", "-e"]);
        let screen = String::from_utf8_lossy(&output.stdout).into_owned();
        if screen.contains("\u{1b}[32m✗") {
            break;
        }
        assert!(started.elapsed() < PATIENCE, "{screen}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_file_is_picked_and_history_survives_the_chat() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    terminal.type_text("read @a.t");
    terminal.wait_for("▸ a.txt");
    terminal.press("Enter");
    terminal.wait_for("❯ read @a.txt");
    terminal.press("Enter");
    terminal.wait_until("an answer", |screen| screen.matches("❯").count() == 2);
    terminal.press("C-d");
    terminal.wait_for_shell();
    terminal.type_line("clear");
    terminal.type_line(&terminal.command);
    terminal.wait_until("again", |screen| {
        screen.contains("/help") && !screen.contains("stand-in")
    });
    terminal.press("Up");
    terminal.wait_until("the prompt", |screen| {
        screen
            .trim_end()
            .lines()
            .rev()
            .nth(1)
            .is_some_and(|line| line.starts_with("❯ read @a.txt"))
    });
}

#[test]
fn without_a_terminal_it_says_what_to_do() {
    let output = Command::new(binary()).arg("hello").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(
        printed.contains("-p PROMPT") && printed.contains("needs a terminal"),
        "{printed}"
    );
}

#[test]
fn sessions_are_forked_undone_exported_and_resumed() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    terminal.type_line("write \"abc\" to made.txt");
    terminal.wait_for("I wrote 3 bytes");
    terminal.type_line("/undo");
    terminal.wait_for("made.txt (it was new)");
    assert_eq!(terminal.workdir.read("made.txt"), None);
    terminal.type_line("/export out.html");
    terminal.wait_for("out.html: 4 messages");
    let page = terminal.workdir.read("out.html").unwrap();
    assert!(page.starts_with("<!doctype html>"), "{page}");
    terminal.type_line("/session fork");
    terminal.wait_for("resumed a conversation of 4 messages");
    terminal.type_line("run: echo in-the-fork");
    terminal.wait_for("exit code 0");
    terminal.type_line("/sessions");
    terminal.wait_for("resume:");
    terminal.wait_for("just now  write");
    terminal.press("Enter");
    terminal.wait_until("the first one", |screen| {
        screen.matches("a conversation of 4 messages").count() == 2
            || screen.trim_end().ends_with("offline") && !screen.contains("resume:")
    });
    terminal.type_line("/exit");
    terminal.wait_for_shell();
}

/// Interrupting a login does not interrupt the chat.
#[test]
fn a_cancelled_login_returns_to_the_chat() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    terminal.type_line("/login openai");
    terminal.wait_for("http://127.0.0.1:");
    terminal.press("C-c");
    terminal.wait_for("login to openai cancelled");
    terminal.wait_for("❯");
    // An interrupt of the login does not count as the first of two.
    terminal.press("C-c");
    terminal.wait_for("ctrl+c again to leave");
    terminal.type_line("run: echo still here");
    terminal.wait_for("exit code 0");
}

#[test]
fn a_session_to_resume_is_picked() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    terminal.type_line("run: echo the first");
    terminal.wait_for("exit code 0");
    terminal.type_line("/exit");
    terminal.wait_for_shell();
    terminal.type_line("clear");
    terminal.type_line(&format!("{} --resume", terminal.command));
    terminal.wait_for("resume:");
    terminal.wait_for("run: echo the first");
    terminal.press("Enter");
    terminal.wait_for("resumed a conversation of 4 messages");
}

#[test]
fn a_chosen_theme_is_stored() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    terminal.type_line("/theme light");
    let settings = terminal.workdir.zot_home().join("config.json");
    let kept = || std::fs::read_to_string(&settings).unwrap_or_default();
    terminal.wait_until("the setting", |_| kept().contains("\"theme\": \"light\""));
    terminal.type_line("/exit");
    terminal.wait_for_shell();
    std::fs::write(&settings, r#"{"theme": "gone"}"#).unwrap();
    terminal.type_line(&terminal.command);
    terminal.wait_for("unknown theme \"gone\"");
}

#[test]
fn a_flood_of_bytes_is_shown_with_its_exit_status() {
    let terminal = Terminal::open("MODEL");
    terminal.wait_for("/help");
    terminal.type_line(r#"tool:bash:{"command":"head -c 3000000 /dev/urandom | cat -u; exit 4"}"#);
    terminal.wait_for("╰ exit 4");
    terminal.wait_until("rest", |screen| !screen.contains("esc to stop"));
    terminal.type_line("!head -c 20000000 /dev/urandom; exit 3");
    let screen = terminal.wait_for("╰ exit code 3");
    // Every row is inside its box.
    let (_, printed) = screen.rsplit_once("╭ !  head").unwrap();
    let (printed, _) = printed.split_once("╰ exit code 3").unwrap();
    let mut rows = printed.lines().skip(1);
    assert!(rows.all(|row| row.starts_with("│ ")), "{screen}");
    terminal.type_text("still a chat");
    terminal.wait_for("\n❯ still a chat\n");
}

#[test]
fn diffs_are_green_and_red_in_sixteen_colours() {
    let terminal = Terminal::open_with("TERM=screen", "MODEL");
    terminal.wait_for("/help");
    std::fs::write(terminal.workdir.path().join("c.txt"), "old words\n").unwrap();
    terminal.type_line(
        r#"tool:edit:{"path":"c.txt","edits":[{"oldText":"old words","newText":"new words"}]}"#,
    );
    terminal.wait_for("│ +new words");
    let output = terminal.tmux(&["capture-pane", "-p", "-e"]);
    let screen = String::from_utf8_lossy(&output.stdout).into_owned();
    for (text, colour) in [("+new words", "32m"), ("-old words", "31m")] {
        let line = screen.lines().find(|line| line.contains(text));
        let before = line.and_then(|line| line.split(text).next());
        let last = before.and_then(|before| before.rsplit("\u{1b}[").next());
        assert!(
            last.is_some_and(|last| last.starts_with(colour)),
            "{line:?}"
        );
    }
}
