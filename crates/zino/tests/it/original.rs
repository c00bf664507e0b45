//! Our services in place of an installed original, with nothing else changed.

use std::fs;
use std::io::Write as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{ModelServer, Reply, Wire};
use zino::kind::ServiceKind::{AgentLoop, Context, Daemon, Executor, Memory, Router, SystemPrompt};

use crate::installation::{Installation, eventually, next_frame, text, with_length};

const UNREACHABLE: &str = "http://127.0.0.1:1/v1";

fn infer(stream: impl Into<Value>) -> Value {
    json!({
        "type": "infer", "messages": [{ "role": "user", "content": "say:2" }],
        "stream": stream.into(),
    })
}

#[test]
fn a_reload_keeps_the_soft_memory() {
    let installation = Installation::new(UNREACHABLE, "");
    let process = installation.start(SystemPrompt);
    let ask = |request: Value| {
        let response = installation.ask_one(SystemPrompt, &request);
        response["content"].as_str().unwrap().to_owned()
    };
    assert!(ask(json!({ "type": "reload" })).contains("initial note"));
    ask(json!({ "type": "set_soft_memory", "content": "the new note" }));
    fs::write(installation.path("SYSTEM.md"), "changed: %%SOFT_MEMORIES%%").unwrap();
    assert_eq!(ask(json!({ "type": "reload" })), "changed: the new note");
    assert_eq!(ask(json!({ "type": "get" })), "changed: the new note");
    // SIGHUP has the same effect.
    fs::write(installation.path("SYSTEM.md"), "again: %%SOFT_MEMORIES%%").unwrap();
    process.signal(Signal::HUP);
    eventually("the template is read again", || {
        ask(json!({ "type": "get" })) == "again: the new note"
    });
    // A template that cannot be rendered changes nothing.
    fs::remove_file(installation.path("SYSTEM.md")).unwrap();
    let set = json!({ "type": "set_soft_memory", "content": "lost" });
    assert_eq!(installation.ask_one(SystemPrompt, &set)["type"], "error");
    fs::write(installation.path("SYSTEM.md"), "%%SOFT_MEMORIES%%").unwrap();
    assert_eq!(ask(json!({ "type": "reload" })), "the new note");
    // An empty soft memory is kept, too.
    ask(json!({ "type": "set_soft_memory", "content": "" }));
    assert_eq!(ask(json!({ "type": "reload" })), "");
}

#[test]
fn errors_of_the_model_name_the_router() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let _processes = installation.start_all_but(&[]);
    for (stream, source) in [(false, "rtr error"), (true, "rtr stream error")] {
        let message = format!("Agentic runtime error: {source}: Error code: 401 - no");
        let expected = [json!({ "type": "error", "message": message })];
        let ask = json!({ "message": "err:401:no", "stream": stream });
        assert_eq!(installation.ask(Daemon, &ask), expected);
        let run = json!({
            "type": "run", "stream": stream,
            "messages": [{ "role": "user", "content": "err:401:no" }],
        });
        assert_eq!(installation.ask(AgentLoop, &run), expected);
    }
    // A skill does not stream, and the model reads the error.
    let task = "raw:<task>{\"skill\": \"bash\", \"request\": \"err:401:no\"}</task>";
    let run = json!({
        "type": "run", "stream": true, "messages": [{ "role": "user", "content": task }],
    });
    let frames = installation.ask(AgentLoop, &run);
    let expected = "\n<task_response>\nSkill pipeline error: rtr error: Error code: 401 - no\n\
                    </task_response>\n";
    assert_eq!(frames[0]["delta"], expected, "{frames:?}");
}

/// On every wire and in every mode.
#[test]
fn without_streaming_no_server_is_asked_for_a_stream() {
    for (provider, wire) in [
        (None, Wire::OpenAi),
        (Some("ollama"), Wire::OpenAi),
        (Some("anthropic"), Wire::Anthropic),
        (Some("openai-responses"), Wire::OpenAiResponses),
        (Some("gemini"), Wire::Gemini),
    ] {
        let model = ModelServer::start();
        let provider = provider.map(|name| format!("api.provider = \"{name}\"\n"));
        let more = format!("rtr.streaming = false\n{}", provider.unwrap_or_default());
        let installation = Installation::new(&model.url(wire), &more);
        let _process = installation.up();
        let capabilities = installation.ask_one(Router, &json!({ "type": "capabilities" }));
        assert_eq!(capabilities["streaming"], false);
        let response = json!({ "type": "response", "content": "alpha beta " });
        for stream in [false, true] {
            assert_eq!(installation.ask_one(Router, &infer(stream)), response);
        }
        let ask = json!({ "message": "say:2" });
        assert_eq!(installation.ask(Daemon, &ask), [response]);
        // A client that asks for a stream gets one chunk.
        let frames = installation.ask(Daemon, &json!({ "message": "say:2", "stream": true }));
        let expected = [
            json!({ "type": "chunk", "delta": "alpha beta " }),
            json!({ "type": "done", "full_text": "alpha beta ", "iterations": 1 }),
        ];
        assert_eq!(frames, expected);
        let requests = model.requests();
        assert_eq!(requests.len(), 4);
        for request in requests {
            assert_ne!(
                request.body.get("stream"),
                Some(&json!(true)),
                "{request:?}"
            );
            assert_eq!(request.body.get("stream_options"), None);
            assert!(!request.path.contains("stream"), "{request:?}");
            assert_eq!(request.body.get("stream").is_some(), wire != Wire::Gemini);
        }
    }
}

/// As in the original, the model streams only when a stream is requested.
#[test]
fn only_streamed_requests_stream_from_the_model() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let _process = installation.start(Router);
    for stream in [false, true] {
        installation.ask(Router, &infer(stream));
        assert_eq!(model.requests().pop().unwrap().body["stream"], stream);
    }
}

/// Servers that stream unasked, or whose responses lack fields.
#[test]
fn whole_responses_of_unusual_servers() {
    let cases = [
        (
            Reply::event_stream(
                "data: {\"choices\":[{\"delta\":{\"content\":\"streamed\"},\"finish_reason\":\"stop\"}]}\n\n\
                 data: [DONE]\n\n",
            ),
            json!({ "type": "response", "content": "streamed" }),
        ),
        (
            Reply::status(200, r#"{"choices":[{"message":{"content":"no reason"}}]}"#),
            json!({ "type": "response", "content": "no reason" }),
        ),
    ];
    for (reply, expected) in cases {
        let model = ModelServer::with_script([reply]);
        let installation = Installation::new(&model.url(Wire::OpenAi), "rtr.streaming = false\n");
        let _process = installation.start(Router);
        assert_eq!(installation.ask(Router, &infer(true)), [expected]);
    }
    for body in ["{}", "not JSON", r#"{"error":{"message":"overloaded"}}"#] {
        let model = ModelServer::with_script(vec![Reply::status(200, body); 4]);
        let installation = Installation::new(&model.url(Wire::OpenAi), "rtr.streaming = false\n");
        let _process = installation.start(Router);
        let frames = installation.ask(Router, &infer(false));
        assert_eq!(frames[0]["type"], "error", "{body}: {frames:?}");
    }
}

#[test]
fn numbers_are_converted_as_in_python() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let _processes = installation.start_all_but(&[]);
    let messages = json!([{ "role": "user", "content": "say:1" }]);
    let mut request = infer(false);
    for (given, sent) in [
        (json!("0.5"), 0.5),
        (json!(" 1e-1 "), 0.1),
        (json!(true), 1.0),
        (json!(1), 1.0),
    ] {
        request["temperature"] = given.clone();
        request["top_p"] = given.clone();
        assert_eq!(installation.ask_one(Router, &request)["type"], "response");
        let run =
            json!({ "type": "run", "messages": messages, "temperature": given, "top_p": given });
        assert_eq!(installation.ask_one(AgentLoop, &run)["type"], "result");
        for body in model
            .requests()
            .into_iter()
            .rev()
            .take(2)
            .map(|sent| sent.body)
        {
            assert_eq!(body["temperature"], sent);
            assert_eq!(body["top_p"], sent);
        }
    }
}

#[test]
fn truthiness_is_that_of_python() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let _processes = installation.start_all_but(&[]);
    let messages = json!([{ "role": "user", "content": "say:1" }]);
    for (stream, last) in [
        (json!("yes"), "done"),
        (json!("false"), "done"),
        (json!([0]), "done"),
        (json!(-1), "done"),
        (json!(""), "re"),
        (json!([]), "re"),
        (json!({}), "re"),
    ] {
        for (kind, request) in [
            (Daemon, json!({ "message": "say:1", "stream": stream })),
            (Router, infer(stream.clone())),
            (
                AgentLoop,
                json!({ "type": "run", "messages": messages, "stream": stream }),
            ),
        ] {
            let frames = installation.ask(kind, &request);
            let found = frames.last().unwrap()["type"].as_str().unwrap();
            assert!(found.starts_with(last), "{kind:?} {stream}: {frames:?}");
        }
    }
}

#[test]
fn iteration_counts_are_converted_as_in_python() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let _processes = installation.start_all_but(&[]);
    let looping = "rawloop:99:go <tool_call>{\"name\": \"execute_bash\", \"arguments\": \
                   {\"code\": \"true\"}}</tool_call>";
    for (given, expected) in [(json!("2"), 2), (json!(1.9), 1), (json!(true), 1)] {
        let run = json!({
            "type": "run", "messages": [{ "role": "user", "content": looping }],
            "max_iterations": given,
        });
        assert_eq!(
            installation.ask_one(AgentLoop, &run)["iterations"],
            expected
        );
    }
}

#[test]
fn history_limits_and_channels_are_converted_as_in_python() {
    let installation = Installation::new(UNREACHABLE, "");
    let _process = installation.start(Memory);
    let user_message = |content: &str| json!({ "role": "user", "content": content });
    let append = json!({
        "type": "append_history", "channel_id": "c", "messages": [user_message("1"), user_message("2"), user_message("3")],
    });
    installation.ask_one(Memory, &append);
    for (limit, expected) in [
        (json!("2"), 2),
        (json!(2.9), 2),
        (json!(true), 1),
        (json!("0"), 3),
        (json!("-1"), 3),
        (json!("1_0"), 3),
    ] {
        let get = json!({ "type": "get_history", "channel_id": "c", "limit": limit });
        let history = installation.ask_one(Memory, &get);
        assert_eq!(
            history["messages"].as_array().unwrap().len(),
            expected,
            "{limit}"
        );
    }
    for nothing in [json!(0), json!(false), json!([]), json!({})] {
        let get = json!({ "type": "get_history", "channel_id": nothing });
        assert_eq!(
            installation.ask_one(Memory, &get)["message"],
            "channel_id required"
        );
    }
}

#[test]
fn memory_tags_and_counts_are_converted_as_in_python() {
    let installation = Installation::new(UNREACHABLE, "");
    let _process = installation.start(Memory);
    let user_message = |content: &str| json!({ "role": "user", "content": content });
    for tag in [json!(2026), json!(false), json!("key")] {
        let store = json!({ "type": "store_hard", "messages": [user_message("key")], "tag": tag });
        assert_eq!(installation.ask_one(Memory, &store)["type"], "ok");
    }
    let found = |query: &str, top: Value| {
        let search = json!({ "type": "search_hard", "query": query, "top_k": top });
        let found = installation.ask_one(Memory, &search);
        found["results"].as_array().unwrap().len()
    };
    assert_eq!(found("2026", json!("3")), 1);
    assert_eq!(found("key 2026", json!("1")), 1);
    assert_eq!(found("key 2026", json!(true)), 1);
}

#[test]
fn a_number_as_a_channel_becomes_its_name() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let _processes = installation.start_all_but(&[]);
    // A numeric channel has a history; other values are treated as no channel.
    for channel in [
        json!(-100_123),
        json!([1]),
        json!(true),
        json!(0),
        json!({ "a": 1 }),
    ] {
        let ask = json!({ "message": "say:1", "channel_id": channel });
        assert_eq!(installation.ask_one(Daemon, &ask)["type"], "response");
        let build = json!({ "type": "build", "user_message": "", "channel_id": channel });
        let context = installation.ask_one(Context, &build);
        let messages = context["messages"].as_array().unwrap();
        let remembered = messages.iter().any(|message| message["content"] == "say:1");
        assert_eq!(
            remembered,
            channel.is_number() && channel != json!(0),
            "{channel}"
        );
    }
}

#[test]
fn missing_code_is_empty() {
    let installation = Installation::new(UNREACHABLE, "");
    let _process = installation.start(Executor);
    let execute = json!({ "type": "execute", "executor": "bash" });
    let expected = json!({ "type": "result", "exit_code": 0, "stdout": "", "stderr": "" });
    assert_eq!(installation.ask_one(Executor, &execute), expected);
}

/// Covers the values of the configuration that have an effect.
#[test]
fn the_configuration_is_converted_as_in_python() {
    let model = ModelServer::start();
    let more = "agent.temperature = \"0.25\"\nagent.top_p = true\nagent.max_iterations = \"a few\"\n\
                agr.max_iterations = \"2\"\nrtr.streaming = \"\"\nctx.history_limit = \"2\"\n\
                ctx.hard_memory_top_k = 1.0\n";
    let installation = Installation::new(&model.url(Wire::OpenAi), more);
    let _processes = installation.start_all_but(&[]);
    for _ in 0..2 {
        installation.ask(
            Daemon,
            &json!({ "message": "say:1", "channel_id": "c", "stream": true }),
        );
    }
    installation.ask(Daemon, &json!({ "message": "say:1", "channel_id": "c" }));
    let body = model.requests().pop().unwrap().body;
    assert_eq!(body["stream"], false);
    assert_eq!(body["temperature"], 0.25);
    assert_eq!(body["top_p"], 1.0);
    let messages = body["messages"].as_array().unwrap();
    let user_message = messages
        .iter()
        .filter(|message| message["content"] == "say:1");
    assert_eq!(user_message.count(), 2);
    let prompt = messages[0]["content"].as_str().unwrap();
    assert!(prompt.contains("At most a few calls."), "{prompt}");
    let looping = "rawloop:99:go <tool_call>{\"name\": \"execute_bash\", \"arguments\": \
                   {\"code\": \"true\"}}</tool_call>";
    let before = model.requests().len();
    installation.ask(Daemon, &json!({ "message": looping }));
    assert_eq!(model.requests().len() - before, 2);
}

/// An installation whose configuration is in `etc` and holds no key.
struct WithoutKey {
    model: ModelServer,
    installation: Installation,
}

impl WithoutKey {
    fn new() -> Self {
        let model = ModelServer::start();
        let installation = Installation::new(&model.url(Wire::OpenAi), "");
        fs::create_dir(installation.path("etc")).unwrap();
        let config = fs::read_to_string(installation.path("ZINO.toml")).unwrap();
        let config = config.replace("api.key = \"x\"\n", "");
        fs::write(installation.path("etc/ZINO.toml"), config).unwrap();
        Self {
            model,
            installation,
        }
    }

    /// `zino` with this key in its environment.
    fn command(&self, argument: &str, key: Option<&str>) -> Command {
        let mut command = self.installation.command(&[argument]);
        command
            .args(["-c", "etc/ZINO.toml"])
            .env_remove("LLM_API_KEY");
        if let Some(key) = key {
            command.env("LLM_API_KEY", key);
        }
        command
    }

    /// Returns the key that the model server receives, and the log.
    fn sent_key(&self, key: Option<&str>) -> (Option<String>, String) {
        let mut process = self.installation.spawn(self.command("up", key), "up");
        eventually("it responds", || {
            let mut status = self.command("status", None);
            status.output().unwrap().status.success()
        });
        self.installation.ask(Router, &infer(false));
        // Only rtr has the variables, even within one process.
        let run = json!({
            "type": "execute", "executor": "bash",
            "code": "env; cat /proc/$PPID/environ 2>/dev/null",
        });
        let printed = self.installation.ask_one(Executor, &run)["stdout"].to_string();
        assert!(
            !printed.contains("from-file") && !printed.contains("OTHER"),
            "{printed}"
        );
        process.signal(Signal::TERM);
        process.wait();
        let mut headers = self.model.requests().pop().unwrap().headers;
        (headers.remove("authorization"), process.log())
    }

    fn check(&self, key: Option<&str>) -> String {
        let output: Output = self.command("check", key).output().unwrap();
        text(&output.stdout).to_owned()
    }
}

fn bearer(key: &str) -> Option<String> {
    Some(format!("Bearer {key}"))
}

#[test]
fn the_key_may_be_in_a_file_beside_the_configuration() {
    let zino = WithoutKey::new();
    let file = zino.installation.path("etc/.env");
    fs::write(
        &file,
        "# keys\nexport LLM_API_KEY='from-file' # the key\nOTHER=1\n",
    )
    .unwrap();
    assert_eq!(zino.sent_key(None).0, bearer("from-file"));
    assert_eq!(
        zino.sent_key(Some("from-process")).0,
        bearer("from-process")
    );
    let found = zino.check(None);
    assert!(
        found.contains("ok   .env     etc/.env: LLM_API_KEY\n"),
        "{found}"
    );
    assert!(
        !found.contains("no key:") && !found.contains("from-file"),
        "{found}"
    );
    let found = zino.check(Some("x"));
    assert!(
        found.contains("etc/.env: no key that is not already set"),
        "{found}"
    );
}

#[test]
fn an_invalid_line_is_reported_and_the_rest_is_used() {
    let zino = WithoutKey::new();
    let file = zino.installation.path("etc/.env");
    fs::write(&file, "LLM_API_KEY=still\nwhat is this\n").unwrap();
    let (key, log) = zino.sent_key(None);
    assert_eq!(key, bearer("still"));
    let errors = "etc/.env line 2 is ignored: expected NAME=VALUE";
    assert!(
        log.contains(&format!("WARNING zino.rtr: {errors}")),
        "{log}"
    );
    assert!(
        zino.check(None)
            .contains(&format!("warn .env     {errors}\n"))
    );
    fs::write(&file, b"LLM_API_KEY=\xff\n").unwrap();
    let (key, log) = zino.sent_key(None);
    assert_eq!(key, None);
    assert!(
        log.contains("WARNING zino.rtr: ignoring etc/.env: not valid UTF-8"),
        "{log}"
    );
    assert!(zino.check(None).contains("no key: set [api] key"));
}

/// Where an installation of the original has it; the file beside the configuration comes first.
#[test]
fn the_key_may_be_in_a_file_where_the_process_was_started() {
    let zino = WithoutKey::new();
    let here = zino.installation.path(".env");
    fs::write(here, "LLM_API_KEY=\"started here\"\n").unwrap();
    assert_eq!(zino.sent_key(None).0, bearer("started here"));
    let beside = zino.installation.path("etc/.env");
    fs::write(beside, "LLM_API_KEY=beside\n").unwrap();
    assert_eq!(zino.sent_key(None).0, bearer("beside"));
}

/// Starts a daemon that sends `frames` to the next caller and returns the request.
fn scripted_daemon(installation: &Installation, frames: &[Value]) -> thread::JoinHandle<Value> {
    fs::create_dir_all(installation.path("run")).unwrap();
    let _ = fs::remove_file(installation.socket(Daemon));
    let listener = UnixListener::bind(installation.socket(Daemon)).unwrap();
    let frames: Vec<u8> = frames
        .iter()
        .flat_map(|frame| with_length(frame.to_string().as_bytes()))
        .collect();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let request = next_frame(&mut stream).unwrap();
        stream.write_all(&frames).unwrap();
        request
    })
}

#[test]
fn the_client_prints_what_the_original_prints() {
    let installation = Installation::new(UNREACHABLE, "");
    let chunk = |delta: &str| json!({ "type": "chunk", "delta": delta });
    let done = json!({ "type": "done", "full_text": "x" });
    let error = json!({ "type": "error", "message": "not today" });
    let response = |content: &str| json!({ "type": "response", "content": content });
    let cases: [(bool, &[Value], i32, &str, &str); 9] = [
        (false, &[response("hello")], 0, "hello\n", ""),
        (false, &[response("line\n")], 0, "line\n\n", ""),
        (false, &[response("")], 0, "\n", ""),
        (
            false,
            &[json!({ "type": "error", "message": "not today" })],
            1,
            "",
            "Error: not today\n",
        ),
        (
            false,
            &[json!({ "type": "odd" })],
            1,
            "",
            "Unexpected: {\"type\":\"odd\"}\n",
        ),
        (
            true,
            &[chunk("a"), chunk("b\n"), done.clone()],
            0,
            "ab\n\n",
            "",
        ),
        (true, &[done], 0, "\n", ""),
        (true, &[chunk("a"), error], 1, "a", "\nError: not today\n"),
        (
            true,
            &[chunk("a"), json!({ "type": "odd" })],
            1,
            "a",
            "\nUnknown packet: {\"type\":\"odd\"}\n",
        ),
    ];
    for (stream, frames, code, printed, errors) in cases {
        let daemon = scripted_daemon(&installation, frames);
        let mut arguments = vec!["cli", "-n", "hello", "there"];
        arguments.extend(stream.then_some("-s"));
        let output = installation.run(&arguments);
        let request = daemon.join().unwrap();
        assert_eq!(
            request,
            json!({ "message": "hello there", "stream": stream })
        );
        assert_eq!(text(&output.stdout), printed, "{frames:?}");
        assert_eq!(text(&output.stderr), errors, "{frames:?}");
        assert_eq!(output.status.code(), Some(code), "{frames:?}");
    }
    // An empty channel counts as none.
    let daemon = scripted_daemon(&installation, &[response("x")]);
    installation.run(&["cli", "-n", "-ch", "", "hello"]);
    assert_eq!(daemon.join().unwrap().get("channel_id"), None);
}

/// Without a configuration, the client uses the default socket and says so in its error.
#[test]
fn the_client_needs_no_configuration() {
    let installation = Installation::new(UNREACHABLE, "");
    let output = installation.run(&["cli", "-n", "-c", "nowhere.toml", "hello"]);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    for expected in [
        "cannot reach the daemon",
        "nowhere.toml",
        "/run/zino/daemon.sock",
    ] {
        assert!(errors.contains(expected), "{errors}");
    }
}

/// With `-n`, the lines of standard input stay for the shell loop.
#[test]
fn the_client_does_not_read_standard_input_with_n() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let _process = installation.up();
    fs::write(installation.path("lines"), "say:1\nsay:2\nsay:3\n").unwrap();
    let script = r#"while read -r line; do "$ZINO" cli -n "$line"; done < lines"#;
    let mut shell: Command = installation.program("bash".as_ref(), &["-c", script]);
    let output = shell
        .env("ZINO", crate::installation::BINARY)
        .output()
        .unwrap();
    assert_eq!(
        text(&output.stdout),
        "alpha \nalpha beta \nalpha beta gamm \n"
    );
}

/// The layout of the original's installer, started as the packaged units start it: with the lines of
/// `original.conf`, below another root.
#[test]
fn an_installed_original_can_be_replaced() {
    let units = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd");
    let setting = |file: &str, name: &str| {
        let text = fs::read_to_string(units.join(file)).unwrap();
        let lines = text.lines().filter_map(|line| line.strip_prefix(name));
        lines.map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    for unit in ["zino.service", "zino-rtr.service"] {
        let files = setting(unit, "EnvironmentFile=-");
        assert!(files.contains(&"/etc/zino/env".to_owned()), "{files:?}");
    }
    let [directory] = &setting("original.conf", "WorkingDirectory=")[..] else {
        panic!("one directory");
    };
    let [config] = &setting("original.conf", "Environment=ZINO_CONFIG=")[..] else {
        panic!("one configuration");
    };

    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let below = |path: &str| installation.path(path.trim_start_matches('/'));
    fs::create_dir_all(below(directory)).unwrap();
    fs::create_dir_all(below(config).parent().unwrap()).unwrap();
    for name in ["SYSTEM.md", "tools", "skills"] {
        fs::rename(installation.path(name), below(directory).join(name)).unwrap();
    }
    let root = installation.path("");
    let text = fs::read_to_string(installation.path("ZINO.toml")).unwrap();
    let text = text.replace("\"run/", &format!("\"{}run/", root.display()));
    let text = text.replace("api.key = \"x\"\n", "");
    let data = root.join("var/lib/zino/mem");
    fs::write(
        below(config),
        format!("{text}mem.data_dir = \"{}\"\n", data.display()),
    )
    .unwrap();
    fs::write(
        below(config).with_file_name(".env"),
        "LLM_API_KEY=sk-original\n",
    )
    .unwrap();
    let mut command = installation.command(&["up"]);
    command
        .current_dir(below(directory))
        .env_remove("LLM_API_KEY")
        .env("ZINO_CONFIG", below(config));
    let process = installation.spawn(command, "up");
    eventually("it listens", || installation.socket(Daemon).exists());
    let call = "raw:<tool_call>{\"name\": \"execute_bash\", \"arguments\": \
                {\"code\": \"pwd\"}}</tool_call>";
    let ask = json!({ "message": call, "channel_id": "c" });
    let mut response = Vec::new();
    eventually("it responds", || {
        response = match UnixStream::connect(installation.socket(Daemon)) {
            Ok(_) => installation.ask(Daemon, &ask),
            Err(_) => return false,
        };
        true
    });
    let expected = json!({ "type": "response", "content": "final answer" });
    assert_eq!(response, [expected], "{}", process.log());
    let last = model.requests().pop().unwrap();
    assert_eq!(last.headers["authorization"], "Bearer sk-original");
    assert!(last.body.to_string().contains(directory.as_str()));
    assert!(data.join("channels/c.json").exists());
}
