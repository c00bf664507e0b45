use std::path::PathBuf;

use super::*;
use crate::entry::EntryOrigin;

fn entry(address: Address) -> ServerEntry {
    ServerEntry {
        name: "x".to_owned(),
        address,
        timeout: None,
        enabled: true,
        exposure: None,
        tool_exposure: Vec::new(),
        protocol: None,
        sandbox: None,
        permissions: None,
        oauth: None,
        origin: EntryOrigin::User,
        project: None,
    }
}

fn stdio(command: &str, args: &[&str], env: &[(&str, &str)]) -> ServerEntry {
    entry(Address::Stdio {
        command: command.to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        cwd: Some(PathBuf::from("/")),
    })
}

fn http(url: &str) -> ServerEntry {
    entry(Address::Http {
        url: url.to_owned(),
        headers: BTreeMap::new(),
    })
}

#[test]
fn an_era_is_remembered_for_its_server_only() {
    let home = tempfile::tempdir().unwrap();
    let eras = Eras::new(home.path());
    let server = stdio("npx", &["a", "b"], &[("KEY", "secret")]);
    assert_eq!(eras.first(&server), Era::Legacy);
    eras.remember(&server, Era::Modern);
    assert_eq!(Eras::new(home.path()).first(&server), Era::Modern);
    // Another value of a variable is the same server.
    let same = stdio("npx", &["a", "b"], &[("KEY", "other")]);
    assert_eq!(eras.first(&same), Era::Modern);
    for other in [
        stdio("npx", &["ab"], &[("KEY", "secret")]),
        stdio("npx", &["a", "b"], &[]),
        stdio("uvx", &["a", "b"], &[("KEY", "secret")]),
    ] {
        assert_eq!(eras.first(&other), Era::Legacy);
    }
    eras.remember(&server, Era::Legacy);
    assert_eq!(eras.first(&server), Era::Legacy);
    let text = std::fs::read_to_string(home.path().join("mcp/eras.json")).unwrap();
    assert!(!text.contains("secret"), "{text}");
}

#[test]
fn http_is_tried_without_a_handshake_first() {
    let home = tempfile::tempdir().unwrap();
    let eras = Eras::new(home.path());
    let server = http("https://example.com/mcp");
    assert_eq!(eras.first(&server), Era::Modern);
    eras.remember(&server, Era::Legacy);
    assert_eq!(eras.first(&server), Era::Legacy);
    let Address::Http { url, headers } = server.address else {
        panic!();
    };
    assert_eq!(
        eras.first(&entry(Address::Sse { url, headers })),
        Era::Legacy
    );
}

#[test]
fn a_damaged_file_is_begun_anew() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("mcp")).unwrap();
    std::fs::write(home.path().join("mcp/eras.json"), "{\"servers\": 7").unwrap();
    let eras = Eras::new(home.path());
    let server = http("https://example.com/mcp");
    assert_eq!(eras.first(&server), Era::Modern);
    eras.remember(&server, Era::Legacy);
    assert_eq!(eras.first(&server), Era::Legacy);
}
