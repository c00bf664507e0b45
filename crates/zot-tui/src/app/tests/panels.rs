//! Panels of extensions.

use serde_json::json;

use super::*;

fn view(extension: &str, lines: &[&str]) -> PanelView {
    PanelView {
        extension: extension.to_owned(),
        id: "p".to_owned(),
        title: format!("Title of {extension}"),
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        footer: "x done".to_owned(),
    }
}

fn drawn(extension: &str, line: &str) -> serde_json::Value {
    json!({"type": "ext_panel", "extension": extension, "panel_id": "p", "title": "T", "lines": [line], "footer": ""})
}

fn key(extension: &str, key: &str, text: &str) -> Effect {
    Effect::Extension(ExtensionEffect::PanelKey {
        extension: extension.to_owned(),
        panel: "p".to_owned(),
        key: key.to_owned(),
        text: text.to_owned(),
    })
}

fn room(extension: &str, width: usize, height: usize) -> Effect {
    Effect::Extension(ExtensionEffect::PanelResize {
        extension: extension.to_owned(),
        panel: "p".to_owned(),
        width,
        height,
    })
}

fn closed(extension: &str) -> Effect {
    Effect::Extension(ExtensionEffect::PanelClose {
        extension: extension.to_owned(),
        panel: "p".to_owned(),
    })
}

#[test]
fn a_panel_at_80_by_24_and_at_40_by_10() {
    for (columns, rows) in [(80, 24), (40, 10)] {
        let mut chat = Chat::new(columns, rows);
        let effects = chat.input(Input::Panel(PanelInput::Opened(view(
            "todo",
            &["[ ] milk"],
        ))));
        let (columns, rows) = (usize::from(columns), usize::from(rows));
        assert_eq!(effects, [room("todo", columns - 2, rows - 4)]);
        let head = format!("┌ Title of todo {}", "─".repeat(columns - 16));
        let screen = chat.rows();
        let panel = &screen[screen.len() - 3..];
        assert_eq!(panel, [&head, "│ [ ] milk", "└ x done · esc closes"]);
    }
}

#[test]
fn a_panel_receives_every_key_by_name() {
    let mut chat = Chat::new(80, 24);
    chat.input(Input::Panel(PanelInput::Opened(view("todo", &["one"]))));
    let plain = Key::plain;
    let with = |code, control, alt, shift| Key {
        code,
        control,
        alt,
        shift,
    };
    for (pressed, name, text) in [
        (plain(KeyCode::Character('x')), "rune", "x"),
        (
            with(KeyCode::Character('X'), false, false, true),
            "rune",
            "X",
        ),
        (plain(KeyCode::Character('é')), "rune", "é"),
        (plain(KeyCode::Character(' ')), "rune", " "),
        (
            with(KeyCode::Character(' '), false, false, true),
            "rune",
            " ",
        ),
        (
            with(KeyCode::Character(' '), true, false, false),
            "ctrl+space",
            "",
        ),
        (plain(KeyCode::Enter), "enter", ""),
        (plain(KeyCode::Tab), "tab", ""),
        (with(KeyCode::Tab, false, false, true), "shift+tab", ""),
        (plain(KeyCode::Backspace), "backspace", ""),
        (plain(KeyCode::Delete), "delete", ""),
        (plain(KeyCode::Insert), "insert", ""),
        (plain(KeyCode::Up), "up", ""),
        (plain(KeyCode::Down), "down", ""),
        (with(KeyCode::Left, true, false, false), "ctrl+left", ""),
        (
            with(KeyCode::Right, false, true, true),
            "alt+shift+right",
            "",
        ),
        (plain(KeyCode::Home), "home", ""),
        (plain(KeyCode::End), "end", ""),
        (plain(KeyCode::PageUp), "pageup", ""),
        (plain(KeyCode::PageDown), "pagedown", ""),
        (plain(KeyCode::Function(5)), "f5", ""),
        (Key::control('a'), "ctrl+a", ""),
        (Key::control('d'), "ctrl+d", ""),
        (Key::alt('x'), "alt+x", ""),
        (with(KeyCode::Up, false, true, false), "alt+up", ""),
    ] {
        assert_eq!(chat.input(Input::Key(pressed)), [key("todo", name, text)]);
    }
    let pasted = chat.input(Input::Paste("two\nlines".to_owned()));
    assert_eq!(pasted, [key("todo", "paste", "two\nlines")]);
    assert_eq!(
        chat.control('z'),
        [Effect::Terminal(TerminalEffect::Suspend)]
    );
    assert!(chat.app.composer.editor.is_empty());
    assert_eq!(chat.control('c'), [closed("todo")]);
    assert!(
        chat.rows().iter().any(|row| row == "❯"),
        "{:?}",
        chat.rows()
    );
}

#[test]
fn only_a_command_opens_a_panel_and_a_closed_one_stays_closed() {
    let mut chat = Chat::new(80, 24);
    chat.event(drawn("todo", "unrequested"));
    assert!(!chat.rows().concat().contains("unrequested"));
    chat.input(Input::Panel(PanelInput::Opened(view(
        "todo",
        &["requested"],
    ))));
    chat.event(drawn("todo", "redrawn"));
    assert!(
        chat.rows().contains(&"│ redrawn".to_owned()),
        "{:?}",
        chat.rows()
    );
    chat.control('c');
    // A drawing that was on its way when the user closed the panel.
    chat.event(drawn("todo", "late"));
    assert!(!chat.rows().concat().contains("late"));
}

#[test]
fn every_new_size_is_reported_once() {
    let mut chat = Chat::new(80, 24);
    chat.input(Input::Panel(PanelInput::Opened(view("todo", &["one"]))));
    chat.terminal
        .screen_mut()
        .set_size(10.try_into().unwrap(), 40.try_into().unwrap());
    let resized = Input::Resized {
        columns: 40,
        rows: 10,
    };
    let effects = chat.input(resized.clone());
    assert!(effects.contains(&room("todo", 38, 6)), "{effects:?}");
    assert!(!chat.input(resized).contains(&room("todo", 38, 6)));
}

#[test]
fn the_newest_panel_is_on_top() {
    let mut chat = Chat::new(80, 24);
    chat.input(Input::Panel(PanelInput::Opened(view("below", &["lower"]))));
    chat.input(Input::Panel(PanelInput::Opened(view("above", &["upper"]))));
    assert_eq!(chat.press(KeyCode::Up), [key("above", "up", "")]);
    chat.event(drawn("below", "changed"));
    assert!(chat.rows().contains(&"│ upper".to_owned()));
    // The same id in another extension is a different panel.
    chat.event(json!({"type": "ext_panel_close", "extension": "above", "panel_id": "p"}));
    assert!(
        chat.rows().contains(&"│ changed".to_owned()),
        "{:?}",
        chat.rows()
    );
    assert_eq!(chat.press(KeyCode::Up), [key("below", "up", "")]);
    // Running its command again moves a panel to the top.
    chat.input(Input::Panel(PanelInput::Opened(view("above", &["upper"]))));
    chat.input(Input::Panel(PanelInput::Opened(view("below", &["again"]))));
    assert_eq!(chat.app.panels.len(), 2);
    assert!(chat.rows().contains(&"│ again".to_owned()));
}

#[test]
fn too_many_panels_are_refused_and_their_extension_is_notified() {
    let mut chat = Chat::new(80, 24);
    for number in 0..16 {
        chat.input(Input::Panel(PanelInput::Opened(view(
            &format!("e{number}"),
            &["x"],
        ))));
    }
    let effects = chat.input(Input::Panel(PanelInput::Opened(view("last", &["x"]))));
    assert_eq!(effects, [closed("last")]);
}

#[test]
fn an_unreachable_extension_loses_its_panel() {
    let mut chat = Chat::new(80, 24);
    chat.input(Input::Panel(PanelInput::Opened(view("todo", &["milk"]))));
    chat.input(Input::Panel(PanelInput::Lost {
        extension: "todo".to_owned(),
        panel: "p".to_owned(),
        reason: "extension todo: the extension is not running".to_owned(),
    }));
    let screen = chat.rows().join("\n");
    assert!(!screen.contains("milk"), "{screen}");
    assert!(
        screen.contains("✗ extension todo: the extension is not running"),
        "{screen}"
    );
}

#[test]
fn lines_that_do_not_fit_are_cut_and_scrolled() {
    let mut chat = Chat::new(40, 10);
    let lines: Vec<String> = (1..=20)
        .map(|n| format!("{n} {}", "wide ".repeat(20)))
        .collect();
    let mut many = view("todo", &[]);
    many.lines = lines;
    chat.input(Input::Panel(PanelInput::Opened(many)));
    let screen = chat.rows();
    assert!(screen[2].starts_with("┌ Title"), "{screen:?}");
    assert!(
        screen[3].starts_with("│ 1 wide") && screen[3].ends_with('…'),
        "{screen:?}"
    );
    assert!(screen[8].starts_with("│ 6 wide"), "{screen:?}");
    assert!(screen[9].contains("1–6 of 20"), "{screen:?}");
    assert!(screen[9].ends_with("esc closes"), "{screen:?}");
    let scroll = |chat: &mut Chat, code| {
        let effects = chat.input(Input::Key(Key {
            alt: true,
            ..Key::plain(code)
        }));
        assert_eq!(effects, []);
    };
    for _ in 0..9 {
        scroll(&mut chat, KeyCode::PageDown);
    }
    assert!(chat.rows()[8].starts_with("│ 20 wide"), "{:?}", chat.rows());
    scroll(&mut chat, KeyCode::Up);
    assert!(chat.rows()[8].starts_with("│ 19 wide"), "{:?}", chat.rows());
    // With fewer lines, the view moves back to them.
    chat.event(drawn("todo", "only"));
    assert!(
        chat.rows().contains(&"│ only".to_owned()),
        "{:?}",
        chat.rows()
    );
}

#[test]
fn the_conversation_continues_above_a_panel() {
    let mut chat = Chat::new(40, 10);
    chat.prompt("go");
    chat.input(Input::Panel(PanelInput::Opened(view("todo", &["milk"]))));
    for number in 0..30 {
        chat.delta(&format!("paragraph {number}\n\n"));
    }
    let screen = chat.rows();
    assert!(screen.contains(&"│ milk".to_owned()), "{screen:?}");
    assert!(screen.contains(&"paragraph 29".to_owned()), "{screen:?}");
    assert!(chat.everything().contains(&"paragraph 3".to_owned()));
    chat.input(Input::WorkEnded);
    assert!(chat.rows().contains(&"│ milk".to_owned()));
    assert_eq!(chat.press(KeyCode::Up), [key("todo", "up", "")]);
}

#[test]
fn colours_are_kept_and_other_sequences_dropped() {
    let mut chat = Chat::new(40, 10);
    chat.renderer = Renderer::new(Depth::True);
    chat.input(Input::Panel(PanelInput::Opened(view(
        "todo",
        &["\x1b[1;31mred\x1b[0m \x1b[2J\x1b]0;title\x07plain \x1b[38;5;196mcube\x1b[48;2;1;2;3mrgb"],
    ))));
    let screen = chat.rows();
    let row = screen.iter().position(|row| row == "│ red plain cubergb");
    let row = u16::try_from(row.unwrap_or_else(|| panic!("{screen:?}"))).unwrap();
    let cell = |column| chat.terminal.screen().cell(row, column).unwrap();
    assert!(cell(2).bold());
    assert_eq!(cell(2).fgcolor(), vt100::Color::Idx(1));
    assert_eq!(cell(7).fgcolor(), vt100::Color::Default);
    assert_eq!(cell(12).fgcolor(), vt100::Color::Rgb(255, 0, 0));
    assert_eq!(cell(16).bgcolor(), vt100::Color::Rgb(1, 2, 3));
}

/// Each drawing is cheap, and the last one wins.
#[test]
fn a_flood_of_drawings_shows_the_last() {
    let mut chat = Chat::new(80, 24);
    chat.input(Input::Panel(PanelInput::Opened(view("todo", &["0"]))));
    for number in 0..10_000 {
        let drawn = reported::input(drawn("todo", &number.to_string()));
        assert_eq!(chat.app.update(1_000, drawn), []);
    }
    chat.draw();
    assert!(chat.rows().contains(&"│ 9999".to_owned()));
}
