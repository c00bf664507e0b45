use std::time::Duration;

use zot_sdk::{Config, ModelChoice};

use super::*;

/// Returns the lines of a preview.
fn lines_of(preview: &Preview) -> Vec<String> {
    let mut lines = preview.facts.clone();
    if let PreviewBody::Prose(text) | PreviewBody::Code { text, .. } = &preview.body {
        lines.extend(text.lines().map(str::to_owned));
    }
    lines
}

fn sources(themes: Option<PathBuf>) -> Sources {
    let config = Config {
        model: ModelChoice::provider("offline"),
        // Independent of the user who runs the tests.
        home: Some(PathBuf::from("/nonexistent")),
        ..Config::default()
    };
    Sources {
        runtime: Arc::new(Runtime::new(config).unwrap()),
        sessions: Arc::default(),
        themes,
    }
}

fn preview(sources: &Sources, subject: Subject) -> Preview {
    match sources.preview(subject.clone()) {
        Input::Preview {
            subject: previewed,
            preview,
        } if previewed == subject => preview,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn previews_of_prompts_and_models_describe_them() {
    let sources = sources(None);
    for prompt in ["run: seq 1 3", "hello"] {
        let mut events = sources.runtime.prompt(prompt, Vec::new()).unwrap();
        while events.next().await.is_some() {}
    }
    let first = lines_of(&preview(&sources, Subject::Prompt(0)));
    assert_eq!(first[0], "bash");
    assert!(
        first.iter().any(|line| line.contains("exit code 0")),
        "{first:?}"
    );
    let second = lines_of(&preview(&sources, Subject::Prompt(1)));
    assert_eq!(second[0], "no tools");
    assert!(
        second.iter().all(|line| !line.contains("exit code")),
        "{second:?}"
    );
    let gone = lines_of(&preview(&sources, Subject::Prompt(2)));
    assert_eq!(gone, ["no longer exists"]);
    let model = lines_of(&preview(&sources, Subject::Model("offline".to_owned())));
    assert_eq!(
        model[1..],
        [
            "context 32,768 tokens · up to 4,096 out",
            "cannot think",
            "price unknown"
        ]
    );
}

#[test]
fn the_preview_of_a_theme_is_its_colours_or_its_error() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("bad.json"), r#"{"akcent": "red"}"#).unwrap();
    std::fs::write(directory.path().join("long.json"), " ".repeat(100_000)).unwrap();
    let sources = sources(Some(directory.path().to_owned()));
    let theme = |name: &str| preview(&sources, Subject::Theme(name.to_owned()));
    let light = PreviewBody::Colours(Box::new(crate::style::Theme::LIGHT));
    assert_eq!(theme("light").body, light);
    for (name, problem) in [
        ("bad", "akcent"),
        ("long", "larger than"),
        ("none", "unknown theme"),
    ] {
        let lines = lines_of(&theme(name)).join(" ");
        assert!(lines.contains(problem), "{lines}");
    }
}

#[test]
fn the_preview_of_a_session_has_its_age_and_prompts() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let message = |text: &str| {
        format!(
            "{{\"type\":\"message\",\"message\":{{\"role\":\"user\",\"content\":[{{\"text\":\"{text}\"}}],\"time\":\"2026-05-11T09:12:34Z\"}}}}\n"
        )
    };
    let prompts = ["one", "two", "three", "four", "five\\nand more"];
    let text: String = prompts.iter().map(|text| message(text)).collect();
    std::fs::write(file.path(), text).unwrap();
    let session = Summary {
        id: "0123456789".to_owned(),
        path: file.path().to_owned(),
        cwd: String::new(),
        provider: "openai".to_owned(),
        model: "gpt-4o".to_owned(),
        started: String::new(),
        modified: "2026-05-11T09:12:34Z".parse().unwrap(),
        messages: 12,
        prompts: 5,
        title: "one".to_owned(),
        input_tokens: 0,
        output_tokens: 0,
        cache_read_tokens: 0,
        cache_write_tokens: 0,
        cost_usd: 0.0123,
        parent: Some("fedcba9876".to_owned()),
        fork_point: None,
        damaged: false,
        bytes: 0,
    };
    let lines = lines_of(&session_preview(&session));
    assert!(lines[0].starts_with("2026-05-11 09:12 UTC · "), "{lines:?}");
    assert_eq!(
        lines[1..],
        [
            "12 messages · 5 prompts · $0.0123",
            "gpt-4o · openai",
            "a fork of fedcba98",
            "❯ one",
            "…",
            "❯ three",
            "❯ four",
            "❯ five",
        ]
    );
}

#[test]
fn ages_are_readable() {
    let then: Timestamp = "2026-05-11T09:00:00Z".parse().unwrap();
    for (seconds, expected) in [
        (0, "just now"),
        (59, "just now"),
        (60, "1 min ago"),
        (7_199, "1 h ago"),
        (100_000, "yesterday"),
        (864_000, "10 days ago"),
    ] {
        let now = then + Duration::from_secs(seconds);
        assert_eq!(age(then, now), expected);
    }
    // A clock that was set back.
    assert_eq!(age(then + Duration::from_secs(9), then), "just now");
    assert_eq!(grouped(1_048_576), "1,048,576");
    assert_eq!(grouped(999), "999");
}
