//! Lists to choose from: keys, previews, and how they fit.

use zot_sdk::credentials::KeyProbe;
use zot_sdk::login::LoginPreference;

use super::*;

impl Chat {
    /// Delivers every requested preview, as the loop does.
    fn show(&mut self, effects: Vec<Effect>, preview: impl Fn(&Subject) -> Preview) {
        for effect in effects {
            if let Effect::Query(Query::Preview(subject)) = effect {
                let preview = preview(&subject);
                let more = self.input(Input::Preview { subject, preview });
                assert_eq!(more, [], "a preview requests no other");
            }
        }
    }

    fn sessions(&mut self, count: usize) -> Vec<Effect> {
        let names = (1..=count).map(|number| format!("{number:08}  just now  question {number}"));
        self.input(Input::Listed(Listed::Sessions(names.collect())))
    }

    fn selected(&self) -> String {
        let rows = self.rows().into_iter();
        let mut marked = rows.filter(|row| row.starts_with('▸'));
        let row = marked.next().unwrap_or_default();
        let list = row.split('│').next().unwrap_or_default();
        list.trim_start_matches('▸').trim().to_owned()
    }
}

fn prose(facts: &[&str], text: &str) -> Preview {
    Preview {
        facts: facts.iter().map(|fact| (*fact).to_owned()).collect(),
        body: PreviewBody::Prose(text.to_owned()),
    }
}

fn requested(id: &str) -> Vec<Effect> {
    vec![Effect::Query(Query::Preview(Subject::Session(
        id.to_owned(),
    )))]
}

fn last_command(chat: &mut Chat, text: &str) -> Option<Effect> {
    chat.write(text);
    chat.press(KeyCode::Enter).pop()
}

#[test]
fn an_exactly_typed_command_is_the_one_that_runs() {
    let mut chat = Chat::new(80, 24);
    let others = ["session-notes", "exporter", "todo-list", "todo"];
    let others = others.map(|name| (name.to_owned(), String::new()));
    chat.input(Input::Commands(others.to_vec()));
    assert_eq!(
        last_command(&mut chat, "/session"),
        Some(Effect::Session(SessionEffect::Describe))
    );
    assert_eq!(
        last_command(&mut chat, "/sessions"),
        Some(Effect::Session(SessionEffect::List))
    );
    for command in ["/export", "/session export"] {
        let file = |file: &str| Some(Effect::Session(SessionEffect::Export(file.to_owned())));
        assert_eq!(last_command(&mut chat, command), file(""));
        let named = format!("{command}  my notes.md");
        assert_eq!(last_command(&mut chat, &named), file("my notes.md"));
    }
    assert_eq!(
        last_command(&mut chat, "/session tree"),
        Some(Effect::Session(SessionEffect::Tree))
    );
    assert_eq!(
        last_command(&mut chat, "/session import a.zotsession"),
        Some(Effect::Session(SessionEffect::Import(
            "a.zotsession".to_owned()
        )))
    );
    assert_eq!(
        last_command(&mut chat, "/session fork"),
        Some(Effect::Session(SessionEffect::ListForkPoints))
    );
    last_command(&mut chat, "/session import");
    assert!(chat.rows().iter().any(|row| row.contains("import FILE")));
    assert_eq!(
        last_command(&mut chat, "/todo"),
        Some(Effect::Extension(ExtensionEffect::Invoke {
            name: "todo".to_owned(),
            arguments: String::new()
        }))
    );
    // A selected command wins over the typed one.
    chat.write("/session");
    chat.press(KeyCode::Down);
    assert_eq!(
        chat.press(KeyCode::Enter).pop(),
        Some(Effect::Session(SessionEffect::List))
    );
}

/// Extensions may start while the user types.
#[test]
fn a_command_that_becomes_known_while_it_is_typed_is_run() {
    let mut chat = Chat::new(80, 24);
    chat.write("/con");
    chat.input(Input::Commands(vec![("con".to_owned(), "ours".to_owned())]));
    assert_eq!(chat.selected(), "/con      ours");
    assert_eq!(
        chat.press(KeyCode::Enter).pop(),
        Some(Effect::Extension(ExtensionEffect::Invoke {
            name: "con".to_owned(),
            arguments: String::new()
        }))
    );
}

#[test]
fn an_exactly_typed_path_is_the_one_that_is_chosen() {
    let mut chat = Chat::new(100, 30);
    chat.write("see @");
    let files = ["docs/a.md", "src/lib.rs.bak", "src/lib.rs", "a.md"];
    chat.input(Input::Listed(Listed::Files(FileList::complete(
        Choices::named(files),
    ))));
    chat.write("src/lib.rs");
    chat.press(KeyCode::Enter);
    chat.write("@a.md");
    chat.press(KeyCode::Tab);
    assert_eq!(chat.app.composer.editor.text(), "see @src/lib.rs @a.md ");
    // Paths outside the working directory are not matched with files inside.
    chat.write("@/a.md");
    let effects = chat.press(KeyCode::Enter);
    let sent = "see @src/lib.rs @a.md @/a.md";
    assert!(
        effects.contains(&Effect::Agent(AgentEffect::Prompt(Prompt::typed(sent)))),
        "{effects:?}"
    );
}

#[test]
fn tab_enters_a_directory_and_enter_chooses_it() {
    let mut chat = Chat::new(100, 30);
    chat.write("@");
    let files = ["src/", "src/app/", "src/app/keys.rs", "zzz"];
    chat.input(Input::Listed(Listed::Files(FileList::complete(
        Choices::named(files),
    ))));
    chat.write("sr");
    chat.press(KeyCode::Tab);
    assert_eq!(chat.app.composer.editor.text(), "@src/");
    assert_eq!(chat.selected(), "src/");
    chat.press(KeyCode::Down);
    chat.press(KeyCode::Enter);
    assert_eq!(chat.app.composer.editor.text(), "@src/app/ ");
}

#[test]
fn a_preview_is_beside_the_list_at_100_by_30() {
    let mut chat = Chat::new(100, 30);
    let effects = chat.sessions(20);
    assert_eq!(effects, requested("00000001"));
    let text = "❯ first\n❯ a rather long question that has to be broken to fit beside the list";
    chat.show(effects, |_| prose(&["6 messages", "$0.0123"], text));
    let rows = chat.rows();
    assert_eq!(
        rows[4..],
        [
            "resume:                                           │ 6 messages",
            "▸ 00000001  just now  question 1                  │ $0.0123",
            "  00000002  just now  question 2                  │ ❯ first",
            "  00000003  just now  question 3                  │ ❯ a rather long question that has to be broken",
            "  00000004  just now  question 4                  │ to fit beside the list",
            "  00000005  just now  question 5                  │",
            "  00000006  just now  question 6                  │",
            "  00000007  just now  question 7                  │",
            "  00000008  just now  question 8                  │",
            "  1 of 20                                         │",
            "test-model",
        ]
    );
    let cursor = chat.terminal.screen().cursor_position();
    assert_eq!((cursor.0, cursor.1), (4, 8));
    chat.write("tion 13");
    assert_eq!(chat.selected(), "00000013  just now  question 13");
    assert_eq!(
        chat.press(KeyCode::Enter),
        [Effect::Session(SessionEffect::Resume {
            session: Some("00000013".to_owned()),
        })]
    );
    assert!(chat.app.picker.list().is_none());
}

#[test]
fn a_preview_is_below_the_list_on_a_narrow_screen() {
    let mut chat = Chat::new(60, 24);
    let effects = chat.sessions(20);
    let long: String = (0..40).map(|number| format!("line {number}\n")).collect();
    chat.show(effects, |_| prose(&["fact"], &long));
    let rows = chat.rows();
    let bars = rows.iter().filter(|row| row.starts_with('│')).count();
    assert_eq!(bars, 24 / 3);
    assert_eq!(rows[rows.len() - 9..][..2], ["│ fact", "│ line 0"]);
    assert!(rows.iter().any(|row| row == "resume:"), "{rows:?}");
    // On the lowest screen with a preview, the list is still visible.
    let mut chat = Chat::new(60, 14);
    let effects = chat.sessions(20);
    chat.show(effects, |_| prose(&["fact"], &long));
    assert_eq!(
        chat.rows()[3..],
        [
            "resume:",
            "▸ 00000001  just now  question 1",
            "  00000002  just now  question 2",
            "  00000003  just now  question 3",
            "  00000004  just now  question 4",
            "  1 of 20",
            "│ fact",
            "│ line 0",
            "│ line 1",
            "│ line 2",
            "test-model",
        ]
    );
}

/// A long draft stays visible.
#[test]
fn a_list_leaves_the_editor_its_rows() {
    let mut chat = Chat::new(60, 24);
    for line in 1..=12 {
        chat.write(&format!("line {line}"));
        chat.control('j');
    }
    for _ in 0..12 {
        chat.press(KeyCode::Up);
    }
    chat.write("@");
    let files = (1..=30).map(|number| format!("file{number}"));
    let effects = chat.input(Input::Listed(Listed::Files(FileList::complete(
        Choices::named(files),
    ))));
    chat.show(effects, |_| prose(&["fact"], "text"));
    let rows = chat.rows();
    assert_eq!(rows.len(), 24);
    assert!(rows.contains(&"❯ @line 1".to_owned()), "{rows:?}");
    assert!(rows.contains(&"▸ file1".to_owned()), "{rows:?}");
    assert!(rows.contains(&"│ fact".to_owned()), "{rows:?}");
}

#[test]
fn a_small_screen_has_only_the_list_at_40_by_10() {
    let mut chat = Chat::new(40, 10);
    assert_eq!(chat.sessions(20), [], "no preview, so none is requested");
    assert_eq!(
        chat.rows()[3..],
        [
            "resume:",
            "▸ 00000001  just now  question 1",
            "  00000002  just now  question 2",
            "  00000003  just now  question 3",
            "  00000004  just now  question 4",
            "  1 of 20",
            "test-model",
        ]
    );
    chat.press(KeyCode::End);
    let rows = chat.rows();
    assert!(rows.contains(&"  20 of 20".to_owned()), "{rows:?}");
    assert_eq!(chat.selected(), "00000020  just now  question 20");
}

#[test]
fn keys_move_page_filter_and_leave() {
    let mut chat = Chat::new(100, 30);
    chat.sessions(30);
    let mut at = |key: Key| {
        chat.input(Input::Key(key));
        let selected = chat.selected();
        selected.split(' ').next().unwrap().parse::<usize>().ok()
    };
    let plain = Key::plain;
    assert_eq!(at(plain(KeyCode::Down)), Some(2));
    assert_eq!(at(Key::control('n')), Some(3));
    assert_eq!(at(Key::control('p')), Some(2));
    assert_eq!(at(plain(KeyCode::Up)), Some(1));
    assert_eq!(at(plain(KeyCode::Up)), Some(30), "wraps around");
    assert_eq!(at(plain(KeyCode::Home)), Some(1));
    assert_eq!(at(plain(KeyCode::PageDown)), Some(9));
    assert_eq!(at(plain(KeyCode::PageDown)), Some(17));
    assert_eq!(at(plain(KeyCode::PageUp)), Some(9));
    assert_eq!(at(plain(KeyCode::End)), Some(30));
    assert_eq!(
        at(plain(KeyCode::PageDown)),
        Some(30),
        "pages do not wrap around"
    );
    chat.write("nothing like it");
    let rows = chat.rows();
    assert!(
        rows.iter().any(|row| row.starts_with("  no matches")),
        "{rows:?}"
    );
    assert_eq!(chat.press(KeyCode::Enter), []);
    chat.control('w');
    chat.press(KeyCode::Backspace);
    assert!(
        chat.rows()
            .iter()
            .any(|row| row.starts_with("resume: nothing like  "))
    );
    chat.control('u');
    chat.input(Input::Paste("question 7\nand more".to_owned()));
    assert_eq!(chat.selected(), "00000007  just now  question 7");
    assert!(
        chat.app.composer.editor.is_empty(),
        "the list receives the keys"
    );
    assert_eq!(chat.press(KeyCode::Escape), []);
    assert!(chat.app.picker.list().is_none());
    chat.sessions(3);
    assert_eq!(chat.control('c'), []);
    assert!(chat.app.picker.list().is_none());
}

/// However fast the selection moves, one preview is requested at a time, and only the current one shown.
#[test]
fn a_late_preview_is_dropped() {
    let mut chat = Chat::new(100, 30);
    let id = |number: usize| format!("{number:08}");
    assert_eq!(chat.sessions(5), requested(&id(1)));
    for _ in 0..3 {
        assert_eq!(chat.press(KeyCode::Down), [], "one at a time");
    }
    let deliver = |number: usize| Input::Preview {
        subject: Subject::Session(id(number)),
        preview: prose(&[], &format!("about {number}")),
    };
    assert_eq!(chat.input(deliver(1)), requested(&id(4)));
    let shows = |chat: &Chat, text: &str| chat.rows().iter().any(|row| row.contains(text));
    assert!(!shows(&chat, "about 1"));
    assert_eq!(chat.input(deliver(4)), []);
    assert!(shows(&chat, "about 4"));
    // The old one stays for a moment to avoid flicker.
    assert_eq!(chat.press(KeyCode::Down), requested(&id(5)));
    assert!(shows(&chat, "about 4"));
    let tick = chat.app.next_tick_ms().unwrap();
    chat.now_ms += tick;
    chat.input(Input::Tick);
    assert!(!shows(&chat, "about 4"));
    assert_eq!(chat.app.next_tick_ms(), None, "nothing to wake up for");
    // Back to a known preview.
    assert_eq!(chat.press(KeyCode::Up), []);
    assert!(shows(&chat, "about 4"));
    chat.press(KeyCode::Escape);
    assert_eq!(chat.input(deliver(5)), []);
    assert!(!shows(&chat, "about"));
}

#[test]
fn every_list_that_receives_the_keys_previews_the_selected_choice() {
    let names = |names: [&str; 2]| names.map(|name| (name.to_owned(), String::new())).to_vec();
    let words = |names: [&str; 2]| names.map(str::to_owned).to_vec();
    let log_in = Effect::Login(LoginEffect::LogIn(LoginRequest {
        provider: "two".to_owned(),
        preference: LoginPreference::Usual,
        probe: KeyProbe::Asked,
        opens_browser: true,
    }));
    let log_out = Effect::Login(LoginEffect::LogOut {
        provider: Some("two".to_owned()),
    });
    let providers = |action| {
        Input::Listed(Listed::Providers {
            action,
            providers: names(["one", "two"]),
        })
    };
    let two = || "two".to_owned();
    for (input, subject, effect) in [
        (
            Input::Listed(Listed::Models(words(["one", "two"]))),
            Subject::Model(two()),
            Some(Effect::Agent(AgentEffect::SetModel(two()))),
        ),
        (
            Input::Listed(Listed::Prompts(words(["1  one", "2  two"]))),
            Subject::Prompt(1),
            Some(Effect::Query(Query::Reprint(1))),
        ),
        (
            Input::Listed(Listed::Themes(words(["one", "two"]))),
            Subject::Theme(two()),
            Some(Effect::Settings(SettingsEffect::LoadTheme(two()))),
        ),
        (
            providers(LogAction::In),
            Subject::Provider(two()),
            Some(log_in),
        ),
        (
            providers(LogAction::Out),
            Subject::Provider(two()),
            Some(log_out),
        ),
        (
            Input::Listed(Listed::Skills(names(["one", "two"]))),
            Subject::Skill(two()),
            None,
        ),
    ] {
        let mut chat = Chat::new(100, 30);
        let effects = chat.input(input);
        chat.show(effects, |_| prose(&[], "one"));
        chat.write("tw");
        let picker = chat.app.picker.list().unwrap();
        assert_eq!(
            picker.chosen().map(|choice| choice.name.ends_with("two")),
            Some(true)
        );
        // The first preview has arrived, so this one was requested with the first letter.
        let more = chat.input(Input::Preview {
            subject: subject.clone(),
            preview: prose(&[], "all about two"),
        });
        assert_eq!(more, [], "{subject:?}");
        assert!(
            chat.rows()
                .iter()
                .any(|row| row.contains("│ all about two")),
            "{subject:?}"
        );
        assert_eq!(chat.press(KeyCode::Enter).pop(), effect);
        if effect.is_none() {
            assert_eq!(chat.app.composer.editor.text(), "use the skill two: ");
        }
    }
}

#[test]
fn tab_completes_a_name() {
    let mut chat = Chat::new(80, 24);
    let models = ["gpt-5", "gpt-5-mini", "o3"].map(str::to_owned).to_vec();
    chat.input(Input::Listed(Listed::Models(models)));
    chat.write("mini");
    chat.press(KeyCode::Tab);
    assert!(chat.rows().contains(&"model: gpt-5-mini".to_owned()));
    assert_eq!(
        chat.press(KeyCode::Enter),
        [Effect::Agent(AgentEffect::SetModel(
            "gpt-5-mini".to_owned()
        ))]
    );
}

#[test]
fn a_theme_is_previewed_before_it_is_chosen() {
    let mut chat = Chat::new(100, 30);
    let effects = chat.input(Input::Listed(Listed::Themes(
        ["dark", "light"].map(str::to_owned).to_vec(),
    )));
    let colours = |subject: &Subject| Preview {
        facts: Vec::new(),
        body: PreviewBody::Colours(Box::new(match subject {
            Subject::Theme(name) if name == "light" => Theme::LIGHT,
            _ => Theme::DARK,
        })),
    };
    chat.show(effects, colours);
    let accents = |chat: &mut Chat| {
        let frame = frame::live_frame(&chat.app);
        let has = |style: Style| {
            let mut spans = frame.live.iter().flat_map(|line| &line.0);
            spans.any(|span| span.style == style)
        };
        (
            has(Theme::DARK.accent.bold()),
            has(Theme::LIGHT.accent.bold()),
        )
    };
    assert_eq!(accents(&mut chat), (true, false));
    let effects = chat.press(KeyCode::Down);
    chat.show(effects, colours);
    assert_eq!(accents(&mut chat), (false, true));
    assert!(
        chat.rows()
            .iter()
            .any(|row| row.contains("+ added  - removed"))
    );
    chat.press(KeyCode::Escape);
    assert_eq!(chat.app.context.theme, Theme::DARK);
    assert_eq!(accents(&mut chat), (false, false));
}

/// Names and previews are untrusted.
#[test]
fn nothing_in_a_list_controls_the_terminal_or_is_too_wide() {
    for (columns, rows) in [(100, 30), (60, 20), (40, 10)] {
        let mut chat = Chat::new(columns, rows);
        let names = [
            "e\u{1b}]0;owned\u{7}vil\u{1b}[2J",
            "日本語の名前".repeat(12).as_str(),
        ]
        .map(|name| (name.to_owned(), "說明\u{202e}".repeat(20)));
        let effects = chat.input(Input::Listed(Listed::Skills(names.to_vec())));
        chat.show(effects, |_| {
            prose(
                &["\u{1b}[8mhidden\u{9b}2J", &"寬".repeat(90)],
                "\u{1b}]0;owned\u{7}\r\nx\u{8}y",
            )
        });
        chat.write("e");
        let frame = frame::live_frame(&chat.app);
        for line in &frame.live {
            assert!(line.width() <= usize::from(columns), "{line:?}");
        }
        let bytes = Renderer::new(Depth::True).draw(frame, usize::from(rows));
        for bad in [
            "owned",
            "\u{1b}[8m",
            "\u{1b}[2J",
            "\u{9b}",
            "\u{202e}",
            "\u{8}",
        ] {
            assert!(!bytes.contains(bad), "{bad:?} in {bytes:?}");
        }
        assert!(chat.rows()[0].starts_with("zot 1"), "{:?}", chat.rows());
    }
}

/// The end of a path matters more than its beginning; matches are highlighted.
#[test]
fn long_paths_are_cut_at_their_beginning_and_matches_are_highlighted() {
    let mut chat = Chat::new(40, 24);
    chat.write("@");
    let path = "crates/zot-tui/src/app/tests/some/deep/directory/picker.rs";
    let files = Choices::named([path, "other.txt"]);
    chat.input(Input::Listed(Listed::Files(FileList::complete(files))));
    chat.write("picker");
    let selected = chat.selected();
    assert!(
        selected.starts_with('…') && selected.ends_with("/deep/directory/picker.rs"),
        "{selected}"
    );
    let frame = frame::live_frame(&chat.app);
    let spans = frame.live.iter().flat_map(|line| &line.0);
    let found: Vec<&str> = spans
        .filter(|span| span.style == Theme::DARK.accent.bold().underline())
        .map(|span| span.text.as_str())
        .collect();
    assert_eq!(found, ["picker"]);
}
