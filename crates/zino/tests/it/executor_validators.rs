//! What programs in the sandbox of `exc` cannot bring about later: with real services.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use zino::kind::ServiceKind::Executor;
use zot_process::launch::{Status, enforceable};

use crate::installation::{BINARY, Installation, Process, eventually, text};

const UNREACHABLE: &str = "http://127.0.0.1:1/v1";

/// The values of `[exc] sandbox` that confine.
const SANDBOXES: [&str; 3] = ["true", "\"workspace\"", "\"read-only\""];

fn confines() -> bool {
    match enforceable().files {
        Status::NotEnforced(reason) => {
            testkit::skip_without(testkit::KernelFeature::Landlock, &reason);
            false
        }
        _ => true,
    }
}

fn program(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// An installation whose programs work in `work`, with `static_analysis` of bash.
fn installation(settings: &str, validator: impl FnOnce(&Installation) -> String) -> Installation {
    let more = format!("exc.working_dir = \"work\"\n{settings}");
    let installation = Installation::new(UNREACHABLE, &more);
    fs::create_dir(installation.path("work")).unwrap();
    let named = validator(&installation);
    name_validator(&installation, &named);
    installation
}

fn name_validator(installation: &Installation, name: &str) {
    let meta = json!({ "executor": "bash", "file_extension": ".sh", "static_analysis": name });
    let text = json!({ "meta": meta }).to_string();
    fs::write(installation.path("tools/bash.json"), text).unwrap();
}

fn start(installation: &Installation) -> Process {
    let mut command = installation.command(&["exc"]);
    let path = std::env::var("PATH").unwrap();
    let own = installation.path("work/.venv/bin");
    command.env("PATH", format!("{}:{path}", own.display()));
    let process = installation.spawn(command, "exc");
    installation.wait_for(Executor, &process);
    process
}

fn ask(installation: &Installation, kind: &str, code: &str) -> Value {
    let request = json!({ "type": kind, "executor": "bash", "code": code });
    installation.ask_one(Executor, &request)
}

#[test]
fn programs_cannot_put_a_validator_into_path() {
    if !confines() {
        return;
    }
    for sandbox in ["true", "\"workspace\""] {
        let settings = format!("exc.sandbox = {sandbox}\n");
        let installation = installation(&settings, |_| "no-such-checker".to_owned());
        let process = start(&installation);
        let ran = installation.path("ran");
        let plant = format!(
            "mkdir -p .venv/bin; printf '#!/bin/sh\\necho planted; echo > {}; exit 1' > .venv/bin/no-such-checker; \
             chmod +x .venv/bin/no-such-checker; .venv/bin/no-such-checker",
            ran.display()
        );
        let planted = ask(&installation, "execute", &plant);
        assert_eq!(planted["stdout"], "planted\n", "{planted}");
        assert_eq!(ask(&installation, "execute", "echo x")["stdout"], "x\n");
        let validation = ask(&installation, "validate", "echo x");
        assert_eq!(validation["ok"], true, "{validation}");
        assert!(!ran.exists(), "{sandbox}");
        let capabilities = installation.ask_one(Executor, &json!({ "type": "capabilities" }));
        let bash = &capabilities["executors"]["bash"];
        assert_eq!(bash["has_validator"], false, "{sandbox}");
        drop(process);
        // It does not keep the service from starting either.
        let process = start(&installation);
        let log = process.log();
        assert!(
            log.contains("static_analysis of bash is not used: it is in PATH only as "),
            "{log}"
        );
    }
}

#[test]
fn validators_are_confined_where_programs_are() {
    if !confines() {
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let tries = |installation: &Installation| {
        let checker = installation.path("checkers/checker");
        let root = installation.path("");
        let root = root.display();
        // Programs could make a validator try this with files that it obeys in the working directory.
        let script = format!(
            "cat \"$1\"; read line < given && echo \"$line\"
             for path in {root}/beside {root}/work/new {root}/tools/new; do (echo x > $path) 2>/dev/null; done
             (read line < {root}/ZINO.toml) 2>/dev/null && echo read
             bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' 2>/dev/null && echo connected
             exit 1"
        );
        program(&checker, &script);
        fs::write(installation.path("work/given"), "given\n").unwrap();
        checker.to_str().unwrap().to_owned()
    };
    // In its own `/tmp` it may seem to have written something.
    let written = |installation: &Installation| {
        let files = ["beside", "work/new", "tools/new"];
        files.map(|name| installation.path(name).exists())
    };
    for sandbox in SANDBOXES {
        let settings = format!("exc.sandbox = {sandbox}\nexc.network = true\n");
        let installation = installation(&settings, tries);
        let _process = start(&installation);
        for _ in 0..2 {
            let validation = ask(&installation, "validate", "code\n");
            assert_eq!(validation["errors"], "code\ngiven", "{sandbox}");
            assert_eq!(written(&installation), [false; 3], "{sandbox}");
        }
        // The code itself has the network.
        let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo in");
        let connected = ask(&installation, "execute", &connect);
        assert_eq!(connected["stdout"], "in\n", "{sandbox}: {connected}");
    }
    // The same program without a sandbox: all of that works.
    let installation = installation("", tries);
    let _process = start(&installation);
    let validation = ask(&installation, "validate", "code\n");
    assert_eq!(validation["errors"], "code\ngiven\nread\nconnected");
    assert_eq!(written(&installation), [true; 3]);
}

#[test]
fn validators_that_programs_could_change_are_refused() {
    if !confines() {
        return;
    }
    let inside = |installation: &Installation| {
        let checker = installation.path("work/checker");
        program(&checker, "exit 1");
        checker.to_str().unwrap().to_owned()
    };
    for (validator, expected) in [("./checker", "is a relative path"), ("", "is inside of ")] {
        let settings = "exc.sandbox = \"workspace\"\n";
        let installation = installation(settings, |installation| match validator {
            "" => inside(installation),
            relative => relative.to_owned(),
        });
        let refused = installation.run(&["exc"]);
        assert!(!refused.status.success());
        let said = text(&refused.stderr);
        assert!(said.contains(expected), "{said}");
        let said = text(&installation.run(&["check"]).stdout).to_owned();
        let found = said.lines().find(|line| line.contains(expected));
        assert!(
            found.is_some_and(|line| line.starts_with("FAIL exc ")),
            "{said}"
        );
        // While it runs, the tools stay as they were.
        let named = installation.path("tools/bash.json");
        let bad = fs::read(&named).unwrap();
        name_validator(&installation, "true");
        let process = start(&installation);
        fs::write(&named, bad).unwrap();
        process.signal(testkit::Signal::HUP);
        eventually("the reload is refused", || {
            process.log().contains("not reloaded: ")
        });
        let capabilities = installation.ask_one(Executor, &json!({ "type": "capabilities" }));
        let bash = &capabilities["executors"]["bash"];
        assert_eq!(bash["static_analysis"], "true");
    }
}

/// Runs `zino` in a directory as a user would.
fn zino(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(BINARY);
    command.args(arguments).current_dir(directory);
    for name in ["ZINO_CONFIG", "ZINO_LOG_LEVEL", "LLM_API_KEY"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn a_sandbox_needs_a_directory_without_the_files_of_the_services() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    assert!(zino(here, &["init"]).status.success());
    fs::write(here.join(".env"), "LLM_API_KEY=canary\n").unwrap();
    let written = fs::read_to_string(here.join("ZINO.toml")).unwrap();
    let shown = "# sandbox          = false";
    assert!(written.contains(shown));
    for sandbox in SANDBOXES {
        let confined = written.replace(shown, &format!("sandbox = {sandbox}"));
        fs::write(here.join("ZINO.toml"), &confined).unwrap();
        let checked = zino(here, &["check"]);
        let said = text(&checked.stdout);
        assert!(checked.status.success(), "{said}");
        // As it was before there was a directory for programs.
        for working_dir in ["", "working_dir = \".\""] {
            let exposed = confined.replace("working_dir = \"work\"", working_dir);
            fs::write(here.join("ZINO.toml"), exposed).unwrap();
            let expected = "which programs in the sandbox could read or change: set working_dir";
            let refused = zino(here, &["exc"]);
            assert!(!refused.status.success());
            let said = text(&refused.stderr);
            assert!(said.contains(expected), "{said}");
            let checked = zino(here, &["check"]);
            let said = text(&checked.stdout);
            assert!(!checked.status.success(), "{said}");
            let found = said.lines().find(|line| line.contains(expected));
            assert!(
                found.is_some_and(|line| line.starts_with("FAIL exc ")),
                "{said}"
            );
        }
    }
}

#[test]
fn programs_do_not_find_what_init_wrote() {
    if !confines() {
        return;
    }
    let more = "exc.sandbox = \"workspace\"\nexc.working_dir = \"work\"\n";
    let installation = Installation::new(UNREACHABLE, more);
    fs::create_dir(installation.path("work")).unwrap();
    fs::write(installation.path(".env"), "LLM_API_KEY=canary\n").unwrap();
    let _process = start(&installation);
    let before = fs::read(installation.path("ZINO.toml")).unwrap();
    let root = installation.path("");
    let root = root.display();
    let code = format!(
        "cat {root}/.env ../.env; sed -i s/workspace/off/ {root}/ZINO.toml; echo x > {root}/tools/bash.json; \
         ls {root}/tools {root}/data {root}/run"
    );
    let ran = ask(&installation, "execute", &code);
    assert_eq!(ran["stdout"], "", "{ran}");
    assert_eq!(fs::read(installation.path("ZINO.toml")).unwrap(), before);
    assert_ne!(
        fs::read(installation.path("tools/bash.json")).unwrap(),
        b"x\n"
    );
}
