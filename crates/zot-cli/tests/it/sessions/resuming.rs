//! Continuing sessions, and locking them.

use std::fs;
use std::time::Duration;

use serde_json::json;
use testkit::{Signal, Wire, Zot, ZotCommand};

use super::{Project, records};
use crate::support::binary;

#[test]
fn continue_uses_the_newest_session_of_the_directory() {
    let project = Project::new();
    let first = project.prompt(&["--continue", "say:1"]);
    assert!(
        first.stderr.contains("starting the first one"),
        "{}",
        first.stderr
    );
    let file = project.only_file();
    let ended = project.prompt(&["--continue", "say:2"]);
    assert_eq!(ended.stdout, "alpha beta \n");
    assert_eq!(ended.stderr, "");
    assert_eq!(project.messages_sent(), 3);
    assert_eq!(project.only_file(), file);
    let records = records(&file);
    let kinds: Vec<&str> = records
        .iter()
        .map(|r| r["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "meta", "message", "message", "usage", "message", "message", "usage"
        ]
    );
    // The usage continues from its previous value.
    let spent = |record: usize| records[record]["cumulative"]["output_tokens"].as_u64();
    assert_eq!((spent(3), spent(6)), (Some(1), Some(3)));

    // In another directory it is not the newest.
    fs::create_dir(project.workdir.path().join("other")).unwrap();
    project.prompt(&["--cwd", "other", "--continue", "say:1"]);
    assert_eq!(project.messages_sent(), 1);
    assert_eq!(project.files().len(), 2);
}

#[test]
fn resume_accepts_the_beginning_of_an_id_or_a_path() {
    let project = Project::new();
    project.prompt(&["say:1"]);
    let file = project.only_file();
    let id = records(&file)[0]["meta"]["id"].as_str().unwrap().to_owned();
    project.prompt(&["say:1"]);
    for (turn, named) in [&id[..6], &id, file.to_str().unwrap()]
        .into_iter()
        .enumerate()
    {
        project.prompt(&["--resume", named, "say:1"]);
        assert_eq!(project.messages_sent(), 2 * turn + 3);
    }
    let ended = project
        .prompting()
        .arguments(["--resume", "nothing", "say:1"]);
    let ended = ended.run("");
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("no session \"nothing\""),
        "{}",
        ended.stderr
    );
}

#[test]
fn resume_without_an_id_lists_the_sessions() {
    let project = Project::new();
    project.prompt(&["say:1 the first"]);
    let ended = project.prompting().argument("--resume").run("");
    assert_eq!(ended.code, Some(2));
    assert_eq!(ended.stdout, "");
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert!(lines[0].starts_with("ID "), "{}", ended.stderr);
    assert!(lines[1].ends_with("say:1 the first"), "{}", ended.stderr);
    assert!(lines[2].contains("--resume ID"), "{}", ended.stderr);
}

#[test]
fn the_model_of_the_session_is_used_unless_a_flag_names_another() {
    let project = Project::new();
    project.prompt(&["say:1"]);
    let unnamed = |arguments: &[&str]| {
        project
            .zot()
            .arguments(["-p", "--continue", "--api-key", "x", "--base-url"])
            .argument(project.server.url(Wire::OpenAi))
            .arguments(arguments)
            .run("")
    };
    let model = || project.server.requests().pop().unwrap().body["model"].clone();
    let ended = unnamed(&["say:1"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(model(), Wire::OpenAi.model());
    let ended = unnamed(&["--provider", "openai", "--model", "gpt-4o-mini", "say:1"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(model(), "gpt-4o-mini");
    // From then on, this is the session's model.
    let ended = unnamed(&["say:1"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(model(), "gpt-4o-mini");
}

#[test]
fn the_session_remembers_a_changed_model() {
    let project = Project::new();
    let path = project.workdir.path().join("talk.jsonl");
    // Without flags that name a model, as people resume.
    let rpc = |arguments: &[&str]| {
        project
            .zot()
            .argument("rpc")
            .arguments(arguments)
            .arguments(["--api-key", "x", "--base-url"])
            .argument(project.server.url(Wire::OpenAi))
            .argument("--session")
            .argument(&path)
            .spawn()
    };
    let set_model = |zot: &mut Zot, model: &str| {
        let set = zot.call(json!({"id": "m", "type": "set_model", "model": model}));
        assert_eq!(set["success"], true, "{set}");
    };
    let kinds = || -> Vec<String> {
        let records = records(&path).into_iter();
        records
            .map(|record| record["type"].as_str().unwrap().to_owned())
            .collect()
    };

    let mut zot = rpc(&["--provider", "openai", "--model", "gpt-4o"]);
    set_model(&mut zot, "gpt-4.1");
    assert!(!path.exists(), "no file without a message");
    zot.turn("1", "say:1");
    assert_eq!(
        records(&path)[0]["meta"]["model"],
        "gpt-4.1",
        "the model it begins with"
    );
    set_model(&mut zot, "gpt-4o-mini");
    set_model(&mut zot, "gpt-4o-mini");
    // Even if it does not exit normally.
    zot.signal(Signal::KILL);
    zot.wait(Duration::from_secs(10));
    assert_eq!(kinds(), ["meta", "message", "message", "usage", "model"]);
    assert_eq!(
        records(&path)[4],
        json!({"type": "model", "provider": "openai", "model": "gpt-4o-mini"})
    );

    let mut zot = rpc(&[]);
    let state = zot.call(json!({"id": "s", "type": "get_state"}));
    assert_eq!(state["data"]["model"], "gpt-4o-mini");
    zot.turn("1", "say:1");
    assert_eq!(zot.finish().stderr, "");
    assert_eq!(
        project.server.requests().pop().unwrap().body["model"],
        "gpt-4o-mini"
    );

    // A fork and an imported copy keep it.
    let forked = project.sessions_json(&["fork", path.to_str().unwrap()]);
    let listed = project.sessions_json(&["list"]);
    assert_eq!(listed[0]["model"], "gpt-4o-mini", "{forked} {listed}");
}

#[test]
fn a_session_file_can_be_anywhere_and_rpc_writes_it_on_request() {
    let project = Project::new();
    let path = project.workdir.path().join("talks/one.jsonl");
    let rpc = || {
        ZotCommand::rpc(binary(), &project.workdir, &project.server, Wire::OpenAi)
            .argument("--session")
            .argument(&path)
            .spawn()
    };
    let mut zot = rpc();
    let state = zot.call(json!({"id": "1", "type": "get_state"}));
    let reported = &state["data"]["session"];
    assert_eq!(reported["path"], path.to_str().unwrap(), "{state}");
    zot.finish();
    assert!(!path.exists(), "no file without a message");

    let mut zot = rpc();
    zot.turn("1", "say:1");
    zot.call(json!({"id": "2", "type": "clear"}));
    zot.turn("3", "say:2");
    zot.finish();
    let mut zot = rpc();
    let state = zot.call(json!({"id": "1", "type": "get_state"}));
    assert_eq!(state["data"]["message_count"], 2, "{state}");
    let id = &records(&path)[0]["meta"]["id"];
    assert_eq!(&state["data"]["session"]["id"], id);
    zot.turn("2", "say:3");
    assert_eq!(project.messages_sent(), 3);
    zot.finish();
    assert!(project.files().is_empty());
}

#[test]
fn two_processes_never_write_to_the_same_session() {
    let project = Project::new();
    let path = project.workdir.path().join("one.jsonl");
    let mut zot = ZotCommand::rpc(binary(), &project.workdir, &project.server, Wire::OpenAi)
        .argument("--session")
        .argument(&path)
        .spawn();
    zot.turn("1", "say:1");
    let before = fs::read(&path).unwrap();
    let second = |arguments: &[&str]| {
        let command = project.prompting().argument("--session").argument(&path);
        command.arguments(arguments).run("")
    };
    let refused = second(&["say:2"]);
    assert_eq!(refused.code, Some(2));
    let stderr = &refused.stderr;
    let holder = format!("in use by process {}", zot.pid());
    assert!(
        stderr.contains(&holder) && stderr.contains("--fork"),
        "{stderr}"
    );
    assert_eq!(fs::read(&path).unwrap(), before);

    let forked = second(&["--fork", "say:2"]);
    assert_eq!(forked.code, Some(0), "{}", forked.stderr);
    assert_eq!(project.messages_sent(), 3);
    assert_eq!(fs::read(&path).unwrap(), before);
    let fork = records(&project.only_file());
    assert_eq!(fork[0]["meta"]["fork_point"], 2);
    assert_eq!(fork[0]["meta"]["parent"], records(&path)[0]["meta"]["id"]);

    zot.finish();
    assert_eq!(second(&["say:1"]).code, Some(0));
}

#[test]
fn damage_is_reported_and_the_rest_is_used() {
    let project = Project::new();
    project.prompt(&["tool:bash:{\"command\":\"true\"}"]);
    let file = project.only_file();
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    // The result of the call is missing, and the last record is cut off.
    let results = lines.iter().position(|l| l.contains("call_id")).unwrap();
    let mut broken = lines[..results].join("\n");
    broken.push_str("\nnot a record\n{\"type\":\"mess");
    fs::write(&file, &broken).unwrap();
    let ended = project.prompt(&["--continue", "say:1"]);
    let stderr = &ended.stderr;
    for reported in ["cut off", "is not a record", "1 calls were interrupted"] {
        assert!(stderr.contains(reported), "{reported}: {stderr}");
    }
    let body = project.server.requests().pop().unwrap().body.to_string();
    assert!(
        body.contains("no result: the call was interrupted"),
        "{body}"
    );
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .starts_with(&format!("{broken}\n"))
    );
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    let project = Project::new();
    for arguments in [
        &["--no-session", "--fork"][..],
        &["--no-session", "--durable"],
        &["--fork"],
    ] {
        let ended = project.prompting().argument("say:1").arguments(arguments);
        assert_eq!(ended.run("").code, Some(2), "{arguments:?}");
    }
    assert!(project.files().is_empty());
}
