//! Single runs: `-p`, `--json`, piped input, exit codes.

use serde_json::Value;
use testkit::{Finished, ModelServer, PATIENCE, Signal, Wire, Workdir, ZotCommand, poll_until};

use crate::support::binary;

fn run(wire: Wire, arguments: &[&str], stdin: &str) -> Finished {
    let (server, workdir) = (ModelServer::start(), Workdir::with_files("work"));
    ZotCommand::new(binary(), &workdir)
        .model(&server, wire)
        .argument("--no-session")
        .arguments(arguments)
        .run(stdin)
}

/// Runs zot without a server and without credentials.
fn run_alone(arguments: &[&str], stdin: &str) -> Finished {
    let workdir = Workdir::new("work");
    ZotCommand::new(binary(), &workdir)
        .arguments(arguments)
        .run(stdin)
}

#[test]
fn print_writes_the_last_answer_and_nothing_else() {
    for wire in Wire::BOTH {
        let ended = run(wire, &["-p", "texttool:bash:{\"command\":\"echo hi\"}"], "");
        assert_eq!(ended.code, Some(0));
        assert_eq!(ended.stdout, "all done\n");
        assert_eq!(ended.stderr, "");
    }
}

#[test]
fn the_prompt_may_come_through_a_pipe() {
    let ended = run(Wire::OpenAi, &["-p"], "say:2\n");
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), "alpha beta \n")
    );
}

#[test]
fn json_writes_the_event_stream() {
    let ended = run(Wire::Anthropic, &["--json", "say:2"], "");
    assert_eq!(ended.code, Some(0));
    let frames: Vec<Value> = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("a JSON line"))
        .collect();
    assert_eq!(frames[0]["type"], "user_message");
    assert_eq!(frames.last().unwrap()["type"], "done");
}

#[test]
fn a_failing_model_exits_with_1_and_says_why() {
    for flag in ["-p", "--json"] {
        let ended = run(Wire::OpenAi, &[flag, "err:401:bad key"], "");
        assert_eq!(ended.code, Some(1), "{flag}");
        assert!(
            ended.stderr.contains("openai: http 401"),
            "{}",
            ended.stderr
        );
        assert!(ended.stderr.contains("bad key"), "{}", ended.stderr);
    }
    let ended = run(Wire::OpenAi, &["-p", "cut"], "");
    assert_eq!(
        ended.code,
        Some(1),
        "a response that was cut off is an error"
    );
}

#[test]
fn mistakes_on_the_command_line_exit_with_2() {
    for arguments in [
        &["rpc", "--bogus"][..],
        &["-p", "--provider", "antropic", "--api-key", "x", "hi"],
        &[
            "-p",
            "--provider",
            "anthropic",
            "--api-key",
            "x",
            "--model",
            "gpt-4o",
            "hi",
        ],
        &["-p", "--provider", "offline", "--max-steps", "many", "hi"],
        &[
            "-p",
            "--provider",
            "offline",
            "--cwd",
            "/no/such/directory",
            "hi",
        ],
    ] {
        let ended = run_alone(arguments, "");
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.stderr);
        assert_eq!(ended.stdout, "");
        assert!(!ended.stderr.is_empty());
    }
}

#[test]
fn a_misspelt_name_gets_a_suggestion() {
    let ended = run_alone(&["rpc", "--provider", "antropic", "--api-key", "x"], "");
    assert!(ended.stderr.contains("anthropic"), "{}", ended.stderr);
    let model = [
        "rpc",
        "--provider",
        "openai",
        "--api-key",
        "x",
        "--model",
        "gpt-4p",
    ];
    let ended = run_alone(&model, "");
    assert!(ended.stderr.contains("gpt-4o"), "{}", ended.stderr);
}

#[test]
fn a_missing_key_is_explained() {
    for arguments in [
        &["-p", "--provider", "openai", "hi"][..],
        &["rpc", "--provider", "openai"],
    ] {
        let ended = run_alone(arguments, "{\"id\":\"1\",\"type\":\"ping\"}\n");
        assert!(ended.code.is_some_and(|code| code != 0));
        for way in ["OPENAI_API_KEY", "--api-key", "offline"] {
            assert!(ended.stderr.contains(way), "{way}: {}", ended.stderr);
        }
    }
}

#[test]
fn keys_are_taken_from_the_environment() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    for (wire, variable) in [
        (Wire::OpenAi, "OPENAI_API_KEY"),
        (Wire::Anthropic, "ANTHROPIC_API_KEY"),
    ] {
        let ended = ZotCommand::new(binary(), &workdir)
            .arguments(["-p", "--no-session", "--provider", wire.provider()])
            .argument("--base-url")
            .argument(server.url(wire))
            .argument("say:1")
            .env(variable, "canary-key")
            .run("");
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let request = server.requests().pop().unwrap();
        assert!(
            request
                .headers
                .values()
                .any(|value| value.contains("canary-key"))
        );
    }
}

#[test]
fn the_offline_model_needs_nothing() {
    let ended = run_alone(
        &["-p", "--no-session", "--provider", "offline", "hello"],
        "",
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(!ended.stdout.trim().is_empty());

    let prompt = "{\"id\":\"1\",\"type\":\"prompt\",\"message\":\"hello\"}\n";
    let ended = run_alone(&["rpc", "--provider", "offline"], prompt);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let last = ended.stdout.lines().last().unwrap_or_default();
    assert_eq!(last, "{\"type\":\"done\"}");
}

#[test]
fn an_interrupt_exits_with_130() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    let zot = ZotCommand::new(binary(), &workdir)
        .model(&server, Wire::OpenAi)
        .arguments(["-p", "--no-session", "hang"])
        .spawn();
    poll_until("the request arrives", || {
        server.responses_in_progress() == 1
    });
    zot.signal(Signal::INT);
    assert_eq!(zot.wait(PATIENCE).code, Some(130));
}

#[test]
fn help_and_version_need_nothing() {
    let help = run_alone(&["--help"], "");
    assert_eq!(help.code, Some(0));
    for word in ["rpc", "--provider", "--model", "--json"] {
        assert!(help.stdout.contains(word), "{word}");
    }
    let version = run_alone(&["--version"], "");
    assert_eq!(version.code, Some(0));
    assert!(version.stdout.starts_with("zot "));
}

/// As in the original, there is no limit unless a flag sets one.
#[test]
fn steps_have_no_limit_unless_one_is_given() {
    let prompt = "loop:130:read:{\"path\":\"a.txt\"}";
    let ended = run(Wire::OpenAi, &["-p", "-n", prompt], "");
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (Some(0), ""),
        "{}",
        ended.stdout
    );
    let ended = run(Wire::OpenAi, &["-p", "-n", "--max-steps", "3", prompt], "");
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("max steps (3) exceeded"));
    let ended = run(
        Wire::OpenAi,
        &["-p", "-n", "--max-process-steps", "3", prompt],
        "",
    );
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("budget"), "{}", ended.stderr);
}

/// A budget that can never be reached, or a command that becomes a prompt, would cost money.
#[test]
fn mistakes_that_could_cost_money_are_refused() {
    for arguments in [
        &["-p", "--max-cost-usd", "nan", "x"][..],
        &["-p", "--max-cost-usd=-1", "x"],
        &["doctor", "-p"],
        &["rpc", "-p"],
        &["rcp"],
        &["-p", "--base-url", "127.0.0.1:9/v1", "x"],
    ] {
        let run = run_alone(arguments, "");
        assert_eq!(run.code, Some(2), "{arguments:?}: {}", run.stderr);
        assert!(run.stdout.is_empty());
    }
}

#[test]
fn a_doubtful_answer_causes_a_warning() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    for (prompt, doubt) in [("length", "cut off"), ("empty", "no answer")] {
        let run = ZotCommand::new(binary(), &workdir)
            .model(&server, Wire::OpenAi)
            .arguments(["-p", "--no-session", prompt])
            .run("");
        assert_eq!(run.code, Some(0));
        assert!(run.stderr.contains(doubt), "{}", run.stderr);
    }
}
