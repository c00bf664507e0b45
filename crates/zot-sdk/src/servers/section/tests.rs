use std::path::PathBuf;

use zot_mcp::entry::EntryOrigin;
use zot_mcp::{ServerState, ServerStatus};

use super::{Listed, section};

fn status(name: &str, state: ServerState, instructions: Option<&str>) -> ServerStatus {
    ServerStatus {
        name: name.to_owned(),
        origin: EntryOrigin::User,
        state,
        version: None,
        product: None,
        instructions: instructions.map(str::to_owned),
        tools: 0,
        prompts: 0,
        resources: 0,
        notes: Vec::new(),
        log: PathBuf::new(),
    }
}

fn listed(status: &ServerStatus, declared: usize, deferred: usize) -> Listed<'_> {
    Listed {
        status,
        deferred,
        declared,
    }
}

#[test]
fn names_what_is_there_and_what_is_missing() {
    let failed = ServerState::Failed {
        reason: format!("exit code 1: {}\nand more", "x".repeat(500)),
    };
    let servers = [
        status("files", ServerState::Ready, Some("Paths are absolute.")),
        status("github", ServerState::Ready, None),
        status("off", ServerState::Disabled, None),
        status("slow", ServerState::Starting, None),
        status("broken", failed, None),
        status("notion", ServerState::NeedsLogin, None),
    ];
    let counts = [(3, 0), (2, 40), (0, 0), (0, 0), (0, 0), (0, 0)];
    let servers: Vec<Listed<'_>> = servers
        .iter()
        .zip(counts)
        .map(|(status, (declared, deferred))| listed(status, declared, deferred))
        .collect();
    let section = section(&servers);
    let lines: Vec<&str> = section.text.lines().skip(4).collect();
    assert_eq!(
        lines[..2],
        ["- files", "- github: 40 more to search for"],
        "{}",
        section.text
    );
    assert!(
        lines[2].starts_with("Not available yet: slow (starting); broken (failed: exit code 1")
    );
    assert!(lines[2].contains("notion (the user has to sign in first)."));
    assert!(lines[2].len() < 400, "{}", lines[2]);
    assert!(!section.text.contains("off"));
    assert_eq!(section.instructed, ["files"]);
    assert!(section.text.ends_with(
        "<server_instructions server=\"files\">\nPaths are absolute.\n</server_instructions>"
    ));
}

#[test]
fn is_empty_without_servers() {
    let disabled = status("off", ServerState::Disabled, Some("hello"));
    assert_eq!(section(&[listed(&disabled, 0, 0)]).text, "");
}

#[test]
fn all_instructions_together_are_limited() {
    let long = "x".repeat(2_048);
    let names = ["a", "b", "c"];
    let servers = names.map(|name| status(name, ServerState::Ready, Some(&long)));
    let servers = servers.each_ref().map(|status| listed(status, 1, 0));
    let section = section(&servers);
    assert_eq!(section.instructed, ["a", "b"]);
    assert!(section.text.len() < 5_000);
}
