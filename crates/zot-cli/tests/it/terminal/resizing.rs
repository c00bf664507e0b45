//! Resizing: no line of the transcript is lost or duplicated, and earlier lines of the
//! terminal stay.

use super::*;

const LINES: usize = 90;

/// Opens a chat below lines of the shell.
fn open(arguments: &str) -> Terminal {
    let terminal = Terminal::open_with("seq -f 'before zot %g' 1 7;", arguments);
    // It may have scrolled away already.
    terminal.wait_until("the chat", |_| {
        terminal
            .everything()
            .contains("/help for commands and keys")
    });
    terminal
}

impl Terminal {
    fn resize(&self, columns: usize, rows: usize) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tmux(&["resize-window", "-x", &columns, "-y", &rows]);
    }

    /// Waits until the footer is at the end of a screen of that size.
    fn settle(&self, columns: usize, rows: usize) {
        self.wait_until("the new size", |screen| {
            let is_low = screen.lines().count() <= rows;
            let is_narrow = screen.lines().all(|line| line.chars().count() <= columns);
            let last = screen.trim_end().lines().last().unwrap_or_default();
            is_low && is_narrow && last.starts_with("gpt-4o")
        });
    }

    fn wait_for_rest(&self) {
        self.wait_until("rest", |screen| {
            screen.contains("context") && !screen.contains("esc to stop")
        });
    }

    /// Checks that each numbered line and each line of the shell is there once, however it is
    /// wrapped.
    fn check_once(&self, last: usize, what: &str) {
        let output = self.tmux(&["capture-pane", "-p", "-J", "-S", "-"]);
        let everything = String::from_utf8_lossy(&output.stdout).into_owned();
        let count = |text: &str| {
            let rows = everything.lines().map(str::trim_end);
            rows.filter(|row| row.ends_with(text)).count()
        };
        for number in 1..=last {
            let line = format!("numbered line {number}.");
            assert_eq!(count(&line), 1, "{what}, {line:?}\n{everything}");
        }
        for number in 1..=7 {
            let line = format!("before zot {number}");
            assert_eq!(count(&line), 1, "{what}, {line:?}\n{everything}");
        }
    }
}

#[test]
fn resizing_the_height_keeps_every_line_once() {
    let terminal = open(&format!("MODEL lines:{LINES}:0:paragraphs"));
    terminal.wait_for_rest();
    terminal.check_once(LINES, "before");
    for rows in [20, 30, 12, 29, 8, 33, 32, 7, 30] {
        terminal.resize(100, rows);
        terminal.settle(100, rows);
        // A key has its effect where the editor is now.
        terminal.type_text("x");
        terminal.wait_for("\n❯ x");
        terminal.press("BSpace");
        terminal.check_once(LINES, &format!("{rows} rows"));
    }
    terminal.type_line("/exit");
    terminal.wait_for_shell();
    terminal.check_once(LINES, "after");
}

#[test]
fn splitting_and_unsplitting_keeps_every_line_once() {
    let terminal = open(&format!("MODEL lines:{LINES}:0:code"));
    terminal.wait_for_rest();
    for kind in ["-v", "-h"] {
        terminal.tmux(&["split-window", "-d", kind, "sleep 1000"]);
        terminal.type_text(&format!("split {kind}"));
        terminal.wait_for(&format!("❯ split {kind}"));
        terminal.check_once(LINES, kind);
        terminal.tmux(&["kill-pane", "-t", "1"]);
        terminal.press("C-u");
        terminal.wait_until("an empty editor", |screen| screen.contains("\n❯\n"));
        terminal.check_once(LINES, &format!("after {kind}"));
    }
}

#[test]
fn resizing_the_height_during_an_answer_keeps_every_line_once() {
    for form in ["list", "paragraphs", "code"] {
        let terminal = open(&format!("MODEL lines:{LINES}:15:{form}"));
        for rows in [20, 30, 15, 26, 14, 30] {
            let reached = terminal.everything();
            let reached = reached.matches("numbered line").count();
            terminal.resize(100, rows);
            terminal.wait_until("more of the answer", |screen| {
                !screen.contains("esc to stop")
                    || terminal.everything().matches("numbered line").count() > reached
            });
        }
        terminal.wait_for_rest();
        terminal.settle(100, 30);
        terminal.check_once(LINES, form);
    }
}

#[test]
fn resizing_the_height_with_a_list_or_a_long_draft_keeps_every_line_once() {
    let terminal = open(&format!("MODEL lines:{LINES}:0:list"));
    terminal.wait_for_rest();
    terminal.type_text("/");
    terminal.wait_for("▸ /help");
    for rows in [20, 30, 14, 24, 30] {
        terminal.resize(100, rows);
        terminal.settle(100, rows);
        terminal.check_once(LINES, &format!("a list, {rows} rows"));
    }
    terminal.press("BSpace");
    for line in 0..12 {
        terminal.type_text(&format!("draft {line}"));
        terminal.press("C-j");
    }
    terminal.wait_for("draft 11");
    for rows in [20, 30, 9, 24, 30] {
        terminal.resize(100, rows);
        terminal.settle(100, rows);
        terminal.check_once(LINES, &format!("a draft, {rows} rows"));
    }
}

#[test]
fn resizing_the_width_keeps_earlier_lines() {
    let terminal = open(&format!("MODEL lines:{LINES}:0:paragraphs"));
    terminal.wait_for_rest();
    for (columns, rows) in [(60, 30), (120, 30), (45, 20), (100, 30), (30, 12)] {
        terminal.resize(columns, rows);
        terminal.settle(columns, rows);
        terminal.check_once(LINES, &format!("{columns} columns"));
    }
}

#[test]
fn with_the_setting_a_new_width_rewraps_the_whole_conversation() {
    let terminal = Terminal::open_prepared("", "MODEL say:60", |_, workdir| {
        let home = workdir.zot_home();
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(home.join("config.json"), r#"{"keep_scrollback": false}"#).unwrap();
    });
    terminal.wait_for_rest();
    let words = |text: &str| {
        let (_, answer) = text.split_once("❯ say:60").unwrap();
        let words = answer.split_whitespace().map(str::to_owned);
        words.collect::<Vec<_>>()
    };
    let before = words(&terminal.everything());
    terminal.resize(40, 12);
    terminal.settle(40, 12);
    let everything = terminal.everything();
    assert_eq!(words(&everything), before, "{everything}");
}
