//! `--fallback`, and the alternatives that errors name.

use std::fs;

use serde_json::{Value, json};
use testkit::{ModelServer, Reply, Wire, Workdir, ZotCommand};

use crate::support::{binary, kinds, of_kind};

/// A first provider and two others, each with its own wire.
struct Three {
    workdir: Workdir,
    first: ModelServer,
    second: ModelServer,
}

impl Three {
    fn new(first: ModelServer, first_wire: Wire, second_wire: Wire) -> Self {
        let second = ModelServer::start();
        let workdir = Workdir::with_files("work");
        fs::create_dir_all(workdir.zot_home()).unwrap();
        let entry = |server: &ModelServer, wire: Wire| {
            json!({"wire": wire.provider(), "baseUrl": server.url(wire), "defaultModel": "m",
                "keyVariables": ["TEST_KEY"]})
        };
        let providers = json!({"providers": {
            "first": entry(&first, first_wire),
            "second": entry(&second, second_wire),
        }});
        fs::write(
            workdir.zot_home().join("providers.json"),
            providers.to_string(),
        )
        .unwrap();
        Self {
            workdir,
            first,
            second,
        }
    }

    fn zot(&self, arguments: &[&str]) -> ZotCommand {
        ZotCommand::new(binary(), &self.workdir)
            .arguments(arguments)
            .arguments(["--provider", "first"])
            .env("TEST_KEY", "sk-test-0123456789")
    }
}

/// The last word of the prompt decides what each server does.
#[test]
fn the_turn_continues_with_the_fallback() {
    for (first, second) in [
        (Wire::OpenAi, Wire::Anthropic),
        (Wire::Anthropic, Wire::Gemini),
        (Wire::OpenAiResponses, Wire::OpenAi),
    ] {
        let down = ModelServer::with_script(vec![Reply::status(429, "slow down"); 3]);
        let three = Three::new(down, first, second);
        let run = three
            .zot(&["--json", "--no-session", "--fallback", "second/x", "say:2"])
            .run("");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let frames: Vec<Value> = run
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(
            kinds(&frames),
            [
                "user_message",
                "turn_start",
                "fallback",
                "assistant_start",
                "text_delta",
                "usage",
                "assistant_message",
                "turn_end",
                "done"
            ]
        );
        let [fallback] = of_kind(&frames, "fallback")[..] else {
            panic!("{frames:#?}");
        };
        assert_eq!(
            (&fallback["from"], &fallback["to"]),
            (&json!("first/m"), &json!("second/x"))
        );
        assert_eq!(fallback["code"], "rate_limited");
        assert_eq!(three.second.requests().len(), 1);
    }
}

/// Thinking, calls and results of the first provider are sent on the second one's wire, and the
/// text that broke off is part of the answer.
#[test]
fn partial_answers_are_kept_across_wires() {
    for (first_wire, second_wire) in [
        (Wire::Anthropic, Wire::OpenAi),
        (Wire::OpenAi, Wire::Anthropic),
    ] {
        let first = ModelServer::with_script([
            Reply::directive(r#"think:deep thoughts:tool:read:{"path":"a.txt"}"#),
            Reply::directive("cut"),
        ]);
        let three = Three::new(first, first_wire, second_wire);
        let run = three
            .zot(&["-p", "--no-session", "--fallback", "second", "go"])
            .run("");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(run.stderr.contains("second/m takes over"), "{}", run.stderr);
        assert!(run.stdout.trim().ends_with("ok"), "{:?}", run.stdout);
        assert!(
            run.stdout.trim().len() > 2,
            "the beginning is there: {:?}",
            run.stdout
        );
        let body = three.second.requests()[0].body.to_string();
        for part in ["one\\ntwo", "Go on exactly where it stops"] {
            assert!(body.contains(part), "{part}: {body}");
        }
        assert!(!body.contains("deep thoughts"), "{body}");
        assert_eq!(three.first.requests().len(), 2);
    }
}

/// A recording holds every exchange with its provider, and its replay falls back as it did.
#[test]
fn a_fallback_is_recorded_and_replayed() {
    let down = ModelServer::with_script([
        Reply::directive(r#"tool:read:{"path":"a.txt"}"#),
        Reply::directive("cut"),
    ]);
    let three = Three::new(down, Wire::OpenAi, Wire::Anthropic);
    let run = three
        .zot(&["--json", "--no-session", "--record", "run.cassette"])
        .arguments(["--fallback", "second/x", "go"])
        .run("");
    assert_eq!(run.code, Some(0), "{}", run.stderr);

    let cassette = three.workdir.path().join("run.cassette");
    let recorded = fs::read_to_string(&cassette).unwrap();
    let lines: Vec<Value> = recorded
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["provider"], "first");
    assert_eq!(lines[0]["fallbacks"][0]["provider"], "second");
    let asked = |line: &Value| line["request"]["provider"].clone();
    let providers: Vec<Value> = lines[1..].iter().map(asked).collect();
    assert_eq!(providers, [Value::Null, Value::Null, json!("second")]);

    let replay = |arguments: &[&str]| {
        ZotCommand::new(binary(), &three.workdir)
            .arguments(["--no-session", "--cassette", "run.cassette"])
            .arguments(arguments)
            .run("")
    };
    let without_times = |frames: &str| -> Vec<Value> {
        let frames = frames.lines().map(|line| {
            let mut frame: Value = serde_json::from_str(line).unwrap();
            frame.as_object_mut().unwrap().remove("time");
            frame
        });
        frames.collect()
    };
    let again = replay(&["--json", "go"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(again.stderr, "", "no key is needed");
    assert_eq!(without_times(&again.stdout), without_times(&run.stdout));
    assert_eq!(three.second.requests().len(), 1, "no provider was asked");

    // A configured fallback does not affect a replay.
    let configured = replay(&["--json", "--fallback", "second", "go"]);
    assert_eq!(configured.code, Some(0), "{}", configured.stderr);
    assert!(
        configured.stderr.contains("is ignored"),
        "{}",
        configured.stderr
    );

    // Recording a replay gives the same recording.
    let copied = replay(&["--json", "--record", "copy.cassette", "go"]);
    assert_eq!(copied.code, Some(0), "{}", copied.stderr);
    let copy = fs::read_to_string(three.workdir.path().join("copy.cassette")).unwrap();
    let last: Value = serde_json::from_str(copy.lines().last().unwrap()).unwrap();
    assert_eq!(last["request"], lines[3]["request"]);

    let shown = ZotCommand::new(binary(), &three.workdir)
        .arguments(["cassette", "show", "run.cassette"])
        .run("");
    assert!(shown.stdout.contains("second/x"), "{}", shown.stdout);
}

#[test]
fn an_error_names_the_failed_provider_and_alternatives() {
    let three = Three::new(ModelServer::start(), Wire::OpenAi, Wire::Anthropic);
    let mut rpc = three.zot(&["rpc"]).env("GROQ_API_KEY", "gsk-test").spawn();
    let frames = rpc.turn("1", "err:503:down");
    let error = of_kind(&frames, "error")[0];
    assert_eq!(error["provider"], "first");
    assert_eq!(error["alternatives"], json!(["groq", "second"]));
    let frames = rpc.turn("2", "err:400:wrong");
    let error = of_kind(&frames, "error")[0];
    assert_eq!(error["provider"], "first");
    assert_eq!(
        error.get("alternatives"),
        None,
        "no other provider would do better"
    );
}

#[test]
fn an_impossible_fallback_is_refused_at_the_start() {
    let three = Three::new(ModelServer::start(), Wire::OpenAi, Wire::Anthropic);
    for (wrong, expected) in [
        (
            "secnd/x",
            "unknown provider \"secnd\"; did you mean second?",
        ),
        ("groq", "no API key for groq"),
        ("anthropic/gpt-5", "it belongs to --provider openai"),
    ] {
        let run = three.zot(&["-p", "--fallback", wrong, "say:1"]).run("");
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert!(run.stderr.contains(expected), "{}", run.stderr);
    }
    assert!(three.first.requests().is_empty());
}
