//! Recording a run and replaying it: the output is the same except for times.

mod cassette_command;
mod example;
mod secrets;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{Finished, IMAGE_BASE64, ModelServer, Wire, Workdir, Zot, ZotCommand};

use crate::support::{binary, of_kind};

/// The source of a recording.
#[derive(Debug, Clone, Copy)]
enum Source {
    Wire(Wire),
    Offline,
}

const WIRES: [Source; 2] = [Source::Wire(Wire::OpenAi), Source::Wire(Wire::Anthropic)];

/// The directory of one run; each has its own, so that tools find the same files again.
struct Project {
    workdir: Workdir,
    /// The cassettes of a test outlive its runs.
    cassettes: PathBuf,
}

impl Project {
    fn new(shelf: &Workdir) -> Self {
        Self {
            workdir: Workdir::with_files("work"),
            cassettes: shelf.path(),
        }
    }

    fn cassette(&self) -> PathBuf {
        self.cassettes.join("run.cassette")
    }

    fn command(&self, mode: &[&str]) -> ZotCommand {
        ZotCommand::new(binary(), &self.workdir).arguments(mode)
    }

    fn recording(&self, mode: &[&str], source: Source, server: &ModelServer) -> ZotCommand {
        let command = self.command(mode);
        let command = match source {
            Source::Wire(wire) => command.model(server, wire),
            Source::Offline => command.arguments(["--provider", "offline"]),
        };
        command.argument("--record").argument(self.cassette())
    }

    fn replaying(&self, mode: &[&str]) -> ZotCommand {
        self.command(mode)
            .arguments(["--provider", "replay", "--cassette"])
            .argument(self.cassette())
    }

    /// Returns a line of output without times, durations and the working directory.
    fn timeless(&self, line: &str) -> String {
        let path = self.workdir.path().display().to_string();
        let line = mask(line, "\"time\":\"", '"');
        let line = mask(&line, "Took ", 's');
        mask(&line, "full output: ", ']').replace(&path, "<cwd>")
    }

    /// Returns the comparable output. When an abort is acknowledged depends on the client, and how
    /// the output of a command is split depends on the system.
    fn timeless_lines(&self, zot: &Zot) -> Vec<String> {
        let mut lines = zot.lines();
        lines.retain(|line| {
            !line.contains("\"command\":\"abort\"")
                && !line.starts_with("{\"type\":\"tool_progress\"")
        });
        lines.iter().map(|line| self.timeless(line)).collect()
    }
}

/// Removes the text between `before` and the next `after`.
fn mask(text: &str, before: &str, after: char) -> String {
    let mut pieces = text.split(before);
    let mut masked = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        masked.push_str(before);
        masked.push_str(&piece[piece.find(after).unwrap_or(0)..]);
    }
    masked
}

/// Records a conversation over `zot rpc`, replays it, and compares the output.
fn same_again(source: Source, script: fn(&mut Zot)) {
    same_again_with(source, &[], script);
}

fn same_again_with(source: Source, flags: &[&str], script: fn(&mut Zot)) {
    let (shelf, server) = (Workdir::new("shelf"), ModelServer::start());
    let project = Project::new(&shelf);
    let mut zot = project.recording(&["rpc"], source, &server).spawn();
    script(&mut zot);
    let recorded = project.timeless_lines(&zot);
    let recorded_state = state(&mut zot);
    assert_eq!(zot.finish().code, Some(0));
    drop(server);

    let project = Project::new(&shelf);
    let mut zot = project.replaying(&["rpc"]).arguments(flags).spawn();
    script(&mut zot);
    let replayed = project.timeless_lines(&zot);
    for (recorded, replayed) in recorded.iter().zip(&replayed) {
        assert_eq!(recorded, replayed, "{source:?}");
    }
    assert_eq!(recorded.len(), replayed.len(), "{source:?}");
    let state = state(&mut zot);
    assert_eq!(state["provider"], "replay");
    for field in ["model", "message_count", "usage"] {
        assert_eq!(state[field], recorded_state[field], "{source:?} {field}");
    }
    assert_eq!(zot.finish().code, Some(0));
}

fn state(zot: &mut Zot) -> Value {
    zot.call(json!({"id": "state", "type": "get_state"}))["data"].clone()
}

fn turns(zot: &mut Zot, prompts: &[&str]) {
    for (index, prompt) in prompts.iter().enumerate() {
        zot.turn(&index.to_string(), prompt);
    }
}

#[test]
fn text() {
    for source in WIRES {
        same_again(source, |zot| {
            turns(
                zot,
                &[
                    "say:5",
                    "utf8",
                    "think:hm, well:say:2",
                    "length",
                    "empty",
                    "say:300",
                ],
            );
        });
    }
    same_again(Source::Offline, |zot| {
        turns(zot, &["hello", "who are you?"])
    });
}

#[test]
fn tools() {
    for source in WIRES {
        same_again(source, |zot| {
            turns(
                zot,
                &[
                    r#"tool:read:{"path":"a.txt"}"#,
                    r#"texttool:bash:{"command":"echo hi; pwd"}"#,
                    r#"loop:3:bash:{"command":"seq 3000"}"#,
                    r#"tool:write:{"path":"new.txt","content":"x"}"#,
                    r#"tool:read:{"path":"missing.txt"}"#,
                    "badargs:read:{oh",
                    "noargs:read",
                    r#"tool:nosuch:{"a":1}"#,
                ],
            );
        });
    }
    same_again(Source::Offline, |zot| {
        turns(zot, &["list the files", "read a.txt", "run `echo hi`"]);
    });
}

#[test]
fn parallel_tools() {
    for source in WIRES {
        same_again(source, |zot| {
            turns(
                zot,
                &[
                    r#"multi:[{"name":"read","args":{"path":"a.txt"}},{"name":"read","args":{"path":"long.txt"}},{"name":"read","args":{"path":"nonl.txt"}}]"#,
                    r#"multi:[{"name":"write","args":{"path":"b","content":"1"}},{"name":"read","args":{"path":"b"}},{"name":"bash","args":{"command":"cat b"}}]"#,
                ],
            );
        });
    }
    same_again(Source::Offline, |zot| {
        turns(zot, &["read a.txt and count the lines in long.txt"]);
    });
}

#[test]
fn images() {
    for source in WIRES {
        same_again(source, |zot| {
            zot.send(json!({
                "id": "1", "type": "prompt", "message": "say:1",
                "images": [{"mime_type": "image/png", "data": IMAGE_BASE64}],
            }));
            zot.event("done");
            turns(zot, &[r#"tool:read:{"path":"pic.png"}"#, "say:1"]);
        });
    }
}

#[test]
fn aborts() {
    fn abort_after(zot: &mut Zot, prompt: &str, kind: &str) {
        zot.prompt("1", prompt);
        zot.event(kind);
        zot.send(json!({"id": "a", "type": "abort"}));
        zot.event("done");
    }
    for source in WIRES {
        same_again(source, |zot| {
            abort_after(zot, "hang", "turn_start");
            abort_after(zot, "hangmid", "text_delta");
            abort_after(zot, "slow:500:20", "text_delta");
            let arguments = "x".repeat(2000);
            let call = format!("slowtool:20:bash:{{\"command\":\"echo {arguments}\"}}");
            abort_after(zot, &call, "tool_use_args");
            abort_after(
                zot,
                r#"tool:bash:{"command":"echo start; sleep 300"}"#,
                "tool_progress",
            );
            turns(zot, &["say:2"]);
        });
    }
}

#[test]
fn errors() {
    for source in WIRES {
        same_again(source, |zot| {
            turns(
                zot,
                &[
                    "err:401:bad key",
                    "err:429:slow down",
                    "errthen:503:1",
                    "cut",
                    "errmid",
                    "say:1",
                ],
            );
        });
    }
}

#[test]
fn compaction() {
    for source in WIRES {
        same_again(source, |zot| {
            turns(
                zot,
                &["say:1", r#"tool:bash:{"command":"echo hi"}"#, "say:1"],
            );
            zot.send(json!({"id": "c", "type": "compact"}));
            zot.event("compact_done");
            turns(zot, &["say:2", "say:1", "overflow:1:say:3", "say:1"]);
        });
    }
    same_again(Source::Offline, |zot| {
        turns(zot, &["hello", "read a.txt", "hello again"]);
        zot.send(json!({"id": "c", "type": "compact"}));
        zot.event("compact_done");
        turns(zot, &["what now?"]);
    });
}

#[test]
fn a_failed_or_aborted_compaction() {
    for source in WIRES {
        same_again(source, |zot| {
            turns(zot, &["COMPACT-ERR", "a", "b", "c"]);
            zot.send(json!({"id": "c", "type": "compact"}));
            zot.event("done");
            turns(zot, &["say:1"]);
        });
    }
}

#[test]
fn another_model_and_a_cleared_transcript() {
    same_again(Source::Wire(Wire::OpenAi), |zot| {
        turns(zot, &["say:1"]);
        zot.call(json!({"id": "m", "type": "set_model", "model": "gpt-5"}));
        turns(zot, &["say:2"]);
        zot.call(json!({"id": "x", "type": "clear"}));
        turns(zot, &["say:3"]);
    });
}

#[test]
fn the_model_of_a_custom_server() {
    let (shelf, server) = (Workdir::new("shelf"), ModelServer::start());
    let project = Project::new(&shelf);
    // A context window so small that the conversation is compacted repeatedly.
    let models = json!({"providers": {"openai": {"models": [{
        "id": "tiny", "name": "Tiny", "contextWindow": 1500, "maxTokens": 100,
        "priceInput": 3.0, "priceOutput": 7.5,
    }]}}});
    std::fs::create_dir_all(project.workdir.zot_home()).unwrap();
    let path = project.workdir.zot_home().join("models.json");
    std::fs::write(path, models.to_string()).unwrap();
    let mut zot = project
        .command(&["rpc", "--provider", "openai", "--base-url"])
        .argument(server.url(Wire::OpenAi))
        .arguments(["--api-key", "x", "--model", "tiny", "--record"])
        .argument(project.cassette())
        .spawn();
    let hold = |zot: &mut Zot| turns(zot, &["say:1"; 12]);
    hold(&mut zot);
    let (lines, usage) = (
        project.timeless_lines(&zot),
        state(&mut zot)["usage"].clone(),
    );
    assert!(lines.iter().any(|line| line.contains("compact_done")));
    assert!(usage["cost_usd"].as_f64() > Some(0.0));
    zot.finish();

    // No models.json here: the cassette knows the model.
    let project = Project::new(&shelf);
    let mut zot = project.replaying(&["rpc"]).spawn();
    hold(&mut zot);
    assert_eq!(project.timeless_lines(&zot), lines);
    assert_eq!(state(&mut zot)["usage"], usage);
}

fn one_shot(source: Source, flag: &str, prompt: &str) -> (Finished, Finished) {
    let (shelf, server) = (Workdir::new("shelf"), ModelServer::start());
    let project = Project::new(&shelf);
    let recorded = project
        .recording(&[flag, "--no-session", prompt], source, &server)
        .run("");
    drop(server);
    let replay = Project::new(&shelf);
    let replayed = replay.replaying(&[flag, "--no-session", prompt]).run("");
    let lines = |project: &Project, ended: &Finished| -> Vec<String> {
        let lines = ended.stdout.lines();
        lines.map(|line| project.timeless(line)).collect()
    };
    assert_eq!(lines(&project, &recorded), lines(&replay, &replayed));
    assert_eq!(recorded.code, replayed.code);
    assert_eq!(recorded.stderr, replayed.stderr);
    (recorded, replayed)
}

#[test]
fn single_runs() {
    for flag in ["-p", "--json"] {
        for source in WIRES {
            one_shot(source, flag, r#"texttool:bash:{"command":"echo hi"}"#);
            let (_, failed) = one_shot(source, flag, "err:401:bad key");
            assert_eq!(failed.code, Some(1));
            assert!(failed.stderr.contains("bad key"), "{}", failed.stderr);
        }
        let (_, replayed) = one_shot(Source::Offline, flag, "read a.txt");
        assert_eq!(replayed.code, Some(0), "{}", replayed.stderr);
    }
}

/// Records `prompts` with the offline model.
fn offline_cassette(shelf: &Workdir, prompts: &[&str]) -> PathBuf {
    let (project, server) = (Project::new(shelf), ModelServer::start());
    let mut zot = project
        .recording(&["rpc"], Source::Offline, &server)
        .spawn();
    turns(&mut zot, prompts);
    assert_eq!(zot.finish().code, Some(0));
    project.cassette()
}

#[test]
fn a_differing_request_is_reported_with_the_difference() {
    let shelf = Workdir::new("shelf");
    offline_cassette(&shelf, &["hello", "read a.txt"]);
    let project = Project::new(&shelf);
    let mut zot = project.replaying(&["rpc"]).spawn();
    zot.turn("1", "hello");
    let frames = zot.turn("2", "read b.txt");
    let expected = "exchange 2 differs from the recording at messages[2].content[0].text: \
                    recorded \"read a.txt\", now \"read b.txt\"";
    assert_eq!(of_kind(&frames, "error")[0]["message"], expected);
    assert_eq!(of_kind(&frames, "turn_end")[0]["error"], expected);
    assert_eq!(frames.last().unwrap()["type"], "done");

    let mut zot = project.replaying(&["rpc"]).argument("--no-tools").spawn();
    let frames = zot.turn("1", "hello");
    let message = of_kind(&frames, "error")[0]["message"].as_str().unwrap();
    assert!(
        message.contains("differs from the recording at system"),
        "{message}"
    );

    let by_order = ["--replay-mode", "by-order"];
    let mut zot = project.replaying(&["rpc"]).arguments(by_order).spawn();
    for prompt in ["anything", "something else"] {
        let frames = zot.turn("1", prompt);
        assert_eq!(of_kind(&frames, "error"), Vec::<&Value>::new());
    }
    let frames = zot.turn("3", "one too many");
    let message = of_kind(&frames, "error")[0]["message"].as_str().unwrap();
    assert!(message.contains("request 4 was not recorded"), "{message}");
}

#[test]
fn real_time_replays_at_the_recorded_speed() {
    let (shelf, server) = (Workdir::new("shelf"), ModelServer::start());
    let project = Project::new(&shelf);
    let wire = Source::Wire(Wire::OpenAi);
    project
        .recording(&["-p", "--no-session", "slow:10:50"], wire, &server)
        .run("");
    let replay = |flags: &[&str]| {
        let started = std::time::Instant::now();
        let command = project.replaying(&["-p", "--no-session", "slow:10:50"]);
        assert_eq!(command.arguments(flags).run("").code, Some(0));
        started.elapsed().as_millis()
    };
    assert!(replay(&["--realtime"]) >= 400);
    for source in WIRES {
        same_again_with(source, &["--realtime"], |zot| {
            turns(
                zot,
                &["say:2", "slow:3:10", r#"tool:read:{"path":"a.txt"}"#],
            );
        });
    }
}

#[test]
fn a_replay_may_be_recorded_again() {
    let shelf = Workdir::new("shelf");
    let first = offline_cassette(&shelf, &["hello", "read a.txt"]);
    let project = Project::new(&shelf);
    let second = shelf.path().join("second.cassette");
    let mut zot = project
        .replaying(&["rpc"])
        .argument("--record")
        .argument(&second)
        .spawn();
    turns(&mut zot, &["hello", "read a.txt"]);
    zot.finish();
    assert_eq!(bare(&first), bare(&second));
}

/// Returns a cassette without what differs between runs, with deltas of one kind joined.
fn bare(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| {
        let mut line: Value = serde_json::from_str(&mask(line, "Took ", 's')).unwrap();
        for field in ["created", "duration_ms"] {
            line.as_object_mut().unwrap().remove(field);
        }
        line["request"]["system"] = Value::Null;
        let mut joined: Vec<Value> = Vec::new();
        for event in line["events"].as_array().into_iter().flatten() {
            let mut event = event.clone();
            event["ms"] = Value::Null;
            match joined.last_mut() {
                Some(last) if last["type"] == event["type"] && last["id"] == event["id"] => {
                    let more = event["deltas"].as_array().unwrap().clone();
                    last["deltas"].as_array_mut().unwrap().extend(more);
                }
                _ => joined.push(event),
            }
        }
        line["events"] = joined.into();
        line
    });
    lines.collect()
}

#[test]
fn mistakes_on_the_command_line_exit_with_2() {
    let shelf = Workdir::new("shelf");
    let cassette = offline_cassette(&shelf, &["hello"]);
    let project = Project::new(&shelf);
    let file = cassette.to_str().unwrap();
    let missing = shelf.path().join("missing").display().to_string();
    for (arguments, printed) in [
        (&["rpc", "--provider", "replay"][..], "--cassette FILE"),
        (
            &["rpc", "--provider", "offline", "--cassette", file],
            "--provider replay",
        ),
        (&["rpc", "--cassette", &missing], "cannot read the cassette"),
        (&["rpc", "--cassette", "a.txt"], "not a cassette"),
        (
            &["rpc", "--provider", "offline", "--realtime"],
            "--cassette",
        ),
        (
            &["rpc", "--cassette", file, "--replay-mode", "loose"],
            "by-order",
        ),
        (
            &["rpc", "--provider", "offline", "--record", file],
            "not empty",
        ),
        (
            &[
                "-p",
                "--provider",
                "offline",
                "--record",
                "/no/such/place",
                "hi",
            ],
            "cannot record",
        ),
        (&["rpc", "--provider", "replai"], "replay"),
    ] {
        let ended = project.command(arguments).run("");
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(printed),
            "{arguments:?}: {}",
            ended.stderr
        );
    }
}
