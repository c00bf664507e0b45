//! Text of models, tools, servers, extensions and files at a real terminal, and in a pipe.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::{
    AtTerminal, ModelServer, Wire, Workdir, ZotCommand, assert_harmless, run_at_terminal,
};

use crate::support::binary;

/// A title, a cleared screen, C1 controls, text directions, hidden letters, an overwritten line.
const HOSTILE: &str = "ab\u{1b}]0;PWNED\u{7}cd\u{1b}[2J\u{9b}31m\u{9d}0;PWNED\u{9c}ef\u{202e}\u{2066}\u{e0041}\u{85}gh";

/// The readable part of it.
const SHOWN: &str = "abcdef····gh";

struct Bench {
    workdir: Workdir,
    server: ModelServer,
}

impl Bench {
    fn new() -> Self {
        Self {
            workdir: Workdir::new("work"),
            server: ModelServer::start(),
        }
    }

    fn command(&self, arguments: &[&str]) -> ZotCommand {
        ZotCommand::new(binary(), &self.workdir).arguments(arguments)
    }

    fn asking(&self, arguments: &[&str]) -> ZotCommand {
        self.command(&[])
            .model(&self.server, Wire::Anthropic)
            .arguments(arguments)
    }

    /// Checks that a command shows `shown` at a terminal, on either stream.
    fn shows(&self, arguments: &[&str], shown: &str) {
        check(arguments, self.command(arguments), shown);
    }

    fn write_home(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.workdir.zot_home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }
}

fn check(what: &[&str], command: ZotCommand, shown: &str) -> AtTerminal {
    let what = format!("{what:?}");
    let ended = run_at_terminal(command.into_command());
    assert_harmless(&what, &ended.output);
    assert_harmless(&what, &ended.errors);
    let all = [ended.output.as_slice(), &ended.errors].concat();
    let all = String::from_utf8_lossy(&all);
    assert!(
        all.contains(shown),
        "{what} does not show {shown:?}: {all:?}"
    );
    ended
}

#[test]
fn an_answer_is_filtered_for_a_terminal_and_unchanged_in_a_pipe() {
    let bench = Bench::new();
    let prompt = format!("raw:{HOSTILE}");
    let ended = check(&["-p"], bench.asking(&["-p", &prompt]), SHOWN);
    assert_eq!(ended.output, format!("{SHOWN}\n").as_bytes());
    let piped = bench.asking(&["-p", &prompt]).run("");
    assert_eq!(piped.stdout, format!("{HOSTILE}\n"));
    // Split anywhere, even in the middle of a character.
    for size in [1, 2, 3, 7] {
        let prompt = format!("split:{size}:{prompt}");
        let ended = check(&["-p"], bench.asking(&["-p", &prompt]), SHOWN);
        assert_eq!(ended.output, format!("{SHOWN}\n").as_bytes());
    }
}

#[test]
fn a_carriage_return_in_an_answer_overwrites_nothing() {
    let bench = Bench::new();
    let ended = run_at_terminal(bench.asking(&["-p", "raw:evil\rgood"]).into_command());
    assert_eq!(ended.output, "evil·good\n".as_bytes());
}

#[test]
fn events_are_escaped_for_a_terminal() {
    let bench = Bench::new();
    let prompt = format!("raw:{HOSTILE}");
    let ended = run_at_terminal(bench.asking(&["--json", &prompt]).into_command());
    assert_harmless("--json", &ended.output);
    let lines = String::from_utf8(ended.output).unwrap();
    let frames: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let answer = frames
        .iter()
        .find(|frame| frame["type"] == "assistant_message")
        .unwrap();
    assert_eq!(answer["content"][0]["text"], HOSTILE);
}

#[test]
fn errors_of_servers_and_words_of_the_command_line_are_filtered() {
    let bench = Bench::new();
    let refused = format!("err:400:{HOSTILE}");
    check(&["err"], bench.asking(&["-p", &refused]), "ef····gh");
    // C0 was escaped by the server.
    let piped = bench.asking(&["-p", &refused]).run("");
    assert!(
        piped.stderr.contains("\u{9b}31m\u{9d}"),
        "{:?}",
        piped.stderr
    );
    let flag = format!("--{HOSTILE}");
    bench.shows(&[&flag], SHOWN);
    bench.shows(&["sessions", &flag], SHOWN);
    // These quote their input, with everything escaped.
    for arguments in [
        ["-p", "x", "--model", HOSTILE],
        ["-p", "x", "--provider", HOSTILE],
        ["-p", "x", "--cwd", HOSTILE],
        ["sessions", "show", HOSTILE, "--json"],
        ["cassette", "show", HOSTILE, ""],
        ["config", "get", HOSTILE, ""],
        ["skills", "show", HOSTILE, ""],
        ["ext", "logs", HOSTILE, ""],
        ["doctor", "--json", "--model", HOSTILE],
    ] {
        let arguments: Vec<&str> = arguments.into_iter().filter(|a| !a.is_empty()).collect();
        let ended = run_at_terminal(bench.command(&arguments).into_command());
        let what = format!("{arguments:?}");
        assert_harmless(&what, &ended.output);
        assert_harmless(&what, &ended.errors);
        assert!(
            !(ended.output.is_empty() && ended.errors.is_empty()),
            "{what}"
        );
    }
}

#[test]
fn shown_sessions_are_filtered() {
    let bench = Bench::new();
    let prompt = format!("raw:{HOSTILE}");
    assert_eq!(bench.asking(&["-p", &prompt]).run("").code, Some(0));
    for arguments in [
        &["sessions"][..],
        &["sessions", "list", "--all"],
        &["sessions", "tree"],
        &["sessions", "search", "raw"],
        &["sessions", "show", "LAST"],
        &["sessions", "export", "LAST", "--format", "md"],
        &["sessions", "export", "LAST", "--format", "html"],
        &["sessions", "list", "--json"],
    ] {
        let id = session_id(&bench);
        let arguments: Vec<&str> = arguments
            .iter()
            .map(|argument| {
                if *argument == "LAST" {
                    id.as_str()
                } else {
                    argument
                }
            })
            .collect();
        let ended = run_at_terminal(bench.command(&arguments).into_command());
        let what = format!("{arguments:?}");
        assert_eq!(ended.code, Some(0), "{what}");
        assert_harmless(&what, &ended.output);
        let text = String::from_utf8_lossy(&ended.output).into_owned();
        assert!(text.contains("ab") && text.contains("gh"), "{what}: {text}");
    }
    let piped = bench
        .command(&["sessions", "show", &session_id(&bench)])
        .run("");
    assert!(piped.stdout.contains(HOSTILE), "{:?}", piped.stdout);
}

fn session_id(bench: &Bench) -> String {
    let listed = bench.command(&["sessions", "list", "--json"]).run("");
    let sessions: Value = serde_json::from_str(&listed.stdout).unwrap();
    sessions[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn logs_of_extensions_are_filtered_and_raw_bytes_are_replaced() {
    let bench = Bench::new();
    let raw = [HOSTILE.as_bytes(), b"\x9b31m\x90\xff end\n"].concat();
    bench.write_home("logs/ext-x.log", &raw);
    bench.shows(&["ext", "logs", "x"], SHOWN);
    bench.shows(
        &["ext", "logs", "x", "-n", "1"],
        "\u{fffd}31m\u{fffd}\u{fffd} end",
    );
    let command = bench.command(&["ext", "logs", "x"]).into_command();
    let mut command = command;
    assert_eq!(command.output().unwrap().stdout, raw);
}

#[test]
fn names_and_descriptions_in_a_project_are_filtered() {
    let bench = Bench::new();
    let skill = format!(
        "---\nname: s\ndescription: {}\n---\nbody {HOSTILE}\n",
        serde_json::to_string(HOSTILE).unwrap()
    );
    bench.workdir.write(".zot/skills/s/SKILL.md", &skill);
    bench
        .workdir
        .write(format!(".zot/skills/{HOSTILE}/SKILL.md"), "no front matter");
    bench.shows(&["skills", "list"], "abcdef···");
    bench.shows(&["skills", "show", "s"], &format!("body {SHOWN}"));
    // A directory with a hostile name, and its content.
    let directory = bench.workdir.path().join(HOSTILE);
    fs::create_dir_all(directory.join(".zot/extensions").join(HOSTILE)).unwrap();
    fs::write(directory.join("AGENTS.md"), "instructions").unwrap();
    fs::write(
        directory
            .join(".zot/extensions")
            .join(HOSTILE)
            .join("extension.json"),
        "{",
    )
    .unwrap();
    for arguments in [
        &["context"][..],
        &["skills", "list"],
        &["ext", "list"],
        &["config", "path", "--project"],
        &["doctor"],
    ] {
        let mut command = bench.command(arguments).into_command();
        command.current_dir(&directory);
        let ended = run_at_terminal(command);
        let what = format!("{arguments:?}");
        assert_harmless(&what, &ended.output);
        assert_harmless(&what, &ended.errors);
    }
    let mut command = bench.command(&["context"]).into_command();
    command.current_dir(&directory);
    let ended = run_at_terminal(command);
    let text = String::from_utf8(ended.output).unwrap();
    assert!(text.contains(SHOWN), "{text}");
}

#[test]
fn models_and_settings_are_filtered() {
    let bench = Bench::new();
    let models = json!({"providers": {"mine": {"models": [{"id": HOSTILE}]}}});
    bench.write_home("models.json", models.to_string());
    let ended = run_at_terminal(bench.command(&["--list-models"]).into_command());
    assert_harmless("--list-models", &ended.output);
    assert_harmless("--list-models", &ended.errors);
    let settings = json!({"model": HOSTILE, HOSTILE: true});
    bench.write_home("config.json", settings.to_string());
    bench.shows(&["config", "list"], SHOWN);
    bench.shows(&["config", "get", "model"], SHOWN);
    let piped = bench.command(&["config", "get", "model"]).run("");
    assert_eq!(piped.stdout, format!("{HOSTILE}\n"));
}

#[test]
fn a_shown_cassette_is_filtered() {
    let bench = Bench::new();
    let path = bench.workdir.path().join("c.jsonl");
    let recorded = bench
        .asking(&["--record"])
        .argument(&path)
        .arguments(["-p", "raw:hello"]);
    assert_eq!(recorded.run("").code, Some(0));
    let text = fs::read_to_string(&path).unwrap();
    let quoted = serde_json::to_string(HOSTILE).unwrap();
    let hostile = text.replace(&format!("\"{}\"", Wire::Anthropic.model()), &quoted);
    assert_ne!(hostile, text);
    fs::write(&path, hostile).unwrap();
    bench.shows(&["cassette", "show", path.to_str().unwrap()], SHOWN);
}
