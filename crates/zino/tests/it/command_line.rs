//! The binary, called as a user would.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{ModelServer, Wire};
use zino::kind::ServiceKind::{self, Daemon, Memory, SystemPrompt};

use crate::installation::{BINARY, Installation, eventually, text};
use crate::stack::TEST_TIMEOUT;

const UNREACHABLE: &str = "http://127.0.0.1:1/v1";

/// Runs to the end with `input` piped in.
fn piped(mut command: Command, input: &[u8]) -> Output {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that fails early does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// Returns the exit code, standard output and standard error.
fn code_and_output(output: &Output) -> (i32, &str, &str) {
    let code = output.status.code().unwrap();
    (code, text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_files_init_writes_work_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(BINARY);
        command.args(arguments).current_dir(directory.path());
        for name in ["ZINO_CONFIG", "ZINO_LOG_LEVEL", "LLM_API_KEY"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null());
        command
    };
    let written = run(&["init"]).output().unwrap();
    assert_eq!(text(&written.stdout).matches("wrote ").count(), 7);
    let again = run(&["init"]).output().unwrap();
    assert_eq!(text(&again.stdout).matches("kept ").count(), 7);
    let checked = run(&["check"]).output().unwrap();
    assert!(checked.status.success(), "{}", text(&checked.stdout));
    let down = run(&["status"]).output().unwrap();
    assert_eq!(down.status.code(), Some(1));
    assert_eq!(text(&down.stdout).matches(" down ").count(), 7);

    let log = fs::File::create(directory.path().join("up.log")).unwrap();
    let mut up = run(&["up"]).stderr(log).spawn().unwrap();
    eventually("all services respond", || {
        run(&["status"]).output().unwrap().status.success()
    });
    fs::write(directory.path().join("work/a-file-to-find"), "").unwrap();
    for arguments in [
        &["cli", "list the files here"][..],
        &["cli", "-s", "list the files here"],
    ] {
        let response = run(arguments).output().unwrap();
        assert!(response.status.success(), "{}", text(&response.stderr));
        assert!(
            text(&response.stdout).contains("a-file-to-find"),
            "{}",
            text(&response.stdout)
        );
    }
    up.kill().unwrap();
    up.wait().unwrap();
}

#[test]
fn the_name_of_the_program_chooses_the_service() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let mut processes = Vec::new();
    for kind in ServiceKind::ALL {
        let name = format!("zino-{}", kind.name());
        let link = installation.path(&name);
        symlink(BINARY, &link).unwrap();
        processes.push(installation.spawn(installation.program(&link, &[]), &name));
    }
    for kind in ServiceKind::ALL {
        eventually(kind.name(), || installation.socket(kind).exists());
        eventually(kind.name(), || {
            std::os::unix::net::UnixStream::connect(installation.socket(kind)).is_ok()
        });
        let version = installation.ask_one(kind, &json!({ "type": "version" }));
        assert_eq!(version["service"], kind.name());
    }
    let link = installation.path("zino-1.0");
    symlink(BINARY, &link).unwrap();
    let output = installation.program(&link, &["status"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let link = installation.path("zino-cli");
    symlink(BINARY, &link).unwrap();
    let output = installation
        .program(&link, &["-c", "ZINO.toml", "say:2"])
        .output()
        .unwrap();
    assert_eq!(code_and_output(&output), (0, "alpha beta \n", ""));
}

#[test]
fn the_configuration_comes_from_the_argument_the_variable_or_the_directory() {
    let installation = Installation::new(UNREACHABLE, "");
    let rename = |to: &str| {
        let text = fs::read_to_string(installation.path("ZINO.toml")).unwrap();
        let text = text.replace("run/sys.sock", &format!("run/{to}.sock"));
        fs::write(installation.path(format!("{to}.toml")), text).unwrap();
    };
    rename("argument");
    rename("variable");
    let cases: [(&[&str], Option<&str>, &str); 6] = [
        (&["sys"], None, "run/sys.sock"),
        (&["sys"], Some(""), "run/sys.sock"),
        (&["sys"], Some("variable.toml"), "run/variable.sock"),
        (
            &["sys", "--config", "argument.toml"],
            Some("variable.toml"),
            "run/argument.sock",
        ),
        (&["sys", "-c", "argument.toml"], None, "run/argument.sock"),
        (
            &["sys", "--config=argument.toml"],
            None,
            "run/argument.sock",
        ),
    ];
    for (arguments, variable, expected) in cases {
        let mut command = installation.command(arguments);
        if let Some(variable) = variable {
            command.env("ZINO_CONFIG", variable);
        }
        let mut process = installation.spawn(command, "found");
        eventually(expected, || installation.path(expected).exists());
        process.signal(Signal::TERM);
        assert!(process.wait().success());
    }
}

#[test]
fn an_invalid_configuration_is_reported() {
    let installation = Installation::new(UNREACHABLE, "");
    let missing = installation.run(&["up", "--config", "nowhere.toml"]);
    let (code, _, errors) = code_and_output(&missing);
    assert_eq!(code, 1);
    assert_eq!(
        errors,
        "zino: no configuration at nowhere.toml: `zino init` writes one, --config FILE names another\n"
    );
    let cases = [
        ("[exc]\nsandbox = \"yes\"\n", "sandbox"),
        ("[agr]\nmax_iterations = -1\n", "max_iterations"),
        ("[mem]\ndata_dir = 5\n", "data_dir"),
        ("[exc]\ntimeout = \"long\"\n", "timeout"),
        (
            "api.provider = \"offline\"\n[exc]\ntimeout = 0\n",
            "[exc] timeout",
        ),
        (
            "api.provider = \"offline\"\n[exc]\ntimeout = nan\n",
            "[exc] timeout",
        ),
        ("[wire]\nmax_frame_bytes = -1\n", "max_frame_bytes"),
        ("[api]\nfallback = 3\n", "fallback"),
        ("rtr = 3\n", "rtr"),
        ("[rtr\n", "line 1"),
        (
            "api.provider = \"offline\"\n[sys]\ntemplate = \"nowhere.md\"\n",
            "nowhere.md",
        ),
    ];
    for (config, expected) in cases {
        fs::write(installation.path("bad.toml"), config).unwrap();
        let output = installation.run(&["up", "-c", "bad.toml"]);
        let (code, _, errors) = code_and_output(&output);
        assert_eq!(code, 1, "{config}");
        assert!(errors.contains(expected), "{config}: {errors}");
        assert!(errors.starts_with("zino: "), "{config}: {errors}");
    }
    for arguments in [
        &[][..],
        &["frobnicate"],
        &["up", "--frobnicate"],
        &["cli", "--channel"],
    ] {
        assert_eq!(
            installation.run(arguments).status.code(),
            Some(2),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_misspelt_key_is_reported_with_the_nearest() {
    let more = "agr.max_iteration = 3\nmemm.socket = \"x\"\n\
        [[api.fallback]]\nbase_urll = \"http://127.0.0.1:1/v1\"\n";
    let installation = Installation::new(UNREACHABLE, more);
    let output = installation.run(&["cli", "hello"]);
    let (code, _, errors) = code_and_output(&output);
    assert_eq!(code, 1);
    for expected in [
        "unknown key \"max_iteration\" in [agr]: did you mean \"max_iterations\"?",
        "unknown section [memm]: did you mean \"mem\"?",
        "unknown key \"base_urll\" in [[api.fallback]]: did you mean \"base_url\"?",
    ] {
        assert!(errors.contains(expected), "{errors}");
    }
}

#[test]
fn the_client_without_a_daemon() {
    let installation = Installation::new(UNREACHABLE, "");
    let output = installation.run(&["cli", "hello"]);
    assert_eq!(
        code_and_output(&output),
        (
            1,
            "",
            "zino: cannot reach the daemon: No such file or directory (os error 2); \
             is `zino up` running with the same configuration?\n"
        )
    );
    let output = installation.run(&["cli"]);
    assert_eq!(
        code_and_output(&output),
        (
            2,
            "",
            "zino: no message: give it as an argument or pipe it in\n"
        )
    );
    let output = piped(installation.command(&["cli"]), b" \n");
    assert_eq!(output.status.code(), Some(2));
    let output = piped(installation.command(&["cli"]), b"\xff\xfe");
    let (code, _, errors) = code_and_output(&output);
    assert_eq!(code, 1);
    assert!(errors.contains("cannot read standard input"), "{errors}");
}

#[test]
fn the_client() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let _process = installation.up();
    let last_message = || {
        let messages = model.requests().pop().unwrap().body["messages"].clone();
        messages.as_array().unwrap().last().unwrap()["content"].clone()
    };
    let output = installation.run(&["cli", "say:2"]);
    assert_eq!(code_and_output(&output), (0, "alpha beta \n", ""));
    let output = installation.run(&["cli", "--stream", "say:2"]);
    assert_eq!(code_and_output(&output), (0, "alpha beta \n", ""));
    let output = piped(installation.command(&["cli", "-s"]), b"say:3\n");
    assert_eq!(code_and_output(&output), (0, "alpha beta gamm \n", ""));
    assert_eq!(last_message(), "say:3");
    let output = piped(
        installation.command(&["cli", "explain", "this"]),
        b"some text\n",
    );
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(last_message(), "explain this\n\nsome text");
    // A pipe that stays silent is not waited for, unless `-` asks for its input.
    let mut command = installation.command(&["cli", "say:2"]);
    let mut silent = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let kept = silent.stdin.take();
    let output = silent.wait_with_output().unwrap();
    assert_eq!(code_and_output(&output), (0, "alpha beta \n", ""));
    drop(kept);
    let mut command = installation.command(&["cli", "read", "-"]);
    let mut late = command.stdin(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1200));
    assert!(late.try_wait().unwrap().is_none());
    late.stdin.take().unwrap().write_all(b"late text").unwrap();
    assert!(late.wait().unwrap().success());
    assert_eq!(last_message(), "read\n\nlate text");
    for flags in [["-ch", "one"], ["--channel", "one"]] {
        let output = installation.run(&["cli", flags[0], flags[1], "-s", "say:1"]);
        assert_eq!(code_and_output(&output), (0, "alpha \n", ""));
    }
    let history = json!({ "type": "get_history", "channel_id": "one" });
    let history = installation.ask_one(Memory, &history);
    assert_eq!(history["messages"].as_array().unwrap().len(), 4);
    // Failures are reported as in the original.
    let output = installation.run(&["cli", "err:400:not today"]);
    let (code, printed, errors) = code_and_output(&output);
    assert_eq!((code, printed), (1, ""));
    assert_eq!(
        errors,
        "Error: Agentic runtime error: rtr error: Error code: 400 - not today\n"
    );
    let output = installation.run(&["cli", "-s", "errmid"]);
    let (code, printed, errors) = code_and_output(&output);
    assert_eq!(code, 1);
    assert_eq!(printed, "alpha beta ");
    assert!(
        errors.starts_with("\nError: Agentic runtime error: rtr stream error: "),
        "{errors}"
    );
}

/// A stream is printed as it arrives, and an interrupted client ends its request.
#[test]
fn the_client_prints_a_stream_live() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let _process = installation.up();
    let mut command = installation.command(&["cli", "-s", "hangmid"]);
    let mut client = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 1];
    client
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut first)
        .unwrap();
    assert_eq!(model.responses_in_progress(), 1);
    client.kill().unwrap();
    client.wait().unwrap();
    eventually("the model's request is cancelled", || {
        model.responses_in_progress() == 0
    });
}

#[test]
fn the_supervisor_is_notified() {
    let installation = Installation::new(UNREACHABLE, "");
    let path = installation.path("notify");
    let supervisor = UnixDatagram::bind(&path).unwrap();
    supervisor.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    let receive = || {
        let mut buffer = [0; 256];
        let count = supervisor.recv(&mut buffer).unwrap();
        text(&buffer[..count]).to_owned()
    };
    for arguments in [["up"], ["mem"]] {
        let mut command = installation.command(&arguments);
        command.env("NOTIFY_SOCKET", &path);
        let mut process = installation.spawn(command, "notified");
        assert_eq!(receive(), "READY=1");
        // Ready means that it responds.
        let pong = installation.ask_one(Memory, &json!({ "type": "ping" }));
        assert_eq!(pong["type"], "pong");
        process.signal(Signal::TERM);
        assert_eq!(receive(), "STOPPING=1");
        assert!(process.wait().success());
    }
    // Programs that `exc` runs must not notify the supervisor on behalf of the service.
    let mut command = installation.command(&["exc"]);
    command.env("NOTIFY_SOCKET", &path);
    let _process = installation.spawn(command, "notified");
    assert_eq!(receive(), "READY=1");
    let run = json!({ "type": "execute", "executor": "bash", "code": "echo \"[$NOTIFY_SOCKET]\"" });
    let response: Value = installation.ask_one(ServiceKind::Executor, &run);
    assert_eq!(response["stdout"], "[]\n");
}

#[test]
fn requests_are_logged_without_their_messages() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let process = installation.up();
    let ask = json!({ "message": "raw:my secret", "channel_id": "c\n1" });
    installation.ask_one(Daemon, &ask);
    installation.ask(Daemon, &json!({ "message": "say:1", "stream": 1 }));
    installation.ask_one(SystemPrompt, &json!({ "type": "frobnicate" }));
    eventually("both are logged", || {
        process.log().contains("frobnicate duration_ms=")
    });
    let log = process.log();
    assert!(
        log.contains("INFO zino.daemon: type=request channel=c?1 duration_ms="),
        "{log}"
    );
    // Requests inside the process are logged like those over a socket.
    for (line, count) in [
        ("zino.sys: type=get duration_ms=", 2),
        ("zino.ctx: type=build channel=c?1 duration_ms=", 1),
        ("zino.ctx: type=build duration_ms=", 1),
        ("zino.mem: type=search_hard duration_ms=", 2),
        ("zino.mem: type=get_history channel=c?1 duration_ms=", 1),
        ("zino.agr: type=run duration_ms=", 2),
        ("zino.rtr: type=infer duration_ms=", 2),
        ("zino.mem: type=append_history channel=c?1 duration_ms=", 1),
    ] {
        let found: Vec<_> = log.lines().filter(|found| found.contains(line)).collect();
        assert_eq!(found.len(), count, "{line}: {log}");
        assert!(found[0].ends_with(" outcome=ok"), "{log}");
    }
    assert!(
        log.contains("zino.daemon: type=stream duration_ms="),
        "{log}"
    );
    assert!(log.contains("outcome=error: Unknown message type"), "{log}");
    assert!(!log.contains("my secret"), "{log}");
    for level in ["ERROR", "error"] {
        let mut command = installation.command(&["sys", "-c", "quiet.toml"]);
        let config = fs::read_to_string(installation.path("ZINO.toml")).unwrap();
        let config = config.replace("run/", "quiet/");
        fs::write(installation.path("quiet.toml"), config).unwrap();
        command.env("ZINO_LOG_LEVEL", level);
        let mut quiet = installation.spawn(command, "quiet");
        eventually("it listens", || {
            Path::exists(&installation.path("quiet/sys.sock"))
        });
        quiet.signal(Signal::TERM);
        quiet.wait();
        assert_eq!(quiet.log(), "");
    }
}

/// For users who return to the original, which cannot read a truncated file.
#[test]
fn truncated_files_are_reported_and_repaired() {
    let installation = Installation::new(UNREACHABLE, "");
    let channels = installation.path("data/mem/channels");
    fs::create_dir_all(&channels).unwrap();
    fs::write(channels.join("ada.json"), "[\n  {\"role\": \"us").unwrap();
    fs::write(channels.join("bob.json"), "[\n  1\n]").unwrap();
    let is_reported = || {
        let output = installation.run(&["check"]);
        let found = text(&output.stdout).lines().find(|line| {
            line.starts_with("warn data ")
                && line.contains("data/mem/channels/ada.json was cut off")
        });
        found.is_some_and(|line| line.contains("zino mem --mend"))
    };
    assert!(is_reported());
    let output = installation.run(&["mem", "--mend"]);
    let expected = "repaired data/mem/channels/ada.json\n";
    assert_eq!(code_and_output(&output), (0, expected, ""));
    assert!(!is_reported());
    assert_eq!(fs::read_to_string(channels.join("ada.json")).unwrap(), "[]");
    let output = installation.run(&["mem", "--mend"]);
    assert_eq!(
        code_and_output(&output),
        (0, "nothing to repair in data/mem\n", "")
    );
    // A failed repair is reported.
    fs::create_dir(installation.path("data/mem/hard_memories.json")).unwrap();
    let output = installation.run(&["mem", "--mend"]);
    let (code, _, errors) = code_and_output(&output);
    assert_eq!(code, 1);
    assert!(errors.contains("not repaired"), "{errors}");
}

#[test]
fn every_service_has_a_version_and_help_under_its_own_name() {
    let directory = tempfile::tempdir().unwrap();
    let version = Command::new(BINARY).arg("--version").output().unwrap();
    let version = text(&version.stdout).strip_prefix("zino ").unwrap();
    for service in ["daemon", "rtr", "agr", "sys", "exc", "mem", "ctx"] {
        let name = format!("zino-{service}");
        let program = directory.path().join(&name);
        symlink(BINARY, &program).unwrap();
        let run = |argument: &str| Command::new(&program).arg(argument).output().unwrap();
        let shown = run("--version");
        assert_eq!(text(&shown.stdout), format!("{name} {version}"));
        let help = run("--help");
        let (code, help, _) = code_and_output(&help);
        assert_eq!(code, 0);
        let usage = format!("Usage: zino {service}");
        assert!(help.contains(&usage), "{help}");
        assert!(help.contains("--config"), "{help}");
    }
}
