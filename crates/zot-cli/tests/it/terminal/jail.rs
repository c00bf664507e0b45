//! `/jail`, `/unjail` and `/sandbox` in a real terminal.

use super::Terminal;

#[test]
fn tools_are_jailed_and_unjailed_while_zot_runs() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    let outside = terminal.workdir.parent().join("outside.txt");
    let now = || std::fs::read_to_string(&outside).unwrap();
    std::fs::write(&outside, "written by its owner\n").unwrap();

    terminal.type_line("/jail");
    terminal.wait_for("· jailed");
    let everything = terminal.everything();
    assert!(
        everything.contains("Not confined: extensions"),
        "{everything}"
    );
    terminal.type_line(r#"call read {"path": "../outside.txt"}"#);
    terminal.wait_for("I could not call read");
    terminal.type_line("run: echo changed > ../outside.txt");
    terminal.wait_until("the end of the command", |screen| {
        screen.contains("╰ exit") || screen.contains("cannot be confined")
    });
    assert_eq!(now(), "written by its owner\n");
    // Commands of the user are not jailed.
    terminal.type_line("!echo by the user > ../outside.txt");
    terminal.wait_until("the user's command", |screen| {
        screen.contains("╰ exit code 0") && !screen.contains("esc to stop")
    });
    assert_eq!(now(), "by the user\n");

    // Continuing in a copy keeps the jail.
    terminal.type_line("/session fork");
    terminal.wait_for("fork before:");
    terminal.press("Enter");
    terminal.wait_until("the copy", |_| {
        let everything = terminal.everything();
        everything.contains("resumed a conversation")
    });
    terminal.wait_for("· jailed");

    terminal.type_line("/unjail");
    terminal.wait_for("no longer jailed");
    terminal.wait_until("the footer", |screen| !screen.contains("· jailed"));
    terminal.type_line("run: echo changed > ../outside.txt");
    terminal.wait_until("the change", |_| now() == "changed\n");
}

#[test]
fn the_sandbox_is_changed_while_zot_runs() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    terminal.type_line("/sandbox");
    terminal.wait_for("may do what you may");
    terminal.type_line("/sandbox workspace");
    terminal.wait_for("· sandbox workspace");
    terminal.wait_for("have no network");
    terminal.type_line(r#"call write {"path": "made.txt", "content": "one"}"#);
    terminal.wait_until("the file", |_| {
        terminal.workdir.read("made.txt").as_deref() == Some("one")
    });
    terminal.type_line("/sandbox read-only");
    terminal.wait_for("· sandbox read-only");
    terminal.type_line(r#"call write {"path": "made.txt", "content": "two"}"#);
    terminal.wait_for("I could not call write");
    assert_eq!(terminal.workdir.read("made.txt").as_deref(), Some("one"));

    // Continuing in a copy keeps it.
    terminal.type_line("/session fork");
    terminal.wait_for("fork before:");
    terminal.press("Enter");
    terminal.wait_until("the copy", |_| {
        terminal.everything().contains("resumed a conversation")
    });
    terminal.wait_for("· sandbox read-only");

    terminal.type_line("/sandbox off");
    terminal.wait_until("the footer", |screen| !screen.contains("· sandbox"));
    terminal.type_line(r#"call write {"path": "made.txt", "content": "three"}"#);
    terminal.wait_until("the change", |_| {
        terminal.workdir.read("made.txt").as_deref() == Some("three")
    });
}

#[test]
fn the_user_is_asked_when_the_sandbox_is_in_the_way() {
    let terminal = Terminal::open("--provider offline --sandbox workspace");
    terminal.wait_for("· sandbox workspace");
    let path = terminal.workdir.home().join("data.txt");
    std::fs::create_dir_all(terminal.workdir.home()).unwrap();
    std::fs::write(&path, "of the user\n").unwrap();
    let read = format!("run: cat {}", path.display());
    terminal.type_line(&read);
    terminal.wait_for("sandbox asks");
    terminal.wait_for("Run it again?");
    terminal.wait_for("● No");
    // Left of "no": for the project.
    terminal.press("Left");
    terminal.wait_for("● Project: yes");
    terminal.press("Enter");
    terminal.press("Enter");
    terminal.wait_for("of the user");
    let store = terminal.workdir.zot_home().join("sandbox.json");
    let kept = std::fs::read_to_string(store).unwrap();
    assert!(kept.contains("data.txt"), "{kept}");
}
