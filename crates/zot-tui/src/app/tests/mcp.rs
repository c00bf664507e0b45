//! MCP servers in the chat: their states, what can be done with them, and a project that brings some.

use super::*;

fn server(name: &str, state: McpState) -> McpServer {
    McpServer {
        name: name.to_owned(),
        state,
        is_remote: false,
        tools: 2,
        prompts: 1,
        resources: 0,
    }
}

fn set(chat: &mut Chat, servers: Vec<McpServer>) {
    let resources = vec![
        ("docs:memo://first".to_owned(), "The first memo".to_owned()),
        ("docs:memo://second".to_owned(), String::new()),
    ];
    chat.input(Input::Mcp(McpInput::Servers { servers, resources }));
}

fn run(chat: &mut Chat, command: &str) -> Vec<Effect> {
    chat.write(command);
    chat.press(KeyCode::Escape);
    chat.press(KeyCode::Enter)
}

#[test]
fn the_footer_names_servers_that_start_or_fail() {
    let mut chat = Chat::new(80, 24);
    let footer = |chat: &Chat| chat.rows().last().unwrap().clone();
    set(
        &mut chat,
        vec![
            server("docs", McpState::Starting),
            server("db", McpState::Starting),
        ],
    );
    assert_eq!(footer(&chat), "test-model · starting docs and db");
    set(
        &mut chat,
        vec![
            server("docs", McpState::Ready),
            server("db", McpState::Failed("gone".to_owned())),
            server("mail", McpState::NeedsLogin),
        ],
    );
    assert_eq!(
        footer(&chat),
        "test-model · db failed, /mcp · mail wants a login, /mcp"
    );
    set(
        &mut chat,
        vec![
            server("docs", McpState::Ready),
            server("db", McpState::Disabled),
        ],
    );
    assert_eq!(footer(&chat), "test-model");
}

#[test]
fn a_server_is_chosen_and_then_what_to_do_with_it() {
    let mut chat = Chat::new(80, 24);
    let mut mail = server("mail", McpState::NeedsLogin);
    mail.is_remote = true;
    let db = server("db", McpState::Failed("exit code 1".to_owned()));
    set(
        &mut chat,
        vec![server("docs", McpState::Ready), db, mail.clone()],
    );
    let effects = run(&mut chat, "/mcp");
    // The first is previewed.
    assert!(
        effects
            .iter()
            .all(|effect| matches!(effect, Effect::Query(_) | Effect::Remember(_)))
    );
    let screen = chat.rows().join("\n");
    assert!(
        screen.contains("▸ docs  ready · 2 tools, 1 prompt"),
        "{screen}"
    );
    assert!(screen.contains("  db    failed: exit code 1"), "{screen}");
    assert!(screen.contains("  mail  wants a login"), "{screen}");
    // The list follows the states.
    set(
        &mut chat,
        vec![
            server("docs", McpState::Ready),
            server("db", McpState::Ready),
            mail,
        ],
    );
    assert!(chat.rows().join("\n").contains("  db    ready"));
    chat.press(KeyCode::Down);
    chat.press(KeyCode::Enter);
    let screen = chat.rows().join("\n");
    assert!(screen.contains("▸ tools"), "{screen}");
    assert!(screen.contains("  disable"), "{screen}");
    assert!(!screen.contains("login "), "{screen}");
    chat.press(KeyCode::Down);
    assert_eq!(
        chat.press(KeyCode::Enter),
        [Effect::Mcp(McpEffect::Restart("db".to_owned()))]
    );
    run(&mut chat, "/mcp mail");
    assert_eq!(
        chat.press(KeyCode::Enter),
        [Effect::Mcp(McpEffect::SignIn("mail".to_owned()))]
    );
}

#[test]
fn the_command_takes_what_to_do_and_a_name() {
    let mut chat = Chat::new(80, 24);
    let effects = |effects: Vec<Effect>| -> Vec<Effect> {
        let is_kept = |effect: &Effect| matches!(effect, Effect::Mcp(_));
        effects.into_iter().filter(is_kept).collect()
    };
    assert_eq!(
        effects(run(&mut chat, "/mcp")),
        [Effect::Mcp(McpEffect::DescribeNone)]
    );
    set(&mut chat, vec![server("docs", McpState::Ready)]);
    for (command, effect) in [
        ("/mcp restart docs", McpEffect::Restart("docs".to_owned())),
        ("/mcp disable docs", McpEffect::Disable("docs".to_owned())),
        ("/mcp log docs", McpEffect::ShowLog("docs".to_owned())),
        ("/mcp tools docs", McpEffect::ShowTools("docs".to_owned())),
        ("/mcp project", McpEffect::AskAboutProject),
    ] {
        assert_eq!(effects(run(&mut chat, command)), [Effect::Mcp(effect)]);
    }
    run(&mut chat, "/mcp restart dcos");
    let screen = chat.rows().join("\n");
    assert!(
        screen.contains("unknown MCP server \"dcos\": docs"),
        "{screen}"
    );
}

#[test]
fn a_projects_servers_are_shown_whole_before_they_start() {
    for (columns, rows) in [(80, 24), (40, 10)] {
        let mut chat = Chat::new(columns, rows);
        let long = format!("npx -y evil {} --last", "x".repeat(200));
        let project = ProjectServers {
            path: "/work/.mcp.json".to_owned(),
            servers: vec![
                ("docs".to_owned(), vec!["python3 server.py".to_owned()]),
                ("evil\u{202e}".to_owned(), vec![long]),
            ],
            top: 0,
        };
        chat.input(Input::Mcp(McpInput::ProjectFound(project)));
        let screen = chat.rows().join("\n");
        assert!(
            screen.contains("this project wants to start 2 MCP"),
            "{screen}"
        );
        assert!(screen.contains("y start them"), "{screen}");
        let mut seen = String::new();
        for _ in 0..30 {
            seen.push_str(&chat.rows().join("\n"));
            chat.press(KeyCode::Down);
        }
        assert!(seen.contains("python3 server.py"), "{seen}");
        assert!(seen.contains("--last"), "{seen}");
        assert!(seen.contains("evil<U+202E>"), "{seen}");
        // A prompt from the command line waits for the answer.
        let sent = chat.input(Input::Prompt(Prompt::typed("hello")));
        assert_eq!(sent, []);
        assert_eq!(chat.press(KeyCode::Enter), []);
        assert_eq!(
            chat.write("y"),
            [Effect::Mcp(McpEffect::AnswerProject(ProjectAnswer::Start))]
        );
        assert_eq!(
            chat.input(Input::Mcp(McpInput::ProjectSettled)),
            [Effect::Agent(AgentEffect::Prompt(Prompt::typed("hello")))]
        );
        assert!(!chat.rows().join("\n").contains("MCP server"));
    }
}

#[test]
fn resources_are_completed_like_files() {
    let mut chat = Chat::new(80, 24);
    set(&mut chat, vec![server("docs", McpState::Ready)]);
    let files = Choices::named(["src/main.rs", "docs/first.md"]);
    chat.write("see @doc");
    chat.input(Input::Listed(Listed::Files(FileList::complete(files))));
    let screen = chat.rows().join("\n");
    assert!(screen.contains("docs:memo://first"), "{screen}");
    assert!(screen.contains("docs/first.md"), "{screen}");
    chat.write("s:memfir");
    chat.press(KeyCode::Tab);
    assert!(chat.rows().join("\n").contains("❯ see @docs:memo://first"));
    // What would be attached is asked for.
    let effects = chat.write("x");
    let asked = effects.iter().any(|effect| {
        matches!(effect, Effect::Query(Query::Mentions { names, .. }) if names == &["docs:memo://first"])
    });
    assert!(asked || chat.app.composer.editor.text().ends_with(" x"));
}

#[test]
fn a_login_takes_the_address_that_the_browser_ended_at() {
    let mut chat = Chat::new(80, 24);
    chat.input(Input::Login(LoginInput::PageShown {
        server: "mail".to_owned(),
        page: "https://auth.example/authorize?x=1".to_owned(),
    }));
    let screen = chat.rows().join("\n");
    assert!(screen.contains("signing in to mail"), "{screen}");
    assert!(
        screen.contains("https://auth.example/authorize?x=1"),
        "{screen}"
    );
    let effects = chat.input(Input::Paste(
        "http://127.0.0.1:1/callback?code=secret&state=s\n".to_owned(),
    ));
    assert!(
        matches!(&effects[..], [Effect::Mcp(McpEffect::Redirected(address))]
        if address.reveal() == "http://127.0.0.1:1/callback?code=secret&state=s")
    );
    assert!(!chat.rows().join("\n").contains("secret"));
    chat.input(Input::Login(LoginInput::Closed));
    assert!(!chat.app.login.is_open());
    chat.input(Input::Login(LoginInput::PageShown {
        server: "mail".to_owned(),
        page: "https://auth.example/authorize".to_owned(),
    }));
    let effects = chat.press(KeyCode::Escape);
    assert_eq!(effects, [Effect::Login(LoginEffect::Cancel)]);
}
