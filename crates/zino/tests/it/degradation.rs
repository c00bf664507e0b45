//! Callers that hang up, many concurrent callers, and missing services.

use std::fs;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::process::is_running;
use testkit::{ModelServer, Wire};
use zino::kind::ServiceKind::{AgentLoop, Context, Daemon, Executor, Memory, Router, SystemPrompt};

use crate::installation::{BINARY, Installation, Process, eventually, frames, next_frame};

/// How long work may continue after its client has hung up, on a busy machine.
const CANCEL_TIME: Duration = Duration::from_secs(1);

/// Both ways to run everything.
fn stacks(model: &ModelServer) -> Vec<(Installation, Vec<Process>)> {
    let installation = || Installation::new(&model.url(Wire::OpenAi), "");
    let (separate, together) = (installation(), installation());
    let processes = separate.start_all_but(&[]);
    let process = together.up();
    vec![(separate, processes), (together, vec![process])]
}

fn history(installation: &Installation, channel: &str) -> Vec<Value> {
    let request = json!({ "type": "get_history", "channel_id": channel });
    let response = installation.ask_one(Memory, &request);
    response["messages"].as_array().unwrap().clone()
}

fn tool(code: &str) -> String {
    let call = json!({ "name": "execute_bash", "arguments": { "code": code } });
    format!("raw:<tool_call>{call}</tool_call>")
}

/// Waits, and returns how long that took.
fn timed(what: &str, holds: impl FnMut() -> bool) -> Duration {
    let began = Instant::now();
    eventually(what, holds);
    began.elapsed()
}

/// Measures up to three times: a busy machine may be slow once.
fn soon(what: &str, mut measure: impl FnMut() -> Duration) {
    let mut took = (0..3).map(|_| measure());
    let fastest = took.find(|took| *took < CANCEL_TIME);
    assert!(fastest.is_some(), "{what} takes more than {CANCEL_TIME:?}");
}

#[test]
fn a_client_that_hangs_up_ends_the_models_work() {
    let model = ModelServer::start();
    for (installation, _processes) in stacks(&model) {
        for (message, stream) in [("hang", false), ("hang", true), ("hangmid", true)] {
            let ask = json!({ "message": message, "channel_id": "c", "stream": stream });
            soon(&format!("{message} stream={stream}"), || {
                let mut client = installation.begin(Daemon, &ask);
                if message == "hangmid" {
                    next_frame(&mut client).unwrap();
                }
                eventually("the model works", || model.responses_in_progress() == 1);
                drop(client);
                timed("the model's connection is closed", || {
                    model.responses_in_progress() == 0
                })
            });
        }
        assert_eq!(history(&installation, "c"), Vec::<Value>::new());
    }
}

/// The same holds for a client that had closed its sending half before.
#[test]
fn a_half_closed_client_that_hangs_up_ends_the_models_work() {
    let model = ModelServer::start();
    for (installation, _processes) in stacks(&model) {
        soon("half-closed", || {
            let ask = json!({ "message": "hang", "stream": true });
            let client = installation.begin(Daemon, &ask);
            client.shutdown(Shutdown::Write).unwrap();
            eventually("the model works", || model.responses_in_progress() == 1);
            drop(client);
            timed("the model's connection is closed", || {
                model.responses_in_progress() == 0
            })
        });
    }
}

#[test]
fn a_client_that_hangs_up_ends_its_tools() {
    let model = ModelServer::start();
    for (installation, _processes) in stacks(&model) {
        for stream in [false, true] {
            let marker = installation.path("pids");
            let code = "sleep 60 & echo $$ $! end >pids; wait";
            let ask = json!({ "message": tool(code), "channel_id": "c", "stream": stream });
            soon(&format!("stream={stream}"), || {
                let _ = fs::remove_file(&marker);
                let client = installation.begin(Daemon, &ask);
                let mut pids = Vec::new();
                eventually("the program runs", || {
                    let text = fs::read_to_string(&marker).unwrap_or_default();
                    pids = text.split(' ').filter_map(|pid| pid.parse().ok()).collect();
                    text.ends_with("end\n")
                });
                assert_eq!(pids.len(), 2);
                drop(client);
                timed("the program is gone", || {
                    !pids.iter().any(|pid| is_running(*pid))
                })
            });
        }
        assert_eq!(history(&installation, "c"), Vec::<Value>::new());
    }
}

#[test]
fn many_concurrent_clients_all_get_a_response() {
    let model = ModelServer::start();
    for (installation, _processes) in stacks(&model) {
        let ask = |number: usize| {
            let stream = number.is_multiple_of(2);
            let message = json!({
                "message": "say:3", "channel_id": format!("c{}", number % 8), "stream": stream,
            });
            let response = installation.ask(Daemon, &message);
            let last = response.last().unwrap();
            let text = if stream {
                &last["full_text"]
            } else {
                &last["content"]
            };
            assert_eq!(text, "alpha beta gamm ", "{response:?}");
        };
        thread::scope(|scope| {
            for number in 0..64 {
                scope.spawn(move || ask(number));
            }
        });
        for channel in 0..8 {
            let stored = history(&installation, &format!("c{channel}"));
            assert_eq!(stored.len(), 16, "channel {channel}");
            let roles = stored
                .iter()
                .map(|message| message["role"].as_str().unwrap());
            assert_eq!(roles.collect::<Vec<_>>(), ["user", "assistant"].repeat(8));
        }
    }
}

#[test]
fn only_a_finished_exchange_is_remembered() {
    let model = ModelServer::start();
    for (installation, _processes) in stacks(&model) {
        for (message, stream) in [
            ("err:400:no", false),
            ("err:400:no", true),
            ("errmid", true),
        ] {
            let ask = json!({ "message": message, "channel_id": "c", "stream": stream });
            let response = installation.ask(Daemon, &ask);
            assert_eq!(
                response.last().unwrap()["type"],
                "error",
                "{message}: {response:?}"
            );
            assert_eq!(
                history(&installation, "c"),
                Vec::<Value>::new(),
                "{message}"
            );
        }
        // The exchange is stored once the client has the last frame, even if it hangs up right away.
        for turn in 1..20 {
            let ask = json!({ "message": "say:1", "channel_id": "c", "stream": true });
            let mut client = installation.begin(Daemon, &ask);
            while next_frame(&mut client).unwrap()["type"] != "done" {}
            drop(client);
            assert_eq!(history(&installation, "c").len(), 2 * turn);
        }
    }
}

/// The effect of each missing service, streamed and not, beyond the captures.
#[test]
fn a_missing_service_is_reported_or_its_part_left_out() {
    let model = ModelServer::start();
    let url = model.url(Wire::OpenAi);
    for missing in [AgentLoop, SystemPrompt, Context, Memory, Executor, Router] {
        let installation = Installation::new(&url, "");
        let mut processes = installation.start_all_but(&[missing]);
        for stream in [false, true] {
            let ask = json!({ "message": "say:2", "channel_id": "c", "stream": stream });
            let response = installation.ask(Daemon, &ask);
            let last = response.last().unwrap();
            if missing == Router {
                assert_eq!(response.len(), 1, "{response:?}");
                let expected = "Agentic runtime error: [Errno 2] No such file or directory";
                assert_eq!(last["message"], expected);
            } else {
                let text = if stream {
                    &last["full_text"]
                } else {
                    &last["content"]
                };
                assert_eq!(text, "alpha beta ", "{missing:?}: {response:?}");
            }
        }
        // Once it runs, everything works without restarting the others.
        processes.push(installation.start(missing));
        let code = tool("echo back");
        let response = installation.ask(Daemon, &json!({ "message": code, "stream": true }));
        assert_eq!(
            response.last().unwrap()["full_text"],
            "final answer",
            "{missing:?}: {response:?}"
        );
        assert!(
            response[0]["delta"].as_str().unwrap().contains("back"),
            "{missing:?}: {response:?}"
        );
    }
}

/// A stale socket is treated like no socket.
#[test]
fn a_dead_service_is_treated_as_missing() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let _processes = installation.start_all_but(&[AgentLoop, Memory]);
    for kind in [AgentLoop, Memory] {
        drop(UnixListener::bind(installation.socket(kind)).unwrap());
        assert!(UnixStream::connect(installation.socket(kind)).is_err());
    }
    let response = installation.ask(Daemon, &json!({ "message": "say:1", "channel_id": "c" }));
    assert_eq!(
        response,
        [json!({ "type": "response", "content": "alpha " })]
    );
}

/// A service that accepts requests and never responds is abandoned after its limit.
#[test]
fn a_stalled_service_is_treated_as_missing() {
    let model = ModelServer::start();
    let more = "wire.answer_timeout = 0.2\nwire.idle_timeout = 0.5\n";
    for stalled in [SystemPrompt, Context, Memory, AgentLoop] {
        let installation = Installation::new(&model.url(Wire::OpenAi), more);
        let processes = installation.start_all_but(&[stalled]);
        let _listener = UnixListener::bind(installation.socket(stalled)).unwrap();
        for stream in [false, true] {
            let ask = json!({ "message": "say:2", "channel_id": "c", "stream": stream });
            let response = installation.ask(Daemon, &ask);
            let last = response.last().unwrap();
            if stalled == AgentLoop {
                let expected = "agr dispatch error: no response within 0.5s";
                assert_eq!(last["message"], expected);
                continue;
            }
            let text = if stream {
                &last["full_text"]
            } else {
                &last["content"]
            };
            assert_eq!(text, "alpha beta ", "{stalled:?}: {response:?}");
            let sent = model.requests().pop().unwrap().body["messages"].clone();
            // The parts of the other services are present: the prompt and the examples of `ctx`.
            assert_eq!(sent[0]["role"] == "system", stalled != SystemPrompt);
            let has_examples = sent.as_array().unwrap().len() > 2;
            assert_eq!(has_examples, stalled != Context, "{stalled:?}: {sent}");
        }
        if stalled != AgentLoop {
            let message = processes.iter().map(Process::log).collect::<String>();
            assert!(message.contains("no response within 0.2s") || stalled == Context);
        }
    }
}

/// A client that does not read its response does not delay others.
#[test]
fn a_client_that_does_not_read_delays_nobody_else() {
    let model = ModelServer::start();
    for (installation, _processes) in stacks(&model) {
        let ask = json!({ "message": "say:60000", "stream": true });
        let slow = installation.begin(Daemon, &ask);
        for _ in 0..10 {
            let response = installation.ask(Daemon, &json!({ "message": "say:1" }));
            assert_eq!(response[0]["content"], "alpha ");
        }
        let response = frames(slow);
        assert_eq!(response.len(), 60_001);
    }
}

/// A caller of `exc` that hangs up while it waits for its turn is forgotten.
#[test]
fn a_waiting_caller_that_hangs_up_never_runs() {
    let installation = Installation::new("http://127.0.0.1:1/v1", "exc.concurrency = 1\n");
    let _process = installation.start(Executor);
    let run = |code: &str| json!({ "type": "execute", "executor": "bash", "code": code });
    let first = installation.begin(
        Executor,
        &run("touch first; while [ ! -e go ]; do sleep 0.01; done"),
    );
    eventually("the first runs", || installation.path("first").exists());
    drop(installation.begin(Executor, &run("touch second")));
    let third = installation.begin(Executor, &run("touch third"));
    fs::write(installation.path("go"), "").unwrap();
    assert_eq!(frames(first)[0]["exit_code"], 0);
    assert_eq!(frames(third)[0]["exit_code"], 0);
    assert!(!installation.path("second").exists());
}

/// With few descriptors, clients wait for their turn; no request fails and every exchange is stored.
#[test]
fn more_clients_than_descriptors() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "agr.max_iterations = 0\n");
    let mut command = installation.program(
        Path::new("/bin/sh"),
        &["-c", "ulimit -n 120; exec \"$0\" up"],
    );
    command.arg(BINARY);
    let process = installation.spawn(command, "few");
    eventually("it listens", || {
        UnixStream::connect(installation.socket(Daemon)).is_ok()
    });
    let ask = |number: usize| {
        let message = json!({ "message": "say:1", "channel_id": format!("c{number}") });
        let response = installation.ask(Daemon, &message);
        assert_eq!(
            response,
            [json!({ "type": "response", "content": "alpha " })]
        );
    };
    thread::scope(|scope| {
        for number in 0..200 {
            scope.spawn(move || ask(number));
        }
    });
    let log = process.log();
    assert!(!log.contains("WARNING") && !log.contains("ERROR"), "{log}");
    for number in 0..200 {
        assert_eq!(history(&installation, &format!("c{number}")).len(), 2);
    }
}

/// A message too long for the next service yields the error of that service.
#[test]
fn a_message_too_long_for_the_next_service() {
    let model = ModelServer::start();
    for limit in [2000, 400_000] {
        let more = format!("wire.max_frame_bytes = {limit}\n");
        let installation = Installation::new(&model.url(Wire::OpenAi), &more);
        let _processes = installation.start_all_but(&[]);
        let message = "x".repeat(limit - 100);
        for stream in [false, true] {
            let ask = json!({ "message": message, "channel_id": "c", "stream": stream });
            let response = installation.ask(Daemon, &ask);
            assert_eq!(response.len(), 1, "{response:?}");
            let message = response[0]["message"].as_str().unwrap();
            let expected = format!("bytes is too long: the limit is {limit}");
            assert!(message.contains(&expected), "{message}");
        }
        assert_eq!(history(&installation, "c"), Vec::<Value>::new());
    }
}
