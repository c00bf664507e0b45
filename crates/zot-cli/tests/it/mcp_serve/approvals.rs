//! `--confirm`: the client's user is asked, in either era.

use serde_json::{Value, json};
use testkit::Workdir;

use super::client::{Client, text};

const TOUCH: &str = "run: touch made";

fn is_question(frame: &Value) -> bool {
    frame["method"] == "elicitation/create"
}

fn answer(client: &mut Client, question: &Value, result: Value) {
    client
        .zot
        .send(json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
}

#[test]
fn a_legacy_client_is_asked_with_a_request() {
    for (reply, is_made) in [
        (
            json!({"action": "accept", "content": {"allow": "this call"}}),
            true,
        ),
        (json!({"action": "accept", "content": {}}), true),
        (json!({"action": "accept"}), true),
        (json!({"action": "decline"}), false),
        (json!({"action": "cancel"}), false),
        (json!({"action": "nonsense"}), false),
        (json!({}), false),
    ] {
        let workdir = Workdir::new("work");
        let elicits = json!({"elicitation": {}});
        let mut client = Client::legacy(&workdir, &["--confirm"], elicits);
        let id = client.begin("zot", json!({"prompt": TOUCH}));
        let question = client.zot.wait_for(is_question);
        let message = question["params"]["message"].as_str().unwrap();
        assert!(message.contains("touch made"), "{message}");
        assert_eq!(question["params"]["requestedSchema"]["type"], "object");
        answer(&mut client, &question, reply.clone());
        let response = client.response(id);
        assert_eq!(response["result"]["isError"], false, "{response}");
        assert_eq!(workdir.path().join("made").exists(), is_made, "{reply}");
    }
}

#[test]
fn an_error_of_the_client_refuses_the_call() {
    let workdir = Workdir::new("work");
    let mut client = Client::legacy(&workdir, &["--confirm"], json!({"elicitation": {}}));
    let id = client.begin("zot", json!({"prompt": TOUCH}));
    let question = client.zot.wait_for(is_question);
    client.zot.send(json!({
        "jsonrpc": "2.0", "id": question["id"], "error": {"code": -32603, "message": "no window"},
    }));
    client.response(id);
    assert!(!workdir.path().join("made").exists());
}

#[test]
fn a_decision_can_hold_until_the_end_of_the_prompt() {
    let workdir = Workdir::new("work");
    let mut client = Client::legacy(
        &workdir,
        &["--confirm"],
        json!({"elicitation": {"form": {}}}),
    );
    let id = client.begin(
        "zot",
        json!({"prompt": "run `touch one` and run `touch two`."}),
    );
    let question = client.zot.wait_for(is_question);
    let allow = json!({"action": "accept", "content": {"allow": "every call of this tool"}});
    answer(&mut client, &question, allow);
    let frames = client
        .zot
        .collect_until(|frame| frame["id"] == id && frame.get("result").is_some());
    assert!(!frames.iter().any(is_question), "{frames:?}");
    // It is not kept for the next one.
    client.begin("zot", json!({"prompt": TOUCH}));
    client.zot.wait_for(is_question);
}

#[test]
fn without_elicitation_calls_are_refused_at_once() {
    for (args, capabilities) in [
        (["--confirm"], json!({})),
        (["--no-yolo"], json!({"sampling": {}})),
        (["--confirm=bash"], json!({"elicitation": {"url": {}}})),
    ] {
        let workdir = Workdir::new("work");
        for client in [
            Client::legacy(&workdir, &args, capabilities.clone()),
            Client::modern(&workdir, &args, capabilities.clone()),
        ] {
            let mut client = client;
            let result = client.prompt(TOUCH);
            assert_eq!(
                result["structuredContent"]["stop_reason"], "end",
                "{result}"
            );
            assert!(!workdir.path().join("made").exists());
        }
    }
}

#[test]
fn a_question_is_taken_back_when_its_time_is_up() {
    let workdir = Workdir::new("work");
    let arguments = ["--confirm", "--confirm-timeout", "1"];
    let mut client = Client::legacy(&workdir, &arguments, json!({"elicitation": {}}));
    let id = client.begin("zot", json!({"prompt": TOUCH}));
    let question = client.zot.wait_for(is_question);
    let taken_back = client
        .zot
        .wait_for(|frame| frame["method"] == "notifications/cancelled");
    assert_eq!(taken_back["params"]["requestId"], question["id"]);
    client.response(id);
    assert!(!workdir.path().join("made").exists());
}

fn modern(workdir: &Workdir) -> Client {
    Client::modern(workdir, &["--confirm"], json!({"elicitation": {}}))
}

/// Begins a prompt and returns the answer that asks for input.
fn asked(client: &mut Client, prompt: &str) -> (Value, String) {
    let result = client.prompt(prompt);
    assert_eq!(result["resultType"], "input_required", "{result}");
    let state = result["requestState"].as_str().unwrap().to_owned();
    (result["inputRequests"].clone(), state)
}

fn continued(client: &mut Client, prompt: &str, state: &str, responses: Value) -> Value {
    client.request(
        "tools/call",
        json!({
            "name": "zot",
            "arguments": {"prompt": prompt},
            "requestState": state,
            "inputResponses": responses,
        }),
    )
}

#[test]
fn a_modern_client_is_asked_in_rounds() {
    for (action, is_made) in [("accept", true), ("decline", false), ("cancel", false)] {
        let workdir = Workdir::new("work");
        let mut client = modern(&workdir);
        let (requests, state) = asked(&mut client, TOUCH);
        let requests = requests.as_object().unwrap();
        let (key, request) = requests.iter().next().unwrap();
        assert_eq!(request["method"], "elicitation/create");
        assert!(
            request["params"]["message"]
                .as_str()
                .unwrap()
                .contains("touch made")
        );
        let response = continued(&mut client, TOUCH, &state, json!({key: {"action": action}}));
        assert_eq!(response["result"]["resultType"], "complete", "{response}");
        assert_eq!(workdir.path().join("made").exists(), is_made);
        // No state works twice.
        let again = continued(
            &mut client,
            TOUCH,
            &state,
            json!({key: {"action": "accept"}}),
        );
        assert_eq!(again["error"]["code"], -32602, "{again}");
    }
}

#[test]
fn a_prompt_can_take_several_rounds() {
    let workdir = Workdir::new("work");
    let mut client = modern(&workdir);
    let prompt = "run `touch one` and run `touch two`.";
    let (requests, state) = asked(&mut client, prompt);
    let key = requests.as_object().unwrap().keys().next().unwrap().clone();
    let response = continued(
        &mut client,
        prompt,
        &state,
        json!({key: {"action": "accept"}}),
    );
    let second = &response["result"];
    assert_eq!(second["resultType"], "input_required", "{second}");
    assert!(workdir.path().join("one").exists());
    assert!(!workdir.path().join("two").exists());
    let state = second["requestState"].as_str().unwrap();
    let key = second["inputRequests"]
        .as_object()
        .unwrap()
        .keys()
        .next()
        .unwrap();
    let response = continued(
        &mut client,
        prompt,
        state,
        json!({key: {"action": "accept"}}),
    );
    assert_eq!(response["result"]["isError"], false, "{response}");
    assert!(workdir.path().join("two").exists());
}

#[test]
fn missing_and_senseless_answers_are_asked_for_again() {
    let workdir = Workdir::new("work");
    let mut client = modern(&workdir);
    let (requests, mut state) = asked(&mut client, TOUCH);
    let key = requests.as_object().unwrap().keys().next().unwrap().clone();
    for responses in [
        json!({}),
        json!({"other": {"action": "accept"}}),
        json!({&key: {"action": "perhaps"}}),
        json!({&key: 7}),
        json!({&key: {"action": "accept", "content": 7}}),
    ] {
        let response = continued(&mut client, TOUCH, &state, responses.clone());
        let result = &response["result"];
        assert_eq!(
            result["resultType"], "input_required",
            "{responses}: {response}"
        );
        assert_eq!(result["inputRequests"], requests);
        state = result["requestState"].as_str().unwrap().to_owned();
    }
    let responses = json!({&key: {"action": "accept"}, "extra": {"action": "accept"}});
    continued(&mut client, TOUCH, &state, responses);
    assert!(workdir.path().join("made").exists());
}

#[test]
fn a_state_belongs_to_one_call() {
    let workdir = Workdir::new("work");
    let mut client = modern(&workdir);
    let (requests, state) = asked(&mut client, TOUCH);
    let key = requests.as_object().unwrap().keys().next().unwrap().clone();
    let accept = json!({&key: {"action": "accept"}});
    for (prompt, state) in [
        ("run: touch other", state.as_str()),
        (TOUCH, "0"),
        (TOUCH, &state[1..]),
    ] {
        let response = continued(&mut client, prompt, state, accept.clone());
        assert_eq!(response["error"]["code"], -32602, "{response}");
    }
    let other = client.error(
        "tools/call",
        json!({"name": "zot_reply", "arguments": {"prompt": TOUCH}, "requestState": state, "inputResponses": accept}),
    );
    assert_eq!(other, -32602);
    assert!(!workdir.path().join("made").exists());
    // The call still waits for its own answer.
    let response = continued(&mut client, TOUCH, &state, accept);
    assert_eq!(response["result"]["isError"], false, "{response}");
    assert!(workdir.path().join("made").exists());
}

#[test]
fn a_call_that_nobody_continues_ends() {
    let workdir = Workdir::new("work");
    let arguments = ["--confirm", "--confirm-timeout", "1"];
    let mut client = Client::modern(&workdir, &arguments, json!({"elicitation": {}}));
    let (requests, state) = asked(&mut client, TOUCH);
    let key = requests.as_object().unwrap().keys().next().unwrap().clone();
    // Its place is free again, and its state is forgotten.
    testkit::poll_until("the call ends", || {
        let elsewhere = continued(&mut client, "run: other", &state, json!({}));
        let message = elsewhere["error"]["message"].as_str().unwrap().to_owned();
        message.contains("unknown requestState")
    });
    let late = continued(
        &mut client,
        TOUCH,
        &state,
        json!({key: {"action": "accept"}}),
    );
    assert_eq!(late["error"]["code"], -32602);
    assert!(!workdir.path().join("made").exists());
    assert!(!text(&late["result"]).contains("made"));
}
