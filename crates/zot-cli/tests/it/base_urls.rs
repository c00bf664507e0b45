//! `--base-url` against servers that answer 404 on every path but one, as real ones do.

use testkit::{ModelServer, Wire, Workdir, ZotCommand};

use crate::support::binary;

fn ask(workdir: &Workdir, wire: Wire, base_url: &str) -> testkit::Finished {
    ZotCommand::new(binary(), workdir)
        .arguments(["-p", "--no-session", "--provider", wire.provider()])
        .arguments(["--model", wire.model(), "--api-key", "x"])
        .arguments(["--base-url", base_url, "say:1"])
        .run("")
}

const WIRES: [(Wire, &str, &str); 4] = [
    (Wire::Anthropic, "/v1", "/messages"),
    (Wire::OpenAi, "/v1", "/chat/completions"),
    (Wire::OpenAiResponses, "/v1", "/responses"),
    (Wire::Gemini, "/v1beta", "/models/"),
];

/// The suffix of the origin, and the server's path that the request must reach.
fn spellings(version: &str) -> Vec<(String, String)> {
    let mut spellings = vec![
        (String::new(), version.to_owned()),
        ("/".to_owned(), version.to_owned()),
        ("/proxy/api".to_owned(), format!("/proxy/api{version}")),
        ("/gateway#".to_owned(), "/gateway".to_owned()),
        ("/#".to_owned(), String::new()),
    ];
    for own in [
        "/v1",
        "/v1/",
        "/api/paas/v4",
        "/v2",
        "/v1beta",
        "/v1beta/",
        "/x/v1alpha",
    ] {
        spellings.push((own.to_owned(), own.trim_end_matches('/').to_owned()));
    }
    spellings
}

#[test]
fn every_wire_finds_the_path_of_the_server() {
    let workdir = Workdir::new("work");
    for (wire, version, operation) in WIRES {
        for (given, root) in spellings(version) {
            let server = ModelServer::below(&root);
            let base_url = format!("{}{given}", server.origin());
            let run = ask(&workdir, wire, &base_url);
            assert_eq!(run.code, Some(0), "{wire:?} {given:?}: {}", run.stderr);
            let request = server.requests().pop().unwrap();
            assert!(
                request.path.starts_with(&format!("{root}{operation}")),
                "{wire:?} {given:?}: {}",
                request.path
            );
        }
    }
}

#[test]
fn the_whole_address_of_the_operation_may_be_given() {
    let workdir = Workdir::new("work");
    let server = ModelServer::below("/odd/place");
    for (wire, _, operation) in WIRES.into_iter().take(3) {
        let base_url = format!("{}/odd/place{operation}", server.origin());
        let run = ask(&workdir, wire, &base_url);
        assert_eq!(run.code, Some(0), "{wire:?}: {}", run.stderr);
    }
}

#[test]
fn azure_keeps_its_query_after_the_operation() {
    let workdir = Workdir::new("work");
    let root = "/openai/deployments/mine";
    for end in ["?api-version=2024-10-21", "?api-version=2024-10-21#"] {
        let server = ModelServer::below(root);
        let base_url = format!("{}{root}{end}", server.origin());
        let run = ask(&workdir, Wire::OpenAi, &base_url);
        assert_eq!(run.code, Some(0), "{end}: {}", run.stderr);
        let request = server.requests().pop().unwrap();
        assert_eq!(request.path, format!("{root}/chat/completions"));
        assert_eq!(request.query, "api-version=2024-10-21");
    }
}

#[test]
fn a_404_names_the_address_that_was_asked_for() {
    let workdir = Workdir::new("work");
    let server = ModelServer::below("/elsewhere");
    for (wire, version, operation) in WIRES {
        let run = ask(&workdir, wire, &server.origin());
        assert_eq!(run.code, Some(1));
        let url = format!("{}{version}{operation}", server.origin());
        assert!(run.stderr.contains(&url), "{wire:?}: {}", run.stderr);
        assert!(run.stderr.contains("#"), "{wire:?}: {}", run.stderr);
        // Nothing was added to an exact address.
        let exact = format!("{}/there/#", server.origin());
        let run = ask(&workdir, wire, &exact);
        let url = format!("{}/there{operation}", server.origin());
        assert!(run.stderr.contains(&url), "{wire:?}: {}", run.stderr);
    }
}

#[test]
fn doctor_shows_where_requests_go() {
    let workdir = Workdir::new("work");
    for (arguments, expected) in [
        (
            &[
                "--provider",
                "anthropic",
                "--base-url",
                "http://127.0.0.1:9",
            ][..],
            "POST http://127.0.0.1:9/v1/messages\n",
        ),
        (
            &[
                "--provider",
                "openai",
                "--base-url",
                "http://127.0.0.1:9/x#",
            ],
            "POST http://127.0.0.1:9/x/chat/completions\n",
        ),
        (
            &["--provider", "gemini", "--model", "gemini-2.5-pro"],
            "POST https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:streamGenerateContent\n",
        ),
    ] {
        let run = ZotCommand::new(binary(), &workdir)
            .arguments(["doctor", "--network", "--api-key", "x"])
            .arguments(arguments)
            .run("");
        assert!(
            run.stdout.contains(expected),
            "{arguments:?}: {}",
            run.stdout
        );
    }
}

/// The keys that are set, further arguments, and what the server must receive.
type Case = (
    &'static [(&'static str, &'static str)],
    &'static [&'static str],
    Wire,
    Option<&'static str>,
);

#[test]
fn the_available_key_selects_the_wire() {
    const ANTHROPIC: (&str, &str) = ("ANTHROPIC_API_KEY", "anthropic-canary");
    const OPENAI: (&str, &str) = ("OPENAI_API_KEY", "openai-canary");
    const GROQ: (&str, &str) = ("GROQ_API_KEY", "groq-canary");
    let workdir = Workdir::new("work");
    let cases: [Case; 8] = [
        (&[ANTHROPIC], &[], Wire::Anthropic, Some("anthropic-canary")),
        (&[OPENAI], &[], Wire::OpenAi, Some("openai-canary")),
        (
            &[OPENAI, ANTHROPIC],
            &[],
            Wire::Anthropic,
            Some("anthropic-canary"),
        ),
        (&[], &[], Wire::OpenAi, None),
        // The key of one provider is not sent to the server of another.
        (&[GROQ], &[], Wire::OpenAi, None),
        (
            &[OPENAI, ANTHROPIC],
            &["--model", "gpt-5"],
            Wire::OpenAi,
            Some("openai-canary"),
        ),
        (&[ANTHROPIC], &["--model", "gpt-5"], Wire::OpenAi, None),
        (
            &[ANTHROPIC],
            &["--model", "house-model"],
            Wire::Anthropic,
            Some("anthropic-canary"),
        ),
    ];
    for (keys, arguments, wire, sent) in cases {
        let server = ModelServer::below("/v1");
        let command = ZotCommand::new(binary(), &workdir)
            .arguments(["-p", "--no-session", "--base-url", &server.origin()])
            .arguments(arguments)
            .argument("say:1");
        let command = keys
            .iter()
            .fold(command, |command, (name, key)| command.env(name, key));
        let run = command.run("");
        assert_eq!(run.code, Some(0), "{keys:?} {arguments:?}: {}", run.stderr);
        let request = server.requests().pop().unwrap();
        assert_eq!(request.wire, wire, "{keys:?} {arguments:?}");
        let secrets: Vec<&String> = request
            .headers
            .values()
            .filter(|value| value.contains("canary"))
            .collect();
        match sent {
            None => assert!(secrets.is_empty(), "{keys:?}: {secrets:?}"),
            Some(key) => assert!(
                secrets.len() == 1 && secrets[0].contains(key),
                "{keys:?}: {secrets:?}"
            ),
        }
    }
}
