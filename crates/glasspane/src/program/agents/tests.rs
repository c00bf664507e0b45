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
    let launches = arguments.start.launches();
    let told: Vec<_> = launches
        .iter()
        .map(|launch| (launch.label.as_str(), launch.command.clone(), launch.kind))
        .collect();
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    assert_eq!(
        told,
        [
            ("one", words(&["pi", "--mode", "json"]), None),
            (
                "tests",
                words(&["sh", "-c", "zot --json 'run: make'"]),
                Some(SourceKind::Zot)
            ),
            ("b", words(&["sh", "-c", "X=1 claude -p hi"]), None),
            ("X=1 claude", words(&["sh", "-c", "X=1 claude"]), None),
        ]
    );
}

#[test]
fn what_is_wrong_is_said_with_an_example() {
    assert!(
        parse(&["--source", "gpt"])
            .unwrap_err()
            .contains("claude-code")
    );
}

#[test]
fn a_socket_without_a_path_is_in_a_folder_of_our_own() {
    assert_eq!(parse(&[]).unwrap().socket_path(), None);
    let path = parse(&["--socket"]).unwrap().socket_path().unwrap();
    assert!(path.ends_with("glasspane.sock"), "{}", path.display());
    let given = parse(&["--socket", "/x/y"]).unwrap();
    assert_eq!(given.socket_path().unwrap().to_str(), Some("/x/y"));
    assert_eq!(given.start.source, SourceArgument(None));
}
