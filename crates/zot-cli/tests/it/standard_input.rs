//! Text piped into `-p` and `--json`.

use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::{ModelServer, PATIENCE, Wire, Workdir, ZotCommand};

use crate::support::binary;

/// Returns the prompts that reached the model.
fn prompts(server: &ModelServer) -> Vec<String> {
    let requests = server.requests().into_iter();
    let last = requests.filter_map(|request| {
        let messages = request.body["messages"].as_array()?.clone();
        let user = messages.into_iter().rfind(|one| one["role"] == "user")?;
        Some(match &user["content"] {
            Value::String(text) => text.clone(),
            parts => parts[0]["text"].as_str()?.to_owned(),
        })
    });
    last.collect()
}

fn command(server: &ModelServer, workdir: &Workdir, arguments: &[&str]) -> ZotCommand {
    ZotCommand::new(binary(), workdir)
        .model(server, Wire::OpenAi)
        .argument("--no-session")
        .arguments(arguments)
}

#[test]
fn piped_text_is_added_to_the_prompt() {
    let table: &[(&[&str], &str, &str)] = &[
        (&["-p", "why?"], "a log\n", "why?\n\na log\n"),
        (&["--json", "why?"], "a log\n", "why?\n\na log\n"),
        (&["-p"], "the prompt", "the prompt"),
        (&["-p", "why?"], "", "why?"),
        (&["-p", "why?"], " \n", "why?"),
        // It replaces a dash.
        (&["-p", "-"], "the prompt", "the prompt"),
        (&["-p", "why?", "-"], "a log", "why?\n\na log"),
        (
            &["-p", "-", "why", "is", "that?"],
            "a log",
            "a log\n\nwhy is that?",
        ),
        (
            &["-p", "this:", "-", "why?"],
            "a log",
            "this:\n\na log\n\nwhy?",
        ),
        (&["-p", "this:", "-", "why?"], "", "this:\n\nwhy?"),
        // Ignored.
        (&["-p", "-n", "why?"], "a log", "why?"),
        (&["-p", "--no-stdin", "why?"], "a log", "why?"),
        (&["--json", "-n", "why?"], "a log", "why?"),
    ];
    for (arguments, stdin, expected) in table {
        let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
        let ended = command(&server, &workdir, arguments).run(stdin);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
        assert_eq!(prompts(&server), [*expected], "{arguments:?}");
        assert_eq!(ended.stderr, "", "{arguments:?}");
    }
}

#[test]
fn unreadable_piped_text_is_reported() {
    for (arguments, part) in [
        (&["-p"][..], "no prompt"),
        (&["-p", "-"], "no prompt"),
        (&["-p", "-n"], "no prompt"),
        (&["-p", "-n", "-"], "use only one of them"),
        (&["-p", "-", "x", "-"], "only once"),
    ] {
        let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
        let ended = command(&server, &workdir, arguments).run("");
        assert_eq!(ended.code, Some(2), "{arguments:?}");
        assert!(
            ended.stderr.contains(part),
            "{arguments:?}: {}",
            ended.stderr
        );
        assert!(server.requests().is_empty());
    }
}

#[test]
fn a_silent_pipe_is_ignored_with_one_warning() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    // Standard input stays open.
    let ended = command(&server, &workdir, &["-p", "why?"])
        .spawn()
        .wait(PATIENCE);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(prompts(&server), ["why?"]);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    for part in ["standard input", "-n", "the word -"] {
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    }
    let ended = command(&server, &workdir, &["-p", "-n", "why?"])
        .spawn()
        .wait(PATIENCE);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}

/// Longer than zot waits for piped text.
#[test]
fn a_dash_waits_for_a_slow_producer() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    let mut zot = command(&server, &workdir, &["-p", "why?", "-"]).spawn();
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    assert!(server.requests().is_empty(), "it still waits");
    zot.send_bytes(b"late ");
    zot.send_bytes(b"text");
    let ended = zot.finish();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert_eq!(prompts(&server), ["why?\n\nlate text"]);
}

/// Runs a shell loop that reads its lines from the standard input it shares with zot.
fn loop_over_three_lines(flag: &str) -> Vec<String> {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    workdir.write("list", "one\ntwo\nthree\n");
    let zot = command(&server, &workdir, &["-p"]).into_command();
    let mut script = Command::new("sh");
    script
        .args([
            "-c",
            "flag=$1; shift; while read -r line; do \"$@\" $flag \"$line\"; done < list",
        ])
        .args(["sh", flag])
        .arg(zot.get_program())
        .args(zot.get_args())
        .env_clear()
        .current_dir(workdir.path())
        .stdin(Stdio::null());
    for (name, value) in zot.get_envs() {
        script.env(name, value.expect("set, not removed"));
    }
    let ended = script.output().expect("run a shell");
    assert!(ended.status.success());
    prompts(&server)
}

#[test]
fn with_no_stdin_a_while_read_loop_gets_every_line() {
    assert_eq!(loop_over_three_lines("-n"), ["one", "two", "three"]);
    assert_eq!(loop_over_three_lines("--no-stdin"), ["one", "two", "three"]);
}

/// As docs/coming-from-zot.md warns: the first run reads the lines as part of its prompt.
#[test]
fn without_no_stdin_the_first_run_reads_the_other_lines() {
    assert_eq!(loop_over_three_lines("--jail"), ["one\n\ntwo\nthree\n"]);
}
