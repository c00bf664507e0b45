//! A home directory of the original zot: every front end starts in it, and nothing in it is
//! lost.

mod credentials;
mod model_choice;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use testkit::{Finished, ModelServer, Wire, Workdir, Zot, ZotCommand};

use crate::support::{binary, of_kind, streamed_text};
use crate::terminal::Terminal;

const SESSION: &str = "0f8a2c1e-5d1b-4a77-9a55-3b8f3c0d9e21";

/// Copies the home of the original to the home of `workdir`; its provider is `server`.
fn install(server: &ModelServer, workdir: &Workdir) {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/original");
    let home = workdir.zot_home();
    copy(&fixture, &home);
    fs::set_permissions(home.join("auth.json"), fs::Permissions::from_mode(0o600)).unwrap();
    let cwd = workdir.path().display().to_string();
    let directory: String = Sha256::digest(&cwd)
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let sessions = home.join("sessions");
    fs::rename(sessions.join("cwd"), sessions.join(directory)).unwrap();
    let session = session_file(workdir);
    let text = fs::read_to_string(&session).unwrap();
    fs::write(&session, text.replace("@CWD@", &cwd)).unwrap();
    // The only change to the original's files: a server that exists.
    let providers = json!({"providers": {"openai": {
        "wire": "openai",
        "baseUrl": server.url(Wire::OpenAi),
        "keyVariables": ["OPENAI_API_KEY"],
        "defaultModel": "gpt-5",
    }}});
    fs::write(home.join("providers.json"), providers.to_string()).unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => fs::copy(entry.path(), target).map(|_| ()).unwrap(),
        }
    }
}

fn session_file(workdir: &Workdir) -> PathBuf {
    let directories = fs::read_dir(workdir.zot_home().join("sessions")).unwrap();
    let mut files = directories.map(|directory| {
        let directory = directory.unwrap().path();
        directory.join("20260511-071233-0f8a2c1e.jsonl")
    });
    files.find(|file| file.exists()).unwrap()
}

struct Home {
    server: ModelServer,
    workdir: Workdir,
}

impl Home {
    fn new() -> Self {
        let (server, workdir) = (ModelServer::start(), Workdir::with_files("work"));
        install(&server, &workdir);
        Self { server, workdir }
    }

    fn zot(&self, arguments: &[&str]) -> ZotCommand {
        ZotCommand::new(binary(), &self.workdir).arguments(arguments)
    }

    fn run(&self, arguments: &[&str]) -> Finished {
        self.zot(arguments).run("")
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.workdir.zot_home().join(name)).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.workdir.zot_home().join(name), text).unwrap();
    }
}

#[test]
fn every_front_end_starts() {
    let home = Home::new();
    for (arguments, expected) in [
        (&["-p", "--no-session", "say:1"][..], &["alpha"][..]),
        (&["--json", "--no-session", "say:1"], &["\"done\""]),
        (
            &["-p", "--no-session", "--provider", "offline", "hi"],
            &["offline"],
        ),
        (
            &["sessions", "list"],
            &["The smallest cat", "fixture-large"],
        ),
        (
            &["sessions", "show", SESSION],
            &["title      The smallest cat", "[2] user"],
        ),
        (&["sessions", "tree"], &["The smallest cat"]),
        (&["sessions", "search", "pixel"], &["A single pixel."]),
        (&["sessions", "stats"], &["fixture-large"]),
        (&["doctor"], &["gpt-5 of openai", "zot login anthropic"]),
        (&["config", "list"], &["inline_images_enabled     false"]),
        (&["config", "list", "--json"], &["quick_model_shortcuts"]),
        (&["auth", "status"], &["openai             api_key", "groq"]),
        (
            &["ext", "list"],
            &["greeter     1.0.0    enabled", "todo-panel"],
        ),
        (&["skills", "list"], &["release-notes"]),
        (&["--list-models"], &["fixture-large"]),
        (&["context"], &["SYSTEM.md", "extension greeter"]),
        (&["config", "path"], &["config.json"]),
    ] {
        let run = home.run(arguments);
        assert_eq!(run.code, Some(0), "{arguments:?}: {}", run.stderr);
        for part in expected {
            assert!(run.stdout.contains(part), "{arguments:?}: {}", run.stdout);
        }
    }
    // An empty value is not set.
    for key in ["provider", "model", "reasoning", "theme"] {
        let run = home.run(&["config", "get", key]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{key}");
    }
    let mut zot: Zot = home.zot(&["rpc", "--no-session"]).spawn();
    let state = zot.call(json!({"id": "s", "type": "get_state"}));
    assert_eq!(state["data"]["provider"], "openai", "{state}");
    let frames = zot.turn("1", "say:1");
    assert_eq!(streamed_text(&frames), "alpha ");
    assert_eq!(of_kind(&frames, "error"), Vec::<&Value>::new());
    let requests = home.server.requests();
    for request in &requests {
        assert_eq!(request.headers["authorization"], "Bearer sk-fixture-openai");
    }
    assert!(requests.len() >= 3, "{}", requests.len());
}

#[test]
fn the_chat_starts_and_continues_a_session() {
    let terminal = Terminal::open_prepared("", "-c", install);
    let screen = terminal.wait_for("Two lines.");
    assert!(screen.contains("what is in cat.png"), "{screen}");
    assert!(!screen.contains("Tool output included"), "{screen}");
    terminal.type_line("say:1");
    terminal.wait_for("alpha");
    let requests = terminal.server.requests();
    let body = &requests.last().unwrap().body;
    assert_eq!(body["model"], "fixture-large");
    terminal.type_line("/jump");
    let screen = terminal.wait_for("3  say:1");
    assert!(screen.contains("2  and what is in a.txt"), "{screen}");
    assert!(!screen.contains("Tool output included"), "{screen}");
}

#[test]
fn a_resumed_session_keeps_its_model_and_a_copy_its_title() {
    let home = Home::new();
    let resumed = home.run(&["-p", "--resume", SESSION, "say:1"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let requests = home.server.requests();
    let body = &requests.last().unwrap().body;
    assert_eq!(body["model"], "fixture-large");
    let system = body["messages"][0]["content"].as_str().unwrap();
    let here = format!(
        "\nCurrent working directory: {}",
        home.workdir.path().display()
    );
    assert!(
        system.starts_with("You are the fixture agent.\n"),
        "{system}"
    );
    assert!(system.contains("\n\nCurrent date: 20"), "{system}");
    assert!(system.trim_end().ends_with(here.trim_end()), "{system}");
    // The image is not shown a second time.
    let text = body["messages"].to_string();
    assert_eq!(text.matches("Tool output included").count(), 2, "{text}");

    let forked = home.run(&["sessions", "fork", SESSION, "--at", "2", "--json"]);
    assert_eq!(forked.code, Some(0), "{}", forked.stderr);
    let forked: Value = serde_json::from_str(&forked.stdout).unwrap();
    assert_eq!(forked["fork_point"], 5);
    let file = home.workdir.path().join("cat.zotsession");
    let file = file.to_str().unwrap();
    let exported = home.run(&["sessions", "export", SESSION, "--output", file]);
    assert_eq!(exported.code, Some(0), "{}", exported.stderr);
    let imported = home.run(&["sessions", "import", file, "--json"]);
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);
    let listed = home.run(&["sessions", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), 3);
    for one in listed {
        assert_eq!(one["title"], "The smallest cat", "{one}");
        assert_eq!(one["model"], "fixture-large", "{one}");
    }
}

#[test]
fn changing_a_setting_keeps_everything_else_as_the_original_wrote_it() {
    let home = Home::new();
    let before = home.file("config.json");
    let set = home.run(&["config", "set", "theme", "dark"]);
    assert_eq!(set.code, Some(0), "{}", set.stderr);
    let expected = before.replace(r#""theme": """#, r#""theme": "dark""#);
    assert_eq!(home.file("config.json"), expected);
    let set = home.run(&["config", "set", "theme", ""]);
    assert_eq!(set.code, Some(0), "{}", set.stderr);
    assert_eq!(home.run(&["config", "get", "theme"]).code, Some(1));
    let changed: Value = serde_json::from_str(&home.file("config.json")).unwrap();
    assert_eq!(changed["quick_model_shortcuts"][0]["model"], "gpt-5");
    assert_eq!(changed["temperature"], 0.7);

    // The project's file may be the original's, too.
    fs::create_dir_all(home.workdir.path().join(".zot")).unwrap();
    home.workdir.write(".zot/config.json", before);
    let run = home.run(&["-p", "--no-session", "say:1"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

#[test]
fn a_provider_is_found_under_the_originals_name() {
    let home = Home::new();
    home.write(
        "auth.json",
        r#"{"google": {"api_key": "g-key"}, "openai": {}}"#,
    );
    let settings = r#"{"provider": "google", "model": "gemini-2.5-flash", "reasoning": ""}"#;
    home.write("config.json", settings);
    let run = home.run(&["doctor"]);
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    let expected = "gemini-2.5-flash of gemini, key from";
    assert!(run.stdout.contains(expected), "{}", run.stdout);
}
