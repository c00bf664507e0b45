//! Attachments of a prompt, in a real terminal.

use std::fs;

use super::Terminal;

fn paste(terminal: &Terminal, text: &str) {
    let file = terminal.workdir.zot_home().join("pasted");
    fs::write(&file, text).unwrap();
    terminal.tmux(&["load-buffer", "-b", "pasted", &file.display().to_string()]);
    terminal.tmux(&["paste-buffer", "-p", "-r", "-d", "-b", "pasted"]);
}

fn last_prompt(terminal: &Terminal) -> String {
    let requests = terminal.server.requests();
    requests
        .last()
        .map(testkit::RecordedRequest::prompt)
        .unwrap_or_default()
}

#[test]
fn files_are_chips_and_missing_ones_are_reported() {
    let terminal = Terminal::open("MODEL --no-session");
    terminal.wait_for("/help");
    let directory = terminal.workdir.path();
    fs::write(directory.join("open.txt"), "no line end").unwrap();
    fs::write(directory.join("blob"), b"a\0b").unwrap();
    fs::create_dir(directory.join("directory")).unwrap();
    fs::write(directory.join("directory/only"), "").unwrap();
    let dropped = directory.join("open.txt");
    terminal.type_text("see ");
    paste(&terminal, &dropped.display().to_string());
    terminal.wait_for("attached: [open.txt 11 B]");
    terminal.type_text("@gone.txt @blob @directory ok");
    for part in [
        "attached: [open.txt 11 B] [directory 1 entry]",
        "not attached: gone.txt: no such file · blob: a binary file of 3 bytes",
    ] {
        terminal.wait_for(part);
    }
    terminal.press("Enter");
    for part in [
        "❯ see @open.txt @gone.txt @blob @directory ok",
        "  [open.txt 11 B] [directory 1 entry]",
        "  not attached: gone.txt: no such file · blob: a binary file of 3 bytes",
    ] {
        terminal.wait_for(part);
    }
    terminal.wait_until("the request", |_| !terminal.server.requests().is_empty());
    assert!(last_prompt(&terminal).contains("no line end"));
    let screen = terminal.wait_until("the end", |screen| !screen.contains("esc to stop"));
    assert!(!screen.contains("\nattached:"), "{screen}");
    assert!(!screen.contains("no line end"), "{screen}");
}

#[test]
fn a_paste_and_the_text_after_it_are_both_shown() {
    let terminal = Terminal::open("MODEL --no-session");
    terminal.wait_for("/help");
    let lines: Vec<String> = (1..=42).map(|number| format!("row {number}")).collect();
    paste(&terminal, &(lines.join("\r\n") + "\r\n"));
    terminal.wait_for("❯ [pasted 42 lines]");
    terminal.type_line("and a question");
    terminal.wait_until("both", |screen| {
        screen.contains("❯ [pasted 42 lines]and a question")
            && screen.trim_end().lines().rev().nth(1) == Some("❯")
    });
    terminal.wait_until("the request", |_| !terminal.server.requests().is_empty());
    let asked = last_prompt(&terminal);
    assert_eq!(asked, lines.join("\n") + "\nand a question");
}

#[test]
fn pending_output_is_a_chip_that_can_be_dropped() {
    let terminal = Terminal::open("MODEL --no-session");
    terminal.wait_for("/help");
    terminal.type_line("!seq 1 3");
    terminal.wait_for("attached to the next prompt: [!seq 1 3 3 lines] · ctrl+x drops it");
    terminal.press("C-x");
    terminal.wait_until("nothing waits", |screen| {
        !screen.contains("attached to the next prompt:")
    });
    terminal.type_line("!echo kept out");
    terminal.wait_for("[!echo kept out 1 line]");
    terminal.type_line("/clear");
    terminal.wait_for("a new conversation");
    terminal.wait_until("nothing waits", |screen| {
        !screen.contains("attached to the next prompt:")
    });
    terminal.type_line("!echo taken along");
    terminal.wait_for("[!echo taken along 1 line]");
    terminal.type_line("say:2");
    terminal.wait_until("the request", |_| !terminal.server.requests().is_empty());
    let asked = last_prompt(&terminal);
    assert!(
        asked.starts_with("say:2\n\nI ran `echo taken along`"),
        "{asked}"
    );
    assert!(
        !asked.contains("kept out") && !asked.contains("seq 1 3"),
        "{asked}"
    );
    terminal.wait_for("  [!echo taken along 1 line]");
}
