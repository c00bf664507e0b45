//! `exc`.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use zino::executor::{ExecutorError, ExecutorService};
use zino::kind::ServiceKind::Executor;
use zino::service::Service as _;
use zot_wire::zino::executor;

use crate::installation::{BINARY, Installation, eventually};
use crate::stack::{Stack, log, until};
use crate::transcript;

fn new(more: &str) -> Stack {
    Stack::new("http://127.0.0.1:1/v1", more).with_executor()
}

fn with_time(seconds: f64) -> Stack {
    let mut stack = Stack::new("http://127.0.0.1:1/v1", "");
    stack.config.exc.timeout = seconds;
    stack.with_executor()
}

async fn bash(stack: &Stack, code: &str) -> Value {
    let request = json!({ "type": "execute", "executor": "bash", "code": code });
    let mut frames = stack.ask(Executor, request).await;
    assert_eq!(frames.len(), 1);
    frames.remove(0)
}

fn result(exit_code: i64, stdout: &str, stderr: &str) -> Value {
    json!({ "type": "result", "exit_code": exit_code, "stdout": stdout, "stderr": stderr })
}

fn on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Replaces the name of the code's file as the captures do.
fn without_file_name(frame: &mut Value) {
    let Some(errors) = frame["errors"].as_str() else {
        return;
    };
    if let Some((_, rest)) = errors.split_once(" line ")
        && errors.starts_with("In ")
    {
        frame["errors"] = format!("In <tmpfile> line {rest}").into();
    }
}

#[tokio::test]
async fn captured() {
    let stack = new("");
    let has_shellcheck = on_path("shellcheck");
    if !has_shellcheck {
        eprintln!("shellcheck is not installed: responses without it are expected");
    }
    for mut record in transcript::records(Executor) {
        if !has_shellcheck {
            match record.name.as_str() {
                "capabilities" => {
                    record.resp[0]["executors"]["bash"]["has_validator"] = false.into();
                }
                "validate_bash_warn" => {
                    record.resp = vec![json!({ "type": "validation", "ok": true, "errors": "" })];
                }
                _ => {}
            }
        }
        let mut frames = stack.ask(Executor, record.req.clone().unwrap()).await;
        frames.iter_mut().for_each(without_file_name);
        assert_eq!(frames, record.resp, "{}", record.name);
    }
    stack.end().await;
}

#[tokio::test]
async fn exit_codes_are_those_of_python() {
    let stack = new("");
    assert_eq!(bash(&stack, "kill -9 $$").await, result(-9, "", ""));
    // Standard input is empty.
    assert_eq!(bash(&stack, "cat; echo $?").await, result(0, "0\n", ""));
    stack.end().await;
    // On a busy machine, nothing may have been printed within the first of these.
    for seconds in [0.5, 5.5] {
        let stack = with_time(seconds);
        let response = bash(&stack, "printf a; printf b >&2; sleep 60").await;
        stack.end().await;
        if response["stdout"] == "a" || seconds > 1.0 {
            let timed_out = format!("b\nExecution timed out after {seconds}s.");
            assert_eq!(response, result(-1, "a", &timed_out));
            break;
        }
    }
}

#[tokio::test]
async fn code_is_private_and_removed() {
    let stack = new("");
    let response = bash(
        &stack,
        "stat -c %a \"$0\" \"$(dirname \"$0\")\"; echo \"$0\"",
    )
    .await;
    let stdout = response["stdout"].as_str().unwrap();
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines[..2], ["600", "700"]);
    let file = Path::new(lines[2]);
    assert_eq!(file.extension().unwrap(), "sh");
    assert!(!file.exists() && !file.parent().unwrap().exists());
    stack.end().await;
}

/// A service raises its descriptor limit, but programs get the original one.
#[test]
#[cfg(target_os = "linux")]
fn programs_have_the_limits_the_service_was_started_with() {
    let installation = Installation::new("http://127.0.0.1:1/v1", "");
    let script = "ulimit -Sn 200; exec \"$0\" exc";
    let mut command = installation.program(Path::new("/bin/sh"), &["-c", script]);
    command.arg(BINARY);
    let process = installation.spawn(command, "exc");
    eventually("it listens and has a higher limit", || {
        let limits = fs::read_to_string(format!("/proc/{}/limits", process.id())).unwrap();
        UnixStream::connect(installation.socket(Executor)).is_ok()
            && !limits.contains("Max open files            200 ")
    });
    let run = json!({ "type": "execute", "executor": "bash", "code": "ulimit -Sn" });
    assert_eq!(installation.ask_one(Executor, &run)["stdout"], "200\n");
}

#[tokio::test]
async fn a_caller_that_hangs_up_ends_its_program() {
    let stack = with_time(60.0);
    let mark = stack.path("mark");
    let code = format!(
        "sleep 60 & echo $! \"$0\" > {0}.new; mv {0}.new {0}; wait",
        mark.display()
    );
    let request = json!({ "type": "execute", "executor": "bash", "code": code });
    let call = stack.begin::<executor::Request>(Executor, request).await;
    until("the program runs", || mark.exists()).await;
    let response = fs::read_to_string(&mark).unwrap();
    let (child, file) = response.trim().split_once(' ').unwrap();
    drop(call);
    let stat = PathBuf::from(format!("/proc/{child}/stat"));
    let is_gone = || fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
    until("its child is gone", is_gone).await;
    until("its code is gone", || !Path::new(file).exists()).await;
    stack.end().await;
}

#[tokio::test]
async fn long_output_is_cut_and_the_streams_have_a_limit_each() {
    let stack = new("exc.max_output_bytes = 5\n");
    let note = "[output cut: 2 bytes more than the limit of 5]\n";
    let response = bash(&stack, "echo 123456; echo ok >&2").await;
    assert_eq!(response, result(0, &format!("12345\n{note}"), "ok\n"));
    stack.end().await;
}

#[tokio::test]
async fn concurrency_is_limited_and_every_request_gets_a_turn() {
    let stack = new("exc.concurrency = 2\n");
    let directory = stack.path("running");
    fs::create_dir(&directory).unwrap();
    let code = format!(
        "touch {0}/$$; ls {0} | wc -l; sleep 0.1; rm {0}/$$",
        directory.display()
    );
    let one = || bash(&stack, &code);
    let responses = tokio::join!(one(), one(), one(), one(), one(), one());
    let (a, b, c, d, e, f) = responses;
    for response in [a, b, c, d, e, f] {
        let running: usize = response["stdout"].as_str().unwrap().trim().parse().unwrap();
        assert!(running <= 2, "{response}");
    }
    stack.end().await;
}

/// A tool whose checker is a script of this test.
fn with_validator(script: &str) -> Stack {
    let mut stack = Stack::new("http://127.0.0.1:1/v1", "");
    let checker = stack.path("checker");
    fs::write(&checker, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&checker, fs::Permissions::from_mode(0o755)).unwrap();
    let tools = stack.path("tools");
    fs::create_dir(&tools).unwrap();
    let meta = json!({ "meta": { "executor": "bash", "static_analysis": checker } });
    fs::write(tools.join("bash.json"), meta.to_string()).unwrap();
    stack.config.tools.dir = Some(tools);
    stack.with_executor()
}

#[tokio::test]
async fn a_failed_validation_is_reported_but_does_not_stop_the_code() {
    let stack = with_validator("echo; echo \"bad: $(cat \"$1\")\"; exit 1");
    let request = json!({ "type": "validate", "executor": "bash", "code": "echo ran" });
    let response = stack.ask(Executor, request).await;
    let expected = json!({ "type": "validation", "ok": false, "errors": "bad: echo ran" });
    assert_eq!(response, [expected]);
    assert_eq!(bash(&stack, "echo ran").await, result(0, "ran\n", ""));
    let capabilities = stack.ask(Executor, json!({ "type": "capabilities" })).await;
    assert_eq!(capabilities[0]["executors"]["bash"]["has_validator"], true);
    stack.end().await;
}

#[tokio::test]
async fn invalid_requests_and_missing_programs_get_a_response() {
    let mut stack = Stack::new("http://127.0.0.1:1/v1", "");
    let tools = stack.path("tools");
    fs::create_dir(&tools).unwrap();
    stack.config.tools.dir = Some(tools.clone());
    let service = ExecutorService::new(stack.config.clone(), log(Executor), None).unwrap();
    let service = std::sync::Arc::new(service);
    stack.serve(std::sync::Arc::clone(&service) as std::sync::Arc<_>);
    let response = stack
        .ask(Executor, json!({ "type": "execute", "code": "x" }))
        .await;
    // As in the original: a missing name is empty, and a number counts as a name.
    assert_eq!(response, [result(-1, "", "Unknown executor: ")]);
    let response = stack
        .ask(Executor, json!({ "type": "execute", "executor": 5 }))
        .await;
    assert_eq!(response, [result(-1, "", "Unknown executor: 5")]);
    let response = stack
        .ask(Executor, json!({ "type": "execute", "executor": ["x"] }))
        .await;
    let expected = json!({ "type": "error", "message": "executor must be a string" });
    assert_eq!(response, [expected]);
    let unknown = result(-1, "", "Unknown executor: bash");
    assert_eq!(bash(&stack, "true").await, unknown);
    fs::write(tools.join("bash.json"), "{}").unwrap();
    let nowhere = r#"{"meta": {"executor": "zino-nowhere"}}"#;
    fs::write(tools.join("nowhere.json"), nowhere).unwrap();
    service.reload().unwrap();
    assert_eq!(bash(&stack, "true").await, result(0, "", ""));
    let request = json!({ "type": "execute", "executor": "zino-nowhere", "code": "x" });
    let response = stack.ask(Executor, request).await.remove(0);
    assert_eq!(response["exit_code"], -1);
    let stderr = response["stderr"].as_str().unwrap();
    assert!(
        stderr.starts_with("cannot start zino-nowhere: "),
        "{stderr}"
    );
    stack.end().await;
}

#[tokio::test]
async fn a_sandbox_confines_programs() {
    let mut stack = Stack::new("http://127.0.0.1:1/v1", "exc.sandbox = true\n");
    let work = stack.path("work");
    fs::create_dir(&work).unwrap();
    let outside = stack.path("outside");
    fs::write(&outside, "secret").unwrap();
    stack.config.exc.working_dir = Some(work.clone());
    match ExecutorService::new(stack.config.clone(), log(Executor), None) {
        Err(ExecutorError::Sandbox(reason)) => {
            testkit::skip_without(testkit::KernelFeature::Landlock, &reason.to_string());
            return;
        }
        other => assert!(other.is_ok()),
    }
    let stack = stack.with_executor();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let code = format!(
        "echo in > inside && cat inside; mktemp > /dev/null && echo temporary; \
         cat {0} 2>/dev/null || echo unreadable; (echo x > {0}) 2>/dev/null; \
         (exec 3<>/dev/tcp/127.0.0.1/{1}) 2>/dev/null || echo unreachable",
        outside.display(),
        listener.local_addr().unwrap().port()
    );
    let response = bash(&stack, &code).await;
    let expected = "in\ntemporary\nunreadable\nunreachable\n";
    assert_eq!(response, result(0, expected, ""));
    assert_eq!(fs::read_to_string(work.join("inside")).unwrap(), "in\n");
    assert_eq!(fs::read_to_string(outside).unwrap(), "secret");
    stack.end().await;
}

#[tokio::test]
async fn an_invalid_configuration_is_rejected() {
    let mut stack = Stack::new("http://127.0.0.1:1/v1", "");
    stack.config.exc.timeout = -1.0;
    let refused = ExecutorService::new(stack.config.clone(), log(Executor), None);
    assert!(matches!(refused.err(), Some(ExecutorError::Timeout(_))));
    stack.config.exc.timeout = 1.0;
    stack.config.exc.working_dir = Some(PathBuf::from("/nowhere"));
    let refused = ExecutorService::new(stack.config.clone(), log(Executor), None);
    let error = refused.err().unwrap().to_string();
    assert!(error.contains("/nowhere"), "{error}");
}

#[test]
#[cfg(target_os = "linux")]
fn everything_a_program_starts_ends_with_the_call_and_with_the_service() {
    use testkit::process::{ORPHANS, living_orphans, orphans};
    if !["setsid", "bash", "python3"].into_iter().all(on_path) {
        testkit::skip("setsid, bash or python3 is not installed");
        return;
    }
    for (case, sandbox) in [false, true].into_iter().enumerate() {
        for (end, name) in ["hang-up", "SIGTERM", "SIGKILL", "over"]
            .into_iter()
            .enumerate()
        {
            let marker = format!("87{case}{end}.{}", std::process::id());
            let more = format!("exc.sandbox = {sandbox}\nexc.working_dir = \"work\"\n");
            let installation = Installation::new("http://127.0.0.1:1/v1", &more);
            fs::create_dir(installation.path("work")).unwrap();
            let mut process = installation.start(Executor);
            let wait = if name == "over" { "" } else { "sleep 300" };
            let code = format!("{}\n{wait}", orphans(&marker));
            let run = json!({ "type": "execute", "executor": "bash", "code": code });
            if name == "over" {
                assert_eq!(installation.ask_one(Executor, &run)["exit_code"], 0);
                assert_eq!(living_orphans(&marker), 0, "{name}, sandbox: {sandbox}");
                continue;
            }
            let call = installation.begin(Executor, &run);
            eventually("all processes run", || living_orphans(&marker) == ORPHANS);
            match name {
                "hang-up" => drop(call),
                "SIGTERM" => {
                    process.signal(testkit::Signal::TERM);
                    process.wait();
                }
                _ => {
                    process.signal(testkit::Signal::KILL);
                    process.wait();
                }
            }
            eventually(&format!("{name}, sandbox: {sandbox}"), || {
                living_orphans(&marker) == 0
            });
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_sandboxed_program_reaches_neither_the_service_nor_attributes_of_its_files() {
    if !on_path("python3") {
        testkit::skip("python3 is not installed");
        return;
    }
    let more = "exc.sandbox = true\nexc.working_dir = \"work\"\n";
    let installation = Installation::new("http://127.0.0.1:1/v1", more);
    fs::create_dir_all(installation.path("work")).unwrap();
    let beside = installation.path("beside");
    fs::write(&beside, "x").unwrap();
    let before = fs::metadata(&beside).unwrap().permissions().mode();
    let process = installation.start(Executor);
    let code = format!(
        "chmod 777 {0} 2>/dev/null; touch -d @1 {0} 2>/dev/null; \
         python3 -c 'import resource; resource.prlimit({1}, resource.RLIMIT_NOFILE, (3, 3))' \
         2>/dev/null && echo reached; kill -0 {1} 2>/dev/null && echo reached; \
         touch -d @1 mine && chmod 700 mine && stat -c '%a %Y' mine",
        beside.display(),
        process.id()
    );
    let run = json!({ "type": "execute", "executor": "bash", "code": code });
    assert_eq!(installation.ask_one(Executor, &run)["stdout"], "700 1\n");
    let after = fs::metadata(&beside).unwrap();
    assert_eq!(after.permissions().mode(), before);
    assert_ne!(
        after.modified().unwrap(),
        std::time::UNIX_EPOCH + Duration::from_secs(1)
    );
}
