//! The exchanges of the conformance test: the recorded ones, and generated ones for every service.

use serde_json::{Value, json};
use zino::kind::ServiceKind::{
    self, AgentLoop, Context, Daemon, Executor, Memory, Router, SystemPrompt,
};

use crate::installation::{frame, with_length};
use crate::transcript;

/// One step of the test, the same in every cell.
pub(super) enum Step {
    Exchange(Exchange),
    /// Writes a file of the installation.
    Write(&'static str, &'static str),
    /// Removes a file of the installation.
    Remove(&'static str),
}

pub(super) struct Exchange {
    pub(super) name: String,
    pub(super) kind: ServiceKind,
    /// The request, with its length.
    pub(super) bytes: Vec<u8>,
    /// The response that was recorded.
    pub(super) recorded: Option<Vec<Value>>,
}

/// Returns all steps in order.
pub(super) fn steps() -> Vec<Step> {
    let mut steps = recorded();
    for (kind, request) in generated() {
        let name = format!("{} {request:.200}", kind.name());
        steps.push(ask(&name, kind, &request));
    }
    steps.extend(malformed());
    steps
}

fn ask(name: &str, kind: ServiceKind, request: &Value) -> Step {
    Step::Exchange(Exchange {
        name: name.to_owned(),
        kind,
        bytes: frame(request),
        recorded: None,
    })
}

/// The captures in their original order.
fn recorded() -> Vec<Step> {
    let mut steps = Vec::new();
    for kind in [
        Memory,
        SystemPrompt,
        Context,
        Daemon,
        AgentLoop,
        Router,
        Executor,
    ] {
        if kind == Context {
            // The original found no memories from here on.
            for id in (0..6).rev() {
                let request = json!({ "type": "delete_hard", "id": id });
                steps.push(ask(&format!("delete {id}"), Memory, &request));
            }
        }
        for record in transcript::records(kind) {
            match record.name.as_str() {
                "reload_new_tool" => {
                    steps.push(Step::Write(
                        "tools/sh.json",
                        r#"{"meta": {"executor": "sh"}}"#,
                    ));
                }
                "reload_back" => steps.push(Step::Remove("tools/sh.json")),
                _ => {}
            }
            let to_memory = record.note.as_deref() == Some("sent to mem");
            steps.push(Step::Exchange(Exchange {
                name: format!("{} {}", kind.name(), record.name),
                kind: if to_memory { Memory } else { kind },
                bytes: match (&record.req, &record.raw) {
                    (Some(request), _) => frame(request),
                    (None, raw) => transcript::bytes(raw.as_ref().unwrap()),
                },
                // What `exc` answers depends on installed programs; a test of its own compares it.
                recorded: (kind != Executor).then_some(record.resp),
            }));
            // Two more memories without text existed when the later searches were recorded.
            if kind == Memory && record.name == "store_4" {
                for tag in ["", "odd tag"] {
                    let request = json!({ "type": "store_hard", "messages": [], "tag": tag });
                    steps.push(ask("store without text", Memory, &request));
                }
            }
        }
    }
    steps
}

fn generated() -> Vec<(ServiceKind, Value)> {
    let mut requests = Vec::new();
    for kind in ServiceKind::ALL {
        for name in ["ping", "version", "frobnicate"] {
            requests.push((kind, json!({ "type": name })));
        }
    }
    requests.extend(turns());
    requests.extend(histories().map(|request| (Memory, request)));
    requests.extend(memories().map(|request| (Memory, request)));
    requests.extend(others());
    // What the turns have left.
    for channel in ["turns-false", "turns-true", "nobody"] {
        let request = json!({ "type": "get_history", "channel_id": channel });
        requests.push((Memory, request));
    }
    requests.push((Memory, json!({ "type": "list_channels" })));
    requests.push((Memory, json!({ "type": "export" })));
    requests
}

/// Responses of the model, its errors among them, through `daemon`, `agr` and `rtr`.
fn turns() -> Vec<(ServiceKind, Value)> {
    let tool = |name: &str, code: &str| {
        let call = json!({ "name": name, "arguments": { "code": code } });
        format!("raw:so <tool_call>{call}</tool_call> then")
    };
    let directives = [
        "say:1".to_owned(),
        "say:40".to_owned(),
        "utf8".to_owned(),
        "empty".to_owned(),
        "length".to_owned(),
        "slow:4:10".to_owned(),
        // Longer than a server may be silent.
        "delay:400:say:2".to_owned(),
        "garbage".to_owned(),
        "errmid".to_owned(),
        "err:400:no".to_owned(),
        "err:401:é\n\"no\"".to_owned(),
        "crlf:say:3".to_owned(),
        "split:3:say:5".to_owned(),
        "think:hmm:say:2".to_owned(),
        "raw:plain <b>text</b>".to_owned(),
        tool("execute_python3", "print('✓', 6 * 7)"),
        tool("execute_bash", "echo out; echo err >&2; exit 5"),
        tool("execute_nothing", "true"),
        "rawloop:2:<task>{\"skill\": \"bash\", \"request\": \"code:echo hi\"}</task>".to_owned(),
    ];
    let mut requests = Vec::new();
    for stream in [false, true] {
        for directive in &directives {
            let messages = json!([{ "role": "user", "content": directive }]);
            requests.push((
                Daemon,
                json!({ "message": directive, "channel_id": format!("turns-{stream}"), "stream": stream }),
            ));
            requests.push((
                AgentLoop,
                json!({ "type": "run", "messages": messages, "stream": stream }),
            ));
            requests.push((
                Router,
                json!({ "type": "infer", "messages": messages, "stream": stream }),
            ));
        }
    }
    requests
}

/// Channels with unusual names, contents and requests.
fn histories() -> impl Iterator<Item = Value> {
    let text = |text: &str| json!({ "role": "user", "content": text });
    let long = "x€".repeat(20_000);
    let appends = [
        ("plain", json!([text("one"), text("two"), text("three")])),
        ("plain", json!([])),
        ("plain", json!([text("\u{0}\u{1}\u{7f}\u{2028}\"\\/é🎉")])),
        ("plain", json!([text(&long)])),
        (
            "plain",
            json!([{ "role": "tool", "z": [1, { "b": null }], "content": "", "a": 0.5 }]),
        ),
        ("with/slash", json!([text("a")])),
        ("with_slash", json!([text("b")])),
        ("..", json!([text("c")])),
        ("é 日本", json!([text("d")])),
        ("A", json!([text("upper")])),
        ("a", json!([text("lower")])),
        ("plain", json!([{ "role": "user" }])),
        ("plain", json!([5])),
        ("plain", json!("no list")),
    ];
    let appends = appends.map(|(channel, messages)| {
        json!({ "type": "append_history", "channel_id": channel, "messages": messages })
    });
    let reads = [
        json!(null),
        json!(0),
        json!(-1),
        json!(1),
        json!(2),
        json!(5000),
        json!("x"),
    ]
    .map(|limit| json!({ "type": "get_history", "channel_id": "plain", "limit": limit }));
    let channels = ["with/slash", "with_slash", "..", "é 日本", "A", "a"];
    let others =
        channels.map(|channel| json!({ "type": "get_history", "channel_id": channel, "limit": 9 }));
    let rest = [
        json!({ "type": "list_channels" }),
        json!({ "type": "clear_history", "channel_id": "with/slash" }),
        json!({ "type": "clear_history", "channel_id": "never used" }),
        json!({ "type": "clear_history" }),
        json!({ "type": "get_history", "channel_id": "with_slash" }),
        json!({ "type": "append_history", "channel_id": "with/slash", "messages": [text("again")] }),
        json!({ "type": "get_history", "channel_id": "with/slash" }),
        json!({ "type": "get_history", "channel_id": 5 }),
        json!({ "type": "hold_channel", "channel_id": "plain" }),
        json!({ "type": "hold_channel", "owner": "o" }),
        json!({ "type": "append_history", "channel_id": "c", "messages": [], "owner": "o" }),
        json!({ "type": "append_history", "channel_id": "c", "messages": [], "fence": 1 }),
        json!({ "type": "list_channels" }),
    ];
    appends.into_iter().chain(reads).chain(others).chain(rest)
}

/// Hard and soft memories, stored, found, deleted, exported and imported.
fn memories() -> impl Iterator<Item = Value> {
    let stores = (0..12).map(|number| {
        let words = ["red", "green", "blue", "red green", "été", ""][number % 6];
        json!({
            "type": "store_hard", "tag": if number % 4 == 0 { json!(number) } else { json!("colour") },
            "messages": [
                { "role": "user", "content": format!("which colour is {words} number {number}") },
                { "role": "assistant", "content": words.repeat(number) },
            ],
        })
    });
    let searches = [
        "red",
        "green blue",
        "ÉTÉ",
        "number 7",
        "",
        "nothing of this",
        "colour",
    ]
    .into_iter()
    .flat_map(|query| {
        [json!(null), json!(1), json!(100), json!(-2), json!(0)]
            .map(|top_k| json!({ "type": "search_hard", "query": query, "top_k": top_k }))
    });
    let items = json!([
        { "kind": "soft", "content": "imported\nnote" },
        { "kind": "hard", "messages": [{ "role": "user", "content": "an imported red" }], "tag": "i" },
        { "kind": "history", "channel_id": "imported", "messages": [{ "role": "user", "content": "x" }] },
    ]);
    let rest = [
        json!({ "type": "delete_hard", "id": 3 }),
        json!({ "type": "search_hard", "query": "red green" }),
        json!({ "type": "delete_hard", "id": 1000 }),
        json!({ "type": "delete_hard", "id": -1 }),
        json!({ "type": "delete_hard" }),
        json!({ "type": "store_hard", "messages": [{ "role": "user", "content": "after a deletion" }] }),
        json!({ "type": "set_soft", "content": "new\n✓" }),
        json!({ "type": "get_soft" }),
        json!({ "type": "set_soft", "content": 5 }),
        json!({ "type": "export" }),
        json!({ "type": "import", "items": items }),
        json!({ "type": "import", "items": [{ "kind": "odd" }] }),
        json!({ "type": "get_soft" }),
        json!({ "type": "search_hard", "query": "imported red" }),
        json!({ "type": "export" }),
    ];
    stores.chain(searches).chain(rest)
}

/// `sys`, `ctx` and `exc`.
fn others() -> Vec<(ServiceKind, Value)> {
    let mut requests = Vec::new();
    for request in [
        json!({ "type": "set_soft_memory", "content": "from the matrix" }),
        json!({ "type": "get" }),
        json!({ "type": "reload" }),
        json!({ "type": "set_soft_memory", "content": [] }),
    ] {
        requests.push((SystemPrompt, request));
    }
    for request in [
        json!({ "type": "build", "user_message": "which colour is red" }),
        json!({ "type": "build", "user_message": "green", "channel_id": "plain" }),
        json!({ "type": "build", "user_message": "x", "channel_id": "never used" }),
        json!({ "type": "build", "user_message": 5 }),
        json!({ "type": "build" }),
    ] {
        requests.push((Context, request));
    }
    for (executor, code) in [
        ("bash", "cat; printf '%s' é; exit 300"),
        ("bash", "kill -9 $$"),
        ("bash", "seq 1 20000"),
        ("bash", "sleep 0.6; echo late"),
        ("bash", ""),
        ("python3", "import sys; sys.exit(4)"),
        ("python3", "print('x' * 100000)"),
        ("no such", "x"),
    ] {
        requests.push((
            Executor,
            json!({ "type": "execute", "executor": executor, "code": code }),
        ));
    }
    requests.push((
        Executor,
        json!({ "type": "validate", "executor": "python3" }),
    ));
    requests.push((Executor, json!({ "type": "execute", "code": 5 })));
    requests
}

/// Requests that are no JSON object, and one that is too long.
fn malformed() -> Vec<Step> {
    let mut steps = Vec::new();
    let bodies: [&[u8]; 6] = [b"{nope", b"[1]", b"5", b"\"x\"", b"\xff\xfe", b"{\"type\":"];
    for kind in ServiceKind::ALL {
        let bodies = bodies.map(with_length).into_iter();
        for bytes in bodies.chain([vec![0xff; 4]]) {
            steps.push(Step::Exchange(Exchange {
                name: format!("{} {}", kind.name(), bytes.escape_ascii()),
                kind,
                bytes,
                recorded: None,
            }));
        }
    }
    steps
}
