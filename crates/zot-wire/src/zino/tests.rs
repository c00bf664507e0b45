use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::claims::Claim;
use super::executor::{Code, ExecutionResult, ExecutorEntry, Seconds};
use super::memory::{ChannelEntry, ExportedItem, FoundMemory, ImportedItem};
use super::router::{Inference, Sampling};
use super::*;

fn written(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

fn frame(text: &str) -> Frame {
    Frame::parse(text.as_bytes()).unwrap()
}

/// Writes a request as `expected`, and reads it back.
#[track_caller]
fn request<R: Request + PartialEq + std::fmt::Debug>(request: R, expected: &str) {
    assert_eq!(written(&request), expected);
    assert_eq!(R::read(frame(expected)), Ok(request));
}

/// Writes a frame of a response as `expected`, and reads it back.
#[track_caller]
fn response<R: Response + PartialEq + std::fmt::Debug>(response: R, expected: &str) {
    assert_eq!(written(&response), expected);
    assert_eq!(R::read(frame(expected)), response);
}

#[track_caller]
fn rejected<R: Request + std::fmt::Debug>(request: Value, expected: &str) {
    let error = R::read(frame(&request.to_string())).unwrap_err();
    assert_eq!(error.to_string(), expected, "{request}");
}

fn messages() -> Vec<Message> {
    vec![Message::new("user", "hi")]
}

#[test]
fn frames_of_any_service() {
    use any_service::{Request, Response};
    request(Request::Ping, r#"{"type":"ping"}"#);
    request(Request::Version, r#"{"type":"version"}"#);
    response(Response::Pong, r#"{"type":"pong"}"#);
    response(
        Response::Version {
            service: "rtr".to_owned(),
            version: "1".to_owned(),
        },
        r#"{"service":"rtr","type":"version","version":"1"}"#,
    );
    response(Response::error("no"), r#"{"message":"no","type":"error"}"#);
    response(
        Response::Other(json!({ "type": "news", "a": [1] })),
        r#"{"a":[1],"type":"news"}"#,
    );
}

#[test]
fn router_frames() {
    use router::{Request, Response};
    request(Request::Capabilities, r#"{"type":"capabilities"}"#);
    request(
        Request::Infer(Inference {
            messages: messages(),
            sampling: Sampling {
                temperature: Some(0.7),
                top_p: Some(1.0),
            },
            stream: true,
        }),
        r#"{"messages":[{"content":"hi","role":"user"}],"stream":true,"temperature":0.7,"top_p":1.0,"type":"infer"}"#,
    );
    request(
        Request::Infer(Inference::default()),
        r#"{"messages":[],"stream":false,"type":"infer"}"#,
    );
    response(
        Response::Capabilities {
            streaming: true,
            model: "m".to_owned(),
        },
        r#"{"model":"m","streaming":true}"#,
    );
    response(
        Response::Chunk("x".to_owned()),
        r#"{"type":"chunk","delta":"x"}"#,
    );
    response(
        Response::Done {
            full_text: "x".to_owned(),
        },
        r#"{"type":"done","full_text":"x"}"#,
    );
    response(
        Response::Response {
            content: "x".to_owned(),
        },
        r#"{"content":"x","type":"response"}"#,
    );
}

#[test]
fn agent_loop_frames() {
    use agent_loop::{Request, Response, Run};
    request(
        Request::Run(Run {
            messages: messages(),
            sampling: Sampling {
                temperature: Some(0.5),
                top_p: None,
            },
            max_iterations: Some(5),
            stream: false,
        }),
        r#"{"max_iterations":5,"messages":[{"content":"hi","role":"user"}],"stream":false,"temperature":0.5,"type":"run"}"#,
    );
    response(
        Response::Done {
            full_text: "x".to_owned(),
            iterations: Some(2),
        },
        r#"{"type":"done","full_text":"x","iterations":2}"#,
    );
    response(
        Response::Result {
            content: "x".to_owned(),
            iterations: Some(2),
        },
        r#"{"content":"x","iterations":2,"type":"result"}"#,
    );
}

#[test]
fn daemon_frames() {
    use daemon::{Request, Response};
    request(
        Request {
            message: "hi".to_owned(),
            channel_id: Some("c".to_owned()),
            stream: true,
        },
        r#"{"channel_id":"c","message":"hi","stream":true}"#,
    );
    request(
        Request {
            message: "hi".to_owned(),
            channel_id: None,
            stream: false,
        },
        r#"{"message":"hi","stream":false}"#,
    );
    response(
        Response::Response {
            content: "x".to_owned(),
            unsaved: None,
        },
        r#"{"content":"x","type":"response"}"#,
    );
    response(
        Response::Response {
            content: "x".to_owned(),
            unsaved: Some("no".to_owned()),
        },
        r#"{"content":"x","type":"response","unsaved":"no"}"#,
    );
    response(
        Response::Done {
            full_text: "x".to_owned(),
            iterations: Some(2),
            unsaved: Some("no".to_owned()),
        },
        r#"{"type":"done","full_text":"x","iterations":2,"unsaved":"no"}"#,
    );
    response(
        Response::error_with_code(ErrorCode::Moved, "m"),
        r#"{"code":"moved","message":"m","type":"error"}"#,
    );
    // The original's client prints nothing for a response without text.
    assert_eq!(
        Response::read(frame(r#"{"type":"response"}"#)),
        Response::Response {
            content: String::new(),
            unsaved: None,
        }
    );
    rejected::<Request>(json!({}), "Empty message.");
    rejected::<Request>(json!({ "message": " \n" }), "Empty message.");
    rejected::<Request>(json!({ "message": 5 }), "message must be a string");
}

#[test]
fn system_prompt_and_context_frames() {
    request(system_prompt::Request::Get, r#"{"type":"get"}"#);
    request(system_prompt::Request::Reload, r#"{"type":"reload"}"#);
    request(
        system_prompt::Request::SetSoftMemory {
            content: "x".to_owned(),
        },
        r#"{"content":"x","type":"set_soft_memory"}"#,
    );
    response(
        system_prompt::Response::SystemPrompt {
            content: "x".to_owned(),
        },
        r#"{"content":"x","type":"system_prompt"}"#,
    );
    rejected::<system_prompt::Request>(
        json!({ "type": "set_soft_memory", "content": null }),
        "content must be a string",
    );
    request(
        context::Request::Build {
            channel_id: None,
            user_message: "x".to_owned(),
        },
        r#"{"channel_id":null,"type":"build","user_message":"x"}"#,
    );
    response(
        context::Response::Context {
            messages: messages(),
        },
        r#"{"messages":[{"content":"hi","role":"user"}],"type":"context"}"#,
    );
}

#[test]
fn executor_frames() {
    use executor::{Request, Response};
    let code = Code {
        executor: "bash".to_owned(),
        code: "true".to_owned(),
        ..Code::default()
    };
    request(
        Request::Execute(code.clone()),
        r#"{"code":"true","executor":"bash","type":"execute"}"#,
    );
    request(
        Request::Validate(code),
        r#"{"code":"true","executor":"bash","type":"validate"}"#,
    );
    request(Request::Capabilities, r#"{"type":"capabilities"}"#);
    response(
        Response::Result(ExecutionResult {
            exit_code: -9,
            stdout: "o".to_owned(),
            stderr: "e".to_owned(),
        }),
        r#"{"exit_code":-9,"stderr":"e","stdout":"o","type":"result"}"#,
    );
    let validation = Response::Validation {
        errors: "no".to_owned(),
        ok: false,
    };
    assert_eq!(
        written(&validation),
        r#"{"errors":"no","ok":false,"type":"validation"}"#
    );
    let entry = ExecutorEntry {
        command: "sh".to_owned(),
        file_extension: ".sh".to_owned(),
        has_validator: false,
        static_analysis: None,
    };
    let capabilities = Response::Capabilities {
        executors: BTreeMap::from([("sh".to_owned(), entry)]),
        timeout: Seconds(3.0),
    };
    assert_eq!(
        written(&capabilities),
        r#"{"executors":{"sh":{"command":"sh","file_extension":".sh","has_validator":false,"static_analysis":null}},"timeout":3,"type":"capabilities"}"#
    );
    assert_eq!(written(&Seconds(0.5)), "0.5");
}

#[test]
fn holds_and_named_appends() {
    use memory::Request;
    request(
        Request::AppendHistory {
            channel_id: "c".to_owned(),
            messages: messages(),
            call: Some("k".to_owned()),
            hold: Some(memory::Hold {
                owner: "o".to_owned(),
                fence: 7,
            }),
        },
        r#"{"call":"k","channel_id":"c","fence":7,"owner":"o","messages":[{"content":"hi","role":"user"}],"type":"append_history"}"#,
    );
    request(
        Request::HoldChannel {
            channel_id: "c".to_owned(),
            owner: "o".to_owned(),
            fence: Some(7),
        },
        r#"{"channel_id":"c","fence":7,"owner":"o","type":"hold_channel"}"#,
    );
    request(
        Request::StoreHard {
            messages: messages(),
            tag: "t".to_owned(),
            call: Some("k".to_owned()),
        },
        r#"{"call":"k","messages":[{"content":"hi","role":"user"}],"tag":"t","type":"store_hard"}"#,
    );
    let held = |owner: &str, fence: Option<i64>| json!({ "type": "append_history", "channel_id": "c", "messages": [], "owner": owner, "fence": fence });
    rejected::<Request>(held("o", None), "fence must be given with owner");
    rejected::<Request>(
        held("", Some(1)),
        "owner must be a string of 1 to 200 bytes",
    );
    rejected::<Request>(
        json!({ "type": "hold_channel", "channel_id": "c" }),
        "owner must be a string of 1 to 200 bytes",
    );
}

#[test]
fn memory_requests() {
    use memory::Request;
    let channel_id = || "c".to_owned();
    request(
        Request::GetHistory {
            channel_id: channel_id(),
            limit: Some(50),
        },
        r#"{"channel_id":"c","limit":50,"type":"get_history"}"#,
    );
    request(
        Request::AppendHistory {
            channel_id: channel_id(),
            messages: messages(),
            call: None,
            hold: None,
        },
        r#"{"channel_id":"c","messages":[{"content":"hi","role":"user"}],"type":"append_history"}"#,
    );
    request(
        Request::ClearHistory {
            channel_id: channel_id(),
        },
        r#"{"channel_id":"c","type":"clear_history"}"#,
    );
    request(
        Request::SearchHard {
            query: "q".to_owned(),
            top_k: Some(3),
        },
        r#"{"query":"q","top_k":3,"type":"search_hard"}"#,
    );
    request(
        Request::StoreHard {
            messages: messages(),
            tag: "t".to_owned(),
            call: None,
        },
        r#"{"messages":[{"content":"hi","role":"user"}],"tag":"t","type":"store_hard"}"#,
    );
    let soft = ImportedItem::Soft {
        content: "x".to_owned(),
    };
    request(
        Request::Import { items: vec![soft] },
        r#"{"items":[{"content":"x","kind":"soft"}],"type":"import"}"#,
    );
    for (simple, expected) in [
        (
            Request::DeleteHard { id: 1 },
            r#"{"id":1,"type":"delete_hard"}"#,
        ),
        (
            Request::SetSoft {
                content: "x".to_owned(),
            },
            r#"{"content":"x","type":"set_soft"}"#,
        ),
        (Request::ListChannels, r#"{"type":"list_channels"}"#),
        (Request::GetSoft, r#"{"type":"get_soft"}"#),
        (Request::Export, r#"{"type":"export"}"#),
    ] {
        request(simple, expected);
    }
    rejected::<Request>(
        json!({ "type": "import", "items": [{ "kind": "soft" }, { "kind": "history" }] }),
        "items[1]: channel_id required",
    );
}

#[test]
fn memory_responses() {
    use memory::Response;
    response(
        Response::History {
            messages: messages(),
        },
        r#"{"messages":[{"content":"hi","role":"user"}],"type":"history"}"#,
    );
    // Entries of other programs are served unchanged.
    response(
        Response::HardMemories {
            results: vec![
                FoundMemory {
                    messages: Messages::List(messages()),
                    score: 0.5,
                },
                FoundMemory {
                    messages: Messages::Other(json!("odd")),
                    score: 0.25,
                },
            ],
        },
        r#"{"results":[{"messages":[{"content":"hi","role":"user"}],"score":0.5},{"messages":"odd","score":0.25}],"type":"hard_memories"}"#,
    );
    let channels = vec![ChannelEntry {
        bytes: 2,
        channel_id: "c".to_owned(),
    }];
    let item = ExportedItem::Hard {
        id: 0,
        messages: Messages::default(),
        tag: json!("t"),
    };
    for (frame, expected) in [
        (Response::Done, r#"{"type":"ok"}"#),
        (
            Response::Channels { channels },
            r#"{"channels":[{"bytes":2,"channel_id":"c"}],"type":"channels"}"#,
        ),
        (Response::Stored { id: 7 }, r#"{"id":7,"type":"ok"}"#),
        (
            Response::SoftMemory {
                content: "x".to_owned(),
            },
            r#"{"content":"x","type":"soft_memory"}"#,
        ),
        (
            Response::Item(item),
            r#"{"id":0,"kind":"hard","messages":[],"tag":"t","type":"item"}"#,
        ),
        (
            Response::Exported { items: 1 },
            r#"{"items":1,"type":"done"}"#,
        ),
        (
            Response::Progress { done: 1, total: 2 },
            r#"{"done":1,"total":2,"type":"progress"}"#,
        ),
        (
            Response::Imported { items: 2 },
            r#"{"items":2,"type":"ok"}"#,
        ),
    ] {
        assert_eq!(written(&frame), expected);
    }
}

#[test]
fn unknown_types_are_rejected() {
    for (kind, shown) in [
        (json!("frobnicate"), "frobnicate"),
        (json!(null), "None"),
        (json!(5), "5"),
        (json!(true), "True"),
        (json!([1]), "[1]"),
    ] {
        let expected = format!("Unknown message type: {shown}");
        rejected::<router::Request>(json!({ "type": kind }), &expected);
        rejected::<memory::Request>(json!({ "type": kind }), &expected);
    }
    rejected::<agent_loop::Request>(json!({}), "Unknown message type: None");
}

#[test]
fn any_value_round_trips_as_a_message() {
    for value in [
        json!({ "role": "user", "content": "x" }),
        json!({ "role": "tool", "content": "x" }),
        json!({ "role": "user", "content": "x", "name": "n" }),
        json!({ "role": "user", "content": [{ "type": "text", "text": "x" }] }),
        json!({ "role": 5, "content": "x" }),
        json!({ "content": null }),
        json!({}),
        json!([1, "x"]),
        json!("x"),
        json!(-1),
        json!(u64::MAX),
        json!(0.5),
        json!(true),
        json!(null),
    ] {
        let message: Message = serde_json::from_str(&value.to_string()).unwrap();
        assert_eq!(message, Message::from(value.clone()));
        assert_eq!(written(&message), value.to_string());
        assert_eq!(Value::from(message), value);
    }
}

#[test]
fn a_message_gives_access_to_its_fields() {
    let message = |value: Value| Message::from(value);
    let plain = Message::new("user", "x");
    assert_eq!(
        (plain.role(), plain.content()),
        (Some("user"), Content::Text("x"))
    );
    assert!(plain.is_object());
    let parts = [json!(1)];
    for (value, content) in [
        (
            json!({ "role": "user", "content": "x", "a": 1 }),
            Content::Text("x"),
        ),
        (json!({ "content": parts }), Content::Parts(&parts)),
        (json!({ "content": null }), Content::Nothing),
        (json!({}), Content::Nothing),
        (json!({ "content": 5 }), Content::Other),
    ] {
        assert_eq!(message(value).content(), content);
    }
    let named = message(json!({ "role": "user", "z": 1, "content": "x", "a": 2 }));
    let others: Vec<&str> = named
        .other_fields()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(others, ["a", "z"]);
    assert!(!message(json!([])).is_object());
}

#[test]
fn the_last_field_with_a_name_wins() {
    let request = router::Request::read(frame(
        r#"{"type":"x","messages":5,"type":"infer","messages":[{"role":"a","role":"user","content":"hi"}]}"#,
    ));
    let expected = Inference {
        messages: messages(),
        ..Inference::default()
    };
    assert_eq!(request, Ok(router::Request::Infer(expected)));
}

#[test]
fn named_execution_frames() {
    use executor::Request;
    let code = |call: Option<&str>| Code {
        executor: "bash".to_owned(),
        code: "true".to_owned(),
        call: call.map(str::to_owned),
    };
    request(
        Request::Execute(code(Some("1"))),
        r#"{"call":"1","code":"true","executor":"bash","type":"execute"}"#,
    );
    request(
        Request::Outcome(code(Some("1"))),
        r#"{"call":"1","code":"true","executor":"bash","type":"outcome"}"#,
    );
    for call in [json!(null), json!(""), json!(7), json!("x".repeat(201))] {
        let outcome = json!({ "type": "outcome", "call": call });
        rejected::<Request>(outcome, "call must be a string of 1 to 200 bytes");
    }
}

#[test]
fn claim_frames() {
    use claims::{Request, Response};
    let (call, owner) = (|| "1".to_owned(), || "me".to_owned());
    let result = || ExecutionResult {
        exit_code: 2,
        stdout: "out".to_owned(),
        stderr: "err".to_owned(),
    };
    let finish = |result| Request::Finish {
        call: call(),
        owner: owner(),
        result,
    };
    for (claim, expected) in [
        (
            Request::Take {
                call: call(),
                owner: owner(),
            },
            r#"{"call":"1","owner":"me","type":"claim"}"#,
        ),
        (
            Request::Renew {
                call: call(),
                owner: owner(),
            },
            r#"{"call":"1","owner":"me","type":"renew_claim"}"#,
        ),
        (
            finish(None),
            r#"{"call":"1","owner":"me","type":"finish_claim"}"#,
        ),
        (
            finish(Some(result())),
            r#"{"call":"1","owner":"me","result":{"exit_code":2,"stderr":"err","stdout":"out"},"type":"finish_claim"}"#,
        ),
    ] {
        request(claim.clone(), expected);
        request(memory::Request::Claim(claim), expected);
    }
    for (claim, expected) in [
        (Claim::Taken, r#"{"state":"taken","type":"claim"}"#),
        (Claim::Running, r#"{"state":"running","type":"claim"}"#),
        (
            Claim::Interrupted,
            r#"{"state":"interrupted","type":"claim"}"#,
        ),
        (Claim::Unshared, r#"{"state":"unshared","type":"claim"}"#),
        (
            Claim::Finished(result()),
            r#"{"result":{"exit_code":2,"stderr":"err","stdout":"out"},"state":"finished","type":"claim"}"#,
        ),
    ] {
        response(Response::Claim(claim.clone()), expected);
        response(memory::Response::Claim(claim), expected);
    }
    response(Response::Done, r#"{"type":"ok"}"#);
    response(Response::error("no"), r#"{"message":"no","type":"error"}"#);
    response(
        Response::Other(json!({ "type": "claim", "state": "later" })),
        r#"{"state":"later","type":"claim"}"#,
    );
    rejected::<Request>(
        json!({ "type": "claim", "owner": "me" }),
        "call must be a string of 1 to 200 bytes",
    );
    rejected::<Request>(
        json!({ "type": "claim", "call": "1" }),
        "owner must be a string of 1 to 200 bytes",
    );
    rejected::<Request>(
        json!({ "type": "get_soft" }),
        "Unknown message type: get_soft",
    );
}
