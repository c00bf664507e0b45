use std::ffi::OsString;

use clap::Parser;

use super::{AgentArguments, SourceArgument};
use crate::source::SourceKind;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    agents: AgentArguments,
}

fn parse(words: &[&str]) -> Result<AgentArguments, String> {
    Line::try_parse_from(["x"].iter().chain(words))
        .map(|line| line.agents)
        .map_err(|error| error.to_string())
}

#[test]
fn a_command_and_several_agents() {
    let arguments = parse(&[
        "--agent",
        "tests=zot --json 'run: make'",
        "--label",
        "one",
        "--agent",
        "b=X=1 claude -p hi",
        "--run",
        "X=1 claude",
        "--",
        "pi",
        "--mode",
        "json",
    ])
    .unwrap();
    let launches = arguments.start.launches().unwrap();
    let parsed: Vec<_> = launches
        .iter()
        .map(|launch| {
            assert_eq!(launch.kind, None, "its output decides");
            (
                launch.label.as_str(),
                launch.command.clone(),
                launch.suggested,
            )
        })
        .collect();
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    assert_eq!(
        parsed,
        [
            ("one", words(&["pi", "--mode", "json"]), None),
            (
                "tests",
                words(&["sh", "-c", "zot --json 'run: make'"]),
                Some(SourceKind::Zot)
            ),
            (
                "b",
                words(&["sh", "-c", "X=1 claude -p hi"]),
                Some(SourceKind::ClaudeCode)
            ),
            (
                "X=1 claude",
                words(&["sh", "-c", "X=1 claude"]),
                Some(SourceKind::ClaudeCode)
            ),
        ]
    );
}

#[test]
fn labels_of_several_words() {
    let launch = |argument: &str| parse(&["--run", argument]).unwrap().start.launches();
    for (argument, label, line) in [
        (
            "my nightly run=zot --json hi",
            "my nightly run",
            "zot --json hi",
        ),
        ("run-1=zot", "run-1", "zot"),
        ("nightly Run 2=zot", "nightly Run 2", "zot"),
        ("Agent A=zot", "Agent A", "zot"),
        // Commands, not labels.
        (
            "zot --json 'set x=1'",
            "zot --json 'set x=1'",
            "zot --json 'set x=1'",
        ),
        ("env FOO=1 zot", "env FOO=1 zot", "env FOO=1 zot"),
        (
            "export foo=1; zot",
            "export foo=1; zot",
            "export foo=1; zot",
        ),
        ("zot --model=x", "zot --model=x", "zot --model=x"),
    ] {
        let launches = launch(argument).unwrap();
        assert_eq!(launches[0].label, label, "{argument}");
        assert_eq!(launches[0].command[2], *line, "{argument}");
    }
    // `env` is a program: this sets a variable, or is a label.
    let error = launch("env my_variable=zot").unwrap_err();
    assert!(error.to_string().contains("without spaces"), "{error}");
    assert_eq!(error.exit_code(), 2);
}

#[test]
fn an_unknown_source_lists_the_known_ones() {
    assert!(
        parse(&["--source", "gpt"])
            .unwrap_err()
            .contains("claude-code")
    );
}

#[test]
fn a_socket_without_a_path_has_a_default_path() {
    assert_eq!(parse(&[]).unwrap().socket_path(), None);
    let path = parse(&["--socket"]).unwrap().socket_path().unwrap();
    assert!(path.ends_with("glasspane.sock"), "{}", path.display());
    let given = parse(&["--socket", "/x/y"]).unwrap();
    assert_eq!(given.socket_path().unwrap().to_str(), Some("/x/y"));
    assert_eq!(given.start.source, SourceArgument(None));
}
